//! Parallel search of contents. A partition is a range of the walk; the worker walks it itself, and returns what it leaves of
//! it when it has searched enough.

use paddock_search::cursor::Position;
use paddock_search::matcher::Matcher;
use paddock_types::error::Result;
use paddock_types::request;
use paddock_types::request::Request;
use paddock_types::response::{Response, Skipped};
use paddock_workspace::Workspace;
use paddock_workspace::walk::Walk;

use crate::grep::file::Files;
use crate::grep::page::{End, Within};
use crate::grep::{FileWalk, OPERATION, Search, Step};
use crate::index::exclusions::FILES_BEFORE_INDEX;
use crate::partitions;
use crate::partitions::coordinator::{Coordinator, Partition, Progress, RangeSearch};
use crate::partitions::ranges::{Range, Rest};
use crate::partitions::{PartitionMatches, PartitionResult};

/// Number of files and bytes that the coordinator searches before it requests workers: shorter searches do not pay for
/// them. The coordinator of a longer search does not open the index, which each worker opens.
const ALONE_FILES: u64 = FILES_BEFORE_INDEX as u64;
const ALONE_BYTES: u64 = 1024 * 1024;
/// Number of entries that a worker lists, to get to its range, for each file that an instance searches before it: the search
/// of a file takes some 20 times as long as the listing of an entry.
const ENTRIES_PER_FILE: u64 = 16;
/// Number of files, entries and bytes after which a worker returns the rest of a partition.
const PARTITION_FILES: u64 = 256;
const PARTITION_ENTRIES: u64 = 4_096;
const PARTITION_BYTES: u64 = 4 * 1024 * 1024;

/// Starts the search and completes the first part of it, or all of it.
pub fn coordinate<'w>(workspace: &'w Workspace<'w>, args: &'w request::Grep) -> Result<Coordinator<TextSearch<'w>>> {
    let mut search = Search::begin(workspace, args)?;
    let mut files = 0;
    while !search.is_over
        && search.files.bytes_read() < ALONE_BYTES
        && search.walk.as_ref().is_some_and(|walk| files < files_that_pay(walk, ALONE_FILES))
    {
        search.advance(1);
        files += 1;
    }
    Ok(Coordinator::new(TextSearch { search, args }))
}

/// Returns the number of files, at least `files`, after which another instance may continue. It lists the directories that
/// lead there again, which would otherwise take longer than it saves.
fn files_that_pay(walk: &FileWalk<'_>, files: u64) -> u64 {
    files.max(walk.walk.listed() / ENTRIES_PER_FILE)
}

/// The search of the coordinator.
pub struct TextSearch<'w> {
    search: Search<'w>,
    args: &'w request::Grep,
}

impl RangeSearch for TextSearch<'_> {
    const PARTITION_ENTRIES: u64 = PARTITION_FILES;

    fn request(&self) -> Request {
        Request::Grep(self.args.clone())
    }

    fn workspace(&self) -> &Workspace<'_> {
        self.search.workspace
    }

    fn walk(&self) -> Option<&Walk<'_>> {
        self.search.walk.as_ref().map(|walk| &walk.walk)
    }

    fn is_over(&self) -> bool {
        self.search.is_over
    }

    fn partition_entries(&self, _visited: u64) -> u64 {
        PARTITION_FILES
    }

    fn append(&mut self, matches: PartitionMatches, text_bytes: u64) -> bool {
        let PartitionMatches::Grep(page) = matches else { return false };
        self.search.files.page.append(page, usize::try_from(text_bytes).unwrap_or(usize::MAX))
    }

    fn search_range(&mut self, range: Range, before: &Progress) {
        let Some(FileWalk { walk, .. }) = &mut self.search.walk else { return };
        self.search.files.page.result.skipped.add(&walk.skipped);
        walk.seek(range.start, range.until);
        walk.add_looked_at(before.visited);
        self.search.advance(usize::MAX);
        self.search.is_over = self.search.end.is_some();
        if let (Some(FileWalk { walk, .. }), Some(end)) = (&self.search.walk, &mut self.search.end)
            && walk.stopped
            && !walk.has_begun()
        {
            end.path.clone_from(&before.reached);
        }
    }

    fn stop(&mut self, reached: &str) {
        self.search.is_over = true;
        self.search.end = Some(Position { numbers: Vec::new(), path: reached.to_owned() });
    }

    fn search_rest(&mut self) {
        self.search.advance(usize::MAX);
    }

    fn finish(self) -> Response {
        let workspace = self.search.workspace;
        Response::Grep(crate::grep::sorted(workspace, self.args, self.search.finish()))
    }
}

/// An instance that searches partitions.
pub struct Worker<'w> {
    workspace: &'w Workspace<'w>,
    files: Files<'w>,
    walk: FileWalk<'w>,
    searched: Searched,
}

/// The part of a partition that was searched.
#[derive(Default)]
struct Searched {
    /// The last entry.
    reached: Option<String>,
    entries: u64,
    skipped: Skipped,
}

impl<'w> Worker<'w> {
    /// Prepares for partitions of the search in `args`.
    pub fn prepare(workspace: &'w Workspace<'w>, args: &'w request::Grep) -> Result<Self> {
        let mut files = Files::new(workspace, args, Matcher::new(args)?);
        files.expect_many_files();
        let (resolved, dir) = workspace.directory_to_search(&args.path, OPERATION)?;
        let walk = FileWalk::new(workspace, args, &resolved, &dir, None)?;
        Ok(Self { workspace, files, walk, searched: Searched::default() })
    }

    /// Searches a range, and returns its rest if something is left.
    fn search(&mut self, Partition { range, entries: wanted_files }: Partition) -> Option<Rest> {
        self.walk.walk.seek(range.start, range.until);
        let mut files = 0;
        loop {
            match self.walk.step() {
                Step::File if !self.search_file() => return Some(Rest::Refused),
                Step::File => files += 1,
                Step::Other => self.record(),
                // The coordinator reports a limit at the exact entry.
                Step::End if self.walk.walk.stopped => return Some(Rest::Refused),
                Step::End => {
                    self.record();
                    return None;
                }
            }
            if self.is_enough(files, wanted_files) {
                return Some(Rest::Divided(self.walk.walk.cuts(PARTITION_FILES)));
            }
        }
    }

    /// Returns whether this instance has searched enough of its partition after a number of files, of which it searches at least
    /// `wanted`, so that another one may continue.
    fn is_enough(&self, files: u64, wanted: u64) -> bool {
        let (walk, bytes) = (&self.walk.walk, self.files.bytes_read());
        (files >= wanted && files >= files_that_pay(&self.walk, wanted))
            || bytes >= PARTITION_BYTES
            || (walk.looked_at() >= PARTITION_ENTRIES && walk.looked_at() >= walk.listed())
    }

    /// Searches the current file. Returns false if the page or the time ends.
    fn search_file(&mut self) -> bool {
        let before = self.files.savepoint();
        let Some(entry) = self.walk.walk.entry() else { return false };
        let end = self.files.one_of_many(entry.dir, entry.name, entry.path, Within::default());
        if matches!(end, End::Page(_)) {
            self.files.back_to(before);
            return false;
        }
        self.record();
        !(self.files.is_clock_due() && self.workspace.out_of_time())
    }

    /// Records that everything up to the current entry was searched.
    fn record(&mut self) {
        let (walk, searched) = (&self.walk.walk, &mut self.searched);
        if walk.has_begun() {
            walk.reached().clone_into(searched.reached.get_or_insert_default());
        }
        (searched.entries, searched.skipped) = (walk.looked_at(), walk.skipped);
    }
}

impl partitions::Worker for Worker<'_> {
    fn search_partition(&mut self, partition: &str) -> PartitionResult {
        let rest = match serde_json::from_str(partition) {
            Ok(partition) => self.search(partition),
            Err(_) => Some(Rest::Refused),
        };
        let Searched { reached, entries, skipped } = std::mem::take(&mut self.searched);
        let (mut page, text_bytes) = self.files.take();
        page.skipped.add(&skipped);
        PartitionResult {
            matches: PartitionMatches::Grep(page),
            reached,
            examined: entries,
            text_bytes: text_bytes as u64,
            rest: rest.map(Rest::text),
        }
    }
}
