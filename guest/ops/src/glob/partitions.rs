//! Parallel search for names. A partition is a range of the walk; the worker walks it itself, and returns what it leaves of it
//! when it has visited enough entries.

use std::rc::Rc;

use paddock_index::listings::parts;
use paddock_search::page::PageBudget;
use paddock_types::error::Result;
use paddock_types::request;
use paddock_types::request::Request;
use paddock_types::response::{Response, Skipped};
use paddock_workspace::Workspace;
use paddock_workspace::walk::{Start, Walk};
use serde::{Deserialize, Serialize};

use crate::glob::{Search, SearchScope, after};
use crate::partitions;
use crate::partitions::ranges::{Joined, Range, Ranges, Rest};
use crate::partitions::{Names, PartitionMatches, PartitionResult};

/// Number of entries that the coordinator visits before it requests workers: shorter searches do not pay for them.
const ALONE_ENTRIES: u64 = 512;
/// Maximum number of entries that a worker visits in a partition, and minimum: for fewer, the hand-over takes longer than the
/// search.
const PARTITION_ENTRIES: u64 = 1_024;
const MIN_ENTRIES: u64 = 64;
/// A partition gets at most the estimated rest of the page divided by this number. Work past the end of the page is
/// wasted.
const PARTITIONS_LEFT: u64 = 8;

/// The instance that owns the page.
pub struct Coordinator<'w> {
    search: Search<'w>,
    args: &'w request::Glob,
    fingerprint: String,
    /// What follows the coordinator's own part; `None` before the first partition is requested.
    ranges: Option<Ranges>,
    /// Number of entries visited in the joined part.
    visited: u64,
    is_over: bool,
}

/// A range of the walk, and the number of entries of which a worker leaves the rest.
#[derive(Serialize, Deserialize)]
struct Partition {
    range: Range,
    entries: u64,
}

impl<'w> Coordinator<'w> {
    /// Starts the search and completes the first part of it, or all of it.
    pub fn begin(workspace: &'w Workspace<'w>, args: &'w request::Glob) -> Result<Self> {
        let (scope, fingerprint, position) = crate::glob::begin(workspace, args)?;
        let mut search =
            Search::new(&scope, scope.walk(position.map(crate::glob::start))?, crate::glob::budget(workspace, args));
        let is_over = !search.advance(ALONE_ENTRIES);
        Ok(Self { search, args, fingerprint, ranges: None, visited: 0, is_over })
    }

    /// Returns the ranges of the walk that the coordinator has not searched.
    fn rest(&mut self) -> Ranges {
        self.visited = self.search.walk.looked_at();
        self.search.reached = self.search.reached().to_owned();
        let start = Start { path: self.search.reached.clone(), inclusive: false };
        Ranges::new(start, self.search.walk.cuts(PARTITION_ENTRIES))
    }

    /// Returns the estimated number of entries to visit until the page is full.
    fn left(&self) -> u64 {
        let count = self.search.paths.count;
        let remaining = (self.search.budget.entries - count) as u64;
        (remaining * self.visited).checked_div(count as u64).unwrap_or(u64::MAX)
    }

    /// Appends the results of the ranges that follow the page, as long as `next` returns one.
    fn settle(&mut self, next: impl Fn(&mut Ranges) -> Option<Joined>) {
        while !self.is_over
            && let Some((range, result)) = self.ranges.as_mut().and_then(&next)
        {
            if !result.is_some_and(|result| self.append(result)) {
                self.search_alone(range);
            }
            self.is_over = self.search.end.is_some();
        }
    }

    /// Appends the result of a range. Returns false if it cannot be used.
    fn append(&mut self, result: PartitionResult) -> bool {
        let PartitionMatches::Glob(names) = result.matches else { return false };
        let visited = self.visited.saturating_add(result.examined);
        let is_within = visited <= self.search.scope.workspace.policy.limits.max_entries;
        let is_appended = is_within && self.search.take(&names, result.reached);
        if is_appended {
            self.visited = visited;
        }
        is_appended
    }

    /// Searches a range without workers.
    fn search_alone(&mut self, range: Range) {
        self.search.skipped = self.search.left_out();
        self.search.walk.seek(range.start, range.until);
        self.search.walk.add_looked_at(self.visited);
        self.search.advance(u64::MAX);
        self.search.reached = self.search.reached().to_owned();
        self.visited = self.search.walk.looked_at();
    }
}

impl Search<'_> {
    /// Appends the paths that a worker found in a range, up to the end of the page. Returns false if the result is too
    /// imprecise: a page reports the entries skipped up to its last path, a worker reports only their total.
    fn take(&mut self, names: &Names, reached: Option<String>) -> bool {
        // Only a search entry by entry can end at the limit of bytes.
        if self.budget.used + names.paths.len() >= self.budget.bytes {
            return false;
        }
        let remaining = self.budget.entries - self.paths.count;
        let count = memchr::memchr_iter(0, names.paths.as_bytes()).count();
        let (is_over, is_full) = (count > remaining, remaining > 0 && count >= remaining);
        if is_full && names.skipped != Skipped::default() {
            return false;
        }
        if !is_over {
            self.skipped.add(&names.skipped);
            if let Some(reached) = reached {
                self.reached = reached;
            }
        }
        for path in parts(&names.paths).take(remaining) {
            self.budget.take(path);
            self.paths.push(path);
        }
        if let Some(path) = self.paths.last().filter(|_| remaining > 0 && count > 0) {
            self.last = (self.scope.below(path).to_owned(), self.left_out());
        }
        self.end = is_over.then(|| after(&self.last.0));
        true
    }
}

impl partitions::Coordinator for Coordinator<'_> {
    fn is_over(&self) -> bool {
        self.is_over
    }

    fn job(&self) -> (Request, u64) {
        (Request::Glob(self.args.clone()), self.search.scope.workspace.time_left_ms())
    }

    fn next_partition(&mut self) -> Option<String> {
        if self.is_over {
            return None;
        }
        if self.ranges.is_none() {
            self.ranges = Some(self.rest());
        }
        let entries = (self.left() / PARTITIONS_LEFT).clamp(MIN_ENTRIES, PARTITION_ENTRIES);
        let range = self.ranges.as_mut()?.hand_out(entries)?;
        serde_json::to_string(&Partition { range, entries }).ok()
    }

    fn join(&mut self, result: Option<PartitionResult>) -> bool {
        if let Some(ranges) = &mut self.ranges {
            ranges.take(result);
        }
        self.settle(Ranges::next_done);
        self.is_over
    }

    fn finish(mut self: Box<Self>) -> Response {
        match self.ranges.is_some() {
            false => drop(self.search.advance(u64::MAX)),
            true => self.settle(Ranges::next_of_all),
        }
        let workspace = self.search.scope.workspace;
        Response::Glob(crate::glob::described(workspace, self.args, self.search.finish(&self.fingerprint)))
    }
}

/// An instance that searches partitions.
pub struct Worker<'w> {
    scope: Rc<SearchScope<'w>>,
    budget: PageBudget,
    /// Walk of the last partition, with the listings needed to continue from there.
    walk: Option<Walk<'w>>,
}

impl<'w> Worker<'w> {
    /// Prepares for partitions of the search in `args`.
    pub fn prepare(workspace: &'w Workspace<'w>, args: &request::Glob) -> Result<Self> {
        // The coordinator takes no result that exceeds the limit of bytes.
        let budget = PageBudget::new(args.limit, usize::MAX, 1);
        let scope = Rc::new(SearchScope::new(workspace, args)?);
        let walk = Some(scope.walk(None)?);
        Ok(Self { scope, budget, walk })
    }

    /// Searches a partition. Returns `None` if the page or the time ends.
    fn search(&mut self, partition: &str) -> Option<PartitionResult> {
        let Partition { range, entries } = serde_json::from_str(partition).ok()?;
        let mut walk = self.walk.take()?;
        walk.seek(range.start, range.until);
        let mut search = Search::new(&self.scope, walk, self.budget.clone());
        let is_left = search.advance(entries);
        let walk = self.walk.insert(search.walk);
        let text_bytes = search.paths.text.len() as u64;
        search.end.is_none().then(|| PartitionResult {
            matches: PartitionMatches::Glob(Names { paths: search.paths.text, skipped: walk.skipped }),
            reached: walk.has_begun().then(|| walk.reached().to_owned()),
            examined: walk.looked_at(),
            text_bytes,
            rest: is_left.then(|| Rest::Divided(walk.cuts(PARTITION_ENTRIES)).text()),
        })
    }
}

impl partitions::Worker for Worker<'_> {
    fn search_partition(&mut self, partition: &str) -> PartitionResult {
        self.search(partition).unwrap_or_else(|| PartitionResult {
            matches: PartitionMatches::Glob(Names::default()),
            reached: None,
            examined: 0,
            text_bytes: 0,
            rest: Some(Rest::Refused.text()),
        })
    }
}
