//! Settings of the search index.

use super::Builder;

impl Builder {
    /// Updates the search index on a thread of its own after long searches, for a process that makes many searches.
    /// Without it, only [`Workspace::update_index`](crate::Workspace::update_index) adds files to the index.
    #[must_use]
    pub fn index_in_background(mut self) -> Self {
        self.indexes_in_background = true;
        self
    }
}
