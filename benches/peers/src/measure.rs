//! The programs that perform one task, run in turns, and their measurements.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;

use crate::answers::Answer;
use crate::process::Run;

/// Entrants that take longer than this get only [`SLOW_ROUNDS`] rounds; otherwise they would take most of the time.
const SLOW: Duration = Duration::from_secs(2);
const SLOW_ROUNDS: usize = 3;

/// Runs an entrant. The argument is the number of previous runs.
pub type Runner<'a> = Box<dyn FnMut(usize) -> Result<Run> + 'a>;

/// Parses the output of an entrant.
pub type Reader<'a> = Box<dyn Fn(&[Vec<u8>]) -> Result<Answer> + 'a>;

/// Measures the peak memory of an entrant in KiB, in a separate run.
pub type PeakFinder<'a> = Box<dyn Fn() -> Result<u64> + 'a>;

/// A program that performs a task.
pub struct Entrant<'a> {
    /// Name of the column in the tables.
    pub name: &'static str,
    /// Performs the task.
    pub run: Runner<'a>,
    /// Parses the output.
    pub answer: Reader<'a>,
    /// Measures the peak memory in KiB, in a separate run.
    pub peak: Option<PeakFinder<'a>>,
}

/// Measurements of an entrant.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// Name of the entrant.
    pub name: String,
    /// Median time in seconds.
    pub median: f64,
    /// Shortest time in seconds.
    pub fastest: f64,
    /// Number of measured rounds.
    pub rounds: usize,
    /// Peak memory in KiB.
    pub peak_kib: Option<u64>,
}

/// A task on a tree.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Row {
    /// Kind of task; each has its own table.
    pub group: &'static str,
    /// Tree of the task.
    pub tree: String,
    /// Description of the task.
    pub work: String,
    /// Number of facts in the answer.
    pub facts: usize,
    /// Measurements of the entrants that performed the task.
    pub cells: Vec<Cell>,
    /// Names of the entrants that did not perform the task, each with the reason.
    pub left_out: Vec<(String, String)>,
    /// The first difference between two answers.
    pub mismatch: Option<String>,
}

impl Row {
    /// Creates an empty row.
    pub fn new(group: &'static str, tree: impl Into<String>, work: impl Into<String>) -> Self {
        Self { group, tree: tree.into(), work: work.into(), ..Self::default() }
    }

    /// Records the reason why an entrant is not in this row.
    pub fn leave_out(&mut self, name: &str, reason: impl Into<String>) {
        self.left_out.push((name.to_owned(), reason.into()));
    }

    /// Records a failure. Other programs are left out; a failure of Paddock makes the row wrong.
    pub fn has_failed(&mut self, name: &str, cause: &anyhow::Error) {
        eprintln!("    LEFT OUT: {name}: {cause:#}");
        self.leave_out(name, format!("{cause:#}"));
        if name.starts_with("paddock") {
            self.mismatch.get_or_insert(format!("{name} failed: {cause:#}"));
        }
    }

    /// Returns the median time of an entrant in seconds.
    pub fn median(&self, name: &str) -> Option<f64> {
        Some(self.cells.iter().find(|cell| cell.name == name)?.median)
    }

    /// Returns the ratio of the medians of two entrants.
    pub fn ratio(&self, name: &str, other: &str) -> Option<f64> {
        Some(self.median(name)? / self.median(other)?)
    }
}

/// Runs the entrants once to warm up and to compare their answers, then in turns, and adds the measurements to `row`.
/// Facts about `odd` paths are not compared. An entrant that fails is left out; if it is Paddock, the row is wrong.
pub fn contest(row: &mut Row, entrants: Vec<Entrant<'_>>, rounds: usize, odd: &HashSet<String>) {
    eprintln!("  {} | {} | {}", row.group, row.tree, row.work);
    let mut taking_part = Vec::new();
    let mut first: Option<(&'static str, Answer)> = None;
    for mut entrant in entrants {
        match warm_up(&mut entrant, odd) {
            Ok((answer, contender)) => {
                let (name, expected) = first.get_or_insert_with(|| (entrant.name, answer.clone()));
                if let Some(difference) = expected.first_difference(name, &answer, entrant.name) {
                    eprintln!("    DIFFERENT ANSWERS: {difference}");
                    row.mismatch.get_or_insert(difference);
                }
                row.facts = expected.len();
                taking_part.push((entrant, contender));
            }
            Err(cause) => row.has_failed(entrant.name, &cause),
        }
    }
    for round in 1..=rounds {
        taking_part.retain_mut(|(entrant, contender)| {
            if round > contender.rounds(rounds) {
                return true;
            }
            let run = (entrant.run)(round);
            run.map(|run| contender.times.push(run.time.as_secs_f64()))
                .map_err(|cause| row.has_failed(entrant.name, &cause))
                .is_ok()
        });
    }
    row.cells.extend(taking_part.into_iter().map(|(entrant, contender)| contender.cell(entrant.name)));
}

struct Contender {
    is_slow: bool,
    peak_kib: Option<u64>,
    times: Vec<f64>,
}

impl Contender {
    fn rounds(&self, wanted: usize) -> usize {
        if self.is_slow { wanted.min(SLOW_ROUNDS) } else { wanted }
    }

    fn cell(self, name: &str) -> Cell {
        Cell {
            name: name.to_owned(),
            median: median(&self.times).unwrap_or(f64::NAN),
            fastest: self.times.iter().copied().fold(f64::NAN, f64::min),
            rounds: self.times.len(),
            peak_kib: self.peak_kib,
        }
    }
}

fn warm_up(entrant: &mut Entrant<'_>, odd: &HashSet<String>) -> Result<(Answer, Contender)> {
    let run = (entrant.run)(0)?;
    let answer = (entrant.answer)(&run.outputs)?.without(odd);
    let peak_kib = entrant.peak.as_ref().map(|peak| peak()).transpose()?;
    Ok((answer, Contender { is_slow: run.time > SLOW, peak_kib, times: Vec::new() }))
}

/// Returns the middle value, or the mean of the two middle values.
pub fn median(times: &[f64]) -> Option<f64> {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    Some((upper + *sorted.get(sorted.len() / 2 - 1)?) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_is_in_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn entrants_take_turns_and_differences_are_found() {
        let order = &std::cell::RefCell::new(Vec::new());
        let entrant = |name: &'static str, answer_text: &'static str| Entrant {
            name,
            run: Box::new(move |round| {
                order.borrow_mut().push((name, round));
                Ok(Run { time: Duration::from_millis(1), outputs: Vec::new() })
            }),
            answer: Box::new(move |_| Ok(Answer::text(answer_text))),
            peak: None,
        };
        let mut row = Row::new("g", "t", "w");
        contest(&mut row, vec![entrant("a", "x"), entrant("b", "y")], 2, &HashSet::new());
        assert_eq!(*order.borrow(), [("a", 0), ("b", 0), ("a", 1), ("b", 1), ("a", 2), ("b", 2)]);
        assert!(row.mismatch.unwrap().contains("a has `` `x`, b has not"));
        assert_eq!(row.cells.len(), 2);
    }

    #[test]
    fn one_that_fails_is_left_out() {
        let entrant = |name: &'static str| Entrant {
            name,
            run: Box::new(move |round| {
                anyhow::ensure!(round < 2 || name == "rg", "broken");
                Ok(Run { time: Duration::from_millis(1), outputs: Vec::new() })
            }),
            answer: Box::new(|_| Ok(Answer::default())),
            peak: None,
        };
        let mut row = Row::new("g", "t", "w");
        contest(&mut row, vec![entrant("paddock call"), entrant("rg"), entrant("fd")], 2, &HashSet::new());
        assert_eq!(row.cells.iter().map(|cell| cell.name.as_str()).collect::<Vec<_>>(), ["rg"]);
        assert_eq!(row.left_out.len(), 2);
        assert_eq!(row.mismatch.unwrap(), "paddock call failed: broken");
    }
}
