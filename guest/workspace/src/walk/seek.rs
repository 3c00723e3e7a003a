//! A walk that goes to a later place without listing again what leads there.

use paddock_types::response::Skipped;

use crate::walk::{Options, Start, Walk};

impl Walk<'_> {
    /// Makes the walk one from `start`, which does not come before where it ended, to `until`; as if it were a new one,
    /// but for directories that it has listed already.
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
    }

    /// Whether the directory of the last frame is on the way to `start`.
    fn leads_to(&self, start: &Start) -> bool {
        let above = self.frames.last().map_or(0, |frame| frame.above);
        let directory = self.path.get(self.base..above).unwrap_or_default();
        start.path.starts_with(directory)
    }
}
