//! The parts of a parallel search. A coordinator divides the search into partitions, workers search them, and the coordinator joins
//! their results in the order of the walk. The answer equals that of a search by the coordinator alone.

use paddock_types::request::Request;
use paddock_types::response::{Grep, Response, Skipped};

pub mod coordinator;
pub mod ranges;

/// The instance that owns the walk and the page.
pub trait Coordinator {
    /// Returns whether the search is over.
    fn is_over(&self) -> bool;

    /// Returns the request that workers execute, and their time in milliseconds.
    fn job(&self) -> (Request, u64);

    /// Returns the next partition, in a format that only workers read; `None` if there is none before the next
    /// [`Self::join`].
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
    /// Matches in the searched part, which begins where the partition does.
    pub matches: PartitionMatches,
    /// Last entry visited, relative to the searched directory.
    pub reached: Option<String>,
    /// Number of entries visited.
    pub examined: u64,
    /// Bytes of text in the matches, as a page counts them.
    pub text_bytes: u64,
    /// The paths at which the rest can be divided, in a format that only the coordinator reads; `None` if nothing is left.
    pub rest: Option<String>,
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
    /// Numbers of skipped entries.
    pub skipped: Skipped,
}
