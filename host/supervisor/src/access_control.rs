//! Access decisions for paths: by path class, by the identity of a file, and by the host's rules about the roots.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use paddock_supervisor::protocol::{Access, HardLinks, Identity, Refused, Reserved, Start};
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

use crate::climb;
use crate::git_files::GitFile;
use crate::path_class::{self, PathClass, PathClasses};

/// Maximum number of refusals that are reported; all are counted.
const REPORTED_REFUSALS: usize = 20;
/// Maximum number of distinct refused paths that are remembered, so that each is counted once.
const REMEMBERED_REFUSALS: usize = 10_000;
/// Maximum memory of the cache of answers about reading, in bytes. Beyond it, the cache is emptied and the host is
/// asked again.
const REMEMBERED_ANSWERS: usize = 4 << 20;
/// Time for which an answer about reading is cached. It is limited because rules can appear while the command runs.
const ANSWERS_HOLD: Duration = Duration::from_millis(700);
/// Estimated memory of a question apart from its path, in bytes.
const EACH: usize = 128;

/// Reason why a call is not made: it fails, or the host must be asked first.
#[derive(Debug)]
pub(crate) enum Unresolved {
    Errno(Errno),
    NeedsAnswers(Vec<Question>),
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
    /// Relative to the root.
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

/// Whether a change is reported when the command ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Reporting {
    Yes,
    /// Only counted.
    Ignored,
    /// Neither reported nor counted: in the command's temporary directory, or on an object without a path, such as a
    /// pipe.
    No,
}

/// Decides which paths the command may access.
pub(crate) struct AccessControl {
    pub(crate) path_classes: PathClasses,
    rules: bool,
    git_data: bool,
    closed: HashSet<Identity>,
    pinned: HashSet<Identity>,
    reserved: Vec<Reserved>,
    /// Files that only load other programs and may not be run themselves; `None` if the command may run any program.
    loaders: Option<HashSet<Identity>>,
    pub(crate) hard_links: HardLinks,
    readable: Answers,
    refused: Vec<Refused>,
    /// Hashes of the refused paths, because paths can be long.
    remembered: HashSet<u64>,
    hasher: RandomState,
    refused_count: u64,
    pub(crate) network_refused: bool,
}

/// Cache of answers about reading.
#[derive(Default)]
struct Answers {
    known: Known,
    bytes: usize,
    /// Time of the oldest answer.
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
            git_data: start.git_data,
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
            network_refused: false,
        }
    }

    pub(crate) fn path_class(&self, path: &Path) -> PathClass {
        self.path_classes.of(path)
    }

    pub(crate) fn has_rules(&self) -> bool {
        self.rules
    }

    /// Returns whether the command may run only named programs.
    pub(crate) fn names_programs(&self) -> bool {
        self.loaders.is_some()
    }

    /// Returns whether a file may only load other programs, not run by its own name.
    pub(crate) fn is_loader(&self, file: Identity) -> bool {
        self.loaders.as_ref().is_some_and(|loaders| loaders.contains(&file))
    }

    /// Checks whether the command may read a path. Files in `/proc/PID` are refused here: the caller allows them for
    /// processes of the command, see [`PathClass::Process`].
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
                None => return Err(Unresolved::NeedsAnswers(vec![question])),
            },
        };
        self.obey(path, &answer)
    }

    /// Checks whether the command may write, create, remove or rename a path, or change its metadata.
    pub(crate) fn change(&mut self, known: &Known, path: &Path, is_directory: bool) -> Result<Reporting, Unresolved> {
        if self.git_file(path).is_some() {
            return Err(self.refuse(path, "Git replaces this file by a rename, and so must a command", Errno::ACCESS));
        }
        self.replace(known, path, is_directory)
    }

    /// Returns the file of Git at a path, if its content has to be checked before it gets this name.
    pub(crate) fn git_file(&self, path: &Path) -> Option<GitFile> {
        let (_, below) = self.git_data.then(|| self.path_classes.locate(path))??;
        GitFile::at(&below)
    }

    /// Checks whether the command may give the name `path` to another entry, whose content is checked apart if
    /// [`AccessControl::git_file`] names a file.
    pub(crate) fn replace(&mut self, known: &Known, path: &Path, is_directory: bool) -> Result<Reporting, Unresolved> {
        match self.path_classes.of(path) {
            PathClass::Root { writable: true, .. } => {}
            PathClass::Root { writable: false, .. } => return Err(self.refuse(path, "it is read-only", Errno::ROFS)),
            PathClass::Temporary => return Ok(Reporting::No),
            PathClass::Readable | PathClass::Device { .. } => {
                return Err(self.refuse_outside(path, "it may be read, not changed"));
            }
            PathClass::Process(_) | PathClass::Outside => return Err(self.refuse_outside(path, OUTSIDE)),
        }
        if !self.rules {
            return Ok(Reporting::Yes);
        }
        let question = self.question(path, Access::Change, is_directory)?;
        let Some(answer) = known.get(&question).cloned() else { return Err(Unresolved::NeedsAnswers(vec![question])) };
        self.obey(path, &answer)?;
        Ok(if answer.ignored { Reporting::Ignored } else { Reporting::Yes })
    }

    /// Returns the question to the host about a path in a root. Fails if an `.agentignore` may apply that the host
    /// cannot read: the host uses UTF-8 names, so that it misses the file in a directory whose name is not UTF-8.
    fn question(&mut self, path: &Path, access: Access, is_directory: bool) -> Result<Question, Unresolved> {
        let Some((root, below)) = self.path_classes.locate(path) else { return Err(Errno::ACCESS.into()) };
        if self.path_classes.has_unseen_rules(root, &below, is_directory) {
            let cause = "`.agentignore` in a directory whose name is not UTF-8 cannot be applied";
            return Err(self.refuse(path, cause, Errno::ACCESS));
        }
        Ok(Question { root, path: below, access, is_directory })
    }

    /// Refuses the host's own files and directories, and everything in these directories, whatever path led there.
    pub(crate) fn open_to_all(&mut self, opened: impl AsFd, stat: &Stat, path: &Path) -> Result<(), Unresolved> {
        // A file of the kernel's file systems is classified by path alone, and none of their paths is in a root.
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

    /// Refuses to create an entry with a reserved name, the last name of `path`, in `directory`.
    pub(crate) fn free(&mut self, directory: &Stat, path: &Path) -> Result<(), Unresolved> {
        let name = path.file_name();
        let is_it = |reserved: &Reserved| {
            // Some file systems ignore letter case.
            name.is_some_and(|name| name.eq_ignore_ascii_case(&reserved.name))
                && reserved.directory == climb::identity(directory)
        };
        match self.reserved.iter().any(is_it) {
            true => Err(self.refuse(path, OWN, Errno::ACCESS)),
            false => Ok(()),
        }
    }

    /// Refuses to rename, remove or replace an entry if a directory or file with rights of its own is at `path` or
    /// below it, or if the entry is pinned or closed.
    pub(crate) fn whole(&mut self, path: &Path, there: Option<&Stat>) -> Result<(), Unresolved> {
        let is_pinned = |stat: &Stat| {
            let identity = climb::identity(stat);
            self.pinned.contains(&identity) || self.closed.contains(&identity)
        };
        if self.path_classes.begin_below(path) || there.is_some_and(is_pinned) {
            return Err(self.refuse(path, "a directory of the command is at or below this path", Errno::BUSY));
        }
        Ok(())
    }

    /// Refuses to put anything but a regular file or a new directory into `.git`, see [`Start::git_data`].
    pub(crate) fn plain_in_git(&mut self, path: &Path, kind: FileType) -> Result<(), Unresolved> {
        let in_git = |(_, below): (usize, PathBuf)| below.components().any(|name| name.as_os_str() == ".git");
        if !self.git_data || kind.is_file() || !self.path_classes.locate(path).is_some_and(in_git) {
            return Ok(());
        }
        Err(self.refuse(path, "only regular files and new directories can be put into `.git`", Errno::ACCESS))
    }

    /// Refuses a change outside of the roots, and names the places for changes.
    fn refuse_outside(&mut self, path: &Path, cause: &str) -> Unresolved {
        let writable_dirs =
            if self.path_classes.has_writable_root() { "the workspace or `$TMPDIR`" } else { "`$TMPDIR`" };
        self.refuse(path, &format!("{cause}; write to {writable_dirs}"), Errno::ACCESS)
    }

    /// Records that a path was refused and returns `error` as the result of the call.
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

    /// Returns the first refusals and the number of all refusals.
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
