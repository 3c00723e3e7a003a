//! Lists the backups of changes, newest first.

use paddock_types::entry::{Kind, Time};
use paddock_types::error::Result;
use paddock_types::response::Response;
use paddock_types::{request, response, time};
use paddock_workspace::Workspace;
use paddock_workspace::change::backup;
use paddock_workspace::change::backup::{Action, Entry, Saved};

use crate::operation::{ChangingOperation, Operation};
use crate::recorder::Recorder;

impl Operation for request::History {
    fn name(&self) -> &'static str {
        "history"
    }

    fn requested_paths(&self) -> Vec<String> {
        Vec::new()
    }

    fn as_change(&self) -> Option<&dyn ChangingOperation> {
        None
    }

    fn run(&self, workspace: &Workspace<'_>) -> Result<Response> {
        run(workspace, self).map(Response::History)
    }

    fn record(&self, _: &Response, recorder: &mut Recorder<'_>) {
        recorder.measure(0, None);
    }
}

/// Text in place of a path that `.agentignore` hides.
const HIDDEN: &str = "(hidden by .agentignore)";

/// Lists the backups of changes.
pub fn run(workspace: &Workspace<'_>, args: &request::History) -> Result<response::History> {
    let max = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let (mut entries, mut truncated) = (Vec::new(), false);
    for (backup, ms) in backup::ids(workspace)? {
        // A damaged backup is listed without its entries.
        let record = Saved::find(workspace, &backup)?.map(|saved| saved.record);
        if record.as_ref().is_some_and(|record| !record.is_of(workspace)) {
            continue;
        }
        if entries.len() == max {
            truncated = true;
            break;
        }
        let changes = record.as_ref().map(|record| record.entries.as_slice()).unwrap_or_default();
        let mut paths: Vec<String> = Vec::new();
        let is_new_directory = |entry: &Entry| (entry.action, entry.kind) == (Action::Created, Kind::Directory);
        // A text lists only the first paths, so directories, which are mostly parents of created files, come last.
        for of_directories in [false, true] {
            for entry in changes.iter().filter(|entry| is_new_directory(entry) == of_directories) {
                for path in entry.paths() {
                    // A rule may be newer than the change, and another session may have had other rules.
                    let is_hidden = workspace.is_hidden_from_agent(path);
                    paths.push(if is_hidden { HIDDEN.to_owned() } else { path.clone() });
                }
            }
        }
        entries.push(response::HistoryEntry {
            time: time::rfc3339_seconds(Time { seconds: ms / 1_000, nanoseconds: 0 }).unwrap_or_default(),
            size: changes.iter().filter_map(|entry| entry.content).map(|(_, size)| size).sum(),
            paths,
            operation: record.map_or_else(|| "damaged".to_owned(), |record| record.operation),
            backup,
        });
    }
    Ok(response::History { entries, truncated })
}
