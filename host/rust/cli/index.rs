//! `paddock index`: adds the files of the workspace to the search index.

use std::process::ExitCode;
use std::time::Duration;

use paddock::Outcome;
use serde_json::json;

use super::{status, workspace};

/// Add the files of the workspace to the search index, which makes searches faster
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  paddock index --root ~/project

The index is in the state directory. `paddock mcp` and `paddock batch` update it after long searches. The result of a search is the same with
and without the index.")]
pub(crate) struct Args {
    #[command(flatten)]
    workspace: workspace::Options,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let updated = args.workspace.open()?.update_index(Duration::MAX);
    match &updated {
        Ok(update) => println!("{}", json!({ "added": update.added, "unsettled": update.unsettled })),
        Err(error) => println!("{}", serde_json::to_string(&Outcome::from(error.clone()))?),
    }
    Ok(status(updated.is_ok()))
}
