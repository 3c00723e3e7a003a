//! The end of a walk that ends before a path.

use super::{Frame, Walk};

impl Walk<'_> {
    /// Moves back to before the current entry, so that the next advance returns it again.
    pub(super) fn step_back(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.next -= 1;
        }
    }

    /// Returns whether the next entry is at or after the end of the walk, where another walk begins.
    pub(super) fn is_past_end(&self) -> bool {
        let last = self.frames.last().and_then(|frame| Some((frame, frame.entry()?)));
        last.is_some_and(|(frame, entry)| self.is_at_end(self.frames.len(), frame, &entry.name))
    }

    /// Returns whether the walk ends after the current entry and before the entries in it.
    pub(super) fn ends_in_current(&self) -> bool {
        let end = self.options.until.as_deref().and_then(|until| until.strip_suffix('/'));
        end.is_some_and(|end| self.path.get(self.base..) == Some(end))
    }

    /// Returns whether the entry `name` of a directory, which is at this depth, is at or after the end of the walk.
    pub(super) fn is_at_end(&self, depth: usize, frame: &Frame, name: &str) -> bool {
        // All entries below the last directory on the path to the end come before the end.
        let Some(until) = self.options.until.as_ref().filter(|_| depth <= self.end_depth) else { return false };
        let above = self.path.get(self.base..frame.above).unwrap_or_default();
        above.split_terminator('/').chain([name]).cmp(until.split('/')).is_ge()
    }
}
