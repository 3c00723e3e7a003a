//! `paddock overlay`: lists, commits and discards the changes of an overlay.

use std::collections::HashSet;
use std::io::Write;
use std::process::ExitCode;

use paddock::terminal::escape;
use paddock::types::{Conflict, Difference, EntryKind, ToolError};
use paddock::{Outcome, Workspace};

use super::{status, workspace};

/// Show, commit or discard the changes of an overlay
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  paddock mcp --overlay refactor
  paddock overlay diff refactor | less
  paddock overlay commit refactor src
  paddock overlay discard refactor")]
pub(crate) struct Args {
    #[command(subcommand)]
    act: Act,
}

#[derive(clap::Subcommand)]
enum Act {
    /// List the overlays over a workspace
    List {
        #[command(flatten)]
        workspace: workspace::Options,
    },
    /// List the differences from the base, one path per line, and the checkpoints
    Status(Named),
    /// Print the differences from the base as a patch for `git apply`
    Diff {
        #[command(flatten)]
        named: Named,
        /// Only these paths and all below them
        paths: Vec<String>,
    },
    /// Apply the changes to the base: all of them, or none if another program changed one of the paths there
    Commit {
        #[command(flatten)]
        named: Named,
        /// Only these paths and all below them
        paths: Vec<String>,
        /// Merge texts that were changed in the base as well, at other places
        #[arg(long)]
        merge: bool,
    },
    /// Discard the changes of the overlay
    Discard {
        #[command(flatten)]
        named: Named,
        /// Only these paths and all below them
        paths: Vec<String>,
    },
    /// Store the current state of the overlay as a checkpoint
    Checkpoint {
        #[command(flatten)]
        named: Named,
        /// Name of the checkpoint
        checkpoint: String,
    },
    /// Restore the overlay to a checkpoint
    Rollback {
        #[command(flatten)]
        named: Named,
        /// Name of the checkpoint
        checkpoint: String,
    },
}

#[derive(clap::Args)]
struct Named {
    #[command(flatten)]
    workspace: workspace::Options,
    /// Name of the overlay
    name: String,
}

impl Named {
    /// Opens the workspace in the overlay. Fails if there is no such overlay: an overlay exists from its first change on,
    /// and a misspelt name would look like one without changes.
    fn open(self) -> anyhow::Result<Workspace> {
        self.open_if(Workspace::has_overlay_directory)
    }

    /// Opens the workspace in the overlay. Fails if the overlay has neither changes nor checkpoints, as after a commit: it
    /// is not listed then.
    fn open_listed(self) -> anyhow::Result<Workspace> {
        self.open_if(Workspace::has_overlay_content)
    }

    fn open_if(self, exists: fn(&Workspace) -> bool) -> anyhow::Result<Workspace> {
        let name = self.name.clone();
        let workspace = self.workspace.in_overlay(self.name).open()?;
        if !exists(&workspace) {
            let known = match workspace.overlays()?.as_slice() {
                [] => "this workspace has no overlays".to_owned(),
                names => format!("the overlays are {}", escape(&names.join(", "))),
            };
            anyhow::bail!("there is no overlay `{}`: {known}", escape(&name));
        }
        Ok(workspace)
    }
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let result = match args.act {
        Act::List { workspace } => {
            for name in workspace.open()?.overlays()? {
                writeln!(std::io::stdout(), "{name}")?;
            }
            return Ok(status(true));
        }
        Act::Status(named) => overview(&named.open_listed()?),
        Act::Diff { named, paths } => named.open_listed()?.diff(&paths, true).map(|diff| diff.patch),
        // A commit that was killed after its last change is repeated without an error.
        Act::Commit { named, paths, merge } => return commit(&named.open()?, &paths, merge),
        Act::Discard { named, paths } => {
            named.open_listed()?.discard(&paths).map(|gone| format!("discarded: {}\n", listed(&gone)))
        }
        Act::Checkpoint { named, checkpoint } => {
            named.open()?.checkpoint(&checkpoint).map(|()| format!("kept as `{checkpoint}`\n"))
        }
        Act::Rollback { named, checkpoint } => {
            named.open()?.rollback(&checkpoint).map(|()| format!("as it was at `{checkpoint}`\n"))
        }
    };
    match result {
        Ok(text) => {
            write!(std::io::stdout(), "{text}")?;
            Ok(status(true))
        }
        Err(error) => failed(error),
    }
}

fn failed(error: ToolError) -> anyhow::Result<ExitCode> {
    writeln!(std::io::stdout(), "{}", serde_json::to_string(&Outcome::from(error))?)?;
    Ok(status(false))
}

fn overview(workspace: &Workspace) -> Result<String, ToolError> {
    let diff = workspace.diff(&[], false)?;
    let moved: HashSet<&str> = diff.differences.iter().filter_map(|new| new.moved_from.as_deref()).collect();
    let visible = diff.differences.iter().filter(|difference| !moved.contains(difference.path.as_str()));
    let mut text: String = visible.map(line).collect();
    if diff.differences.is_empty() {
        text.push_str("nothing differs from the base\n");
    }
    let checkpoints = workspace.checkpoints()?;
    if !checkpoints.is_empty() {
        text.push_str(&format!("checkpoints: {}\n", escape(&checkpoints.join(", "))));
    }
    Ok(text)
}

/// Renders a difference: `A`, `M`, `D`, `T` or `R` as in git, the path, and a note if the base changed too.
fn line(difference: &Difference) -> String {
    let path = difference.path.escape_debug();
    let stale = if difference.stale { "  (changed in the base too)" } else { "" };
    if let Some(old) = &difference.moved_from {
        return format!("R {} -> {path}{stale}\n", old.escape_debug());
    }
    let letter = match (difference.was, difference.is) {
        (None, _) => 'A',
        (_, None) => 'D',
        (Some(was), Some(is)) if was == is => 'M',
        _ => 'T',
    };
    let kind = difference.is.or(difference.was);
    let end = if kind == Some(EntryKind::Directory) { "/" } else { "" };
    format!("{letter} {path}{end}{stale}\n")
}

fn commit(workspace: &Workspace, paths: &[String], merge: bool) -> anyhow::Result<ExitCode> {
    let commit = match workspace.commit(paths, merge) {
        Ok(commit) => commit,
        Err(error) => return failed(error),
    };
    let mut stdout = std::io::stdout().lock();
    if !commit.conflicts.is_empty() {
        for conflict in &commit.conflicts {
            write!(stdout, "{}", conflict_text(conflict))?;
        }
        let hint = if merge { "" } else { "; `--merge` takes what was changed at different places" };
        writeln!(stdout, "nothing was committed: {} in conflict{hint}", commit.conflicts.len())?;
        return Ok(status(false));
    }
    let changed: Vec<_> = commit.changes.iter().map(|change| change.path.clone()).collect();
    writeln!(stdout, "committed: {}", listed(&changed))?;
    if !commit.merged.is_empty() {
        writeln!(stdout, "merged: {}", listed(&commit.merged))?;
    }
    for note in &commit.notes {
        writeln!(stdout, "{}", escape(note))?;
    }
    if let Some(backup) = &commit.backup {
        writeln!(stdout, "`paddock restore --backup {}` undoes it", escape(backup))?;
    }
    Ok(status(true))
}

fn conflict_text(conflict: &Conflict) -> String {
    let part = |title: &str, diff: &str| if diff.is_empty() { String::new() } else { format!("{title}\n{diff}") };
    let (theirs, ours) = (part("in the base:", &conflict.theirs), part("in the overlay:", &conflict.ours));
    format!("{}: {}\n{theirs}{ours}", conflict.path.escape_debug(), escape(&conflict.cause))
}

/// Joins paths. They are escaped, since a path can contain line breaks and control characters.
fn listed(paths: &[String]) -> String {
    if paths.is_empty() {
        return "nothing".to_owned();
    }
    paths.iter().map(|path| path.escape_debug().to_string()).collect::<Vec<_>>().join(", ")
}
