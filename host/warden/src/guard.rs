//! Which paths the command may have: by area, and by the host's rules about the roots.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use paddock_warden::protocol::{Access, Refused};
use rustix::io::Errno;

use crate::area::{Area, Areas};

/// How many refusals are told; all are counted.
const TOLD_REFUSALS: usize = 20;
/// Different paths that are remembered as refused, so that each is counted once.
const REMEMBERED_REFUSALS: usize = 10_000;

/// Why a call is not done: it fails, or the host has to be asked first.
#[derive(Debug)]
pub(crate) enum Stop {
    Errno(Errno),
    Ask(Vec<Question>),
}

impl From<Errno> for Stop {
    fn from(error: Errno) -> Self {
        Self::Errno(error)
    }
}

/// What the host is asked.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Question {
    pub(crate) path: PathBuf,
    pub(crate) access: Access,
    pub(crate) is_directory: bool,
}

/// What it answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) refused: Option<String>,
    pub(crate) ignored: bool,
}

/// What the host answered to the questions of one call.
pub(crate) type Known = HashMap<Question, Answer>;

/// Whether a change is told at the end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Told {
    Yes,
    /// Counted.
    Ignored,
    /// In the command's own directory, or of its own pipes.
    No,
}

/// Decides about paths.
pub(crate) struct Guard {
    areas: Areas,
    rules: bool,
    /// Answers about reading, which hold until the end.
    readable: HashMap<Question, Answer>,
    refused: Vec<Refused>,
    remembered: HashSet<PathBuf>,
    refused_count: u64,
}

impl Guard {
    pub(crate) fn new(areas: Areas, rules: bool) -> Self {
        Self {
            areas,
            rules,
            readable: HashMap::new(),
            refused: Vec::new(),
            remembered: HashSet::new(),
            refused_count: 0,
        }
    }

    pub(crate) fn area(&self, path: &Path) -> Area {
        self.areas.of(path)
    }

    pub(crate) fn has_rules(&self) -> bool {
        self.rules
    }

    /// May it be read? Not for files of processes, of which only those of its own are: see `Area::Process`.
    pub(crate) fn read(&mut self, known: &Known, path: &Path, is_directory: bool) -> Result<(), Stop> {
        match self.areas.of(path) {
            Area::Root { .. } if self.rules => {}
            Area::Root { .. } | Area::Temporary | Area::Readable | Area::Device { .. } => return Ok(()),
            Area::Process(_) | Area::Outside => return Err(self.refuse(path, OUTSIDE, Errno::ACCESS)),
        }
        let question = Question { path: path.to_owned(), access: Access::Read, is_directory };
        let answer = match known.get(&question) {
            Some(answer) => {
                self.readable.insert(question, answer.clone());
                answer.clone()
            }
            None => match self.readable.get(&question) {
                Some(answer) => answer.clone(),
                None => return Err(Stop::Ask(vec![question])),
            },
        };
        self.obey(path, &answer)
    }

    /// May it be written, made, removed, renamed, or have its metadata changed?
    pub(crate) fn change(&mut self, known: &Known, path: &Path, is_directory: bool) -> Result<Told, Stop> {
        match self.areas.of(path) {
            Area::Root { writable: true } => {}
            Area::Root { writable: false } => return Err(self.refuse(path, "it is read-only", Errno::ROFS)),
            Area::Temporary => return Ok(Told::No),
            Area::Readable | Area::Device { .. } => {
                return Err(self.refuse(path, "it may be read, not changed", Errno::ACCESS));
            }
            Area::Process(_) | Area::Outside => return Err(self.refuse(path, OUTSIDE, Errno::ACCESS)),
        }
        if !self.rules {
            return Ok(Told::Yes);
        }
        let question = Question { path: path.to_owned(), access: Access::Change, is_directory };
        let Some(answer) = known.get(&question).cloned() else { return Err(Stop::Ask(vec![question])) };
        self.obey(path, &answer)?;
        Ok(if answer.ignored { Told::Ignored } else { Told::Yes })
    }

    /// May the path lead elsewhere, or nowhere? Not where rights of their own begin at it or below.
    pub(crate) fn whole(&mut self, path: &Path) -> Result<(), Stop> {
        if self.areas.begin_below(path) {
            return Err(self.refuse(path, "what commands have begins there", Errno::BUSY));
        }
        Ok(())
    }

    /// Notes that a path was refused.
    pub(crate) fn refuse(&mut self, path: &Path, cause: &str, error: Errno) -> Stop {
        if self.remembered.len() < REMEMBERED_REFUSALS && self.remembered.insert(path.to_owned()) {
            self.refused_count = self.refused_count.saturating_add(1);
            if self.refused.len() < TOLD_REFUSALS {
                let path = path.to_string_lossy().into_owned();
                self.refused.push(Refused { path, cause: cause.to_owned() });
            }
        }
        Stop::Errno(error)
    }

    /// The first refusals, and how many there were.
    pub(crate) fn refusals(&self) -> (Vec<Refused>, u64) {
        (self.refused.clone(), self.refused_count)
    }

    fn obey(&mut self, path: &Path, answer: &Answer) -> Result<(), Stop> {
        match &answer.refused {
            Some(cause) => Err(self.refuse(path, cause, Errno::ACCESS)),
            None => Ok(()),
        }
    }
}

const OUTSIDE: &str = "it is outside of the directories that commands have";
