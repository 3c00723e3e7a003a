//! Which paths the command may have: by area, by what a file is, and by the host's rules about the roots.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use paddock_supervisor::protocol::{Access, HardLinks, Identity, Refused, Reserved, Start};
use rustix::fs::Stat;
use rustix::io::Errno;

use crate::climb;
use crate::path_class::{self, PathClass, PathClasses};

/// How many refusals are told; all are counted.
const REPORTED_REFUSALS: usize = 20;
/// Different paths that are remembered as refused, so that each is counted once.
const REMEMBERED_REFUSALS: usize = 10_000;
/// Bytes of answers about reading that are remembered; when there are more, the host is asked again.
const REMEMBERED_ANSWERS: usize = 4 << 20;
/// How long an answer about reading holds: rules may come to be while the command runs.
const ANSWERS_HOLD: Duration = Duration::from_millis(700);
/// What a question takes beside its path.
const EACH: usize = 128;

/// Why a call is not done: it fails, or the host has to be asked first.
#[derive(Debug)]
pub(crate) enum Unresolved {
    Errno(Errno),
    Ask(Vec<Question>),
}

impl From<Errno> for Unresolved {
    fn from(error: Errno) -> Self {
        Self::Errno(error)
    }
}

/// A question to the host about a path.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Question {
    pub(crate) root: usize,
    /// From the top of the root.
    pub(crate) path: PathBuf,
    pub(crate) access: Access,
    pub(crate) is_directory: bool,
}

impl Question {
    /// Returns the memory that a cached answer takes, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.path.as_os_str().len() + EACH
    }
}

/// Answer of the host.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) refused: Option<String>,
    pub(crate) ignored: bool,
}

/// Answers of the host to the questions of one system call.
pub(crate) type Known = HashMap<Question, Answer>;

/// Whether a change is told at the end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Reporting {
    Yes,
    /// Counted.
    Ignored,
    /// In the command's own directory, or of its own pipes.
    No,
}

/// Decides which paths the command may access.
pub(crate) struct AccessControl {
    pub(crate) path_classes: PathClasses,
    rules: bool,
    closed: HashSet<Identity>,
    pinned: HashSet<Identity>,
    reserved: Vec<Reserved>,
    /// Only these programs are run: others that are there to load them are not.
    loaders: Option<HashSet<Identity>>,
    pub(crate) hard_links: HardLinks,
    readable: Answers,
    refused: Vec<Refused>,
    /// By a hash of each: paths can be long.
    remembered: HashSet<u64>,
    hasher: RandomState,
    refused_count: u64,
}

/// Answers about reading.
#[derive(Default)]
struct Answers {
    known: Known,
    bytes: usize,
    /// When the oldest of them was given.
    since: Option<Instant>,
}

impl Answers {
    fn get(&mut self, question: &Question) -> Option<Answer> {
        if self.since.is_some_and(|since| since.elapsed() >= ANSWERS_HOLD) {
            *self = Self::default();
        }
        self.known.get(question).cloned()
    }

    fn remember(&mut self, question: Question, answer: Answer) {
        let bytes = question.size() + answer.refused.as_ref().map_or(0, String::len);
        if self.bytes + bytes > REMEMBERED_ANSWERS {
            *self = Self::default();
        }
        self.since.get_or_insert_with(Instant::now);
        if self.known.insert(question, answer).is_none() {
            self.bytes += bytes;
        }
    }
}

impl AccessControl {
    pub(crate) fn new(path_classes: PathClasses, start: &Start) -> Self {
        Self {
            path_classes,
            rules: start.rules,
            closed: start.closed.iter().copied().collect(),
            pinned: start.pinned.iter().copied().collect(),
            reserved: start.reserved.clone(),
            loaders: start.programs.as_ref().map(|_| start.loaders.iter().copied().collect()),
            hard_links: start.hard_links,
            readable: Answers::default(),
            refused: Vec::new(),
            remembered: HashSet::new(),
            hasher: RandomState::new(),
            refused_count: 0,
        }
    }

    pub(crate) fn path_class(&self, path: &Path) -> PathClass {
        self.path_classes.of(path)
    }

    pub(crate) fn has_rules(&self) -> bool {
        self.rules
    }

    /// Whether only named programs are run.
    pub(crate) fn names_programs(&self) -> bool {
        self.loaders.is_some()
    }

    /// Whether a file is there only to load programs.
    pub(crate) fn is_loader(&self, file: Identity) -> bool {
        self.loaders.as_ref().is_some_and(|loaders| loaders.contains(&file))
    }

    /// May it be read? Not for files of processes, of which only those of its own are: see `PathClass::Process`.
    pub(crate) fn read(&mut self, known: &Known, path: &Path, is_directory: bool) -> Result<(), Unresolved> {
        match self.path_classes.of(path) {
            PathClass::Root { .. } if self.rules => {}
            PathClass::Root { .. } | PathClass::Temporary | PathClass::Readable | PathClass::Device { .. } => {
                return Ok(());
            }
            PathClass::Process(_) | PathClass::Outside => return Err(self.refuse(path, OUTSIDE, Errno::ACCESS)),
        }
        let question = self.question(path, Access::Read, is_directory)?;
        let answer = match known.get(&question) {
            Some(answer) => {
                self.readable.remember(question, answer.clone());
                answer.clone()
            }
            None => match self.readable.get(&question) {
                Some(answer) => answer,
                None => return Err(Unresolved::Ask(vec![question])),
            },
        };
        self.obey(path, &answer)
    }

    /// May it be written, made, removed, renamed, or have its metadata changed?
    pub(crate) fn change(&mut self, known: &Known, path: &Path, is_directory: bool) -> Result<Reporting, Unresolved> {
        match self.path_classes.of(path) {
            PathClass::Root { writable: true, .. } => {}
            PathClass::Root { writable: false, .. } => return Err(self.refuse(path, "it is read-only", Errno::ROFS)),
            PathClass::Temporary => return Ok(Reporting::No),
            PathClass::Readable | PathClass::Device { .. } => {
                return Err(self.refuse(path, "it may be read, not changed", Errno::ACCESS));
            }
            PathClass::Process(_) | PathClass::Outside => return Err(self.refuse(path, OUTSIDE, Errno::ACCESS)),
        }
        if !self.rules {
            return Ok(Reporting::Yes);
        }
        let question = self.question(path, Access::Change, is_directory)?;
        let Some(answer) = known.get(&question).cloned() else { return Err(Unresolved::Ask(vec![question])) };
        self.obey(path, &answer)?;
        Ok(if answer.ignored { Reporting::Ignored } else { Reporting::Yes })
    }

    /// What the host is asked of a path in a root. Refused where rules could hold that the host cannot see: its names are
    /// UTF-8, and those of an `.agentignore` in a directory whose name is not cannot be read by it.
    fn question(&mut self, path: &Path, access: Access, is_directory: bool) -> Result<Question, Unresolved> {
        let Some((root, below)) = self.path_classes.locate(path) else { return Err(Errno::ACCESS.into()) };
        if self.path_classes.has_unseen_rules(root, &below, is_directory) {
            let cause = "`.agentignore` in a directory whose name is not UTF-8 cannot be applied";
            return Err(self.refuse(path, cause, Errno::ACCESS));
        }
        Ok(Question { root, path: below, access, is_directory })
    }

    /// Refuses what is the host's own, and what is in it, by whatever path it was found.
    pub(crate) fn open_to_all(&mut self, opened: impl AsFd, stat: &Stat, path: &Path) -> Result<(), Unresolved> {
        // What the kernel shows as files is told by path alone, and no path of it is of a root.
        let is_own = matches!(self.path_classes.of(path), PathClass::Temporary | PathClass::Device { .. })
            || path_class::is_of_kernel(path);
        if self.closed.is_empty() || is_own {
            return Ok(());
        }
        let is_closed = self.closed.contains(&climb::identity(stat))
            || climb::holders(opened, stat, path)?.iter().any(|holder| self.closed.contains(holder));
        if is_closed {
            return Err(self.refuse(path, OWN, Errno::ACCESS));
        }
        Ok(())
    }

    /// May something be made by the last name of a path, in that directory?
    pub(crate) fn free(&mut self, directory: &Stat, path: &Path) -> Result<(), Unresolved> {
        let name = path.file_name();
        let is_it = |reserved: &Reserved| {
            // Some file systems take no notice of letter case.
            name.is_some_and(|name| name.eq_ignore_ascii_case(&reserved.name))
                && reserved.directory == climb::identity(directory)
        };
        match self.reserved.iter().any(is_it) {
            true => Err(self.refuse(path, OWN, Errno::ACCESS)),
            false => Ok(()),
        }
    }

    /// May the path lead elsewhere, or nowhere? Not where rights of their own begin at it or below.
    pub(crate) fn whole(&mut self, path: &Path, there: Option<&Stat>) -> Result<(), Unresolved> {
        let is_pinned = |stat: &Stat| {
            let identity = climb::identity(stat);
            self.pinned.contains(&identity) || self.closed.contains(&identity)
        };
        if self.path_classes.begin_below(path) || there.is_some_and(is_pinned) {
            return Err(self.refuse(path, "what commands have begins there", Errno::BUSY));
        }
        Ok(())
    }

    /// Notes that a path was refused.
    pub(crate) fn refuse(&mut self, path: &Path, cause: &str, error: Errno) -> Unresolved {
        if self.remembered.len() < REMEMBERED_REFUSALS && self.remembered.insert(self.hasher.hash_one(path)) {
            self.refused_count = self.refused_count.saturating_add(1);
            if self.refused.len() < REPORTED_REFUSALS {
                let path = path.to_string_lossy().into_owned();
                self.refused.push(Refused { path, cause: cause.to_owned() });
            }
        }
        Unresolved::Errno(error)
    }

    /// The first refusals, and how many there were.
    pub(crate) fn refusals(&self) -> (Vec<Refused>, u64) {
        (self.refused.clone(), self.refused_count)
    }

    fn obey(&mut self, path: &Path, answer: &Answer) -> Result<(), Unresolved> {
        match &answer.refused {
            Some(cause) => Err(self.refuse(path, cause, Errno::ACCESS)),
            None => Ok(()),
        }
    }
}

const OWN: &str = "it belongs to the program that runs the tools";
const OUTSIDE: &str = "it is outside of the directories that commands have";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_take_no_more_than_they_may() {
        let mut answers = Answers::default();
        for number in 0..5_000 {
            let path = PathBuf::from(format!("{number:04000}"));
            let question = Question { root: 0, path, access: Access::Read, is_directory: false };
            answers.remember(question, Answer::default());
            assert!(answers.bytes <= REMEMBERED_ANSWERS);
        }
        let bytes: usize = answers.known.keys().map(Question::size).sum();
        assert_eq!(answers.bytes, bytes);
    }
}
