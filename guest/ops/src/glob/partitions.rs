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
use paddock_workspace::walk::Walk;

use crate::glob::{Search, SearchScope, after};
use crate::partitions;
use crate::partitions::coordinator::{Coordinator, Partition, Progress, RangeSearch};
use crate::partitions::ranges::{Range, Rest};
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

/// Starts the search and completes the first part of it, or all of it.
pub fn coordinate<'w>(workspace: &'w Workspace<'w>, args: &'w request::Glob) -> Result<Coordinator<NameSearch<'w>>> {
    let (scope, fingerprint, position) = crate::glob::begin(workspace, args)?;
    let walk = scope.walk(position.map(crate::glob::start))?;
    let mut search = Search::new(&scope, walk, crate::glob::budget(workspace, args));
    let is_over = !search.advance_until_it_pays(ALONE_ENTRIES);
    Ok(Coordinator::new(NameSearch { search, args, fingerprint, is_over }))
}

/// The search of the coordinator.
pub struct NameSearch<'w> {
    search: Search<'w>,
    args: &'w request::Glob,
    fingerprint: String,
    is_over: bool,
}

impl RangeSearch for NameSearch<'_> {
    const PARTITION_ENTRIES: u64 = PARTITION_ENTRIES;

    fn request(&self) -> Request {
        Request::Glob(self.args.clone())
    }

    fn workspace(&self) -> &Workspace<'_> {
        self.search.scope.workspace
    }

    fn walk(&self) -> Option<&Walk<'_>> {
        Some(&self.search.walk)
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn partition_entries(&self, visited: u64) -> u64 {
        let count = self.search.paths.count;
        let remaining = (self.search.budget.entries - count) as u64;
        let until_full = (remaining * visited).checked_div(count as u64).unwrap_or(u64::MAX);
        (until_full / PARTITIONS_LEFT).clamp(MIN_ENTRIES, PARTITION_ENTRIES)
    }

    fn append(&mut self, matches: PartitionMatches, _text_bytes: u64) -> bool {
        let PartitionMatches::Glob(names) = matches else { return false };
        let is_appended = self.search.take(&names);
        self.is_over = self.search.end.is_some();
        is_appended
    }

    fn search_range(&mut self, range: Range, before: &Progress) {
        self.search.skipped = self.search.left_out();
        before.reached.clone_into(&mut self.search.reached);
        self.search.walk.seek(range.start, range.until);
        self.search.walk.add_looked_at(before.visited);
        self.search.advance(u64::MAX);
        self.is_over = self.search.end.is_some();
    }

    fn stop(&mut self, reached: &str) {
        (self.is_over, self.search.walk.stopped) = (true, true);
        self.search.end = Some(after(reached));
    }

    fn search_rest(&mut self) {
        self.search.advance(u64::MAX);
    }

    fn finish(self) -> Response {
        let workspace = self.search.scope.workspace;
        Response::Glob(crate::glob::described(workspace, self.args, self.search.finish(&self.fingerprint)))
    }
}

impl Search<'_> {
    /// Continues until the walk has visited this number of entries, and more than another instance would list again before it
    /// continues from there. Returns false if the search is over.
    fn advance_until_it_pays(&mut self, entries: u64) -> bool {
        loop {
            let until = entries.max(self.walk.listed() + 1);
            if self.walk.looked_at() >= until {
                return true;
            }
            if !self.advance(until) {
                return false;
            }
        }
    }

    /// Appends the paths that a worker found in a range, up to the end of the page. Returns false if the result is too
    /// imprecise: a page reports the entries skipped up to its last path, a worker reports only their total.
    fn take(&mut self, names: &Names) -> bool {
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
        let is_left = search.advance_until_it_pays(entries);
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
