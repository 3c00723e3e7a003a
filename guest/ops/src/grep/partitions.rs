//! Parallel search of contents. A partition is a sequence of files in the order of the walk, which the coordinator
//! performs.

use std::collections::VecDeque;

use paddock_index::listings::parts;
use paddock_search::matcher::Matcher;
use paddock_types::error::Result;
use paddock_types::request;
use paddock_types::request::Request;
use paddock_types::response::Response;
use paddock_workspace::Workspace;

use crate::grep::directories::Directories;
use crate::grep::file::Files;
use crate::grep::page::{End, Within};
use crate::grep::{FileWalk, OPERATION, Search};
use crate::index::exclusions::FILES_BEFORE_INDEX;
use crate::partitions;
use crate::partitions::{PartitionMatches, PartitionResult};

/// Number of files and bytes that the coordinator searches before it requests workers: shorter searches do not pay for
/// them. The coordinator of a longer search does not open the index, which each worker opens.
const ALONE_FILES: u32 = FILES_BEFORE_INDEX;
const ALONE_BYTES: u64 = 1024 * 1024;
/// Target number of bytes of a partition, estimated from the files searched so far, and its maximum number of files.
const PARTITION_BYTES: u64 = 4 * 1024 * 1024;
const PARTITION_FILES: u64 = 256;
/// Terminator of each name and path in a partition; no file name contains it.
const NAME_END: char = '\0';

/// The instance that owns the walk and the page.
pub struct Coordinator<'w> {
    search: Search<'w>,
    /// Partitions that have not been joined, oldest first.
    out: VecDeque<Partition<'w>>,
    args: &'w request::Grep,
}

struct Partition<'w> {
    /// State of the walk before the partition.
    before: FileWalk<'w>,
    files: usize,
}

impl<'w> Coordinator<'w> {
    /// Starts the search and completes the first part of it, or all of it.
    pub fn begin(workspace: &'w Workspace<'w>, args: &'w request::Grep) -> Result<Self> {
        let mut coordinator = Self { search: Search::begin(workspace, args)?, out: VecDeque::new(), args };
        for _ in 0..ALONE_FILES {
            if coordinator.search.is_over || coordinator.search.files.bytes_read() >= ALONE_BYTES {
                break;
            }
            coordinator.search.advance(1);
        }
        if let Some(walk) = coordinator.search.walk.as_mut().filter(|_| !coordinator.search.is_over) {
            walk.walk.names_only = true;
            coordinator.search.directories = Some(directories(workspace, args)?);
        }
        Ok(coordinator)
    }

    fn partition_files(&self) -> usize {
        let page = &self.search.files.page.result;
        let bytes = page.bytes_searched + self.search.files.bytes_read();
        let files = PARTITION_BYTES.saturating_mul(page.files_searched.max(1)) / bytes.max(1);
        usize::try_from(files.clamp(1, PARTITION_FILES)).unwrap_or(1)
    }

    /// Appends the result of a partition and returns how many of its files are done; `None` if the result does not fit
    /// on the page.
    fn take(&mut self, result: PartitionResult) -> Option<usize> {
        let PartitionMatches::Grep(page) = result.matches else { return None };
        let used = usize::try_from(result.used).unwrap_or(usize::MAX);
        let fits = self.search.files.page.append(page, used);
        fits.then(|| usize::try_from(result.progress).unwrap_or(usize::MAX))
    }

    /// Searches the rest of a partition without workers: a page must end at an exact match.
    fn search_rest(&mut self, partition: Partition<'w>, finished_files: usize) {
        let mut walk = partition.before;
        walk.pass(finished_files);
        let remaining = self.search.walk.replace(walk);
        self.search.advance(partition.files - finished_files);
        if !self.search.is_over {
            self.search.walk = remaining;
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

    /// Returns the names of files, each terminated by a NUL byte. Before the names of a directory is its path below the
    /// searched directory, terminated by `/` and a NUL byte.
    fn next_partition(&mut self) -> Option<String> {
        if self.search.is_over {
            return None;
        }
        let max = self.partition_files();
        let walk = self.search.walk.as_mut()?;
        let before = walk.clone();
        let mut partition = String::new();
        let (mut files, mut last) = (0, None);
        while files < max
            && let Some(entry) = walk.next_entry()
        {
            if last != Some(entry.directory) {
                partition.extend([entry.above(), "/"]);
                partition.push(NAME_END);
                last = Some(entry.directory);
            }
            partition.push_str(entry.name);
            partition.push(NAME_END);
            files += 1;
        }
        if files == 0 {
            return None;
        }
        self.out.push_back(Partition { before, files });
        Some(partition)
    }

    fn join(&mut self, result: Option<PartitionResult>) -> bool {
        let Some(partition) = self.out.pop_front() else { return true };
        let finished_files = result.and_then(|result| self.take(result)).unwrap_or(0);
        if finished_files < partition.files {
            self.search_rest(partition, finished_files);
        }
        self.search.is_over
    }

    fn finish(mut self: Box<Self>) -> Response {
        self.search.advance(usize::MAX);
        let workspace = self.search.workspace;
        Response::Grep(crate::grep::sorted(workspace, self.args, self.search.finish()))
    }
}

/// Opens the searched directory.
fn directories<'w>(workspace: &'w Workspace<'w>, args: &request::Grep) -> Result<Directories<'w>> {
    let (resolved, dir) = workspace.directory_to_search(&args.path, OPERATION)?;
    Directories::below(workspace, &resolved, dir)
}

/// An instance that searches partitions.
pub struct Worker<'w> {
    workspace: &'w Workspace<'w>,
    files: Files<'w>,
    directories: Directories<'w>,
}

impl<'w> Worker<'w> {
    /// Prepares for partitions of the search in `args`.
    pub fn prepare(workspace: &'w Workspace<'w>, args: &'w request::Grep) -> Result<Self> {
        let mut files = Files::new(workspace, args, Matcher::new(args)?);
        files.expect_many_files();
        Ok(Self { workspace, files, directories: directories(workspace, args)? })
    }
}

impl partitions::Worker for Worker<'_> {
    fn search_partition(&mut self, partition: &str) -> PartitionResult {
        let mut files = 0;
        for name in parts(partition) {
            if let Some(directory) = name.strip_suffix('/') {
                self.directories.enter(directory);
                continue;
            }
            let before = self.files.savepoint();
            if matches!(self.directories.search(&mut self.files, name, Within::default()), End::Page(_)) {
                self.files.back_to(before);
                break;
            }
            files += 1;
            if self.files.is_clock_due() && self.workspace.out_of_time() {
                break;
            }
        }
        let (page, used) = self.files.take();
        PartitionResult { progress: files, matches: PartitionMatches::Grep(page), used: used as u64 }
    }
}
