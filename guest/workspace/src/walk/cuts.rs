//! Paths at which the rest of a walk can be divided into ranges.

use paddock_types::entry::Kind;

use super::{Frame, Walk};

/// Maximum number of paths.
const MAX_CUTS: usize = 64;

impl Walk<'_> {
    /// Returns paths, relative to the top, at which the entries after the current one can be divided. They are known from the
    /// directories listed so far: between two of them is one directory or `entries` other entries, or several times this if
    /// that would be too many paths.
    pub fn cuts(&self, entries: u64) -> Vec<String> {
        let mut places = Vec::new();
        let mut since = 0;
        for (depth, frame) in self.frames.iter().enumerate().rev() {
            for (index, entry) in frame.entries.iter().enumerate().skip(frame.next) {
                if self.is_at_end(depth + 1, frame, &entry.name) {
                    break;
                }
                if entry.kind == Kind::Directory || since == entries {
                    places.push((frame, index));
                    since = 0;
                }
                since += 1;
            }
        }
        let step = places.len().div_ceil(MAX_CUTS).max(1);
        places.into_iter().step_by(step).filter_map(|(frame, index)| self.path_of(frame, index)).collect()
    }

    /// Returns the path of an entry of a listed directory.
    fn path_of(&self, frame: &Frame, index: usize) -> Option<String> {
        Some(self.path.get(self.base..frame.above)?.to_owned() + &frame.entries.get(index)?.name)
    }
}
