//! Updates of the search index.

use std::thread;
use std::time::{Duration, Instant};

use super::Workspace;
use crate::index::PART_PAUSE;
use crate::types::ToolError;

/// Result of [`Workspace::update_index`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexUpdate {
    /// Number of files that were added.
    pub added: u64,
    /// Number of files that were not added because they were changed in the time `index.min_age_seconds` of the policy.
    pub unsettled: u64,
    /// Whether all files were visited, and small parts of the index merged.
    pub is_complete: bool,
}

impl Workspace {
    /// Adds the files that a search reads to the search index in the state directory, for about the time `time`. Other
    /// calls run in between. Results of searches are the same with and without the index.
    ///
    /// Does nothing for a workspace without a state directory, in memory or with an overlay, if the policy disables the
    /// index, and on file systems that do not record every change of a file.
    ///
    /// # Errors
    ///
    /// `limit-exceeded` if another process changes the workspace all the time, and the errors of a search.
    pub fn update_index(&self, time: Duration) -> Result<IndexUpdate, ToolError> {
        let deadline = Instant::now().checked_add(time);
        let has_time = || deadline.is_none_or(|deadline| Instant::now() < deadline);
        let (mut update, mut start) = (IndexUpdate::default(), None);
        while !update.is_complete && has_time() {
            let part = self.guests().update_index(start.as_deref(), None)?;
            update.added += part.added;
            update.unsettled += part.unsettled;
            update.is_complete = part.next.is_none();
            start = part.next;
            if start.is_some() {
                thread::sleep(PART_PAUSE);
            }
        }
        Ok(update)
    }
}
