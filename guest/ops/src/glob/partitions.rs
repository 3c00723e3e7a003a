//! Parallel search for names. A partition is a range of the walk, from one directory to another; the worker walks it
//! itself.

use std::collections::VecDeque;
use std::rc::Rc;

use paddock_index::listings::parts;
use paddock_search::page::PageBudget;
use paddock_types::entry::Kind;
use paddock_types::error::Result;
use paddock_types::request;
use paddock_types::request::Request;
use paddock_types::response::{Response, Skipped};
use paddock_workspace::Workspace;
use paddock_workspace::walk::{Options, Start, Walk};
use serde::{Deserialize, Serialize};

use crate::glob::{Search, SearchScope, after};
use crate::partitions;
use crate::partitions::{Names, PartitionMatches, PartitionResult};

/// Number of entries that the coordinator visits before it requests workers: shorter searches do not pay for them.
const ALONE_ENTRIES: u64 = 512;
/// Number of cut points that suffice: no deeper level is examined.
const ENOUGH_CUTS: usize = 16;
/// Maximum depth of cut points, and maximum number of entries visited to find them.
const MAX_LEVEL: u32 = 5;
const MAX_ENTRIES: u64 = 5_000;
/// Minimum number of directories at which an interval between cut points is divided, maximum number of entries until the end
/// of the page, and number of entries visited in vain to find directories.
const MIN_DIVISION: usize = 2;
const MAX_DIVIDED: u64 = 64 * PARTITION_ENTRIES;
const MAX_DIVISION_ENTRIES: u64 = 128;
/// Target number of entries in a partition: for a smaller one, the hand-over takes longer than the search.
const PARTITION_ENTRIES: u64 = 1_024;
/// A partition gets at most the estimated rest of the page divided by this number. Work past the end of the page is
/// wasted.
const PARTITIONS_LEFT: u64 = 8;
/// Maximum number of intervals between cut points in a partition.
const MAX_PARTS: u64 = 64;

/// The instance that owns the page.
pub struct Coordinator<'w> {
    search: Search<'w>,
    args: &'w request::Glob,
    fingerprint: String,
    remaining: Remaining,
    /// Partitions that have not been joined, oldest first.
    out: VecDeque<Partition>,
    /// Number of entries visited in the joined part.
    visited: u64,
    /// Total entries and intervals of the joined partitions.
    joined: (u64, u64),
    is_over: bool,
}

/// The part of the walk that no worker has claimed.
enum Remaining {
    /// Everything past the coordinator's own part; no partition has been requested yet.
    Unknown,
    /// Everything past the coordinator's own part, without a cut point.
    Whole,
    /// Everything from `start`, if anything is left, with its cut points.
    Cut { start: Option<Start>, cuts: VecDeque<String>, next_level: NextLevel },
}

/// Cut points of the level below that of the others.
#[derive(Clone, Copy)]
enum NextLevel {
    /// An interval is divided at the directories of this level before it is searched.
    Divided(u32),
    /// The first intervals, of this number, end there.
    Ahead(u32, usize),
    /// The intervals are small enough, or have no directories.
    Unused,
}

/// A range of the walk.
#[derive(Clone, Serialize, Deserialize)]
struct Partition {
    start: Start,
    until: Option<String>,
    /// Number of intervals between cut points in the range.
    parts: u64,
}

impl<'w> Coordinator<'w> {
    /// Starts the search and completes the first part of it, or all of it.
    pub fn begin(workspace: &'w Workspace<'w>, args: &'w request::Glob) -> Result<Self> {
        let (scope, fingerprint, position) = crate::glob::begin(workspace, args)?;
        let mut search = Search::new(
            &scope,
            scope.walk(position.map(crate::glob::start), None)?,
            crate::glob::budget(workspace, args),
        );
        let is_over = !search.advance(ALONE_ENTRIES);
        let (remaining, out) = (Remaining::Unknown, VecDeque::new());
        Ok(Self { search, args, fingerprint, remaining, out, visited: 0, joined: (0, 0), is_over })
    }

    /// Returns the part of the walk that has not been searched.
    fn rest(&self) -> Remaining {
        let start = Start { path: self.search.reached.clone(), inclusive: false };
        let (cuts, level) = self.cuts(&start);
        if cuts.is_empty() {
            return Remaining::Whole;
        }
        let is_deeper = self.search.scope.options.max_depth.is_none_or(|max| level < max);
        let next_level = if is_deeper { NextLevel::Divided(level + 1) } else { NextLevel::Unused };
        Remaining::Cut { start: Some(start), cuts, next_level }
    }

    /// Returns the cut points of the rest, directories of the first level that has enough of them, and that level.
    fn cuts(&self, start: &Start) -> (VecDeque<String>, u32) {
        let (mut cuts, mut level) = (VecDeque::new(), 0);
        for deeper in 1..=self.search.scope.options.max_depth.unwrap_or(MAX_LEVEL).min(MAX_LEVEL) {
            let Some(directories) = self.directories(deeper, start, None, MAX_ENTRIES) else { break };
            // A level on the way to the start may be exhausted while the next level still has many directories.
            let is_last = directories.len() == cuts.len() && deeper as usize >= start.path.split('/').count();
            (cuts, level) = (directories, deeper);
            if is_last || cuts.len() >= ENOUGH_CUTS {
                break;
            }
        }
        (cuts, level)
    }

    /// Returns the directories down to a level, from `start` to `until`; `None` if this takes a visit of `max` entries.
    fn directories(&self, level: u32, start: &Start, until: Option<String>, max: u64) -> Option<VecDeque<String>> {
        let scope = &self.search.scope;
        let options = Options { max_depth: Some(level), start: Some(start.clone()), until, ..scope.options.clone() };
        let mut walk = scope.walk_as(options).ok()?;
        let mut directories = VecDeque::new();
        while walk.looked_at() < max
            && let Some(entry) = walk.next_entry()
        {
            if entry.kind == Kind::Directory {
                directories.push_back(entry.below.to_owned());
            }
        }
        (walk.looked_at() < max).then_some(directories)
    }

    /// Divides the next interval at the directories of the next level, if the page may end in it. If it has few of them or
    /// few entries, the intervals that follow are not divided.
    fn divide(&mut self) {
        let Remaining::Cut { start: Some(start), cuts, next_level: NextLevel::Divided(level) } = &self.remaining else {
            return;
        };
        if self.left() > MAX_DIVIDED {
            return;
        }
        let (level, found) = (*level, self.directories(*level, start, cuts.front().cloned(), MAX_DIVISION_ENTRIES));
        let start = start.path.clone();
        let Remaining::Cut { cuts, next_level, .. } = &mut self.remaining else { return };
        let found: Vec<_> = found.into_iter().flatten().filter(|directory| *directory != start).collect();
        let (entries, parts) = self.joined;
        let is_small = parts > 0 && entries * found.len() as u64 <= PARTITION_ENTRIES * parts;
        if found.len() < MIN_DIVISION || is_small {
            *next_level = NextLevel::Unused;
            self.joined = (0, 0);
            return;
        }
        *next_level = NextLevel::Ahead(level, found.len() + 1);
        found.into_iter().rev().for_each(|directory| cuts.push_front(directory));
    }

    /// Returns the number of intervals of the next partition, estimated from the joined partitions and the rest of the
    /// page.
    fn parts(&self) -> u64 {
        let (entries, parts) = self.joined;
        let due = PARTITION_ENTRIES.min(self.left() / PARTITIONS_LEFT);
        (due * parts).checked_div(entries).unwrap_or(1).clamp(1, MAX_PARTS)
    }

    /// Returns the estimated number of entries to visit until the page is full.
    fn left(&self) -> u64 {
        let count = self.search.paths.count;
        let remaining = (self.search.budget.entries - count) as u64;
        (remaining * self.visited).checked_div(count as u64).unwrap_or(u64::MAX)
    }

    /// Appends the result of a partition and returns its number of entries; `None` if the result cannot be used.
    fn take(&mut self, result: PartitionResult) -> Option<u64> {
        let PartitionMatches::Glob(names) = result.matches else { return None };
        let visited = self.visited.checked_add(result.used)?;
        let is_within = visited <= self.search.scope.workspace.policy.limits.max_entries;
        (is_within && self.search.take(&names, result.progress > 0)).then_some(result.used)
    }

    /// Searches a partition without workers.
    fn search_alone(&mut self, start: Start, until: Option<String>) {
        let Ok(mut walk) = self.search.scope.walk(Some(start), until) else {
            // The searched directory can no longer be listed; the call that continues from this cursor reports the
            // error.
            self.search.last = (self.search.reached.clone(), self.search.left_out());
            self.search.end = Some(after(&self.search.last.0));
            return;
        };
        walk.add_looked_at(self.visited);
        self.search.skipped = self.search.left_out();
        self.search.walk = walk;
        self.search.advance(u64::MAX);
        self.search.reached = self.search.reached().to_owned();
        self.visited = self.search.walk.looked_at();
    }
}

impl Remaining {
    /// Takes a partition with `parts` intervals; `None` if nothing is left.
    fn cut(&mut self, parts: u64) -> Option<Partition> {
        let Self::Cut { start, cuts, next_level } = self else { return None };
        let mut partition = Partition { start: start.take()?, until: None, parts: 0 };
        while partition.parts < parts {
            partition.parts += 1;
            partition.until = cuts.pop_front();
            if partition.until.is_none() || next_level.advance() {
                break;
            }
        }
        *start = partition.until.clone().map(|path| Start { path, inclusive: true });
        Some(partition)
    }
}

impl NextLevel {
    /// Counts a searched interval. Returns whether it was the last one that ends on the next level.
    fn advance(&mut self) -> bool {
        let Self::Ahead(level, count) = *self else { return false };
        *self = if count > 1 { Self::Ahead(level, count - 1) } else { Self::Divided(level) };
        count <= 1
    }
}

impl Search<'_> {
    /// Appends the paths that a worker found in a partition, up to the end of the page. Returns false if the result is
    /// too imprecise: a page reports the entries skipped up to its last path, a worker reports only their total.
    fn take(&mut self, names: &Names, is_whole: bool) -> bool {
        // Only a search entry by entry can end at the limit of bytes.
        if self.budget.used + names.paths.len() >= self.budget.bytes {
            return false;
        }
        let remaining = self.budget.entries - self.paths.count;
        let count = memchr::memchr_iter(0, names.paths.as_bytes()).count();
        let (is_over, is_full) = (count > remaining, remaining > 0 && count >= remaining);
        if !(is_whole || is_over) || (is_full && names.skipped != Skipped::default()) {
            return false;
        }
        if !is_over {
            self.skipped.add(&names.skipped);
            if let Some(reached) = &names.reached {
                self.reached.clone_from(reached);
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
        if matches!(self.remaining, Remaining::Unknown) {
            self.visited = self.search.walk.looked_at();
            self.search.reached = self.search.reached().to_owned();
            self.remaining = self.rest();
        }
        self.divide();
        let partition = self.remaining.cut(self.parts())?;
        let reported = serde_json::to_string(&partition).ok()?;
        self.out.push_back(partition);
        Some(reported)
    }

    fn join(&mut self, result: Option<PartitionResult>) -> bool {
        let Some(partition) = self.out.pop_front() else { return true };
        match result.and_then(|result| self.take(result)) {
            Some(entries) => {
                self.visited += entries;
                self.joined = (self.joined.0 + entries, self.joined.1 + partition.parts);
            }
            None => self.search_alone(partition.start, partition.until),
        }
        self.is_over |= self.search.end.is_some();
        self.is_over
    }

    fn finish(mut self: Box<Self>) -> Response {
        match std::mem::replace(&mut self.remaining, Remaining::Whole) {
            Remaining::Unknown | Remaining::Whole => drop(self.search.advance(u64::MAX)),
            Remaining::Cut { start: Some(start), .. } if !self.is_over => self.search_alone(start, None),
            Remaining::Cut { .. } => {}
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
        Ok(Self { scope: Rc::new(SearchScope::new(workspace, args)?), budget, walk: None })
    }

    /// Searches a partition, which follows all earlier ones. Returns `None` if it cannot be started or a limit stopped
    /// it.
    fn search(&mut self, partition: &str) -> Option<Search<'w>> {
        let Partition { start, until, .. } = serde_json::from_str(partition).ok()?;
        let walk = match self.walk.take() {
            Some(mut walk) => {
                walk.seek(start, until);
                walk
            }
            None => self.scope.walk(Some(start), until).ok()?,
        };
        let mut search = Search::new(&self.scope, walk, self.budget.clone());
        search.advance(u64::MAX);
        Some(search).filter(|search| !search.walk.stopped)
    }
}

impl partitions::Worker for Worker<'_> {
    fn search_partition(&mut self, partition: &str) -> PartitionResult {
        // The coordinator searches a partition without a result itself.
        let Some(search) = self.search(partition) else {
            return PartitionResult { progress: 0, matches: PartitionMatches::Glob(Names::default()), used: 0 };
        };
        let walk = self.walk.insert(search.walk);
        let reached = walk.has_begun().then(|| walk.reached().to_owned());
        let names = Names { paths: search.paths.text, reached, skipped: walk.skipped };
        PartitionResult {
            progress: search.end.is_none().into(),
            matches: PartitionMatches::Glob(names),
            used: walk.looked_at(),
        }
    }
}
