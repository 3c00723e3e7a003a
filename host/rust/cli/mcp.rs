//! `paddock mcp`: serves MCP over standard input and output.

use std::io::{ErrorKind, Read};
use std::process::ExitCode;
use std::time::Duration;

use paddock::mcp::{Log, Server};
use tokio::io::{AsyncWriteExt, DuplexStream};
use tokio::runtime::Handle;

use super::workspace;

/// Maximum time for which the process waits for cancelled calls to end, after the client has closed the connection or a
/// signal has arrived.
const GRACE: Duration = Duration::from_secs(1);

/// Maximum number of bytes of standard input that wait for the server.
const BUFFER: usize = 64 * 1024;

/// Options that define the roots, or a workspace without roots.
#[cfg(target_os = "linux")]
const ELSEWHERE: [&str; 3] = ["root", "memory", "container"];
#[cfg(not(target_os = "linux"))]
const ELSEWHERE: [&str; 2] = ["root", "memory"];

/// Serve the tools to an MCP client over standard input and output
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  paddock mcp ~/project
  paddock mcp --root ~/project --root ~/notes:ro
  paddock mcp --dialect anthropic,paddock:grep,glob,delete,move,restore

A further root that cannot be opened is left out, with a message on standard error. In the dialect `mcp-filesystem` this
includes the first root, and the roots of a client that has roots replace those of --root.")]
pub(crate) struct Args {
    /// Directories that the tools may use, as by `--root`
    #[arg(value_name = "DIR", conflicts_with_all = ELSEWHERE)]
    directories: Vec<workspace::Root>,

    /// Answer with text alone, without the result as JSON. This is the default for Claude Code, Codex and OpenCode, which
    /// give the model the JSON instead of the text
    #[arg(long, conflicts_with = "structured")]
    text_only: bool,

    /// Answer with the result as JSON beside the text. This is the default for other clients
    #[arg(long)]
    structured: bool,

    #[command(flatten)]
    workspace: workspace::Options,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let options = args.workspace.with_directories(args.directories).without_missing_roots();
    let log = Log::default();
    let listener = log.listener();
    let workspace = options.build(options.builder()?.on_event(listener.clone()).index_in_background())?;
    let (own, dialect, memory) = (workspace.clone(), options.dialect.clone(), options.memory.clone());
    let open = move |roots| match options.is_elsewhere() {
        // A client's roots are directories of this machine, which a workspace elsewhere does not use.
        true => Some(own.clone()),
        false => {
            options.with_roots(roots).builder().ok()?.on_event(listener.clone()).index_in_background().build().ok()
        }
    };
    let server = Server::new(workspace.clone()).with_dialect(dialect).with_log(log).with_client_roots(open);
    let is_fixed = args.text_only || args.structured;
    let result = serve(if is_fixed { server.with_text_only(args.text_only) } else { server });
    workspace.end_sessions();
    memory.save(&workspace)?;
    result.map(|()| ExitCode::SUCCESS)
}

/// Serves until standard input closes or a signal ends the process.
fn serve(server: Server) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let result = runtime.block_on(async {
        tokio::select! {
            served = server.serve(stdin(), tokio::io::stdout()) => served,
            () = termination_signal() => Ok(()),
        }
    });
    // The server is gone, which has cancelled its calls.
    runtime.shutdown_timeout(GRACE);
    Ok(result?)
}

/// Returns standard input, read by a thread outside of the runtime. A read cannot be interrupted, and the runtime waits
/// for its own threads at the end.
fn stdin() -> DuplexStream {
    let (mut sender, receiver) = tokio::io::duplex(BUFFER);
    let runtime = Handle::current();
    std::thread::spawn(move || {
        let (mut stdin, mut buffer) = (std::io::stdin().lock(), vec![0; BUFFER]);
        loop {
            let length = match stdin.read(&mut buffer) {
                Err(cause) if cause.kind() == ErrorKind::Interrupted => continue,
                Ok(length) => length,
                Err(_) => 0,
            };
            // The end of the input, or of the server.
            let Some(bytes) = buffer.get(..length).filter(|bytes| !bytes.is_empty()) else { return };
            if runtime.block_on(sender.write_all(bytes)).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Waits for a signal that ends the process, so that sessions are ended and recorded first.
pub(crate) async fn termination_signal() {
    #[cfg(unix)]
    if let Ok(mut terminate) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        tokio::select! {
            _ = terminate.recv() => return,
            _ = tokio::signal::ctrl_c() => return,
        }
    }
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}
