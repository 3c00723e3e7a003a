//! The end of a pass: segments that are removed, and small segments that become one.

use paddock_index::segment::merge;

use super::segments::Segments;

/// Segments of fewer bytes are small. If there are more small segments than this, a pass makes one of them, as far as they
/// have no more than this number of bytes and files together, which one segment can have.
const SMALL_BYTES: u64 = 256 * 1024;
const MAX_SMALL_SEGMENTS: usize = 8;
const MAX_MERGED_BYTES: u64 = 2 * 1024 * 1024;
const MAX_MERGED_FILES: usize = 15_000;

/// A segment of the index.
pub struct KnownSegment {
    /// Name of its file.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Number of its files.
    pub files: usize,
    /// Number of its files that the pass has found; `None` if another process has added it during the pass.
    pub found: Option<usize>,
}

/// Removes segments of which most files are gone, and makes one segment of small ones if there are many. If other rules hide
/// files than in the last pass, removes all segments, because they may have files that are hidden now.
pub fn tidy(segments: &Segments<'_>, known: &[KnownSegment], rules: u64) {
    let last_rules = segments.rules();
    if last_rules.is_some_and(|last| last != rules) {
        segments.names().iter().for_each(|name| segments.remove(name));
        // If a segment cannot be removed, the next pass tries again.
        if segments.names().is_empty() {
            segments.set_rules(rules);
        }
        return;
    }
    if last_rules.is_none() {
        segments.set_rules(rules);
    }
    let is_obsolete =
        |known: &&KnownSegment| known.found.is_some_and(|found| found * 2 < known.files || known.files == 0);
    let (obsolete, used): (Vec<_>, Vec<_>) = known.iter().partition(is_obsolete);
    obsolete.iter().for_each(|known| segments.remove(&known.name));
    let small: Vec<_> = used.into_iter().filter(|known| known.bytes < SMALL_BYTES).collect();
    if small.len() <= MAX_SMALL_SEGMENTS {
        return;
    }
    let (mut bytes, mut files) = (0, 0);
    let fits = |known: &&KnownSegment| {
        (bytes, files) = (bytes + known.bytes, files + known.files);
        bytes <= MAX_MERGED_BYTES && files <= MAX_MERGED_FILES
    };
    let small: Vec<_> = small.into_iter().take_while(fits).collect();
    let read = |known: &&KnownSegment| {
        let open = segments.segment(&known.name)?;
        let bytes = segments.bytes(&open)?;
        Some((open.segment, bytes))
    };
    let merged = small.iter().map(read).collect::<Option<Vec<_>>>().and_then(|small| merge(&small));
    // Without the new segment, the next pass adds the files again.
    if let Some(merged) = merged
        && segments.add(merged).is_err()
    {
        return;
    }
    small.iter().for_each(|known| segments.remove(&known.name));
}
