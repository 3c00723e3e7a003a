//! The range of the paths of a segment, by which a search finds the segments that can have a file.

/// Number of bytes of a path that a range has. Up to 128 bytes are not compared by a loop, but by six kilobytes of code.
const PATH_BYTES: usize = 160;

/// The start of a path. Its order is that in which a walk visits the paths, but for paths that start alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PathStart([u8; PATH_BYTES]);

impl PathStart {
    /// Returns the start of a path in the form of results.
    pub fn of(path: &str) -> Self {
        let mut start = [0; PATH_BYTES];
        // A walk visits `a/b` before `a-b`: the separator is less than every byte of a name.
        for (to, from) in start.iter_mut().zip(path.bytes()) {
            *to = if from == b'/' { 0 } else { from };
        }
        Self(start)
    }
}

/// A range of paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PathRange {
    first: PathStart,
    last: PathStart,
}

impl PathRange {
    /// Size in bytes.
    pub const BYTES: usize = 2 * PATH_BYTES;
    /// The range without a path.
    pub const EMPTY: Self = Self { first: PathStart([u8::MAX; PATH_BYTES]), last: PathStart([0; PATH_BYTES]) };

    /// Returns whether a path can be in the range.
    pub fn contains(&self, path: &PathStart) -> bool {
        self.first <= *path && *path <= self.last
    }

    /// Extends the range by a path.
    pub fn extend(&mut self, path: &str) {
        let path = PathStart::of(path);
        self.extend_to(&path, &path);
    }

    /// Extends the range by another one.
    pub fn unite(&mut self, other: &Self) {
        self.extend_to(&other.first, &other.last);
    }

    fn extend_to(&mut self, first: &PathStart, last: &PathStart) {
        if *first < self.first {
            self.first = *first;
        }
        if *last > self.last {
            self.last = *last;
        }
    }

    /// Reads a range, which has [`Self::BYTES`] bytes.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (first, last) = bytes.split_first_chunk()?;
        Some(Self { first: PathStart(*first), last: PathStart(last.try_into().ok()?) })
    }

    pub(crate) fn write(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(&self.first.0);
        into.extend_from_slice(&self.last.0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_range_has_the_paths_between_its_first_and_its_last(
            mut paths in vec("[ab.-]{1,3}(/[ab\u{e9}]{1,60}){0,4}", 1..12), at in any::<prop::sample::Index>(),
        ) {
            paths.sort_by(|a, b| a.split('/').cmp(b.split('/')));
            prop_assert!(paths.is_sorted_by_key(|path| PathStart::of(path)));
            let (mut range, mut bytes) = (PathRange::EMPTY, Vec::new());
            prop_assert!(paths.iter().all(|path| !range.contains(&PathStart::of(path))));
            let (before, after) = paths.split_at(at.index(paths.len()));
            for path in after.first().into_iter().chain(after.last()) {
                range.extend(path);
            }
            prop_assert!(after.iter().all(|path| range.contains(&PathStart::of(path))));
            let is_before = |path: &String| PathStart::of(path) < range.first;
            prop_assert!(before.iter().all(|path| is_before(path) != range.contains(&PathStart::of(path))));
            range.write(&mut bytes);
            prop_assert_eq!((bytes.len(), PathRange::read(&bytes)), (PathRange::BYTES, Some(range)));
        }
    }
}
