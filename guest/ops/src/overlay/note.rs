//! The record of a commit of an overlay that takes several changes.

use std::collections::BTreeMap;

use paddock_types::error::Result;
use paddock_vfs::bytes::read_up_to;
use paddock_vfs::open_location::OpenLocation;
use paddock_vfs::overlay::whiteouts::BaseEntry;
use paddock_vfs::overlay::{Difference, Is};
use paddock_vfs::{Fault, FsResult, Open};
use paddock_workspace::Workspace;
use paddock_workspace::change::journal;
use serde::{Deserialize, Serialize};

use crate::overlay::{Transaction, failed};

/// Beginning of the name of the note in the state directory. It continues with an identifier of the roots, as that of a
/// journal does.
const NOTE: &str = "commit";
/// Name of a note that cannot be read, for diagnosis.
const REFUSED: &str = "commit.refused";
/// Suffix of a note that is being written.
const UNFINISHED: &str = ".new";
const MAX_NOTE: u64 = 16 * 1024 * 1024;

/// The record of a commit of several changes, which is in the state directory while the commit is made.
#[derive(Serialize, Deserialize)]
pub(super) struct Note {
    /// Name of the overlay, and whether texts are merged.
    pub(super) overlay: String,
    pub(super) merge: bool,
    /// The [`version`] of each entry of the overlay that is committed, by its path, but for entries that are gone with a
    /// directory above them.
    planned: BTreeMap<String, String>,
    /// The [`base_version`] of each link, FIFO, socket and device of the base that is removed with a directory above it, by its
    /// path. A commit removes these one after another.
    pub(super) removed: BTreeMap<String, String>,
}

impl Note {
    /// Creates the note for a commit of these differences.
    pub(super) fn of(transaction: &Transaction<'_>, overlay: &str, merge: bool, chosen: &[Difference]) -> Self {
        let (mut planned, mut removed) = (BTreeMap::new(), BTreeMap::new());
        let mut whole: Option<&Difference> = None;
        for difference in chosen {
            let path = transaction.path(difference);
            let is_below = whole.is_some_and(|above| difference.is_in(above));
            if !is_below {
                whole = difference.hides_directory().then_some(difference);
            }
            if is_below && let Some(version) = difference.was.as_ref().and_then(base_version) {
                removed.insert(path.clone(), version);
            }
            if !is_below || difference.is.is_some() {
                planned.insert(path, version(difference));
            }
        }
        Self { overlay: overlay.to_owned(), merge, planned, removed }
    }

    /// Stores the note durably.
    pub(super) fn write(&self, base: &Workspace<'_>) -> Result<()> {
        let write = || {
            let dir = base.state.clone().ok_or(Fault::ReadOnly)?;
            let json = serde_json::to_vec(self).map_err(|cause| Fault::Io(cause.to_string()))?;
            if json.len() as u64 > MAX_NOTE {
                return Err(Fault::TooLarge);
            }
            let name = journal::named(NOTE, base);
            let new = OpenLocation { dir, name: format!("{name}{UNFINISHED}") };
            new.discard(base.fs)?;
            new.publish(base.fs, &json.into(), &new.sibling(&name))
        };
        write().map_err(|fault| {
            // The note may not be durable, so recovery must not rely on it.
            drop(forget(base));
            failed("record the commit of the overlay", &fault)
        })
    }

    /// Reads the note for the present roots; `None` if it does not exist. One that cannot be read gets another name.
    pub(super) fn read(base: &Workspace<'_>) -> FsResult<Option<Self>> {
        let Some(dir) = &base.state else { return Ok(None) };
        let name = journal::named(NOTE, base);
        let file = match base.fs.open_file(dir, &name, Open::Read) {
            Err(Fault::NotFound) => return Ok(None),
            other => other?,
        };
        let note = serde_json::from_slice(&read_up_to(base.fs, &file, MAX_NOTE)?).ok();
        if note.is_none() {
            base.fs.rename(dir, &name, dir, REFUSED)?;
        }
        Ok(note)
    }

    /// Returns whether the commit brings the overlay's entry into the base.
    pub(super) fn plans(&self, path: &str, difference: &Difference) -> bool {
        self.planned.get(path) == Some(&version(difference))
    }
}

/// Removes the note of a commit that is complete or undone.
pub(super) fn forget(base: &Workspace<'_>) -> Result<()> {
    let Some(dir) = base.state.clone() else { return Ok(()) };
    let note = OpenLocation { dir, name: journal::named(NOTE, base) };
    note.discard(base.fs).map_err(|fault| failed("remove the record of the commit of the overlay", &fault))
}

/// Returns a text that changes with the overlay's entry.
fn version(difference: &Difference) -> String {
    match &difference.is {
        None => "none".to_owned(),
        Some(Is::File { sha256, .. }) => sha256.clone(),
        Some(Is::Directory) => "directory".to_owned(),
        Some(Is::Link { target }) => link(target.as_deref()),
        Some(Is::Other) => "other".to_owned(),
    }
}

/// Returns a text that changes with an entry of the base that is no file and no directory; `None` for these.
pub(super) fn base_version(entry: &BaseEntry) -> Option<String> {
    match entry {
        BaseEntry::File { .. } | BaseEntry::Directory { .. } => None,
        BaseEntry::Link { target, changed } => Some(format!("{}{changed:?}", link(target.as_deref()))),
        BaseEntry::Other => Some("other".to_owned()),
    }
}

fn link(target: Option<&str>) -> String {
    ["link to ", target.unwrap_or_default()].concat()
}
