//! The `paddock` command, with one module per subcommand.
//!
//! Standard output contains only results. The exit status is 0 for success, 1 if a tool failed, 2 for wrong usage
//! and 3 if the host failed.

use std::io;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

mod approval_prompt;
mod audit;
mod batch;
mod call;
mod completions;
mod component;
mod history;
mod index;
mod mcp;
mod memory;
#[cfg(any(target_env = "musl", all(test, target_os = "linux")))]
mod musl;
mod overlay;
mod policy;
mod progress;
mod restore;
#[cfg(target_os = "linux")]
mod selftest;
#[cfg(all(target_os = "linux", feature = "serve"))]
mod serve;
#[cfg(feature = "snapshots")]
mod snapshot;
#[cfg(all(target_os = "linux", feature = "serve"))]
mod token;
mod tools;
mod workspace;

/// Exit status if a tool failed.
const TOOL_FAILED: u8 = 1;

/// Exit status if the host failed.
const HOST_FAILED: u8 = 3;

/// File tools for AI agents that cannot leave the workspace.
#[derive(Parser)]
#[command(name = "paddock", version, propagate_version = true, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  paddock call grep '{\"pattern\": \"TODO\", \"glob\": \"*.rs\"}'
  paddock call --root ~/project --read-only read_file '{\"path\": \"README.md\"}'
  paddock call --set limits.max_lines=500 --set 'blocked_directories=[secrets]' tree
  paddock tools --dialect anthropic,paddock:grep,glob --format anthropic
  paddock mcp --root ~/project --root ~/notes:ro

Exit status: 0 all went well, 1 a tool failed, 2 wrong usage, 3 the host failed.";

#[derive(Subcommand)]
enum Command {
    Call(call::Args),
    Batch(batch::Args),
    Tools(tools::Args),
    Mcp(mcp::Args),
    #[cfg(all(target_os = "linux", feature = "serve"))]
    Serve(serve::Args),
    #[cfg(all(target_os = "linux", feature = "serve"))]
    Token(token::Args),
    Index(index::Args),
    History(history::Args),
    Restore(restore::Args),
    Overlay(overlay::Args),
    #[cfg(feature = "snapshots")]
    Snapshot(snapshot::StoreArgs),
    #[cfg(feature = "snapshots")]
    RestoreSnapshot(snapshot::RestoreArgs),
    #[cfg(feature = "snapshots")]
    Snapshots(snapshot::ManageArgs),
    Policy(policy::Args),
    Audit(audit::Args),
    Component(component::Args),
    #[cfg(target_os = "linux")]
    Selftest(selftest::Args),
    Completions(completions::Args),
}

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    allow_open_files();
    match run() {
        Ok(code) => code,
        // The reader closed the pipe, which is no error.
        Err(cause) if is_closed_pipe(&cause) => ExitCode::SUCCESS,
        Err(cause) => {
            eprintln!("paddock: {cause:#}");
            ExitCode::from(HOST_FAILED)
        }
    }
}

/// Runs the command that the process's arguments select.
fn run() -> anyhow::Result<ExitCode> {
    match Cli::parse().command {
        Command::Call(args) => call::run(args),
        Command::Batch(args) => batch::run(&args),
        Command::Tools(args) => tools::run(&args),
        Command::Mcp(args) => mcp::run(args),
        #[cfg(all(target_os = "linux", feature = "serve"))]
        Command::Serve(args) => serve::run(&args),
        #[cfg(all(target_os = "linux", feature = "serve"))]
        Command::Token(args) => token::run(&args),
        Command::Index(args) => index::run(&args),
        Command::History(args) => history::run(&args),
        Command::Restore(args) => restore::run(&args),
        Command::Overlay(args) => overlay::run(args),
        #[cfg(feature = "snapshots")]
        Command::Snapshot(args) => snapshot::store(&args),
        #[cfg(feature = "snapshots")]
        Command::RestoreSnapshot(args) => snapshot::restore(&args),
        #[cfg(feature = "snapshots")]
        Command::Snapshots(args) => snapshot::manage(&args),
        Command::Policy(args) => policy::run(&args),
        Command::Audit(args) => audit::run(&args),
        Command::Component(args) => component::run(&args),
        #[cfg(target_os = "linux")]
        Command::Selftest(args) => selftest::run(&args),
        Command::Completions(args) => completions::run(&args, Cli::command()),
    }
}

/// Returns the exit status: success if all calls succeeded.
fn status(ok: bool) -> ExitCode {
    if ok { ExitCode::SUCCESS } else { ExitCode::from(TOOL_FAILED) }
}

/// Raises the limit of open files to the maximum that this process may set. Deep trees and many concurrent calls
/// need more than the default of 1,024 on most systems.
#[cfg(target_os = "linux")]
fn allow_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // If the system refuses, the old limit applies, and calls report when they reach it.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

fn is_closed_pipe(cause: &anyhow::Error) -> bool {
    let io = cause.chain().find_map(|cause| cause.downcast_ref::<io::Error>());
    io.is_some_and(|io| io.kind() == io::ErrorKind::BrokenPipe)
}
