//! The work, by kind. Each module makes rows of one or two tables.

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

/// What every kind of work needs to know.
pub struct Bench {
    /// The binary.
    pub paddock: PathBuf,
    /// Who else takes part.
    pub peers: Peers,
    /// Rounds that are measured.
    pub rounds: usize,
    /// How busy the machine was before.
    pub load: String,
    /// The only entrants that take part; all where it is empty.
    pub only: &'static [&'static str],
}

impl Bench {
    /// [`contest`] of those entrants that take part.
    pub fn contest(&self, row: &mut Row, mut entrants: Vec<Entrant<'_>>, odd: &HashSet<String>) {
        entrants.retain(|entrant| self.only.is_empty() || self.only.contains(&entrant.name));
        contest(row, entrants, self.rounds, odd);
    }
}

/// Whether ignore rules and hidden names count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// Every file is looked at.
    Everything,
    /// Without what `.gitignore` excludes and what starts with a dot.
    Respected,
}

impl Rules {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Everything, Self::Respected];

    /// How a row says it.
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

/// An entrant that is a process which prints lines.
pub fn printing<'a>(name: &'static str, invocation: Invocation, form: Form) -> Entrant<'a> {
    let measured = invocation.clone();
    Entrant {
        name,
        run: Box::new(move |_| run_each(std::slice::from_ref(&invocation))),
        answer: Box::new(move |outputs| Answer::printed(form, outputs)),
        peak: Some(Box::new(move || measured.peak_kib())),
    }
}

/// An entrant that is a process which prints one text.
pub fn showing<'a>(name: &'static str, invocation: Invocation) -> Entrant<'a> {
    let answer = |outputs: &[Vec<u8>]| Ok(Answer::text(&String::from_utf8_lossy(&outputs.concat())));
    Entrant { answer: Box::new(answer), ..printing(name, invocation, Form::Names) }
}

/// The program of a peer that is here, working in `dir`.
pub fn invocation(peer: Option<&Peer>, dir: &Path) -> Option<Invocation> {
    Some(Invocation::new(&peer?.program, dir))
}

/// Adds an entrant, or the reason why there is none.
pub fn add<'a>(row: &mut Row, entrants: &mut Vec<Entrant<'a>>, name: &'static str, found: Result<Entrant<'a>, &str>) {
    match found {
        Ok(entrant) => entrants.push(entrant),
        Err(reason) => row.leave_out(name, reason),
    }
}

/// The reason where a peer is missing.
pub const ABSENT: &str = "not installed";
