//! The report of a run.

use std::fmt;

use serde::Serialize;

/// Maximum number of failures that are described. All failures are counted.
const DESCRIBED: usize = 100;

/// The report of a run.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// A row for each family of attacks.
    pub rows: Vec<Row>,
    /// Families that could not be tried on this machine.
    pub skipped: Vec<Skipped>,
    /// The first failures, at most 100.
    pub failures: Vec<Failure>,
}

/// Counts for a family of attacks. An attempt is one call.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Row {
    /// Name of the family.
    pub family: String,
    /// Number of calls.
    pub attempts: u64,
    /// Number of calls that failed.
    pub refused: u64,
    /// Number of calls that succeeded.
    pub allowed: u64,
    /// Number of escapes: a call revealed or changed something outside.
    pub escapes: u64,
    /// Number of other failures: a wrong error code, a trap, or a refused call that changed something.
    pub wrong: u64,
}

/// A family that was not tried.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Skipped {
    /// Name of the family.
    pub family: String,
    /// Reason why the family was not tried.
    pub cause: String,
}

/// A failed assertion.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Failure {
    /// Name of the family.
    pub family: String,
    /// Description of the attack.
    pub why: String,
    /// The call, or empty if the failure concerns several calls.
    pub call: String,
    /// Description of the failure.
    pub what: String,
}

impl Failure {
    pub(super) fn new(why: &str, call: String, what: String) -> Self {
        Self { family: String::new(), why: why.to_owned(), call, what }
    }
}

impl Report {
    /// Returns whether all assertions held, and at least one family was tried.
    pub fn holds(&self) -> bool {
        !self.rows.is_empty() && self.rows.iter().all(|row| row.escapes == 0 && row.wrong == 0)
    }

    /// Returns the sums of all rows.
    pub fn total(&self) -> Row {
        let mut total = Row { family: "all".to_owned(), ..Row::default() };
        for row in &self.rows {
            total.attempts += row.attempts;
            total.refused += row.refused;
            total.allowed += row.allowed;
            total.escapes += row.escapes;
            total.wrong += row.wrong;
        }
        total
    }

    pub(super) fn fail(&mut self, row: &mut Row, failure: Failure, is_escape: bool) {
        match is_escape {
            true => row.escapes += 1,
            false => row.wrong += 1,
        }
        if self.failures.len() < DESCRIBED {
            self.failures.push(Failure { family: row.family.clone(), ..failure });
        }
    }
}

impl Row {
    /// Returns the names of the columns, formatted like a row.
    pub fn head() -> String {
        line("", ["attempts", "refused", "allowed", "escapes", "wrong"])
    }
}

impl fmt::Display for Row {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = [self.attempts, self.refused, self.allowed, self.escapes, self.wrong].map(|it| it.to_string());
        formatter.write_str(&line(&self.family, numbers.each_ref().map(String::as_str)))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}", Row::head())?;
        for row in self.rows.iter().chain([&self.total()]) {
            writeln!(formatter, "{row}")?;
        }
        formatter.write_str(&self.rest())
    }
}

impl Report {
    /// Returns the text that follows the rows: the skipped families and the failures.
    pub fn rest(&self) -> String {
        let skipped = self.skipped.iter().map(|it| format!("not tried: {}: {}\n", it.family, it.cause));
        let failures =
            self.failures.iter().map(|it| format!("{}: {}\n  {}\n  {}\n", it.family, it.why, it.call, it.what));
        skipped.chain(failures).collect()
    }
}

fn line(family: &str, [attempts, refused, allowed, escapes, wrong]: [&str; 5]) -> String {
    format!("{family:<52} {attempts:>8} {refused:>8} {allowed:>8} {escapes:>8} {wrong:>6}")
}
