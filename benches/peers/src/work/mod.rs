//! The tasks by kind. Each module makes the rows of one or two tables.

pub mod change;
pub mod grep;
pub mod names;
pub mod read;
pub mod servers;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::answers::{Answer, Form};
use crate::measure::{Entrant, Row, contest};
use crate::paddock::run_each;
use crate::peers::{Peer, Peers};
use crate::process::Invocation;

/// Settings of all tasks.
pub struct Bench {
    /// Path of the measured binary.
    pub paddock: PathBuf,
    /// The other programs.
    pub peers: Peers,
    /// Number of measured rounds.
    pub rounds: usize,
    /// Load average of the machine before the run.
    pub load: String,
    /// Names of the entrants that take part; all if the list is empty.
    pub only: &'static [&'static str],
}

impl Bench {
    /// Runs [`contest`] with the entrants that take part.
    pub fn contest(&self, row: &mut Row, mut entrants: Vec<Entrant<'_>>, odd: &HashSet<String>) {
        entrants.retain(|entrant| self.only.is_empty() || self.only.contains(&entrant.name));
        contest(row, entrants, self.rounds, odd);
    }
}

/// Whether ignore rules and hidden names are respected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// All files.
    Everything,
    /// Files that `.gitignore` does not exclude and whose names do not start with a dot.
    Respected,
}

impl Rules {
    /// Both variants.
    pub const BOTH: [Self; 2] = [Self::Everything, Self::Respected];

    /// Returns the description for a row.
    pub fn words(self) -> &'static str {
        match self {
            Self::Everything => "everything",
            Self::Respected => "ignore rules",
        }
    }

    fn all(self) -> bool {
        self == Self::Everything
    }
}

/// Returns an entrant that prints lines.
pub fn printing<'a>(name: &'static str, invocation: Invocation, form: Form) -> Entrant<'a> {
    let measured = invocation.clone();
    Entrant {
        name,
        run: Box::new(move |_| run_each(std::slice::from_ref(&invocation))),
        answer: Box::new(move |outputs| Answer::printed(form, outputs)),
        peak: Some(Box::new(move || measured.peak_kib())),
    }
}

/// Returns an entrant that prints one text.
pub fn showing<'a>(name: &'static str, invocation: Invocation) -> Entrant<'a> {
    let answer = |outputs: &[Vec<u8>]| Ok(Answer::text(&String::from_utf8_lossy(&outputs.concat())));
    Entrant { answer: Box::new(answer), ..printing(name, invocation, Form::Names) }
}

/// Returns an invocation of an installed peer in the directory `dir`.
pub fn invocation(peer: Option<&Peer>, dir: &Path) -> Option<Invocation> {
    Some(Invocation::new(&peer?.program, dir))
}

/// Adds an entrant, or records why it is missing.
pub fn add<'a>(row: &mut Row, entrants: &mut Vec<Entrant<'a>>, name: &'static str, entrant: Result<Entrant<'a>, &str>) {
    match entrant {
        Ok(entrant) => entrants.push(entrant),
        Err(reason) => row.leave_out(name, reason),
    }
}

/// Reason in the report for a missing peer.
pub const ABSENT: &str = "not installed";
