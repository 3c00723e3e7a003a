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

/// Budget for loading segments that each file of the search adds, as a number of files of segments. To load a file of a segment
/// takes about a hundredth of the time of reading a file of 4 KB, so that a search takes at most about twice its time without
/// the index, and three times if its files are tiny.
const BUDGET_PER_FILE: usize = 128;
/// Budget of a search that is known to be long.
const LARGE_BUDGET: usize = 1 << 20;

/// The files that a search need not read.
pub struct Exclusions<'w> {
    workspace: &'w Workspace<'w>,
    args: &'w Grep,
    index: Index<'w>,
}

enum Index<'w> {
    /// The index is opened after this number of files, with this budget.
    Closed {
        files: u32,
        budget: usize,
    },
    /// There is no index, or no file can be excluded.
    Unused,
    Open(Box<OpenIndex<'w>>),
}

struct OpenIndex<'w> {
    files: IndexedFiles<'w>,
    selection: Selection<'w>,
    /// Number of files of segments that may be loaded.
    budget: usize,
    /// Number of consecutive files that are not in the index.
    misses: u32,
    /// Number of next files for which the index is not used.
    unchecked_files: u32,
}

/// The files of each loaded segment that have to be read.
struct Selection<'w> {
    segments: Segments<'w>,
    plan: Plan,
    /// The trigrams of the plan.
    grams: Vec<u16>,
    /// The groups of each segment that have to be read; `None` if it is not loaded or damaged.
    matching: Vec<Option<NumberSet>>,
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
        let budget = FILES_BEFORE_INDEX as usize * BUDGET_PER_FILE;
        let closed = Index::Closed { files: FILES_BEFORE_INDEX, budget };
        Self { workspace, args, index: if is_possible { closed } else { Index::Unused } }
    }

    /// Has the index opened at the first file, because the search is known to be long.
    pub fn expect_many_files(&mut self) {
        if let Index::Closed { files, budget } = &mut self.index {
            (*files, *budget) = (0, LARGE_BUDGET);
        }
    }

    /// Returns the file `name`, whose path in results is `path`, if it need not be read.
    pub fn find(&mut self, dir: &Dir, name: &str, path: &str) -> Option<Excluded> {
        match &mut self.index {
            Index::Unused => return None,
            Index::Open(_) => {}
            Index::Closed { files: 0, budget } => {
                let open = open(self.workspace, self.args, *budget);
                self.index = open.map_or(Index::Unused, |open| Index::Open(Box::new(open)));
            }
            Index::Closed { files, .. } => {
                *files -= 1;
                return None;
            }
        }
        let Index::Open(index) = &mut self.index else { return None };
        let excluded = index.find(path, || Some(Stamp(self.workspace.fs.stamp(dir, name)?)))?;
        // Some searches skip a file above the limit.
        (excluded.bytes <= self.workspace.policy.limits.max_file_bytes).then_some(excluded)
    }
}

impl OpenIndex<'_> {
    /// Returns the file with a path and a stamp if it need not be read. The stamp is only requested if the index has some of the
    /// last files.
    fn find(&mut self, path: &str, stamp: impl FnOnce() -> Option<Stamp>) -> Option<Excluded> {
        let Self { files, selection, budget, .. } = self;
        *budget += BUDGET_PER_FILE;
        if self.unchecked_files > 0 {
            self.unchecked_files -= 1;
            return None;
        }
        let mut on_load = |number, open: &OpenSegment| selection.add(number, open);
        let file = stamp().and_then(|stamp| files.find(path, &stamp, budget, &mut on_load));
        if file.is_none() && files.is_unloaded(path) {
            return None;
        }
        self.misses = if file.is_some() { 0 } else { self.misses + 1 };
        if self.misses == MISSES {
            // After these files, a single miss is enough for more of them.
            (self.misses, self.unchecked_files) = (MISSES - 1, UNCHECKED_FILES);
            // The files of a directory that was moved can be in segments with other paths, unless they are in a segment that is
            // not used because it excludes too few files. Smaller segments cannot have all of them.
            if !files.is_unused(path, MISSES as usize) {
                files.load(None, budget, &mut on_load);
            }
        }
        let (segment, file) = file?;
        excluded(&file, self.selection.matching.get(segment)?.as_ref()?)
    }
}

impl Selection<'_> {
    /// Adds a segment. Returns false if it is damaged, or if too few of its files can be excluded: a look at a file takes about
    /// a fifth of the time of reading it.
    fn add(&mut self, number: usize, open: &OpenSegment) -> bool {
        let (Some(groups), Some(matching)) = (self.matching_groups(open), self.matching.get_mut(number)) else {
            return false;
        };
        let excluded_files = open.segment.files().filter(|file| excluded(file, &groups).is_some()).count();
        *matching = Some(groups);
        excluded_files * 3 > open.segment.header().files()
    }

    /// Returns the groups of a segment that may match; `None` if the segment is damaged.
    fn matching_groups(&self, open: &OpenSegment) -> Option<NumberSet> {
        let mut rows = Vec::new();
        for &gram in &self.grams {
            let block = self.segments.block(open, gram)?;
            rows.push((gram, open.segment.groups_with(gram, &block)?));
        }
        Some(self.plan.groups(open.segment.header().groups(), &rows))
    }
}

/// Opens the index. Returns `None` if there is none, or if the plan excludes no file.
fn open<'w>(workspace: &Workspace<'w>, args: &Grep, budget: usize) -> Option<OpenIndex<'w>> {
    let segments = Segments::open(workspace)?;
    let plan = Plan::of(&matcher::expression(args, Groups::Dropped).ok()?);
    if plan == Plan::Any {
        return None;
    }
    let mut files = IndexedFiles::new(segments.clone());
    let mut matching = Vec::new();
    for name in segments.names(SEGMENTS) {
        let Some((_, header, _)) = segments.header(&name) else { continue };
        if files.len() + header.files() > max_files(workspace) {
            break;
        }
        files.add(&name, &header);
        matching.push(None);
    }
    let grams = plan.grams();
    let selection = Selection { segments, plan, grams, matching };
    Some(OpenIndex { files, selection, budget, misses: 0, unchecked_files: 0 })
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
