//! Files that a search need not read, because they cannot match according to the index.

use paddock_index::path_range::PathStart;
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

/// Number of files after which the index is not used further if it is of no use for the search.
const SAMPLE_FILES: usize = 1_000;
/// Number of files of segments without the requested paths that are loaded for each file that was requested. To load one takes
/// about a hundredth of the time of reading it.
const LOADED_PER_REQUEST: usize = 64;

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

/// The index. A segment is loaded when a path in its range is requested, so that a search of few files does not take the time
/// for all files of the index.
struct OpenIndex<'w> {
    segments: Segments<'w>,
    plan: Plan,
    /// The trigrams of the plan.
    grams: Vec<u16>,
    files: IndexedFiles<'w>,
    /// The groups of each segment that have to be read; `None` if it is not loaded or damaged.
    matching: Vec<Option<NumberSet>>,
    /// Number of files of the loaded segments, and of those that need not be read.
    loaded_files: usize,
    excluded_files: usize,
    /// Number of files of other segments that may be loaded.
    loadable_files: usize,
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

    /// Returns the file `name`, whose path in results is `path`, if it need not be read.
    pub fn find(&mut self, dir: &Dir, name: &str, path: &str) -> Option<Excluded> {
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
        let excluded = index.find(path, || Some(Stamp(self.workspace.fs.stamp(dir, name)?)));
        if !index.is_of_use() {
            self.index = Index::Unused;
        }
        let excluded = excluded?;
        // Some searches skip a file above the limit.
        (excluded.bytes <= self.workspace.policy.limits.max_file_bytes).then_some(excluded)
    }
}

impl OpenIndex<'_> {
    /// Returns the file with a path and a stamp if it need not be read. The stamp is only requested if the index has some of the
    /// last files.
    fn find(&mut self, path: &str, stamp: impl FnOnce() -> Option<Stamp>) -> Option<Excluded> {
        if self.unchecked_files > 0 {
            self.unchecked_files -= 1;
            return None;
        }
        self.loadable_files += LOADED_PER_REQUEST;
        let file = stamp().and_then(|stamp| self.find_file(path, &stamp));
        self.misses = if file.is_some() { 0 } else { self.misses + 1 };
        if self.misses == MISSES {
            // After these files, a single miss is enough for more of them.
            (self.misses, self.unchecked_files) = (MISSES - 1, UNCHECKED_FILES);
            self.load_others();
        }
        let (segment, file) = file?;
        excluded(&file, self.matching.get(segment)?.as_ref()?)
    }

    fn find_file(&mut self, path: &str, stamp: &Stamp) -> Option<(usize, IndexedFile)> {
        if let Some(continued) = self.files.find_continued(stamp) {
            return Some(continued);
        }
        let path = PathStart::of(path);
        while let Some((number, name, _)) = self.files.unloaded(Some(&path)) {
            let name = name.to_owned();
            self.load(number, &name);
        }
        self.files.find(stamp)
    }

    /// Loads segments that have no file with a requested path: the files of a directory that was moved are in these.
    fn load_others(&mut self) {
        while let Some((number, name, files)) = self.files.unloaded(None)
            && files <= self.loadable_files
        {
            let name = name.to_owned();
            self.loadable_files -= files;
            self.load(number, &name);
        }
    }

    /// Loads a segment. A damaged one excludes no file.
    fn load(&mut self, number: usize, name: &str) {
        let open = self.segments.segment(name);
        let groups = open.as_ref().and_then(|open| self.matching_groups(open));
        let segment = open.as_ref().filter(|_| groups.is_some()).map(|open| &open.segment);
        let (loaded, excluded_files) = (&mut self.loaded_files, &mut self.excluded_files);
        self.files.load(number, segment, |file| {
            *loaded += 1;
            *excluded_files += usize::from(groups.as_ref().is_some_and(|groups| excluded(file, groups).is_some()));
        });
        if let Some(matching) = self.matching.get_mut(number) {
            *matching = groups;
        }
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

    /// Returns whether the index excludes enough of the files that are loaded: a look at a file takes about a fifth of the time
    /// of reading it.
    fn is_of_use(&self) -> bool {
        self.loaded_files < SAMPLE_FILES.min(self.files.len()) || self.excluded_files * 3 > self.loaded_files
    }
}

/// Opens the index. Returns `None` if there is none, or if no file can be excluded.
fn open<'w>(workspace: &Workspace<'w>, args: &Grep) -> Option<OpenIndex<'w>> {
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
    (!files.is_empty()).then_some(OpenIndex {
        segments,
        plan,
        grams,
        files,
        matching,
        loaded_files: 0,
        excluded_files: 0,
        loadable_files: 0,
        misses: 0,
        unchecked_files: 0,
    })
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
