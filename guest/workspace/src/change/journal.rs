//! The journal: the planned steps of a change, written durably before the first step, so that after a crash a later
//! call finishes or undoes the change.

use paddock_types::digest::sha256;
use paddock_types::error::{Code, Error, Result};
use paddock_vfs::bytes::read_up_to;
use paddock_vfs::open_location::{OpenLocation, is_temporary};
use paddock_vfs::{Dir, Fault, Filesystem, FsResult, Open, copy_remove};
use serde::{Deserialize, Serialize};

use crate::change::step::Step;
use crate::change::stored_location::StoredLocation;
use crate::protected_paths::protected;
use crate::{Root, Workspace};

/// The state directory inside the workspace, for hosts that preopen none outside.
const INSIDE: &str = ".paddock";
const NAME: &str = "journal";
/// Suffix of a journal that is being written.
const UNFINISHED: &str = ".new";
/// Number of hexadecimal digits in a journal's name that identify its roots.
const ID_DIGITS: usize = 16;
const REFUSED: &str = "journal.refused";

/// Directory of a journal.
enum Home<'w> {
    /// In the state directory, outside the roots.
    State(&'w Dir),
    /// In the root that it changes, for hosts that preopen no state directory.
    Inside(&'w Root),
}

/// Steps that a change is about to make.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Journal {
    /// Directories that the change makes, outer ones first; undoing it removes them.
    pub directories: Vec<StoredLocation>,
    /// Changes of files.
    pub steps: Vec<Step>,
    /// Trees to remove, whether the change is finished or undone.
    pub debris: Vec<StoredLocation>,
}

impl Journal {
    /// Makes the journal durable. After this, a later call recovers the change from a crash.
    pub fn write(&self, workspace: &Workspace<'_>) -> Result<()> {
        // An earlier change of the same call may have left a journal with files to clean up.
        if !workspace.changes().is_empty() {
            recover(workspace)?;
        }
        let home = self.home(workspace)?;
        let put = || {
            let dir = home.open(workspace, true)?.ok_or(Fault::NotFound)?;
            let body = serde_json::to_string(self).map_err(|cause| Fault::Io(cause.to_string()))?;
            let name = name(workspace);
            let new = OpenLocation { dir: dir.clone(), name: format!("{name}{UNFINISHED}") };
            let text = format!("{}\n{body}", sha256(body.as_bytes())).into_bytes().into();
            match new.publish(workspace.fs, &text, &new.sibling(&name)) {
                // A crash left an unfinished journal, which the failed attempt has removed.
                Err(Fault::Exists) => new.publish(workspace.fs, &text, &new.sibling(&name)),
                other => other,
            }
        };
        put().map_err(|fault: Fault| {
            // The call fails, so no later call may replay a journal that was written in part.
            drop(self.clear(workspace));
            fault.at("keep a journal in", "the state directory")
        })
    }

    /// Removes the journal of a change that is complete or undone.
    pub fn clear(&self, workspace: &Workspace<'_>) -> FsResult<()> {
        let Ok(home) = self.home(workspace) else { return Ok(()) };
        let Some(dir) = home.open(workspace, false)? else { return Ok(()) };
        OpenLocation { dir: dir.clone(), name: name(workspace) }.discard(workspace.fs)?;
        // Recovery recognizes completed steps. If a crash brought back a journal without steps, recovery would remove
        // the new directories.
        if self.steps.is_empty() && !self.directories.is_empty() { workspace.fs.sync_dir(&dir) } else { Ok(()) }
    }

    /// Returns the targets and destinations of the steps, the new directories and the debris.
    fn stored_locations(&self) -> impl Iterator<Item = &StoredLocation> {
        self.steps.iter().flat_map(Step::stored_locations).chain(&self.directories).chain(&self.debris)
    }

    /// Returns the directory of the journal: the state directory, or if there is none, the root of the change.
    fn home<'w>(&self, workspace: &'w Workspace<'_>) -> Result<Home<'w>> {
        if let Some(dir) = &workspace.state {
            return Ok(Home::State(dir));
        }
        let mut roots = workspace
            .roots
            .iter()
            .filter(|root| self.stored_locations().any(|stored_location| stored_location.root == root.label));
        match (roots.next(), roots.next()) {
            (Some(root), None) => Ok(Home::Inside(root)),
            _ => Err(Error::new(
                Code::Io,
                "cannot change several roots in one call: the host keeps no state directory for this workspace",
            )
            .hint("change them one call after the other")),
        }
    }

    /// Removes the trees in `debris`, and then the journal.
    pub fn tidy(&self, workspace: &Workspace<'_>) -> FsResult<()> {
        remove_debris(workspace, self).and_then(|()| self.clear(workspace))
    }

    /// Returns whether every name in the journal is valid for a change.
    fn is_sound(&self) -> bool {
        let mut stored_locations = self.stored_locations().peekable();
        let is_own = |stored_location: &StoredLocation| is_temporary(&stored_location.name);
        stored_locations.peek().is_some()
            && stored_locations.all(StoredLocation::is_sound)
            // The only trees that a change leaves for removal are its own temporary files and directories.
            && self.debris.iter().all(is_own)
            && self.steps.iter().flat_map(Step::own_names).all(is_temporary)
    }

    /// Returns whether the journal names only locations in `root`, none of them hidden from the agent or protected. The
    /// author of the workspace may have forged a journal inside a root.
    fn is_of(&self, workspace: &Workspace<'_>, root: &Root) -> bool {
        let mut stored_locations = self.stored_locations();
        self.protected_path(workspace).is_none()
            && stored_locations.all(|stored_location| {
                stored_location.root == root.label && !workspace.is_hidden_from_agent(&stored_location.path())
            })
    }

    /// Returns a path in the journal that the policy does not permit to change.
    fn protected_path(&self, workspace: &Workspace<'_>) -> Option<String> {
        let is_protected = |path: &String| !workspace.policy.allow_protected && protected(path).is_some();
        self.stored_locations().map(StoredLocation::path).find(is_protected)
    }
}

/// Finishes or undoes a change that a crash interrupted.
///
/// The host ensures that the journal is not that of a change in progress: it
/// holds a lock around each changing call, or makes one call at a time.
pub fn recover(workspace: &Workspace<'_>) -> Result<()> {
    match &workspace.state {
        Some(dir) => recover_in(workspace, &Home::State(dir)),
        None => workspace.roots.iter().try_for_each(|root| recover_in(workspace, &Home::Inside(root))),
    }
}

fn recover_in(workspace: &Workspace<'_>, home: &Home<'_>) -> Result<()> {
    let stored_journal =
        read(workspace, home).map_err(|fault| fault.at("read the journal in", "the state directory"))?;
    let Some((dir, text)) = stored_journal else { return Ok(()) };
    let is_ours = |journal: &Journal| match home {
        Home::State(_) => true,
        Home::Inside(root) => journal.is_of(workspace, root),
    };
    let journal = parse(&text).filter(|journal| journal.is_sound() && is_ours(journal));
    if let Some(path) = journal.as_ref().and_then(|journal| journal.protected_path(workspace)) {
        return Err(needs_rights(&path));
    }
    let result = match journal {
        Some(journal) => settle(workspace, &journal).and_then(|()| journal.clear(workspace)),
        // A foreign or damaged journal is never replayed, and is retained under another name for diagnosis.
        None => workspace.fs.rename(&dir, &name(workspace), &dir, REFUSED),
    };
    result.map_err(|fault| {
        let error = fault.at("recover the unfinished change in", "the journal");
        Error { code: Code::Io, ..error }.hint("the workspace has to be writable for it; then call again")
    })
}

/// Returns the error of a caller whose policy permits less than that of the caller whose change was cut off.
fn needs_rights(path: &str) -> Error {
    let cause = "the change was cut off, and the policy does not permit to change this protected path";
    Error::at(Code::Denied, "complete an earlier change of", path, cause)
        .hint("a call under the policy `allow_protected` completes or undoes that change; then call again")
}

/// Finishes the change if a step was applied or no step is lost; undoes it otherwise.
fn settle(workspace: &Workspace<'_>, journal: &Journal) -> FsResult<()> {
    use crate::change::step::Progress::{Applied, Lost, Ready};
    let fs = workspace.fs;
    let mut steps = Vec::new();
    for step in &journal.steps {
        match step.open(workspace) {
            Ok(work) => steps.push((work.progress(fs)?, work)),
            // The crash came before the change created this directory, so no step was applied.
            Err(Fault::NotFound) => return undo_all(workspace, journal),
            Err(fault) => return Err(fault),
        }
    }
    let lost = steps.iter().any(|(progress, _)| *progress == Lost);
    let applied = steps.iter().any(|(progress, _)| *progress == Applied);
    if lost && !applied || journal.steps.is_empty() {
        return undo_all(workspace, journal);
    }
    for (progress, work) in &steps {
        if *progress == Ready {
            work.apply(fs)?;
        }
    }
    for (_, work) in &steps {
        work.sync(fs)?;
        work.tidy(fs)?;
    }
    remove_debris(workspace, journal)
}

/// Removes the prepared files and directories of a change of which no step was applied.
fn undo_all(workspace: &Workspace<'_>, journal: &Journal) -> FsResult<()> {
    for step in &journal.steps {
        match step.open(workspace) {
            Ok(work) => work.tidy(workspace.fs)?,
            Err(Fault::NotFound) => {}
            Err(fault) => return Err(fault),
        }
    }
    remove_debris(workspace, journal)?;
    for stored_location in journal.directories.iter().rev() {
        let Ok(location) = stored_location.open(workspace) else { continue };
        match workspace.fs.remove_dir(&location.dir, &location.name) {
            Ok(()) => workspace.fs.sync_dir(&location.dir)?,
            Err(Fault::NotFound | Fault::NotEmpty | Fault::NotDirectory) => {}
            Err(fault) => return Err(fault),
        }
    }
    Ok(())
}

fn remove_debris(workspace: &Workspace<'_>, journal: &Journal) -> FsResult<()> {
    for stored_location in &journal.debris {
        match stored_location.open(workspace) {
            // Debris that cannot be removed is invisible to tools, and must not block every later change.
            Ok(location) => match copy_remove::remove(workspace.fs, &location) {
                Ok(()) => workspace.fs.sync_dir(&location.dir)?,
                Err(Fault::Access | Fault::NotEmpty) => {}
                Err(fault) => return Err(fault),
            },
            Err(Fault::NotFound) => {}
            Err(fault) => return Err(fault),
        }
    }
    Ok(())
}

/// Reads the text of the journal, if it exists, and returns it with the directory of the journal.
fn read(workspace: &Workspace<'_>, home: &Home<'_>) -> FsResult<Option<(Dir, Vec<u8>)>> {
    let Some(dir) = home.open(workspace, false)? else { return Ok(None) };
    let file = match workspace.fs.open_file(&dir, &name(workspace), Open::Read) {
        Ok(file) => file,
        Err(Fault::NotFound) => return Ok(None),
        Err(fault) => return Err(fault),
    };
    Ok(Some((dir, read_up_to(workspace.fs, &file, u64::MAX)?)))
}

/// Returns the name of the journal, which identifies the set of roots: one state directory can serve workspaces that
/// have only the first root in common.
fn name(workspace: &Workspace<'_>) -> String {
    named(NAME, workspace)
}

/// Returns the name of a record in the state directory for the present set of roots. It begins with `prefix`.
pub fn named(prefix: &str, workspace: &Workspace<'_>) -> String {
    let ids: Vec<_> = workspace.roots.iter().map(|root| (&root.label, &root.id)).collect();
    if ids.iter().all(|(_, id)| id.is_none()) {
        return prefix.to_owned();
    }
    let digest = sha256(format!("{ids:?}").as_bytes());
    format!("{prefix}-{}", digest.get(..ID_DIGITS).unwrap_or_default())
}

fn parse(text: &[u8]) -> Option<Journal> {
    let (sum, body) = std::str::from_utf8(text).ok()?.split_once('\n')?;
    (sum == sha256(body.as_bytes())).then(|| serde_json::from_str(body).ok())?
}

impl Home<'_> {
    /// Opens the directory; `None` if it does not exist. With `make`, creates a missing directory. Inside a root, the
    /// directory gets a `.gitignore` that excludes it.
    fn open(&self, workspace: &Workspace<'_>, make: bool) -> FsResult<Option<Dir>> {
        let root = match self {
            Self::State(dir) => return Ok(Some((*dir).clone())),
            Self::Inside(root) => root,
        };
        match workspace.fs.open_dir(&root.dir, INSIDE) {
            Err(Fault::NotFound) if make => make_inside(workspace.fs, &root.dir).map(Some),
            Err(Fault::NotFound) => Ok(None),
            other => other.map(Some),
        }
    }
}

fn make_inside(fs: &dyn Filesystem, root: &Dir) -> FsResult<Dir> {
    fs.make_dir(root, INSIDE)?;
    let dir = fs.open_dir(root, INSIDE)?;
    OpenLocation { dir: dir.clone(), name: ".gitignore".to_owned() }.create(fs, &b"*\n".to_vec().into())?;
    Ok(dir)
}

#[cfg(test)]
mod tests;
