//! The command line: one file a subcommand.
//!
//! Results go to standard output and nothing else does. The exit status is 0
//! where all went well, 1 where a tool failed, 2 for wrong usage and 3 where
//! the host failed.

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

mod ask;
mod audit;
mod batch;
mod call;
mod completions;
mod component;
mod history;
mod mcp;
mod memory;
mod overlay;
mod policy;
mod progress;
mod restore;
#[cfg(target_os = "linux")]
mod selftest;
mod tools;
mod workspace;

/// The exit status where a tool failed.
pub(crate) const TOOL_FAILED: u8 = 1;

/// The exit status where the host failed.
pub(crate) const HOST_FAILED: u8 = 3;

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
  paddock tools --format anthropic
  paddock mcp --root ~/project --root ~/notes:ro

Exit status: 0 all went well, 1 a tool failed, 2 wrong usage, 3 the host failed.";

#[derive(Subcommand)]
enum Command {
    Call(call::Args),
    Batch(batch::Args),
    Tools(tools::Args),
    Mcp(mcp::Args),
    History(history::Args),
    Restore(restore::Args),
    Overlay(overlay::Args),
    Policy(policy::Args),
    Audit(audit::Args),
    Component(component::Args),
    #[cfg(target_os = "linux")]
    Selftest(selftest::Args),
    Completions(completions::Args),
}

/// Does what the process's arguments say.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    match Cli::parse().command {
        Command::Call(args) => call::run(args),
        Command::Batch(args) => batch::run(&args),
        Command::Tools(args) => tools::run(&args),
        Command::Mcp(args) => mcp::run(args),
        Command::History(args) => history::run(&args),
        Command::Restore(args) => restore::run(&args),
        Command::Overlay(args) => overlay::run(args),
        Command::Policy(args) => policy::run(&args),
        Command::Audit(args) => audit::run(&args),
        Command::Component(args) => component::run(&args),
        #[cfg(target_os = "linux")]
        Command::Selftest(args) => selftest::run(&args),
        Command::Completions(args) => completions::run(&args, Cli::command()),
    }
}

/// The exit status for calls of which all succeeded, or not.
fn status(ok: bool) -> ExitCode {
    if ok { ExitCode::SUCCESS } else { ExitCode::from(TOOL_FAILED) }
}
