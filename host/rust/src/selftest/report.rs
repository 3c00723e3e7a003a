//! What came of it.

use std::fmt;

use serde::Serialize;

/// Failures that are described; all are counted.
const DESCRIBED: usize = 100;

/// What came of a run.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// One for each family of attacks.
    pub rows: Vec<Row>,
    /// Families that could not be tried here.
    pub skipped: Vec<Skipped>,
    /// What went wrong: the first of them.
    pub failures: Vec<Failure>,
}

/// A family of attacks. An attempt is one call.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Row {
    /// What they are.
    pub family: String,
    /// How many calls were made.
    pub attempts: u64,
    /// Those that failed.
    pub refused: u64,
    /// Those that did not.
    pub allowed: u64,
    /// Times that something came from outside or got there.
    pub escapes: u64,
    /// Times that something else was not as it has to be: another code, a trap, a refusal that changed something.
    pub wrong: u64,
}

/// A family that could not be tried.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Skipped {
    /// What it is.
    pub family: String,
    /// Why not.
    pub cause: String,
}

/// Something that went wrong.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Failure {
    /// Of which family it is.
    pub family: String,
    /// What the attack is.
    pub why: String,
    /// The call, where it was one.
    pub call: String,
    /// What happened.
    pub what: String,
}

impl Failure {
    pub(super) fn new(why: &str, call: String, what: String) -> Self {
        Self { family: String::new(), why: why.to_owned(), call, what }
    }
}

impl Report {
    /// Whether nothing got out or in, and everything else was as it has to be.
    pub fn holds(&self) -> bool {
        !self.rows.is_empty() && self.rows.iter().all(|row| row.escapes == 0 && row.wrong == 0)
    }

    /// All rows together.
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
    /// The names of the columns, as rows are printed.
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
    /// What is to be said beside the rows: what was left out, and what went wrong.
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
