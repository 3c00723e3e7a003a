//! Parallel search of contents. A partition is a range of the walk; the worker walks it itself, and returns what it leaves of
//! it when it has searched enough.

use paddock_search::matcher::Matcher;
use paddock_types::error::Result;
use paddock_types::request;
use paddock_types::request::Request;
use paddock_types::response::{Response, Skipped};
use paddock_workspace::Workspace;
use paddock_workspace::walk::Start;

use crate::grep::file::Files;
use crate::grep::page::{End, Within};
use crate::grep::{FileWalk, OPERATION, Search, Step};
use crate::index::exclusions::FILES_BEFORE_INDEX;
use crate::partitions;
use crate::partitions::ranges::{Joined, Range, Ranges, Rest};
use crate::partitions::{PartitionMatches, PartitionResult};

/// Number of files and bytes that the coordinator searches before it requests workers: shorter searches do not pay for
/// them. The coordinator of a longer search does not open the index, which each worker opens.
const ALONE_FILES: u32 = FILES_BEFORE_INDEX;
const ALONE_BYTES: u64 = 1024 * 1024;
/// Number of files, entries and bytes after which a worker returns the rest of a partition.
const PARTITION_FILES: u64 = 256;
const PARTITION_ENTRIES: u64 = 4_096;
const PARTITION_BYTES: u64 = 4 * 1024 * 1024;

/// The instance that owns the page.
pub struct Coordinator<'w> {
    search: Search<'w>,
    args: &'w request::Grep,
    /// What follows the coordinator's own part; `None` before the first partition is requested.
    ranges: Option<Ranges>,
    /// Last entry and number of entries of the joined part.
    reached: String,
    visited: u64,
}

impl<'w> Coordinator<'w> {
    /// Starts the search and completes the first part of it, or all of it.
    pub fn begin(workspace: &'w Workspace<'w>, args: &'w request::Grep) -> Result<Self> {
        let mut search = Search::begin(workspace, args)?;
        for _ in 0..ALONE_FILES {
            if search.is_over || search.files.bytes_read() >= ALONE_BYTES {
                break;
            }
            search.advance(1);
        }
        Ok(Self { search, args, ranges: None, reached: String::new(), visited: 0 })
    }

    /// Returns the ranges of the walk that the coordinator has not searched.
    fn rest(&mut self) -> Option<Ranges> {
        let walk = &self.search.walk.as_ref()?.walk;
        (self.reached, self.visited) = (walk.reached().to_owned(), walk.looked_at());
        let start = Start { path: self.reached.clone(), inclusive: false };
        Some(Ranges::new(start, walk.cuts(PARTITION_FILES)))
    }

    /// Appends the results of the ranges that follow the page, as long as `next` returns one.
    fn settle(&mut self, next: impl Fn(&mut Ranges) -> Option<Joined>) {
        while !self.search.is_over
            && let Some((range, result)) = self.ranges.as_mut().and_then(&next)
        {
            if !result.is_some_and(|result| self.append(result)) {
                self.search_alone(range);
            }
        }
    }

    /// Appends the result of a range. Returns false if it does not certainly fit.
    fn append(&mut self, result: PartitionResult) -> bool {
        let PartitionMatches::Grep(page) = result.matches else { return false };
        let visited = self.visited.saturating_add(result.examined);
        let text_bytes = usize::try_from(result.text_bytes).unwrap_or(usize::MAX);
        let is_within = visited <= self.search.workspace.policy.limits.max_entries;
        let is_appended = is_within && self.search.files.page.append(page, text_bytes);
        if is_appended {
            self.visited = visited;
            result.reached.into_iter().for_each(|reached| self.reached = reached);
        }
        is_appended
    }

    /// Searches a range without workers: a page must end at an exact match.
    fn search_alone(&mut self, range: Range) {
        let Some(FileWalk { walk, .. }) = &mut self.search.walk else { return };
        self.search.files.page.result.skipped.add(&walk.skipped);
        walk.seek(range.start, range.until);
        walk.add_looked_at(self.visited);
        self.search.advance(usize::MAX);
        let Some(FileWalk { walk, .. }) = &self.search.walk else { return };
        self.visited = walk.looked_at();
        match &mut self.search.end {
            Some(end) if walk.stopped && !walk.has_begun() => end.path.clone_from(&self.reached),
            Some(_) => {}
            None => self.search.is_over = false,
        }
        if walk.has_begun() {
            self.reached = walk.reached().to_owned();
        }
    }
}

impl partitions::Coordinator for Coordinator<'_> {
    fn is_over(&self) -> bool {
        self.search.is_over
    }

    fn job(&self) -> (Request, u64) {
        (Request::Grep(self.args.clone()), self.search.workspace.time_left_ms())
    }

    fn next_partition(&mut self) -> Option<String> {
        if self.search.is_over {
            return None;
        }
        if self.ranges.is_none() {
            self.ranges = self.rest();
        }
        serde_json::to_string(&self.ranges.as_mut()?.hand_out(PARTITION_FILES)?).ok()
    }

    fn join(&mut self, result: Option<PartitionResult>) -> bool {
        if let Some(ranges) = &mut self.ranges {
            ranges.take(result);
        }
        self.settle(Ranges::next_done);
        self.search.is_over
    }

    fn finish(mut self: Box<Self>) -> Response {
        match self.ranges.is_some() {
            false => self.search.advance(usize::MAX),
            true => self.settle(Ranges::next_of_all),
        }
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

    /// Searches a range, and returns what is left of it.
    fn search(&mut self, range: Range) -> Option<Rest> {
        self.walk.walk.seek(range.start, range.until);
        let mut files = 0;
        loop {
            match self.walk.step() {
                Step::File if !self.search_file() => return Some(Rest::Refused),
                Step::File => files += 1,
                Step::Other => {}
                // The coordinator reports a limit at the exact entry.
                Step::End if self.walk.walk.stopped => return Some(Rest::Refused),
                Step::End => {
                    self.keep_up();
                    return None;
                }
            }
            let is_enough = files >= PARTITION_FILES || self.files.bytes_read() >= PARTITION_BYTES;
            if is_enough || self.walk.walk.looked_at() >= PARTITION_ENTRIES {
                self.keep_up();
                return Some(Rest::Divided(self.walk.walk.cuts(PARTITION_FILES)));
            }
        }
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
        self.keep_up();
        !(self.files.is_clock_due() && self.workspace.out_of_time())
    }

    /// Records that everything up to the current entry was searched.
    fn keep_up(&mut self) {
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
            Ok(range) => self.search(range),
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
