//! The first entries after a position, in an order other than that of the walk. Memory holds one page, for any number
//! of entries.

use std::cmp::Ordering;

use paddock_types::entry::Time;
use paddock_types::path_order;

use crate::cursor::Position;

/// Maximum number of entries of a page. A larger `limit` returns this number and a cursor.
pub const MAX_PAGE: usize = 10_000;

/// Returns the number of entries of a page with this requested `limit`.
pub fn size(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(MAX_PAGE).min(MAX_PAGE)
}

/// Entries and bytes of text that a page can still take.
#[derive(Clone, Debug)]
pub struct PageBudget {
    /// Maximum number of entries.
    pub entries: usize,
    /// Number of bytes of text at which the page ends; the last line may exceed it.
    pub bytes: usize,
    /// Bytes of each line besides the path.
    line: usize,
    taken: usize,
    /// Bytes of the lines so far.
    pub used: usize,
}

impl PageBudget {
    /// Returns the room of an empty page for this requested `limit`.
    pub fn new(limit: u32, bytes: usize, line: usize) -> Self {
        Self { entries: size(limit), bytes, line, taken: 0, used: 0 }
    }

    /// Returns whether the page is full. A page without an entry is never full, so that pages progress.
    pub fn is_full(&self) -> bool {
        self.taken >= self.entries || (self.taken > 0 && self.used >= self.bytes)
    }

    /// Subtracts the line of a path.
    pub fn take(&mut self, path: &str) {
        self.taken += 1;
        self.used += path.len() + self.line;
    }
}

/// Position of an entry in the order: by key, the largest first and entries without a key last, then by path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rank {
    /// Key: a size, or seconds and nanoseconds.
    pub key: Option<(u64, u32)>,
    /// Path relative to the top of the walk.
    pub path: String,
}

impl Rank {
    /// Returns the rank by modification time.
    pub fn by_time(time: Option<Time>, path: &str) -> Self {
        Self { key: time.map(|time| (time.seconds, time.nanoseconds)), path: path.to_owned() }
    }

    /// Returns the rank as the position of a cursor.
    pub fn position(self) -> Position {
        let key = self.key.map(|(first, second)| [first, u64::from(second)]);
        Position { numbers: key.into_iter().flatten().collect(), path: self.path }
    }

    /// Returns the rank of a cursor's position; `None` if it is not a rank.
    pub fn at(position: Position) -> Option<Self> {
        let key = match position.numbers.as_slice() {
            [] => None,
            [first, second] => Some((*first, u32::try_from(*second).ok()?)),
            _ => return None,
        };
        Some(Self { key, path: position.path })
    }
}

impl Ord for Rank {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key).then_with(|| path_order::compare(&self.path, &other.path))
    }
}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Collects the first entries after a position.
pub struct Page<T> {
    after: Option<Rank>,
    budget: PageBudget,
    items: Vec<(Rank, T)>,
}

impl<T> Page<T> {
    /// Creates a page of the entries that follow `after`.
    pub fn new(budget: PageBudget, after: Option<Rank>) -> Self {
        Self { after, budget, items: Vec::new() }
    }

    /// Adds an entry if it can be on the page.
    pub fn push(&mut self, rank: Rank, item: T) {
        if self.after.as_ref().is_some_and(|after| rank <= *after) {
            return;
        }
        self.items.push((rank, item));
        if self.items.len() > 2 * self.budget.entries + 64 {
            self.cut();
        }
    }

    /// Returns the entries in order, and the end of the page if more entries follow.
    pub fn finish(mut self) -> (Vec<T>, Option<Rank>) {
        self.cut();
        let (mut items, mut end) = (Vec::new(), None);
        for (rank, item) in self.items {
            if self.budget.is_full() {
                return (items, end);
            }
            self.budget.take(&rank.path);
            items.push(item);
            end = Some(rank);
        }
        (items, None)
    }

    /// Keeps the page and one further entry, which shows that more entries follow.
    fn cut(&mut self) {
        self.items.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        self.items.truncate(self.budget.entries + 1);
    }
}
