//! Snapshots of directory trees, stored in the state directory. A token names each snapshot by its time and the digest
//! of its file, so that no other file is mistaken for it.

use paddock_types::digest::sha256;
use paddock_types::entry::{Kind, Time};
use paddock_types::error::{Code, Error, Phrase, Result, Term, printable};
use paddock_types::phrase;
use paddock_vfs::bytes::read_up_to;
use paddock_vfs::open_location::{OpenLocation, open_or_make};
use paddock_vfs::{Dir, Fault, FsResult, Open, Stat};
use serde::{Deserialize, Serialize};

use crate::Workspace;

const DIRECTORY: &str = "changes";
const UNFINISHED: &str = "unfinished-";
/// Hexadecimal digits of the digest in a token.
const DIGEST_DIGITS: usize = 16;
/// Maximum size of one snapshot, of all snapshots, both in bytes, and maximum number; the oldest are removed first.
const MAX_BYTES: u64 = 32 * 1024 * 1024;
const MAX_ALL_BYTES: u64 = 128 * 1024 * 1024;
const MAX_COUNT: usize = 32;
/// Seconds within which a file can change again under the same times.
const SETTLING_SECONDS: u64 = 2;

/// State of a directory tree at one time.
#[derive(Serialize, Deserialize)]
pub struct Snapshot {
    /// Fingerprint of the arguments, because other arguments select other files.
    pub fingerprint: String,
    /// Start time of the snapshot, in seconds since 1970.
    pub taken: u64,
    /// The entries, in the order of a walk.
    pub entries: Vec<Entry>,
}

/// A file or link in a snapshot.
#[derive(Serialize, Deserialize)]
pub struct Entry {
    /// Path, in the form of results.
    #[serde(rename = "p")]
    pub path: String,
    /// Whether it is a link.
    #[serde(rename = "l", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_link: bool,
    /// Size in bytes.
    #[serde(rename = "s")]
    pub size: u64,
    /// Time of the last change of the content, in seconds and nanoseconds.
    #[serde(rename = "m")]
    pub modified: Option<(u64, u32)>,
    /// Time of the last change of the metadata.
    #[serde(rename = "c")]
    pub changed: Option<(u64, u32)>,
    /// Etag of the file, or of a link's target; `None` if the file was too large to be read.
    #[serde(rename = "e", default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
}

impl Entry {
    /// Returns the metadata of a file or link.
    pub fn of(path: &str, stat: &Stat) -> Self {
        let time = |time: Time| (time.seconds, time.nanoseconds);
        Self {
            path: path.to_owned(),
            is_link: stat.kind == Kind::Link,
            size: stat.size,
            modified: stat.modified.map(time),
            changed: stat.changed.map(time),
            etag: None,
        }
    }

    /// Returns whether type, size and times equal those of another entry.
    pub fn is_like(&self, other: &Self) -> bool {
        let known = |entry: &Self| (entry.is_link, entry.size, entry.modified, entry.changed);
        known(self) == known(other)
    }

    /// Returns whether a change after `taken` would show in the times of the entry.
    pub fn is_settled(&self, taken: u64) -> bool {
        let newest = self.modified.max(self.changed);
        self.modified.is_some() && newest.is_some_and(|(seconds, _)| seconds.saturating_add(SETTLING_SECONDS) < taken)
    }

    /// Returns whether the content differs from that of another entry, judged by etag, or by metadata without etags.
    pub fn differs(&self, other: &Self) -> bool {
        match (&self.etag, &other.etag) {
            (Some(own), Some(others)) => own != others || self.is_link != other.is_link,
            _ => !self.is_like(other),
        }
    }
}

#[cold]
#[inline(never)]
fn anew() -> Phrase {
    let rest = " for a new token; what changed before it is not known then, so read again what matters";
    phrase!["call without ", Term::Since, rest]
}

/// Returns the snapshot of a token, if it belongs to a call with the same arguments.
pub fn open(workspace: &Workspace<'_>, token: &str, fingerprint: &str) -> Result<Snapshot> {
    if parts(token).is_none() {
        return Err(Error::argument(Term::Since, "it is not a token").hint(anew()));
    }
    let bytes = read(workspace, token).map_err(|fault| failed(&fault))?;
    let is_own = |bytes: &Vec<u8>| parts(token).is_some_and(|(_, digest)| sha256(bytes).starts_with(digest));
    let snapshot: Option<Snapshot> = bytes.filter(is_own).and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let Some(snapshot) = snapshot else {
        let cause = format!("there is no token `{}` any more: the last {MAX_COUNT} are kept", printable(token));
        return Err(Error::new(Code::NotFound, cause).hint(anew()));
    };
    if snapshot.fingerprint != fingerprint {
        return Err(Error::argument(Term::Since, "it is the token of a call with other arguments").hint(phrase![
            "repeat ",
            Term::Path,
            ", ",
            Term::IncludeHidden,
            " and ",
            Term::IncludeIgnored,
            " as they were, or leave ",
            Term::Since,
            " out"
        ]));
    }
    Ok(snapshot)
}

/// Stores a snapshot, removes the oldest snapshots beyond the limits, and returns the token.
pub fn keep(workspace: &Workspace<'_>, snapshot: &Snapshot) -> Result<String> {
    let json = serde_json::to_vec(snapshot).unwrap_or_default();
    if json.len() as u64 > MAX_BYTES {
        let cause = format!("cannot store the state: {} files are too many", snapshot.entries.len());
        return Err(
            Error::new(Code::LimitExceeded, cause).hint(phrase!["give a directory with less in it as ", Term::Path])
        );
    }
    let now = workspace.fs.now();
    let ms = now.seconds.saturating_mul(1_000).saturating_add(u64::from(now.nanoseconds / 1_000_000));
    let digest: String = sha256(&json).chars().take(DIGEST_DIGITS).collect();
    let token = format!("{ms:013}-{digest}");
    write(workspace, &token, json).map_err(|fault| failed(&fault))?;
    Ok(token)
}

fn write(workspace: &Workspace<'_>, token: &str, json: Vec<u8>) -> FsResult<()> {
    let fs = workspace.fs;
    let state = workspace.state.as_ref().ok_or(Fault::NotFound)?;
    let dir = open_or_make(fs, state, DIRECTORY)?;
    let new = OpenLocation { dir: dir.clone(), name: format!("{UNFINISHED}{:016x}", fs.random()) };
    new.publish(fs, &json.into(), &new.sibling(token))?;
    prune(workspace, &dir, token)
}

/// Removes the oldest snapshots and the remains of crashes, but not the snapshot `own`.
fn prune(workspace: &Workspace<'_>, dir: &Dir, own: &str) -> FsResult<()> {
    let fs = workspace.fs;
    let names = fs.list(dir)?.entries.into_iter().map(|entry| entry.name);
    let (mut tokens, others): (Vec<_>, Vec<_>) = names.partition(|name| parts(name).is_some());
    // Newest first.
    tokens.sort_unstable_by(|a, b| b.cmp(a));
    let (mut count, mut bytes) = (0, 0_u64);
    let is_gone = |name: &String| {
        count += 1;
        bytes = bytes.saturating_add(fs.stat(dir, name).map_or(0, |stat| stat.size));
        name != own && (count > MAX_COUNT || bytes > MAX_ALL_BYTES)
    };
    let gone: Vec<_> = tokens.into_iter().filter(is_gone).collect();
    let unfinished = others.into_iter().filter(|name| name.starts_with(UNFINISHED));
    gone.into_iter().chain(unfinished).try_for_each(|name| OpenLocation { dir: dir.clone(), name }.discard(fs))
}

/// Returns the content of a token's file; `None` if it does not exist or is larger than a snapshot can be.
fn read(workspace: &Workspace<'_>, token: &str) -> FsResult<Option<Vec<u8>>> {
    let (fs, state) = (workspace.fs, workspace.state.as_ref().ok_or(Fault::NotFound)?);
    let file = match fs.open_dir(state, DIRECTORY).and_then(|dir| fs.open_file(&dir, token, Open::Read)) {
        Err(Fault::NotFound) => return Ok(None),
        other => other?,
    };
    match read_up_to(fs, &file, MAX_BYTES) {
        Err(Fault::TooLarge) => Ok(None),
        other => other.map(Some),
    }
}

/// Returns the time of a token in milliseconds, and its digest.
fn parts(token: &str) -> Option<(u64, &str)> {
    let (ms, digest) = token.split_once('-')?;
    let is_digest =
        digest.len() == DIGEST_DIGITS && digest.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    let is_time = ms.len() == 13 && ms.bytes().all(|digit| digit.is_ascii_digit());
    if is_digest && is_time { Some((ms.parse().ok()?, digest)) } else { None }
}

fn failed(fault: &Fault) -> Error {
    fault
        .at("store the list of files in", "the state directory")
        .hint("the person who runs this has to check the state directory")
}
