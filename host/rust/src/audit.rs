//! Audit log: a file with records of every call, each chained to the previous record by its hash.
//!
//! A record is a line of JSON: `sequence` (from 1), `prev`, `workspace` (the real path of the root), the members of
//! an event ([`crate::Event`]), and `hash`, the SHA-256 of the part of the line before `,"hash"`. `prev` is the
//! `hash` of the previous record, or 64 zeros in the first. [`verify`] therefore finds every line that was altered,
//! removed, inserted or moved. Missing lines at the end are found by the head, a second file with `.head` after its
//! name, which contains the number and hash of the last record. A user who can write both files can create a new
//! chain; a hash that is stored elsewhere reveals that, if [`verify`] gets it.
//!
//! A call that can change files is recorded before it runs, and every call is recorded when it ends. A record is on
//! disk before its call continues. Only the owner can read and write the two files, which are never opened through a
//! symbolic link. A lock serializes the records of several processes.
//!
//! A crash can leave an incomplete line. The line stays, and the next record describes it: `"event": "torn"`, with
//! the number of its `bytes` and their `sha256`; [`verify`] reports it. Complete lines that do not belong to the
//! chain, or a file that is shorter than its head says, are not the result of a crash: recording then fails until a
//! person has examined the file.

mod chain;
mod file;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::directory::{Deferred, Directory};
use crate::error::Error;
use crate::events::{Event, now};
use crate::mount::{self, Mount};
use crate::state::StateDir;
use chain::{Chain, Head, Torn};

/// Name of the audit file in a state directory.
const IN_STATE: &str = "audit.jsonl";

/// The audit log of one workspace.
#[derive(Clone, Debug)]
pub(crate) struct Audit {
    files: file::Files,
    workspace: Option<String>,
}

/// A place at which the chain of an audit file breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// Number of the line, from 1.
    pub line: u64,
    /// Reason, in words.
    pub reason: String,
}

/// Result of [`verify`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Number of intact records, from the first on.
    pub records: u64,
    /// Hash of the last intact record, for storage elsewhere.
    pub head: String,
    /// Place at which the chain breaks. The lines after it are not checked.
    pub problem: Option<Problem>,
    /// Notes, such as an incomplete line after a crash.
    pub notes: Vec<String>,
}

/// Content of a record, without the members that form the chain.
#[derive(Serialize)]
#[serde(untagged)]
enum Entry<'e> {
    Event(&'e Event),
    Torn { event: &'static str, time: String, bytes: u64, sha256: String },
}

impl Audit {
    /// Opens the audit log in the file `path`, which must lie outside of the roots. Creates the file and its directory.
    pub(crate) fn at(path: &Path, roots: &[Mount]) -> Result<Self, Error> {
        let refuse = |cause: io::Error| Error::Audit { path: path.to_owned(), cause };
        let (walk, name) = mount::open_outside(path, roots).map_err(refuse)?;
        let directory = Deferred::new(walk).and_then(|directory| directory.create()).map_err(refuse)?;
        Self::new(directory, name, roots).map_err(refuse)
    }

    /// Opens the audit log in the state directory, and creates the directory.
    pub(crate) fn in_state(state: &StateDir, roots: &[Mount]) -> Result<Self, Error> {
        let refuse = |cause: io::Error| Error::Audit { path: state.path().join(IN_STATE), cause };
        let directory = state.create().map_err(refuse)?;
        if mount::hold(roots, &directory) {
            return Err(refuse(io::Error::other("it would be inside a root, where tools could read and change it")));
        }
        Self::new(directory, IN_STATE.into(), roots).map_err(refuse)
    }

    fn new(directory: Directory, name: OsString, roots: &[Mount]) -> io::Result<Self> {
        let files = file::Files::new(directory, name);
        files.open()?;
        let workspace = roots.first().map(|root| root.host().to_string_lossy().into_owned());
        Ok(Self { files, workspace })
    }

    /// Returns the paths of the two files.
    pub(crate) fn paths(&self) -> [PathBuf; 2] {
        self.files.paths()
    }

    /// Adds the record of an event, durably. After a failure, the file has no new record, an incomplete line, or the
    /// record without a new head.
    pub(crate) fn append(&self, event: &Event) -> io::Result<()> {
        let mut log = self.files.lock()?;
        let mut head_file = self.files.open_head()?;
        let head = Head::read(&mut head_file)?;
        let size = log.metadata()?.len();
        let mut chain = head.chain();
        if size < chain.size {
            return Err(io::Error::other(
                "records are missing at the end of the audit file; `paddock audit verify` shows more",
            ));
        }
        let mut lines = Vec::new();
        if size > chain.size {
            lines = self.catch_up(&mut log, &mut chain)?;
        }
        self.push(&mut chain, Entry::Event(event), &mut lines)?;
        log.write_all(&lines)?;
        log.sync_data()?;
        chain.head().write(&mut head_file, &head)
    }

    /// Advances to the last record. Returns the record that must precede the next one if a crash left an incomplete
    /// line.
    fn catch_up(&self, log: &mut File, chain: &mut Chain) -> io::Result<Vec<u8>> {
        let mut lines = Vec::new();
        log.seek(SeekFrom::End(-1))?;
        let mut last = [0];
        log.read_exact(&mut last)?;
        if last != *b"\n" {
            // The incomplete line becomes a line, which is not a record.
            log.write_all(b"\n")?;
        }
        log.seek(SeekFrom::Start(chain.size))?;
        let mut reader = BufReader::new(log);
        let end = chain.follow(&mut reader, |_| ())?;
        if let Some(Problem { reason, .. }) = end.problem {
            let cause = format!("the audit file was changed ({reason}); `paddock audit verify` shows the place");
            return Err(io::Error::other(cause));
        }
        if let Some(Torn { bytes, sha256, .. }) = end.torn {
            chain.size += bytes;
            self.push(chain, Entry::Torn { event: chain::TORN, time: now(), bytes, sha256 }, &mut lines)?;
        }
        Ok(lines)
    }

    fn push(&self, chain: &mut Chain, entry: Entry<'_>, lines: &mut Vec<u8>) -> io::Result<()> {
        #[derive(Serialize)]
        struct Record<'r> {
            sequence: u64,
            prev: &'r str,
            #[serde(skip_serializing_if = "Option::is_none")]
            workspace: Option<&'r str>,
            #[serde(flatten)]
            entry: Entry<'r>,
        }
        let workspace = self.workspace.as_deref();
        let record = Record { sequence: chain.sequence + 1, prev: &chain.hash, workspace, entry };
        let line = chain.seal(&serde_json::to_string(&record)?);
        lines.extend_from_slice(line.as_bytes());
        Ok(())
    }
}

/// Checks the audit file `path` from its first record to its head. With `known`, the hash of a record that was stored
/// elsewhere, the file must contain that record.
///
/// # Errors
///
/// The error of the file system if the file cannot be read. A broken chain is no error, but [`Report::problem`].
pub fn verify(path: impl AsRef<Path>, known: Option<&str>) -> io::Result<Report> {
    let path = path.as_ref();
    let log = file::open_to_read(path)?;
    log.lock_shared()?;
    let head = match file::open_to_read(&file::head(path)) {
        Ok(mut file) => Some(Head::read(&mut file)?),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => None,
        Err(cause) => return Err(cause),
    };
    let mut chain = Chain::start();
    let (mut has_known, mut is_head_met) = (known.is_none(), false);
    let end = chain.follow(&mut BufReader::new(log), |record| {
        has_known |= known == Some(record.hash.as_str());
        is_head_met |= head.as_ref().is_some_and(|head| head.is(record));
    })?;
    let mut report = Report { records: chain.sequence, head: chain.hash, problem: end.problem, notes: end.notes };
    if report.problem.is_some() {
        return Ok(report);
    }
    let missing = match &head {
        _ if end.torn.is_some() => {
            Some("it is not a record, as after a crash; the next record will describe it".to_owned())
        }
        Some(head) if head.sequence > report.records => {
            Some(format!("the head counts {} records: some are missing here", head.sequence))
        }
        Some(head) if head.sequence > 0 && !is_head_met => {
            Some(format!("record {} is not the one that the head names", head.sequence))
        }
        None if report.records > 1 => Some("there is no head beside the file: records may be missing here".to_owned()),
        _ if !has_known => Some("the record with the given hash is not in the file".to_owned()),
        Some(_) | None => None,
    };
    let line = end.torn.map_or(end.lines + 1, |torn| torn.line);
    report.problem = missing.map(|reason| Problem { line, reason });
    let behind = report.records.saturating_sub(head.map_or(0, |head| head.sequence));
    if report.problem.is_none() && behind > 0 {
        report.notes.push(format!("the head is {behind} behind, as after a crash"));
    }
    Ok(report)
}

/// Returns the last lines of the audit file `path`, at most `max`, the oldest first, without checking them.
///
/// # Errors
///
/// The error of the file system if the file cannot be read.
pub fn last(path: impl AsRef<Path>, max: usize) -> io::Result<Vec<String>> {
    let mut last_lines = VecDeque::new();
    for line in BufReader::new(file::open_to_read(path.as_ref())?).split(b'\n') {
        last_lines.push_back(String::from_utf8_lossy(&line?).into_owned());
        if last_lines.len() > max {
            last_lines.pop_front();
        }
    }
    Ok(last_lines.into())
}
