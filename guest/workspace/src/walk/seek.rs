//! Moves a walk to another position without listing the directories above it again.

use paddock_types::response::Skipped;

use crate::walk::{Options, Start, Walk};

impl Walk<'_> {
    /// Restarts the walk from `start` to `until`. Directories that lead there and were listed already are not listed again. A walk
    /// that has begun in the middle of a directory can only be moved forward before it has been moved to another directory.
    pub fn seek(&mut self, start: Start, until: Option<String>) {
        self.skipped = Skipped::default();
        (self.looked_at, self.has_begun, self.pending, self.has_moved) = (0, false, None, true);
        while self.frames.len() > 1 && !self.leads_to(&start) {
            self.ascend();
        }
        let component = self.frames.len().saturating_sub(1);
        if let (Some(frame), Some(name)) = (self.frames.last_mut(), start.path.split('/').nth(component)) {
            frame.next = frame.entries.partition_point(|entry| entry.name.as_str() < name);
            frame.start = Some(component);
        }
        self.options = Options { start: Some(start), until, ..Options::clone(&self.options) }.into();
        self.end_depth = self.options.end_depth();
    }

    /// Returns whether the directory of the last frame contains `start`.
    fn leads_to(&self, start: &Start) -> bool {
        let above = self.frames.last().map_or(0, |frame| frame.above);
        let directory = self.path.get(self.base..above).unwrap_or_default();
        start.path.starts_with(directory)
    }
}
