//! The coordinator of a search that is divided into ranges of a walk.

use paddock_types::request::Request;
use paddock_types::response::Response;
use paddock_workspace::Workspace;
use paddock_workspace::walk::{Start, Walk};
use serde::{Deserialize, Serialize};

use crate::partitions;
use crate::partitions::ranges::{Joined, Range, Ranges};
use crate::partitions::{PartitionMatches, PartitionResult};

/// A search by one instance, which can also search single ranges of its walk.
pub trait RangeSearch {
    /// Maximum number of entries in a partition.
    const PARTITION_ENTRIES: u64;

    /// Returns the request that workers execute.
    fn request(&self) -> Request;

    /// Returns the searched workspace.
    fn workspace(&self) -> &Workspace<'_>;

    /// Returns the walk over the searched directory; `None` if the search needs no walk.
    fn walk(&self) -> Option<&Walk<'_>>;

    /// Returns whether the page is complete.
    fn is_over(&self) -> bool;

    /// Returns the number of entries after which a worker returns the rest of the next partition. `visited` is the number of
    /// entries before it.
    fn partition_entries(&self, visited: u64) -> u64;

    /// Appends matches that follow those of the page. Returns false if the page may end in them.
    fn append(&mut self, matches: PartitionMatches, text_bytes: u64) -> bool;

    /// Searches a range that follows what has been searched.
    fn search_range(&mut self, range: Range, before: &Progress);

    /// Ends the page after the path `reached`, because the time is up.
    fn stop(&mut self, reached: &str);

    /// Searches everything that its walk has not visited.
    fn search_rest(&mut self);

    /// Returns the answer.
    fn finish(self) -> Response;
}

/// How far the joined part of a search extends.
#[derive(Default)]
pub struct Progress {
    /// Path of the last visited entry, relative to the searched directory.
    pub reached: String,
    /// Number of visited entries.
    pub visited: u64,
}

/// A range of the walk for a worker.
#[derive(Serialize, Deserialize)]
pub struct Partition {
    /// The range.
    pub range: Range,
    /// Number of entries after which the worker returns the rest.
    pub entries: u64,
}

/// The instance that owns the page.
pub struct Coordinator<S> {
    search: S,
    /// The ranges after the coordinator's own part; `None` before the first partition is requested.
    ranges: Option<Ranges>,
    progress: Progress,
}

impl<S: RangeSearch> Coordinator<S> {
    /// Coordinates a search whose first part is complete.
    pub fn new(search: S) -> Self {
        Self { search, ranges: None, progress: Progress::default() }
    }

    /// Divides the walk that the coordinator has not searched.
    fn divide(&mut self) {
        let Some(walk) = self.search.walk().filter(|_| self.ranges.is_none()) else { return };
        self.progress = Progress { reached: walk.reached().to_owned(), visited: walk.looked_at() };
        let start = Start { path: walk.reached().to_owned(), inclusive: false };
        self.ranges = Some(Ranges::new(start, walk.cuts(S::PARTITION_ENTRIES)));
    }

    /// Appends the results of the ranges that follow the page, while `next` returns a range.
    fn settle(&mut self, next: impl Fn(&mut Ranges) -> Option<Joined>) {
        while !self.search.is_over()
            && let Some((range, result)) = self.ranges.as_mut().and_then(&next)
        {
            // A page must end at an exact match, which a worker does not know.
            if !result.is_some_and(|result| self.append(result)) {
                self.search_range(range);
            }
        }
    }

    /// Appends the result of a range. Returns false if the page or the limit of entries may end in the range.
    fn append(&mut self, result: PartitionResult) -> bool {
        let visited = self.progress.visited.saturating_add(result.examined);
        let is_within = visited <= self.search.workspace().policy.limits.max_entries;
        let is_appended = is_within && self.search.append(result.matches, result.text_bytes);
        if is_appended {
            self.progress.visited = visited;
            self.progress.reached = result.reached.unwrap_or_else(|| std::mem::take(&mut self.progress.reached));
        }
        is_appended
    }

    fn search_range(&mut self, range: Range) {
        // A directory that leads to the range can take longer to list than the time that is reserved for the answer.
        if self.search.workspace().out_of_time() {
            return self.search.stop(&self.progress.reached);
        }
        self.search.search_range(range, &self.progress);
        let Some(walk) = self.search.walk() else { return };
        self.progress.visited = walk.looked_at();
        if walk.has_begun() {
            walk.reached().clone_into(&mut self.progress.reached);
        }
    }
}

impl<S: RangeSearch> partitions::Coordinator for Coordinator<S> {
    fn is_over(&self) -> bool {
        self.search.is_over()
    }

    fn job(&self) -> (Request, u64) {
        (self.search.request(), self.search.workspace().time_left_ms())
    }

    fn next_partition(&mut self) -> Option<String> {
        if self.search.is_over() || self.search.workspace().out_of_time() {
            return None;
        }
        self.divide();
        let entries = self.search.partition_entries(self.progress.visited);
        let range = self.ranges.as_mut()?.hand_out(entries)?;
        serde_json::to_string(&Partition { range, entries }).ok()
    }

    fn join(&mut self, result: Option<PartitionResult>) -> bool {
        if let Some(ranges) = &mut self.ranges {
            ranges.take(result);
        }
        self.settle(Ranges::next_done);
        self.search.is_over()
    }

    fn finish(mut self: Box<Self>) -> Response {
        if self.ranges.is_some() {
            self.settle(Ranges::next_of_all);
        } else {
            self.search.search_rest();
        }
        self.search.finish()
    }
}
