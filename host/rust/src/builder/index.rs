//! Settings of the search index.

use super::Builder;

impl Builder {
    /// Updates the search index after long searches, for a process that makes many of them, on one thread for all workspaces
    /// of the process.
    /// Without it, only [`Workspace::update_index`](crate::Workspace::update_index) adds files to the index.
    #[must_use]
    pub fn index_in_background(mut self) -> Self {
        self.indexes_in_background = true;
        self
    }
}
