//! Backups: the replaced and removed content of each change, in one file in the state directory,
//! written durably before the first step, so that the change can be undone.
//!
//! The file contains the old contents one after the other, then a description of
//! them as JSON, then the length of the JSON. The file name is the id of the
//! record: the time in milliseconds, a count within that millisecond, and the
//! size. A file that a crash left unfinished has another name, and is removed
//! when the next record is written.

use paddock_types::path::is_at_or_below;
use std::collections::BTreeMap;

use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result};
use paddock_vfs::bytes::each_part;
use paddock_vfs::content::FileContent;
use paddock_vfs::open_location::{OpenLocation, open_or_make};
use paddock_vfs::{Dir, Fault, File, FsResult, Open};
use serde::{Deserialize, Serialize};

use crate::change::stored_location::StoredLocation;
use crate::{Root, Workspace};

const DIRECTORY: &str = "history";
const UNFINISHED: &str = "unfinished-";
/// Number of digits at the end of a record that contain the length of its JSON.
const LENGTH_DIGITS: usize = 16;
/// Maximum size in bytes of a record's JSON, for writing, and for reading a file that is not trusted.
const MAX_JSON: u64 = 16 * 1024 * 1024;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// Record of the changes of one call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Name of the operation, as in its errors.
    #[serde(rename = "verb")]
    pub operation: String,
    /// Id of the record of the previous change of the same call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Identifiers of the roots of the call by label, if the host provides them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roots: BTreeMap<String, String>,
    /// Changes of the call, in order.
    pub entries: Vec<Entry>,
}

impl Record {
    /// Returns whether the paths of the record belong to the roots of this workspace: the state directory may have
    /// served another workspace whose first root had the same path.
    pub fn is_of(&self, workspace: &Workspace<'_>) -> bool {
        let paths = self.entries.iter().flat_map(|entry| entry.to.iter().chain([&entry.path]));
        paths.into_iter().all(|path| {
            let holds = |label: &&String| is_at_or_below(path, label);
            let label = self.roots.keys().filter(|label| !label.is_empty()).find(holds).map_or("", String::as_str);
            let now = workspace.roots.iter().find(|root| root.label == label).and_then(|root| root.id.as_ref());
            self.roots.get(label).zip(now).is_none_or(|(then, now)| then == now)
        })
    }
}

/// One change of a record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Kind of the change.
    pub action: Action,
    /// Path as results show it.
    pub path: String,
    /// Destination of a move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Type of the entry before the change; after a creation, of the new entry.
    pub kind: Kind,
    /// Target of the replaced link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Offset and length of the old content in the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<(u64, u64)>,
    /// Permission bits before the change, if the host reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    /// Etag of the new content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// Kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// The change created the entry.
    Created,
    /// The change replaced the content.
    Modified,
    /// The change removed the entry.
    Deleted,
    /// The change moved the entry.
    Moved,
}

impl Entry {
    /// Returns an entry for a change of the file at `path`.
    pub fn file(action: Action, path: &str, after: Option<&FileContent>) -> Self {
        let (path, after) = (path.to_owned(), after.map(FileContent::etag));
        Self { action, path, to: None, kind: Kind::File, target: None, content: None, mode: None, after }
    }

    /// Returns an entry for a change without stored content.
    pub fn of(action: Action, path: &str, kind: Kind) -> Self {
        Self { kind, after: None, ..Self::file(action, path, None) }
    }

    /// Returns the path, and the destination of a move.
    pub fn paths(&self) -> impl Iterator<Item = &String> {
        [Some(&self.path), self.to.as_ref()].into_iter().flatten()
    }
}

/// A record that is being written.
pub struct Draft<'w> {
    workspace: &'w Workspace<'w>,
    dir: Dir,
    name: String,
    file: File,
    size: u64,
    record: Record,
}

impl<'w> Draft<'w> {
    /// Begins the record of a change; `None` if the policy disables backups, or the host provides no state directory.
    pub fn begin(workspace: &'w Workspace<'w>, operation: &str) -> Result<Option<Self>> {
        let Some(state) = workspace.state.as_ref().filter(|_| workspace.policy.backups.enabled) else {
            return Ok(None);
        };
        let begin = || {
            let fs = workspace.fs;
            let dir = open_or_make(fs, state, DIRECTORY)?;
            let name = format!("{UNFINISHED}{:016x}", fs.random());
            let file = fs.open_file(&dir, &name, Open::CreateNew)?;
            let id = |root: &Root| Some((root.label.clone(), root.id.clone()?));
            let roots = workspace.roots.iter().filter_map(id).collect();
            let record =
                Record { operation: operation.to_owned(), before: workspace.backup(), roots, entries: Vec::new() };
            Ok(Self { workspace, dir, name, file, size: 0, record })
        };
        begin().map(Some).map_err(|fault| failed(&fault))
    }

    /// Adds a change with the content that the change replaces or removes.
    pub fn add(&mut self, mut entry: Entry, content: Option<&FileContent>) -> Result<()> {
        if let Some(content) = content {
            entry.content = Some((self.size, content.size()));
            content.write(self.workspace.fs, &self.file, self.size).map_err(|fault| failed(&fault))?;
            self.size += content.size();
        }
        self.record.entries.push(entry);
        Ok(())
    }

    /// Adds a change of the regular file at `location` with its current content, whatever its size.
    pub fn add_file(&mut self, action: Action, path: &str, location: &OpenLocation) -> Result<()> {
        let fs = self.workspace.fs;
        let mut copy = || {
            let file = fs.open_file(&location.dir, &location.name, Open::Read)?;
            let start = self.size;
            each_part(fs, &file, 0, u64::MAX, |_, part| self.append(part))?;
            Ok((start, self.size - start))
        };
        let content = copy().map_err(|fault: Fault| failed(&fault))?;
        let mode = location.mode(fs);
        self.record.entries.push(Entry { content: Some(content), mode, ..Entry::of(action, path, Kind::File) });
        Ok(())
    }

    /// Adds the directories that the change creates.
    pub fn add_created_dirs(&mut self, directories: &[StoredLocation]) -> Result<()> {
        directories.iter().try_for_each(|stored_location| {
            self.add(Entry::of(Action::Created, &stored_location.path(), Kind::Directory), None)
        })
    }

    fn append(&mut self, bytes: &[u8]) -> FsResult<()> {
        self.workspace.fs.write(&self.file, self.size, bytes)?;
        self.size += bytes.len() as u64;
        Ok(())
    }

    /// Makes the record durable, and removes the oldest records beyond the policy's limits of number, age and total
    /// size.
    pub fn finish(mut self) -> Result<()> {
        let json = serde_json::to_string(&self.record).unwrap_or_default();
        if json.len() as u64 > MAX_JSON {
            drop(OpenLocation { dir: self.dir.clone(), name: self.name.clone() }.discard(self.workspace.fs));
            let changes = self.record.entries.len();
            return Err(Error::new(Code::LimitExceeded, format!("{changes} changes are too many for a backup"))
                .hint("change less at once, or turn `backups` off"));
        }
        let end = format!("{json}{:0LENGTH_DIGITS$}", json.len());
        let mut finish = || {
            self.append(end.as_bytes())?;
            let fs = self.workspace.fs;
            fs.sync_file(&self.file)?;
            let now = fs.now();
            let now_ms = now.seconds * 1_000 + u64::from(now.nanoseconds / 1_000_000);
            let names = fs.list(&self.dir)?.entries.into_iter().map(|entry| entry.name);
            let names: Vec<_> = names.filter(|name| *name != self.name).collect();
            // The id sorts after all others, even if the clock was set back.
            let (ms, count) = match names.iter().filter_map(|name| parts(name)).map(|id| (id.ms, id.count)).max() {
                Some((last, count)) if last >= now_ms => (last, count + 1),
                _ => (now_ms, 0),
            };
            let id = format!("{ms:013}-{count:06x}-{}", self.size);
            fs.rename(&self.dir, &self.name, &self.dir, &id)?;
            fs.sync_dir(&self.dir)?;
            prune(self.workspace, &self.dir, names, &id, now_ms)?;
            Ok(id)
        };
        let id = finish().map_err(|fault: Fault| failed(&fault))?;
        self.workspace.backed_up(id);
        Ok(())
    }
}

fn failed(fault: &Fault) -> Error {
    fault
        .at("store the old content in", "the state directory")
        .hint("nothing was changed; the person who runs this has to check the state directory, or turn `backups` off")
}

/// Parts of a record's id.
struct Id {
    /// Time of the record, in milliseconds since 1970.
    ms: u64,
    /// Number of earlier records in the same millisecond.
    count: u64,
    /// Size in bytes.
    size: u64,
}

fn parts(id: &str) -> Option<Id> {
    let mut parts = id.split('-');
    let (ms, count, size) = (parts.next()?, parts.next()?, parts.next()?);
    let id = Id { ms: ms.parse().ok()?, count: u64::from_str_radix(count, 16).ok()?, size: size.parse().ok()? };
    Some(id).filter(|_| parts.next().is_none())
}

/// Returns the time and count of the short form of an id: `1795322715123`, or `1795322715123-2` with a count that is not
/// 0. No two records have both in common.
fn short(id: &str) -> Option<(u64, u64)> {
    let (ms, count) = id.split_once('-').map_or((id, None), |(ms, count)| (ms, Some(count)));
    let count = count.map_or(Some(0), |count| u64::from_str_radix(count, 16).ok())?;
    Some((ms.parse().ok()?, count))
}

/// Removes the records that the policy does not retain, and unfinished records of crashes.
///
/// Records of this call stay, whatever their size, and so do the records that an undo reads: their content is read
/// after the record of the undo is written.
fn prune(workspace: &Workspace<'_>, dir: &Dir, names: Vec<String>, own: &str, now_ms: u64) -> FsResult<()> {
    let limits = &workspace.policy.backups;
    let (mut ids, others): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| parts(name).is_some());
    // Newest first.
    ids.sort_unstable_by(|a, b| b.cmp(a));
    let (mut count, mut bytes) = (1, parts(own).map_or(0, |id| id.size));
    let is_gone = |name: &String| {
        let Some(id) = parts(name) else { return false };
        count += 1;
        bytes = bytes.saturating_add(id.size);
        let is_old = now_ms.saturating_sub(id.ms) > limits.max_days.saturating_mul(DAY_MS);
        (count > limits.max_count || is_old || bytes > limits.max_bytes) && !workspace.needs_backup(name)
    };
    let gone: Vec<_> = ids.into_iter().filter(is_gone).collect();
    let unfinished = others.into_iter().filter(|name| name.starts_with(UNFINISHED));
    for name in gone.into_iter().chain(unfinished) {
        OpenLocation { dir: dir.clone(), name }.discard(workspace.fs)?;
    }
    Ok(())
}

/// Returns the note for a change whose replaced and removed content is too large for a backup; `None` if it fits.
pub fn too_large(workspace: &Workspace<'_>, bytes: u64) -> Option<String> {
    let limits = &workspace.policy.backups;
    let is_too_large = bytes > limits.max_bytes && limits.enabled && workspace.state.is_some();
    let max = limits.max_bytes;
    is_too_large.then(|| format!("no backup: the old content has {bytes} bytes, and backups hold at most {max}"))
}

/// Removes the last record of the call, whose change was undone.
pub fn forget(workspace: &Workspace<'_>) {
    if let (Some(id), Ok(Some(dir))) = (workspace.not_backed_up(), directory(workspace)) {
        // A record that cannot be removed is harmless: its change did not happen.
        drop(OpenLocation { dir, name: id }.discard(workspace.fs));
    }
}

/// Returns the ids of all records, newest first, each with its time in milliseconds since 1970.
pub fn ids(workspace: &Workspace<'_>) -> Result<Vec<(String, u64)>> {
    let Some(dir) = directory(workspace)? else { return Ok(Vec::new()) };
    let listing = workspace.fs.list(&dir).map_err(|fault| unreadable(&fault))?;
    let known = listing.entries.into_iter().filter_map(|entry| Some((parts(&entry.name)?.ms, entry.name)));
    let mut ids: Vec<_> = known.map(|(ms, id)| (id, ms)).collect();
    ids.sort_unstable_by(|a, b| b.cmp(a));
    Ok(ids)
}

/// An open stored record.
pub struct Saved<'w> {
    workspace: &'w Workspace<'w>,
    location: OpenLocation,
    /// Content of the record.
    pub record: Record,
}

impl<'w> Saved<'w> {
    /// Returns the id of the record.
    pub fn id(&self) -> &str {
        &self.location.name
    }

    /// Opens the record with the id `id`, or its short form. Fails if the record is missing, damaged or of another workspace.
    pub fn open(workspace: &'w Workspace<'w>, id: &str) -> Result<Self> {
        let saved = Self::find(workspace, id)?.ok_or_else(|| {
            Error::new(Code::Io, format!("the backup `{id}` is damaged")).hint("another one may hold the file too")
        })?;
        if saved.record.is_of(workspace) {
            return Ok(saved);
        }
        Err(Error::new(Code::Denied, format!("the backup `{id}` is of other directories that had the same names"))
            .hint("only what was changed in the directories of this workspace can be restored"))
    }

    /// Opens the record with the id `id`, or its short form, of any workspace; `None` if the record is damaged.
    pub fn find(workspace: &'w Workspace<'w>, id: &str) -> Result<Option<Self>> {
        let missing = || {
            Error::new(Code::NotFound, format!("there is no backup `{}`", paddock_types::error::printable(id)))
                .hint("results of changes name their backups; the oldest backups are removed when there are too many")
        };
        let id = match short(id) {
            Some(short) => {
                let is_meant = |id: &str| parts(id).is_some_and(|id| (id.ms, id.count) == short);
                ids(workspace)?.into_iter().map(|(id, _)| id).find(|id| is_meant(id)).ok_or_else(missing)?
            }
            None => id.to_owned(),
        };
        let id = id.as_str();
        let size = parts(id).ok_or_else(missing)?.size;
        let dir = directory(workspace)?.ok_or_else(missing)?;
        let file = match workspace.fs.open_file(&dir, id, Open::Read) {
            Err(Fault::NotFound) => return Err(missing()),
            other => other.map_err(|fault| unreadable(&fault))?,
        };
        let record = Self::record(workspace, &file, size).map_err(|fault| unreadable(&fault))?;
        Ok(record.map(|record| Self { workspace, location: OpenLocation { dir, name: id.to_owned() }, record }))
    }

    fn record(workspace: &Workspace<'_>, file: &File, size: u64) -> FsResult<Option<Record>> {
        let Some(end) = size.checked_sub(LENGTH_DIGITS as u64) else { return Ok(None) };
        let digits = range(workspace, file, end, LENGTH_DIGITS as u64)?;
        let length = std::str::from_utf8(&digits).ok().and_then(|digits| digits.parse::<u64>().ok());
        let length = length.filter(|length| *length <= MAX_JSON.min(end));
        let Some(length) = length else { return Ok(None) };
        Ok(serde_json::from_slice(&range(workspace, file, end - length, length)?).ok())
    }

    /// Returns the old content of an entry of the record.
    pub fn content(&self, entry: &Entry) -> Result<FileContent> {
        let (start, size) = entry.content.unwrap_or_default();
        let content = FileContent::stored(self.workspace.fs, self.location.clone(), start, size);
        let content = content.map_err(|fault| unreadable(&fault))?;
        if content.size() != size {
            return Err(Error::at(Code::Io, "restore", &entry.path, "its backup is damaged")
                .hint("another backup may hold the file too"));
        }
        Ok(content)
    }
}

/// Reads a range of bytes; fewer if the file ends earlier.
fn range(workspace: &Workspace<'_>, file: &File, start: u64, size: u64) -> FsResult<Vec<u8>> {
    let mut bytes = Vec::new();
    each_part(workspace.fs, file, start, size, |_, part| {
        bytes.extend_from_slice(part);
        Ok(())
    })?;
    Ok(bytes)
}

fn directory(workspace: &Workspace<'_>) -> Result<Option<Dir>> {
    let Some(state) = &workspace.state else { return Ok(None) };
    match workspace.fs.open_dir(state, DIRECTORY) {
        Err(Fault::NotFound) => Ok(None),
        other => other.map(Some).map_err(|fault| unreadable(&fault)),
    }
}

fn unreadable(fault: &Fault) -> Error {
    fault.at("read the backups in", "the state directory")
}
