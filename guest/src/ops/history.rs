//! Lists the backups that changes left, the newest first.

use crate::error::Result;
use crate::fs::Time;
use crate::fs::history::{self, Saved};
use crate::request;
use crate::response;
use crate::time;
use crate::workspace::Workspace;

/// Lists the backups that changes left.
pub fn run(workspace: &Workspace<'_>, args: &request::History) -> Result<response::History> {
    let most = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let (mut entries, mut truncated) = (Vec::new(), false);
    for (backup, ms) in history::ids(workspace)? {
        // One that is damaged is shown all the same, without what it held.
        let record = Saved::find(workspace, &backup)?.map(|saved| saved.record);
        if record.as_ref().is_some_and(|record| !record.is_of(workspace)) {
            continue;
        }
        if entries.len() == most {
            truncated = true;
            break;
        }
        let changes = record.as_ref().map(|record| record.entries.as_slice()).unwrap_or_default();
        entries.push(response::HistoryEntry {
            time: time::rfc3339_seconds(Time { seconds: ms / 1_000, nanoseconds: 0 }).unwrap_or_default(),
            size: changes.iter().filter_map(|entry| entry.content).map(|(_, size)| size).sum(),
            paths: changes.iter().map(|entry| entry.path.clone()).collect(),
            verb: record.map_or_else(|| "damaged".to_owned(), |record| record.verb),
            backup,
        });
    }
    Ok(response::History { entries, truncated })
}
