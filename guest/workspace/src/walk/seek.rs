//! Moves a walk to a later position without listing the directories above it again.

use paddock_types::response::Skipped;

use crate::walk::{Options, Start, Walk};

impl Walk<'_> {
    /// Restarts the walk from `start`, which must not be before its last position, to `until`. Directories that were
    /// listed already are not listed again.
    pub fn seek(&mut self, start: Start, until: Option<String>) {
        self.skipped = Skipped::default();
        (self.looked_at, self.has_begun, self.pending) = (0, false, None);
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
