//! Lists the backups that changes left, the newest first.

use crate::error::Result;
use crate::fs::Time;
use crate::fs::history::{self, Saved};
use crate::request;
use crate::response;
use crate::text::time;
use crate::workspace::Workspace;

/// Lists the backups that changes left.
pub fn run(workspace: &Workspace<'_>, args: &request::History) -> Result<response::History> {
    let ids = history::ids(workspace)?;
    let most = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let truncated = ids.len() > most;
    let entry = |(backup, ms): (String, u64)| {
        // One that is damaged is shown all the same, without what it held.
        let record = Saved::find(workspace, &backup)?.map(|saved| saved.record);
        let entries = record.as_ref().map(|record| record.entries.as_slice()).unwrap_or_default();
        Ok(response::HistoryEntry {
            time: time::rfc3339_seconds(Time { seconds: ms / 1_000, nanoseconds: 0 }).unwrap_or_default(),
            size: entries.iter().filter_map(|entry| entry.content).map(|(_, size)| size).sum(),
            paths: entries.iter().map(|entry| entry.path.clone()).collect(),
            verb: record.map_or_else(|| "damaged".to_owned(), |record| record.verb),
            backup,
        })
    };
    Ok(response::History { entries: ids.into_iter().take(most).map(entry).collect::<Result<_>>()?, truncated })
}
