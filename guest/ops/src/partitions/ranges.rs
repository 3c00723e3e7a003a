//! The ranges of a walk that a parallel search consists of.
//!
//! A worker that has searched enough of a large range returns the rest of it, divided at the directories that it has listed
//! and not entered. So the ranges become finer where the tree is large, and nobody has to know its shape in advance.

use std::collections::VecDeque;

use paddock_workspace::walk::Start;
use serde::{Deserialize, Serialize};

use crate::partitions::PartitionResult;

/// Maximum number of ranges in a partition.
const MAX_RANGES: u64 = 64;
/// Number of ranges that a partition leaves to other workers, unless this is more than half of them.
const LEFT_TO_OTHERS: usize = 7;
/// Number of bytes of text in the results that wait for an earlier one, above which only the first range is handed out.
const MAX_WAITING_BYTES: u64 = 16 * 1024 * 1024;

/// A range of the walk, from one position to another.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Range {
    /// Where it begins.
    pub start: Start,
    /// The path before which it ends, in the order of the walk; `None` is the end of the walk.
    pub until: Option<String>,
}

/// The rest of a range that a worker has searched in part.
#[derive(Debug, Serialize, Deserialize)]
pub enum Rest {
    /// The paths at which it is divided into ranges.
    Divided(Vec<String>),
    /// No worker can search it.
    Refused,
}

/// The ranges that are not joined, in the order of the walk, with the results of those that are searched.
pub struct Ranges {
    parts: VecDeque<Part>,
    /// Numbers of the parts that are with workers, in the order in which they were handed out.
    handed_out: VecDeque<u64>,
    next_number: u64,
    /// Number of ranges that workers have returned, and of the entries that they visited in them.
    returned: (u64, u64),
}

/// A range with its result; `None` if no worker has searched it.
pub type Joined = (Range, Option<PartitionResult>);

struct Part {
    range: Range,
    state: State,
}

enum State {
    Unsearched,
    HandedOut {
        number: u64,
        /// Number of ranges that were joined to this one.
        ranges: u64,
    },
    Searched(Box<PartitionResult>),
    /// No worker can search it.
    Refused,
}

impl Rest {
    /// Returns the rest as a text that [`Ranges::take`] reads.
    pub fn text(self) -> String {
        serde_json::to_string(&self).unwrap_or_default()
    }
}

impl Range {
    /// Divides the range at these paths, which are in it and in its order.
    fn divided(self, cuts: Vec<String>) -> impl Iterator<Item = Self> {
        let ends = cuts.into_iter().map(Some).chain([self.until]);
        ends.scan(Some(self.start), |start, until| {
            let next = until.clone().map(|path| Start { path, inclusive: true });
            Some(Self { start: std::mem::replace(start, next)?, until })
        })
    }
}

impl Ranges {
    /// Returns the ranges of what follows `start`, divided at these paths.
    pub fn new(start: Start, cuts: Vec<String>) -> Self {
        let parts = Range { start, until: None }.divided(cuts).map(Part::unsearched).collect();
        Self { parts, handed_out: VecDeque::new(), next_number: 0, returned: (0, 0) }
    }

    /// Returns the first range that no worker has, joined with as many of those that follow it as probably have this number of
    /// entries. Returns `None` if there is none, or if too many results wait for an earlier one.
    pub fn hand_out(&mut self, entries: u64) -> Option<Range> {
        let first = self.parts.iter().position(Part::is_unsearched)?;
        // The first range is what the results wait for.
        if first > 0 && self.waiting_bytes() >= MAX_WAITING_BYTES {
            return None;
        }
        let (ranges, visited) = self.returned;
        let most = (entries * ranges).checked_div(visited).unwrap_or(1).clamp(1, MAX_RANGES);
        let unsearched = self.parts.range(first..).filter(|part| part.is_unsearched()).count();
        let most = most.min((unsearched - LEFT_TO_OTHERS.min(unsearched / 2)) as u64);
        let following = self.parts.range(first + 1..).zip(1..most).take_while(|(part, _)| part.is_unsearched()).count();
        let last = self.parts.drain(first + 1..=first + following).next_back();
        let part = self.parts.get_mut(first)?;
        if let Some(last) = last {
            part.range.until = last.range.until;
        }
        let number = self.next_number;
        part.state = State::HandedOut { number, ranges: following as u64 + 1 };
        self.handed_out.push_back(number);
        self.next_number += 1;
        Some(part.range.clone())
    }

    fn waiting_bytes(&self) -> u64 {
        let bytes = |part: &Part| if let State::Searched(result) = &part.state { result.text_bytes } else { 0 };
        self.parts.iter().map(bytes).fold(0, u64::saturating_add)
    }

    /// Takes the result of the range that was handed out first of those that are with workers; `None` if no worker could search
    /// it.
    pub fn take(&mut self, result: Option<PartitionResult>) {
        let Some(number) = self.handed_out.pop_front() else { return };
        let is_it = |part: &Part| matches!(part.state, State::HandedOut { number: other, .. } if other == number);
        let Some(index) = self.parts.iter().position(is_it) else { return };
        let Some(part) = self.parts.get_mut(index) else { return };
        let Some(result) = result else {
            part.state = State::Refused;
            return;
        };
        if let State::HandedOut { ranges, .. } = part.state {
            self.returned = (self.returned.0 + ranges, self.returned.1.saturating_add(result.examined));
        }
        let (reached, rest) = (result.reached.clone(), result.rest.clone());
        part.state = State::Searched(Box::new(result));
        if let Some(rest) = rest {
            let start = reached.map_or_else(|| part.range.start.clone(), |path| Start { path, inclusive: false });
            let until = part.range.until.replace(before(&start));
            self.insert(index + 1, Range { start, until }, serde_json::from_str(&rest).unwrap_or(Rest::Refused));
        }
    }

    /// Inserts the rest of a range.
    fn insert(&mut self, index: usize, range: Range, rest: Rest) {
        let tail = self.parts.split_off(index);
        match rest {
            Rest::Divided(cuts) => self.parts.extend(range.divided(cuts).map(Part::unsearched)),
            Rest::Refused => self.parts.push_back(Part { range, state: State::Refused }),
        }
        self.parts.extend(tail);
    }

    /// Returns the first range if no worker has it or will have it, with its result.
    pub fn next_done(&mut self) -> Option<Joined> {
        match self.parts.front()?.state {
            State::Unsearched | State::HandedOut { .. } => None,
            State::Searched(_) | State::Refused => self.next_of_all(),
        }
    }

    /// Returns the first range, with its result.
    pub fn next_of_all(&mut self) -> Option<Joined> {
        let part = self.parts.pop_front()?;
        let result = match part.state {
            State::Searched(result) => Some(*result),
            State::Unsearched | State::HandedOut { .. } | State::Refused => None,
        };
        Some((part.range, result))
    }
}

/// Returns the end of a walk that ends where another one starts.
fn before(start: &Start) -> String {
    match start.inclusive {
        true => start.path.clone(),
        // After the entry itself, and before the entries in it.
        false => format!("{}/", start.path),
    }
}

impl Part {
    fn unsearched(range: Range) -> Self {
        Self { range, state: State::Unsearched }
    }

    fn is_unsearched(&self) -> bool {
        matches!(self.state, State::Unsearched)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partitions::{Names, PartitionMatches};

    fn result(text_bytes: u64, reached: &str, rest: Option<Rest>) -> Option<PartitionResult> {
        Some(PartitionResult {
            matches: PartitionMatches::Glob(Names::default()),
            reached: Some(reached.to_owned()),
            examined: 1_000,
            text_bytes,
            rest: rest.map(Rest::text),
        })
    }

    fn ranges() -> Ranges {
        let cuts = (1..100).map(|number| format!("{number:02}")).collect();
        Ranges::new(Start { path: "00/a".to_owned(), inclusive: false }, cuts)
    }

    fn ends(range: &Range) -> (String, Option<&str>) {
        let bracket = if range.start.inclusive { '[' } else { '(' };
        (format!("{bracket}{}", range.start.path), range.until.as_deref())
    }

    #[test]
    fn results_that_wait_for_an_earlier_one_are_bounded() {
        let mut ranges = ranges();
        // One worker searches a large range part by part, and another one those that follow.
        let mut waiting = 0;
        for part in 1..40 {
            ranges.hand_out(1_000).unwrap();
            let other = ranges.hand_out(1_000);
            let is_last = part == 39;
            let rest = (!is_last).then(|| Rest::Divided(Vec::new()));
            ranges.take(result(1, &format!("00/b{part:02}"), rest));
            if let Some(other) = other {
                waiting += 1;
                ranges.take(result(1024 * 1024, &other.start.path, None));
            }
            assert!(ranges.next_done().is_some() && (is_last || ranges.next_done().is_none()), "{part}");
        }
        assert_eq!(waiting, 16);
        assert_eq!(std::iter::from_fn(|| ranges.next_done()).count(), 16);
        assert_eq!(ranges.hand_out(1_000).map(|range| range.start.path).as_deref(), Some("17"));
    }

    #[test]
    fn what_is_left_comes_before_the_ranges_that_follow() {
        let mut ranges = ranges();
        assert_eq!(ends(&ranges.hand_out(1_000).unwrap()), ("(00/a".to_owned(), Some("01")));
        assert_eq!(ends(&ranges.hand_out(1_000).unwrap()), ("[01".to_owned(), Some("02")));
        ranges.take(result(0, "00/c", Some(Rest::Divided(vec!["00/e".to_owned()]))));
        ranges.take(result(0, "01/x", Some(Rest::Refused)));
        let rest = [ranges.hand_out(1_000).unwrap(), ranges.hand_out(1_000).unwrap(), ranges.hand_out(3_000).unwrap()];
        let found = rest.iter().map(ends).collect::<Vec<_>>();
        let wanted = [("(00/c", Some("00/e")), ("[00/e", Some("01")), ("[02", Some("05"))];
        assert_eq!(found, wanted.map(|(start, until)| (start.to_owned(), until)));
        let (range, result) = ranges.next_done().unwrap();
        assert_eq!((ends(&range), result.is_some()), (("(00/a".to_owned(), Some("00/c/")), true));
        assert!(ranges.next_done().is_none());
        ranges.take(None);
        let (range, result) = ranges.next_done().unwrap();
        assert_eq!((ends(&range), result.is_some()), (("(00/c".to_owned(), Some("00/e")), false));
        // At the end, the coordinator searches what nobody has searched.
        let all: Vec<_> = std::iter::from_fn(|| ranges.next_of_all()).collect();
        assert_eq!(ends(&all[0].0), ("[00/e".to_owned(), Some("01")));
        assert_eq!(ends(&all[1].0), ("[01".to_owned(), Some("01/x/")));
        assert_eq!(ends(&all[2].0), ("(01/x".to_owned(), Some("02")));
        assert!(all[1].1.is_some() && all[2].1.is_none());
        assert_eq!(all.last().map(|(range, _)| ends(range)), Some(("[99".to_owned(), None)));
    }
}
