//! Parallel search. A coordinator divides the search into partitions, workers search them, and the coordinator joins
//! their results in the order of the walk. The answer equals that of a search by the coordinator alone.

use paddock_types::error::{Error, Result};
use paddock_types::request::{PathSort, Request};
use paddock_types::response::{Grep, Response, Skipped};
use paddock_workspace::Workspace;

use crate::{glob, grep};

/// The instance that owns the walk and the page.
pub trait Coordinator {
    /// Returns whether the search is over.
    fn is_over(&self) -> bool;

    /// Returns the request that workers execute, and their time in milliseconds.
    fn job(&self) -> (Request, u64);

    /// Returns the next partition, in a format that only workers read; `None` if there are no more.
    fn next_partition(&mut self) -> Option<String>;

    /// Joins the result of the oldest open partition; `None` if no worker searched it. Returns true if the search is
    /// over.
    fn join(&mut self, result: Option<PartitionResult>) -> bool;

    /// Returns the answer once every partition is joined or the search is over. The coordinator searches the unclaimed
    /// part itself.
    fn finish(self: Box<Self>) -> Response;
}

/// An instance that searches partitions.
pub trait Worker {
    /// Searches a partition.
    fn search_partition(&mut self, partition: &str) -> PartitionResult;
}

/// Result of one partition.
pub struct PartitionResult {
    /// Amount that was searched completely: for `grep` the number of leading files, for `glob` 1 for the whole
    /// partition and 0 for as much as fills a page.
    pub done: u64,
    /// Matches in the partition. Skipped entries are counted only if no other instance sees them.
    pub found: Found,
    /// Amount that counts toward a limit: for `grep` bytes of text, for `glob` entries visited.
    pub used: u64,
}

/// Matches in the form of a page.
pub enum Found {
    /// By `grep`.
    Grep(Grep),
    /// By `glob`.
    Glob(Names),
}

/// Matches of a `glob`.
#[derive(Default)]
pub struct Names {
    /// Paths, each followed by a NUL byte: passing thousands of strings between instances would be slow.
    pub paths: String,
    /// Last entry visited, relative to the searched directory.
    pub reached: Option<String>,
    /// Numbers of skipped entries.
    pub skipped: Skipped,
}

/// Returns whether the request can be searched in parallel.
pub fn can_be_parallel(request: &Request) -> bool {
    matches!(request, Request::Grep(_)) || matches!(request, Request::Glob(args) if args.sort == PathSort::Path)
}

/// Starts a search and completes the first part of it, or all of it.
///
/// # Errors
///
/// `Code::InvalidArgument` if the request is not a search, and the errors of the search itself.
pub fn coordinate<'w>(workspace: &'w Workspace<'w>, request: &'w Request) -> Result<Box<dyn Coordinator + 'w>> {
    Ok(match request {
        Request::Grep(args) => Box::new(grep::partitions::Coordinator::begin(workspace, args)?),
        Request::Glob(args) => Box::new(glob::partitions::Coordinator::begin(workspace, args)?),
        _ => return Err(no_search()),
    })
}

/// Prepares for partitions of a search.
///
/// # Errors
///
/// `Code::InvalidArgument` if the request is not a search, and the errors of the search itself.
pub fn prepare_worker<'w>(workspace: &'w Workspace<'w>, request: &'w Request) -> Result<Box<dyn Worker + 'w>> {
    Ok(match request {
        Request::Grep(args) => Box::new(grep::partitions::Worker::prepare(workspace, args)?),
        Request::Glob(args) => Box::new(glob::partitions::Worker::prepare(workspace, args)?),
        _ => return Err(no_search()),
    })
}

fn no_search() -> Error {
    Error::argument("search", "instances do not share this kind of search")
}
