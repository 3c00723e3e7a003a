//! The end of a pass: files that are removed, and small segments that are merged.

use paddock_index::path_range::PathRange;
use paddock_index::segment::merge;
use paddock_vfs::FsResult;

use super::segments::{LISTINGS, SEGMENTS, Segments};

/// Size in bytes below which a file is small, and number of small files of a kind that stay.
const SMALL_BYTES: u64 = 256 * 1024;
const MAX_SMALL_FILES: usize = 8;
/// More small listings stay if they have this number of directories on average: each part of the first pass adds one.
const DIRECTORIES_PER_FILE: usize = 128;
/// Maximum size in bytes, and number of files, of the segments of a batch together. One segment can have that much.
const MAX_MERGED_BYTES: u64 = 2 * 1024 * 1024;
const MAX_MERGED_FILES: usize = 15_000;

/// A file of the index.
pub struct KnownFile {
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Number of files of a segment, or of listed directories.
    pub entries: usize,
    /// Number of these that the pass has found; `None` if another process has added the file during the pass, or if this pass
    /// has merged it.
    pub found: Option<usize>,
    /// Range of the paths of a segment.
    pub paths: PathRange,
}

/// Tidies the files of the index at the end of a pass.
///
/// The function removes segments and listings of which most entries are gone, merges small segments if there are many, and
/// removes small listings if there are many with few directories. If other rules hide files than in the last pass, it removes
/// the whole index, which can have files that are hidden now.
///
/// It merges one batch of segments, and further ones while `has_time` returns true. It returns whether the index is tidy, or
/// cannot be tidied now; otherwise it has removed segments, and a further call continues.
pub fn tidy(segments: &Segments<'_>, known: &[KnownFile], rules: u64, has_time: impl Fn() -> bool) -> bool {
    let last_rules = segments.rules();
    if last_rules.is_some_and(|last| last != rules) {
        segments.remove_all();
        // If a segment cannot be removed, the next pass tries again.
        if segments.names(SEGMENTS).is_empty() {
            segments.set_rules(rules);
        }
        return true;
    }
    if last_rules.is_none() {
        segments.set_rules(rules);
    }
    let is_obsolete =
        |known: &&KnownFile| known.found.is_some_and(|found| found * 2 < known.entries || known.entries == 0);
    let (obsolete, used): (Vec<_>, Vec<_>) = known.iter().partition(is_obsolete);
    obsolete.iter().for_each(|known| segments.remove(&known.name));
    let small = used.into_iter().filter(|known| known.bytes < SMALL_BYTES);
    let (listings, small): (Vec<_>, Vec<_>) = small.partition(|known| known.name.ends_with(LISTINGS));
    let directories: usize = listings.iter().map(|known| known.entries).sum();
    if listings.len() > MAX_SMALL_FILES.max(directories / DIRECTORIES_PER_FILE) {
        // The next pass lists their directories again, which takes less time than to read all of the text.
        listings.iter().for_each(|known| segments.remove(&known.name));
    }
    let small = sorted(small);
    let batches = if small.len() > MAX_SMALL_FILES { batches(&small) } else { Vec::new() };
    for (merged, batch) in (1..).zip(&batches) {
        if merge_batch(segments, batch).is_err() {
            break;
        }
        if !has_time() {
            return merged == batches.len();
        }
    }
    true
}

/// Sorts segments by the first of their paths, because a search loads the segments in whose range its paths are: neighbours
/// that are merged have a small range, unless files of one of them are all over the tree.
fn sorted(segments: Vec<&KnownFile>) -> Vec<&KnownFile> {
    let mut sorted: Vec<&KnownFile> = Vec::with_capacity(segments.len());
    for known in segments {
        // A sort of the standard library would add four kilobytes to the component.
        sorted.insert(sorted.partition_point(|other| other.paths <= known.paths), known);
    }
    sorted
}

/// Divides small segments into batches of at least two, each of which fits into one segment.
fn batches<'s, 'k>(mut small: &'s [&'k KnownFile]) -> Vec<&'s [&'k KnownFile]> {
    let mut batches = Vec::new();
    while !small.is_empty() {
        let (mut bytes, mut files) = (0, 0);
        let fits = |known: &&&KnownFile| {
            (bytes, files) = (bytes + known.bytes, files + known.entries);
            bytes <= MAX_MERGED_BYTES && files <= MAX_MERGED_FILES
        };
        let (batch, rest) = small.split_at(small.iter().take_while(fits).count().max(1));
        batches.push(batch);
        small = rest;
    }
    batches.retain(|batch| batch.len() > 1);
    batches
}

/// Replaces a batch of segments by one. Fails if it cannot be stored, or if one of the batch cannot be removed: otherwise each
/// pass would add another one.
fn merge_batch(segments: &Segments<'_>, batch: &[&KnownFile]) -> FsResult<()> {
    let read = |known: &&KnownFile| {
        let open = segments.segment(&known.name)?;
        let bytes = segments.bytes(&open)?;
        Some((open.segment, bytes))
    };
    let merged = batch.iter().map(read).collect::<Option<Vec<_>>>().and_then(|batch| merge(&batch));
    // Without the merged segment, the next pass adds the files again.
    let merged = merged.map(|merged| segments.add(SEGMENTS, merged)).transpose()?;
    let removed = batch.iter().try_for_each(|known| segments.try_remove(&known.name));
    removed.inspect_err(|_| merged.iter().for_each(|name| segments.remove(name)))
}
