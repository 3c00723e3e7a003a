//! The `paddock` command.

use std::io;
use std::process::ExitCode;

mod cli;
mod mcp;
mod plan;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    allow_open_files();
    match cli::run() {
        Ok(code) => code,
        // Whoever read the output has seen enough.
        Err(cause) if is_closed_pipe(&cause) => ExitCode::SUCCESS,
        Err(cause) => {
            eprintln!("paddock: {cause:#}");
            ExitCode::from(cli::HOST_FAILED)
        }
    }
}

/// Raises the limit of open files to the highest that this process may set: deep trees and many calls at once take more
/// than the 1,024 that most systems begin with.
#[cfg(target_os = "linux")]
fn allow_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Where that is refused the old limit holds, and calls say when it is reached.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

fn is_closed_pipe(cause: &anyhow::Error) -> bool {
    let io = cause.chain().find_map(|cause| cause.downcast_ref::<io::Error>());
    io.is_some_and(|io| io.kind() == io::ErrorKind::BrokenPipe)
}
