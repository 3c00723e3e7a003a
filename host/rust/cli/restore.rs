//! `paddock restore`: undoes a change.

use std::io::Write;
use std::process::ExitCode;

use paddock::CallOptions;

use super::{status, workspace};

/// Undo changes of tools: the last change of a path, all changes of a call, or the last calls
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  paddock restore src/main.rs
  paddock restore --backup 1795322715123
  paddock restore --last 3

`paddock history` lists the backups. The undoing can be undone too.")]
pub(crate) struct Args {
    #[command(flatten)]
    workspace: workspace::Options,

    /// Path to restore, relative to the workspace
    #[arg(required_unless_present_any = ["backup", "last"])]
    path: Option<String>,

    /// Undo this call; with a path, only its changes of that path
    #[arg(long, value_name = "BACKUP")]
    backup: Option<String>,

    /// Undo this number of calls together, the latest first: all of them, or none
    #[arg(long, value_name = "N", conflicts_with = "backup")]
    last: Option<u32>,

    /// Restore even if the path was changed since
    #[arg(long)]
    overwrite: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let Args { path, backup, last, overwrite, .. } = args;
    let arguments = serde_json::json!({ "path": path, "backup": backup, "last": last, "overwrite": overwrite });
    let workspace = args.workspace.open()?;
    let outcome = workspace.call_with("restore", &arguments.to_string(), &CallOptions::dialect("paddock"));
    writeln!(std::io::stdout(), "{}", serde_json::to_string(&outcome)?)?;
    args.workspace.memory.save(&workspace)?;
    Ok(status(outcome.ok))
}
