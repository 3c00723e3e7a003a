//! `paddock restore`: undoes a change.

use std::io::Write;
use std::process::ExitCode;

use super::{status, workspace};

/// Undo a change of a tool: the last change of a path, or all changes of a call
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  paddock restore src/main.rs
  paddock restore --backup 1795322715123-4f2a01-512

`paddock history` lists the backups. The undoing can be undone too.")]
pub(crate) struct Args {
    #[command(flatten)]
    workspace: workspace::Options,

    /// Path to restore, relative to the workspace
    #[arg(required_unless_present = "backup")]
    path: Option<String>,

    /// Undo this call; with a path, only its changes of that path
    #[arg(long, value_name = "BACKUP")]
    backup: Option<String>,

    /// Restore even if the path was changed since
    #[arg(long)]
    overwrite: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let arguments = serde_json::json!({ "path": args.path, "backup": args.backup, "overwrite": args.overwrite });
    let workspace = args.workspace.open()?;
    let outcome = workspace.call("restore", &arguments.to_string());
    writeln!(std::io::stdout(), "{}", serde_json::to_string(&outcome)?)?;
    args.workspace.memory.save(&workspace)?;
    Ok(status(outcome.ok))
}
