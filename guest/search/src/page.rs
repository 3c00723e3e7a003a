//! The first entries after a position, in an order other than that of the walk. Memory holds one page, for any number
//! of entries.

use std::cmp::Ordering;

use paddock_types::entry::Time;
use paddock_types::path_order;
use serde::{Deserialize, Serialize};

/// Maximum number of entries of a page. A larger `limit` returns this number and a cursor.
pub const MAX_PAGE: usize = 10_000;

/// Returns the number of entries of a page with this requested `limit`.
pub fn size(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(MAX_PAGE).min(MAX_PAGE)
}

/// Position of an entry in the order: by key, the largest first and entries without a key last, then by path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    size: usize,
    items: Vec<(Rank, T)>,
}

impl<T> Page<T> {
    /// Creates a page of `size` entries that follow `after`.
    pub fn new(size: usize, after: Option<Rank>) -> Self {
        Self { after, size, items: Vec::new() }
    }

    /// Adds an entry if it can be on the page.
    pub fn push(&mut self, rank: Rank, item: T) {
        if self.after.as_ref().is_some_and(|after| rank <= *after) {
            return;
        }
        self.items.push((rank, item));
        if self.items.len() > 2 * self.size + 64 {
            self.cut();
        }
    }

    /// Returns the entries in order, and the end of the page if more entries follow.
    pub fn finish(mut self) -> (Vec<T>, Option<Rank>) {
        self.cut();
        let more = self.items.len() > self.size;
        self.items.truncate(self.size);
        let end = self.items.last().filter(|_| more).map(|(rank, _)| rank.clone());
        (self.items.into_iter().map(|(_, item)| item).collect(), end)
    }

    /// Keeps the page and one further entry, which shows that more entries follow.
    fn cut(&mut self) {
        self.items.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        self.items.truncate(self.size + 1);
    }
}
