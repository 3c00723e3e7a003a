//! The parts of a parallel search. A coordinator divides the search into partitions, workers search them, and the coordinator joins
//! their results in the order of the walk. The answer equals that of a search by the coordinator alone.

use paddock_types::request::Request;
use paddock_types::response::{Grep, Response, Skipped};

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
    pub progress: u64,
    /// Matches in the partition. Skipped entries are counted only if no other instance sees them.
    pub matches: PartitionMatches,
    /// Amount that counts toward a limit: for `grep` bytes of text, for `glob` entries visited.
    pub used: u64,
}

/// Matches in the form of a page.
pub enum PartitionMatches {
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
