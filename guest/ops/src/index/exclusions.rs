//! Files that a search need not read, because they cannot match according to the index.

use paddock_index::plan::{NumberSet, Plan};
use paddock_index::segment::{Content, IndexedFile, Stamp};
use paddock_search::matcher::{self, Groups};
use paddock_types::request::Grep;
use paddock_vfs::Dir;
use paddock_workspace::Workspace;

use super::indexed_files::IndexedFiles;
use super::segments::{OpenSegment, SEGMENTS, Segments, max_files};

/// Number of files that a search reads before it opens the index: shorter searches do not pay for it.
pub const FILES_BEFORE_INDEX: u32 = 64;
/// Number of consecutive files that are not in the index, after which the next files are read without a look at the
/// index, and number of these.
const MISSES: u32 = 32;
const UNCHECKED_FILES: u32 = 256;

/// Number of files after which the index is not read further if it is of no use for the search.
const SAMPLE_FILES: usize = 1_000;

/// The files that a search need not read.
pub struct Exclusions<'w> {
    workspace: &'w Workspace<'w>,
    args: &'w Grep,
    index: Index<'w>,
}

enum Index<'w> {
    /// The index is opened after this number of files.
    Closed(u32),
    /// There is no index, or it excludes too few files to be of use.
    Unused,
    Open(Box<OpenIndex<'w>>),
}

struct OpenIndex<'w> {
    files: IndexedFiles<'w>,
    /// The groups of each segment that have to be read.
    matching: Vec<NumberSet>,
    /// Number of consecutive files that are not in the index.
    misses: u32,
    /// Number of next files for which the index is not used.
    unchecked_files: u32,
}

/// A file that need not be read, because it has no match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Excluded {
    /// Number of bytes that the search would read.
    pub bytes: u64,
    /// Whether the search would skip the file because it is binary.
    pub is_binary: bool,
}

impl<'w> Exclusions<'w> {
    /// Prepares for a search. The index is opened when the search turns out to be long.
    pub fn new(workspace: &'w Workspace<'w>, args: &'w Grep) -> Self {
        let is_possible = workspace.policy.index.enabled && workspace.state.is_some();
        Self { workspace, args, index: if is_possible { Index::Closed(FILES_BEFORE_INDEX) } else { Index::Unused } }
    }

    /// Has the index opened at the first file, because the search is known to be long.
    pub fn expect_many_files(&mut self) {
        if let Index::Closed(files) = &mut self.index {
            *files = 0;
        }
    }

    /// Returns the file `name` if it need not be read.
    pub fn find(&mut self, dir: &Dir, name: &str) -> Option<Excluded> {
        match &mut self.index {
            Index::Unused => return None,
            Index::Open(_) => {}
            Index::Closed(0) => {
                self.index = open(self.workspace, self.args).map_or(Index::Unused, |open| Index::Open(Box::new(open)))
            }
            Index::Closed(files) => {
                *files -= 1;
                return None;
            }
        }
        let Index::Open(index) = &mut self.index else { return None };
        let excluded = index.find(|| Some(Stamp(self.workspace.fs.stamp(dir, name)?)))?;
        // Some searches skip a file above the limit.
        (excluded.bytes <= self.workspace.policy.limits.max_file_bytes).then_some(excluded)
    }
}

impl OpenIndex<'_> {
    /// Returns the file with a stamp if it need not be read. The stamp is only requested if the index has some of the last
    /// files.
    fn find(&mut self, stamp: impl FnOnce() -> Option<Stamp>) -> Option<Excluded> {
        if self.unchecked_files > 0 {
            self.unchecked_files -= 1;
            return None;
        }
        let file = stamp().and_then(|stamp| self.files.find(&stamp));
        self.misses = if file.is_some() { 0 } else { self.misses + 1 };
        if self.misses == MISSES {
            // After these files, a single miss is enough for more of them.
            (self.misses, self.unchecked_files) = (MISSES - 1, UNCHECKED_FILES);
        }
        let (segment, file) = file?;
        excluded(&file, self.matching.get(segment)?)
    }
}

/// Reads the index. Returns `None` if there is none, or if it excludes too few files to be of use.
fn open<'w>(workspace: &Workspace<'w>, args: &Grep) -> Option<OpenIndex<'w>> {
    let segments = Segments::open(workspace)?;
    let plan = Plan::of(&matcher::expression(args, Groups::Dropped).ok()?);
    if plan == Plan::Any {
        return None;
    }
    let (names, grams) = (segments.names(SEGMENTS), plan.grams());
    let mut files = IndexedFiles::new(segments.clone());
    let (mut matching, mut excluded_files) = (Vec::new(), 0);
    for name in names {
        // A damaged segment excludes no file.
        let Some(open) = segments.segment(&name) else { continue };
        let Some(groups) = matching_groups(&plan, &grams, &segments, &open) else { continue };
        if files.len() + open.segment.len() > max_files(workspace) {
            break;
        }
        files.add(&name, &open.segment, |file| excluded_files += usize::from(excluded(file, &groups).is_some()));
        matching.push(groups);
        if files.len() >= SAMPLE_FILES && !is_selective(excluded_files, files.len()) {
            return None;
        }
    }
    is_selective(excluded_files, files.len()).then_some(OpenIndex { files, matching, misses: 0, unchecked_files: 0 })
}

/// Returns the file if it need not be read, given the groups of its segment that have to be.
fn excluded(file: &IndexedFile, matching: &NumberSet) -> Option<Excluded> {
    let is_binary = match file.content {
        Content::Text(group) => (!matching.contains(usize::from(group))).then_some(false)?,
        Content::Binary => true,
        Content::Unknown => return None,
    };
    Some(Excluded { bytes: u64::from(file.bytes), is_binary })
}

/// Returns whether an index that excludes some of `files` files is of use: a look at a file takes about a fifth of the
/// time of reading it.
fn is_selective(excluded: usize, files: usize) -> bool {
    excluded * 3 > files
}

/// Returns the groups of a segment that may match a plan with these trigrams; `None` if the segment is damaged.
fn matching_groups(plan: &Plan, grams: &[u16], segments: &Segments<'_>, open: &OpenSegment) -> Option<NumberSet> {
    let mut rows = Vec::new();
    for &gram in grams {
        let block = segments.block(open, gram)?;
        rows.push((gram, open.segment.groups_with(gram, &block)?));
    }
    Some(plan.groups(open.segment.groups(), &rows))
}
