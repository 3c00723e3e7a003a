//! `paddock mcp`: the MCP server over standard input and output.

use std::process::ExitCode;

use super::workspace;
use crate::mcp::{self, Log};

/// Serve the tools to an MCP client over standard input and output
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  paddock mcp --root ~/project
  paddock mcp --root ~/project --root ~/notes:ro")]
pub(crate) struct Args {
    #[command(flatten)]
    workspace: workspace::Options,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let options = args.workspace;
    let log = Log::default();
    let listener = log.listener();
    let workspace = options.build(options.builder()?.on_event(listener.clone()))?;
    let (own, dialect, memory) = (workspace.clone(), options.dialect.clone(), options.memory.clone());
    let open = move |roots| match options.is_elsewhere() {
        // The roots that a client names are directories of this machine.
        true => Ok(own.clone()),
        false => Ok(options.with_roots(roots).builder()?.on_event(listener.clone()).build()?),
    };
    let result = mcp::run(workspace.clone(), Box::new(open), dialect, log);
    workspace.end_sessions();
    memory.save(&workspace)?;
    result.map(|()| ExitCode::SUCCESS)
}
