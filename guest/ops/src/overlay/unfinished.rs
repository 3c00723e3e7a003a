//! Completes a commit of an overlay that a crash interrupted between two changes.

use std::collections::BTreeMap;

use paddock_types::error::{Code, Error, Result};
use paddock_vfs::bytes::read_up_to;
use paddock_vfs::open_location::OpenLocation;
use paddock_vfs::overlay::whiteouts::BaseEntry;
use paddock_vfs::overlay::{Difference, Is};
use paddock_vfs::{Dir, Fault, FsResult, Open};
use paddock_workspace::Workspace;
use paddock_workspace::change::journal;
use serde::{Deserialize, Serialize};

use crate::overlay::commit::{CommitArgs, make, resolve};
use crate::overlay::{Transaction, check_name, failed};

/// Beginning of the name of the note in the state directory. It continues with an identifier of the roots, as that of a
/// journal does.
const NOTE: &str = "commit";
/// Name of a note that cannot be read, for diagnosis.
const REFUSED: &str = "commit.refused";
/// Suffix of a note that is being written.
const UNFINISHED: &str = ".new";
/// Directory of the overlays in the state directory.
const OVERLAYS: &str = "overlays";
const MAX_NOTE: u64 = 16 * 1024 * 1024;

/// The record of a commit of several changes, which is in the state directory while the commit is made.
#[derive(Serialize, Deserialize)]
pub(super) struct Note {
    /// As in [`CommitArgs`].
    overlay: String,
    merge: bool,
    /// The [`version`] of each entry of the overlay that is committed, by its path, but for entries that are gone with a
    /// directory above them.
    planned: BTreeMap<String, String>,
    /// The [`base_version`] of each link, FIFO, socket and device of the base that is removed with a directory above it, by its
    /// path. A commit removes these one after another.
    removed: BTreeMap<String, String>,
}

impl Note {
    pub(super) fn of(transaction: &Transaction<'_>, args: &CommitArgs, chosen: &[Difference]) -> Self {
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
        Self { overlay: args.overlay.clone(), merge: args.merge, planned, removed }
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
    fn read(base: &Workspace<'_>) -> FsResult<Option<Self>> {
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

    fn plans(&self, path: &str, difference: &Difference) -> bool {
        self.planned.get(path) == Some(&version(difference))
    }
}

/// Removes the note of a commit that is complete or undone.
pub(super) fn forget(base: &Workspace<'_>) -> Result<()> {
    let Some(dir) = base.state.clone() else { return Ok(()) };
    let note = OpenLocation { dir, name: journal::named(NOTE, base) };
    note.discard(base.fs).map_err(|fault| failed("remove the record of the commit of the overlay", &fault))
}

/// Completes the commit of an overlay that a crash interrupted between two changes.
///
/// # Errors
///
/// Fails if the policy or a rule forbids a part of the commit, or if a part cannot be made now. The commit then stays
/// unfinished.
pub fn recover(workspace: &Workspace<'_>) -> Result<()> {
    let note = Note::read(workspace).map_err(|fault| failed("read the record of the commit of the overlay", &fault))?;
    let Some(note) = note else { return Ok(()) };
    if let Some(top) = overlay_dir(workspace, &note.overlay) {
        let overlay = Transaction::open_at(workspace.fs, workspace.policy, top)?;
        overlay.finish(workspace, &note).map_err(|error| unfinished(&note.overlay, error))?;
    }
    forget(workspace)
}

fn unfinished(overlay: &str, error: Error) -> Error {
    let hint = format!(
        "the commit of the overlay `{overlay}` was cut off, and no change is made before it is complete: remove the cause, and call again"
    );
    error.hint(hint)
}

impl Transaction<'_> {
    /// Completes a commit that a crash interrupted. A path that has changed since in the base or in the overlay is left
    /// alone.
    fn finish(&self, base: &Workspace<'_>, note: &Note) -> Result<()> {
        let fail = |fault| failed("compare", &fault);
        let all = self.choose(&[])?;
        let now: Vec<_> = self.now(&all)?.into_iter().map(|(now, _)| now).collect();
        let mut acts = Vec::new();
        let (mut whole, mut left): (Vec<&Difference>, Vec<&Difference>) = (Vec::new(), Vec::new());
        for (at, (difference, there)) in all.iter().zip(&now).enumerate() {
            let is_below = |above: &&Difference| difference.is_in(above);
            let is_in_whole = whole.iter().any(is_below);
            let is_planned = note.plans(&self.path(difference), difference) || (difference.is.is_none() && is_in_whole);
            let is_removed = there.is_none() && difference.removes_first();
            let is_begun = || self.is_begun(note, difference, all.iter().zip(&now).skip(at));
            let is_ours = *there == difference.was || is_removed || (difference.hides_directory() && is_begun());
            let hidden = difference.hides_directory().then_some(difference);
            if !is_planned || left.iter().any(is_below) || (hidden.is_some() && !is_ours) {
                left.extend(hidden);
                continue;
            }
            whole.extend(hidden);
            if difference.is_unchanged() || difference.is_same(there.as_ref()) {
                continue;
            }
            if is_ours {
                acts.push(self.act(difference, there.as_ref()).map_err(fail)?);
            } else if note.merge {
                acts.extend(self.merged(difference, there.as_ref()).map_err(fail)?);
            }
        }
        // Another process has put a link in the place of a directory: its version stays.
        let is_elsewhere = |error: Error| error.code == Code::ChangedSinceRead;
        acts.retain(|act| !resolve(base, &act.path).is_err_and(is_elsewhere));
        match make(base, acts) {
            // Another process changed the base at this moment.
            Err(error) if error.code == Code::ChangedSinceRead => Ok(()),
            made => made.map(drop),
        }
    }

    /// Returns whether a commit that was interrupted can have left the base's directory in its present state: each entry is a
    /// directory, that of the overlay, or one that the commit removes after the files. `from` are the directory and the
    /// differences after it, with the base's present entries.
    fn is_begun<'d>(
        &self,
        note: &Note,
        directory: &Difference,
        from: impl Iterator<Item = (&'d Difference, &'d Option<BaseEntry>)>,
    ) -> bool {
        let mut within = from.take_while(|(difference, _)| difference.is_in(directory));
        within.all(|(difference, now)| match now {
            None | Some(BaseEntry::Directory { .. }) => true,
            Some(now) => {
                let is_removed =
                    || base_version(now).is_some_and(|now| note.removed.get(&self.path(difference)) == Some(&now));
                difference.is_same(Some(now)) || is_removed()
            }
        })
    }
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
fn base_version(entry: &BaseEntry) -> Option<String> {
    match entry {
        BaseEntry::File { .. } | BaseEntry::Directory { .. } => None,
        BaseEntry::Link { target } => Some(link(target.as_deref())),
        BaseEntry::Other => Some("other".to_owned()),
    }
}

fn link(target: Option<&str>) -> String {
    ["link to ", target.unwrap_or_default()].concat()
}

/// Opens the directory of the named overlay; `None` if the name is not plain or does not exist.
fn overlay_dir(base: &Workspace<'_>, name: &str) -> Option<Dir> {
    check_name(name).ok()?;
    let all = base.fs.open_dir(base.state.as_ref()?, OVERLAYS).ok()?;
    base.fs.open_dir(&all, name).ok()
}
