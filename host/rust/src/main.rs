//! The `paddock` command.

use std::io;
use std::process::ExitCode;

mod cli;
mod mcp;
mod plan;

fn main() -> ExitCode {
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

fn is_closed_pipe(cause: &anyhow::Error) -> bool {
    let io = cause.chain().find_map(|cause| cause.downcast_ref::<io::Error>());
    io.is_some_and(|io| io.kind() == io::ErrorKind::BrokenPipe)
}
