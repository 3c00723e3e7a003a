//! Changes of files, all of them or none, that survive a crash at any point.
//!
//! Everything is planned in memory. Then the journal is made durable, then every
//! new content as a temporary sibling, then the steps are applied: a new file is
//! linked into place, which fails where something is there; an existing one is
//! replaced by a rename, while a second link keeps the old one until all is done.
//! Where the host does not carry mode bits over at a rename, an existing file is
//! rewritten in place instead, from the temporary copy, which a later call
//! replays. An error takes back what was applied.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::error::{Code, Error, Result};
use crate::fs::journal::Journal;
use crate::fs::resolve::Place;
use crate::fs::spot::{Site, Spot, temporary_name};
use crate::fs::{Dir, Fault, Filesystem, FsResult, Kind};
use crate::policy::HardLinks;
use crate::response::{Change, ChangeKind};
use crate::workspace::{Workspace, sha256};

/// One file's change, planned whole in memory.
pub struct FileChange {
    /// Where the file is, or is to be. Missing parent directories are made.
    pub place: Place,
    /// What it holds now; none where nothing may be there.
    pub old: Option<Vec<u8>>,
    /// What it is to hold; none to remove it.
    pub new: Option<Vec<u8>>,
    /// Where it is to be moved; nothing may be there.
    pub to: Option<Place>,
}

/// Makes the changes, all of them or none, durably, and records them in the
/// workspace's list. Returns notes for the caller, such as a hard link that was
/// broken. Checks rights and rules itself (`Workspace::check_change`).
pub fn commit(workspace: &Workspace<'_>, verb: &str, changes: Vec<FileChange>) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    if changes.is_empty() {
        return Ok(notes);
    }
    let mut journal = Journal::default();
    for change in &changes {
        check(workspace, verb, change)?;
        journal.directories.extend(missing_directories(workspace, change));
        journal.steps.push(plan(workspace, verb, change, &mut notes)?);
    }
    journal.write(workspace)?;
    let mut made = Vec::new();
    match carry_out(workspace, verb, &changes, &journal, &mut made) {
        Ok(()) => {
            changes.iter().for_each(|change| record(workspace, change));
            Ok(notes)
        }
        Err(error) => Err(take_back(workspace, &changes, &journal, &made, error)),
    }
}

fn carry_out(
    workspace: &Workspace<'_>,
    verb: &str,
    changes: &[FileChange],
    journal: &Journal,
    made: &mut Vec<Site>,
) -> Result<()> {
    let fs = workspace.fs;
    let mut works = Vec::new();
    for (change, step) in changes.iter().zip(&journal.steps) {
        let blame = |fault: Fault| fault.at(verb, &change.place.given);
        let dir = make_missing(fs, &change.place, made).map_err(blame)?;
        let to = change.to.as_ref().map(|to| make_missing(fs, to, made)).transpose().map_err(blame)?;
        let work = step.at(dir, to);
        if let (Some(temporary), Some(new)) = (&work.temporary, &change.new) {
            temporary.create(fs, new).map_err(blame)?;
        }
        works.push((work, change));
    }
    if works.len() > 1 {
        // The first step may only be applied when no other one can get lost.
        sync_all(fs, verb, &works)?;
    }
    for (work, change) in &works {
        work.check_fresh(fs, verb, change)?;
    }
    for (work, change) in &works {
        work.apply(fs).map_err(|fault| fault.at(verb, &change.place.given))?;
    }
    sync_all(fs, verb, &works)?;
    let clean = works.iter().try_for_each(|(work, _)| work.clean(fs)).and_then(|()| Journal::clear(workspace));
    // The change is durable: what could not be cleaned away now, the journal cleans away later.
    clean.or(Ok(()))
}

/// Makes the names that the steps touched durable, each directory once.
fn sync_all(fs: &dyn Filesystem, verb: &str, works: &[(Work<'_>, &FileChange)]) -> Result<()> {
    let mut synced = HashSet::new();
    for (work, change) in works {
        for (spot, site) in work.directories() {
            if synced.insert((&spot.root, &spot.above)) {
                fs.sync_dir(&site.dir).map_err(|fault| fault.at(verb, &change.place.given))?;
            }
        }
    }
    Ok(())
}

/// Undoes what an error stopped. Where that fails too, the journal stays for a later call.
fn take_back(
    workspace: &Workspace<'_>,
    changes: &[FileChange],
    journal: &Journal,
    made: &[Site],
    error: Error,
) -> Error {
    let fs = workspace.fs;
    let undone = journal.steps.iter().zip(changes).rev().try_for_each(|(step, change)| match step.open(workspace) {
        Ok(work) => work.undo(fs, change.old.as_deref()).and_then(|()| work.sync(fs)).and_then(|()| work.clean(fs)),
        Err(Fault::NotFound) => Ok(()),
        Err(fault) => Err(fault),
    });
    let undone = undone.and_then(|()| {
        made.iter().rev().try_for_each(|site| match fs.remove_dir(&site.dir, &site.name) {
            Err(Fault::NotEmpty | Fault::NotFound) => Ok(()),
            other => other,
        })
    });
    match undone.and_then(|()| Journal::clear(workspace)) {
        Ok(()) => error,
        Err(_) => Error {
            message: format!("{}; taking back what was done failed too", error.message),
            ..error.hint("a later call finishes or undoes the change; read the files again before the next one")
        },
    }
}

fn check(workspace: &Workspace<'_>, verb: &str, change: &FileChange) -> Result<()> {
    for place in [Some(&change.place), change.to.as_ref()].into_iter().flatten() {
        workspace.check_change(place, verb)?;
        if place.is_root() {
            return Err(place.not_a_file(verb, Kind::Directory));
        }
    }
    let limit = workspace.policy.limits.max_file_bytes;
    if let Some(new) = change.new.as_ref().filter(|new| new.len() as u64 > limit) {
        return Err(workspace.too_large(&change.place, verb, new.len() as u64));
    }
    if let Some(there) = change.to.as_ref().filter(|to| to.stat.is_some()) {
        return Err(Fault::Exists.at(verb, &there.given));
    }
    match (&change.old, change.place.stat) {
        (None, Some(_)) => Err(Fault::Exists.at(verb, &change.place.given)),
        (Some(_), None) => Err(Fault::NotFound.at(verb, &change.place.given)),
        _ => Ok(()),
    }
}

fn plan(workspace: &Workspace<'_>, verb: &str, change: &FileChange, notes: &mut Vec<String>) -> Result<Step> {
    let policy = workspace.policy;
    let links = change.place.stat.map_or(1, |stat| stat.links);
    let rewritten = change.old.is_some() && change.new.is_some() && change.old != change.new;
    let shared = rewritten && links > 1;
    if shared && policy.hard_links == HardLinks::Refuse {
        let cause = format!("it has {links} hard links, and the others may be outside the workspace");
        return Err(Error::at(Code::Denied, verb, &change.place.given, cause)
            .hint("copy it, and change the copy; or ask the person who runs this"));
    }
    let keep = policy.hard_links == HardLinks::Keep;
    let in_place = rewritten && if shared { keep } else { !policy.host.carries_modes };
    if shared && !in_place {
        let others = links - 1;
        notes.push(format!("`{}` had {others} other hard link(s), which keep the old content", change.place.path));
    }
    let has_temporary = change.new.is_some() && change.old != change.new;
    Ok(Step {
        target: Spot::of(workspace, &change.place),
        to: change.to.as_ref().map(|to| Spot::of(workspace, to)),
        temporary: has_temporary.then(|| temporary_name(workspace.fs)),
        backup: temporary_name(workspace.fs),
        old: change.old.as_deref().map(sha256),
        new: change.new.as_deref().map(sha256),
        in_place,
    })
}

/// The directories that the change will have to make, outer ones first.
fn missing_directories(workspace: &Workspace<'_>, change: &FileChange) -> Vec<Spot> {
    let places = [Some(&change.place), change.to.as_ref()].into_iter().flatten();
    places.flat_map(|place| directories_to_make(workspace, place)).collect()
}

/// The directories above `place` that do not exist, outer ones first.
pub fn directories_to_make(workspace: &Workspace<'_>, place: &Place) -> Vec<Spot> {
    let spot = Spot::of(workspace, place);
    let there = place.trail.len();
    (there..spot.above.len())
        .filter_map(|depth| {
            let (above, rest) = spot.above.split_at_checked(depth)?;
            Some(Spot { root: spot.root.clone(), above: above.to_vec(), name: rest.first()?.clone() })
        })
        .collect()
}

/// Makes the directories above `place` that do not exist, notes which in `made`, and opens the innermost.
pub fn make_missing(fs: &dyn Filesystem, place: &Place, made: &mut Vec<Site>) -> FsResult<Dir> {
    place.missing.iter().try_fold(place.dir.clone(), |dir, name| {
        match fs.make_dir(&dir, name) {
            Ok(()) => {
                made.push(Site { dir: dir.clone(), name: name.clone() });
                fs.sync_dir(&dir)?;
            }
            Err(Fault::Exists) => {}
            Err(fault) => return Err(fault),
        }
        fs.open_dir(&dir, name)
    })
}

fn record(workspace: &Workspace<'_>, change: &FileChange) {
    let size = change.new.as_ref().map(|new| new.len() as u64);
    let path = change.place.path.clone();
    let (kind, to) = match (&change.to, &change.old, &change.new) {
        (Some(to), _, _) => (ChangeKind::Moved, Some(to.path.clone())),
        (None, None, _) => (ChangeKind::Created, None),
        (None, Some(_), Some(_)) => (ChangeKind::Modified, None),
        (None, Some(_), None) => (ChangeKind::Deleted, None),
    };
    workspace.changed(Change { kind, path, to, size });
}

/// A file's change as the journal keeps it: names and digests, no content.
#[derive(Debug, Serialize, Deserialize)]
pub struct Step {
    target: Spot,
    to: Option<Spot>,
    /// The name beside the target that holds the new content; none where it does not change.
    temporary: Option<String>,
    /// The name beside the target that keeps the old file until all is done.
    backup: String,
    /// SHA-256 of the old content; none where nothing was there.
    old: Option<String>,
    /// SHA-256 of the new content; none where the file goes.
    new: Option<String>,
    in_place: bool,
}

impl Step {
    /// Every name that the step touches.
    pub fn spots(&self) -> impl Iterator<Item = &Spot> {
        std::iter::once(&self.target).chain(&self.to)
    }

    /// The step with its directories open.
    pub fn open(&self, workspace: &Workspace<'_>) -> FsResult<Work<'_>> {
        let dir = self.target.open(workspace)?.dir;
        let to = self.to.as_ref().map(|to| to.open(workspace)).transpose()?;
        Ok(self.at(dir, to.map(|site| site.dir)))
    }

    fn at(&self, dir: Dir, to_dir: Option<Dir>) -> Work<'_> {
        let target = Site { dir, name: self.target.name.clone() };
        let to = to_dir.zip(self.to.as_ref()).map(|(dir, to)| Site { dir, name: to.name.clone() });
        let temporary = self.temporary.as_ref().map(|name| target.beside(name));
        Work { step: self, backup: target.beside(&self.backup), temporary, to, target }
    }
}

/// A step with its directories open.
pub struct Work<'s> {
    step: &'s Step,
    target: Site,
    to: Option<Site>,
    temporary: Option<Site>,
    backup: Site,
}

/// How far a step came before a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It can be applied, from the start or from where it stopped.
    Ready,
    /// It is done.
    Applied,
    /// It was not prepared whole, or someone else changed the file since.
    Lost,
}

impl Work<'_> {
    /// Applies the step, from wherever it stopped.
    pub fn apply(&self, fs: &dyn Filesystem) -> FsResult<()> {
        match (&self.temporary, &self.step.old, &self.step.new) {
            (Some(temporary), None, _) => return temporary.move_to_free(fs, &self.target),
            (Some(temporary), Some(_), _) if self.step.in_place => self.target.overwrite(fs, temporary)?,
            (Some(temporary), Some(_), _) => self.replace(fs, temporary)?,
            (None, _, None) => return self.target.rename(fs, &self.backup),
            (None, _, Some(_)) => {}
        }
        match &self.to {
            None => Ok(()),
            Some(to) => self.move_to(fs, to),
        }
    }

    fn move_to(&self, fs: &dyn Filesystem, to: &Site) -> FsResult<()> {
        match self.target.move_to_free(fs, to) {
            // Linked before the crash; only the old name was still to go.
            Err(Fault::Exists) if to.digest(fs)? == self.step.new => self.target.discard(fs),
            other => other,
        }
    }

    /// Puts the temporary file in the target's place, and keeps the old one as backup.
    fn replace(&self, fs: &dyn Filesystem, temporary: &Site) -> FsResult<()> {
        match self.target.link(fs, &self.backup) {
            // A file system without hard links keeps no backup: a failing sync cannot be taken back there.
            Ok(()) | Err(Fault::Exists | Fault::Unsupported | Fault::Access) => {}
            Err(fault) => return Err(fault),
        }
        match temporary.rename(fs, &self.target) {
            // Replaced before the crash; only the move was missing.
            Err(Fault::NotFound) if self.to.is_some() => Ok(()),
            other => other,
        }
    }

    /// Takes the step back, from wherever it stopped; `old` is what the file held.
    fn undo(&self, fs: &dyn Filesystem, old: Option<&[u8]>) -> FsResult<()> {
        if let Some(to) = &self.to {
            self.undo_move(fs, to)?;
        }
        match old {
            None if self.is_linked(fs)? => self.target.discard(fs),
            None => Ok(()),
            Some(old) if self.step.in_place => self.target.restore(fs, old),
            Some(_) => match self.backup.rename(fs, &self.target) {
                Err(Fault::NotFound) => Ok(()),
                other => other,
            },
        }
    }

    fn undo_move(&self, fs: &dyn Filesystem, to: &Site) -> FsResult<()> {
        if to.digest(fs)? != self.step.new {
            return Ok(());
        }
        match self.target.digest(fs)? {
            None => to.move_to_free(fs, &self.target),
            Some(_) => to.discard(fs),
        }
    }

    /// Whether the new file that is at the target is the one that was prepared, not someone else's.
    fn is_linked(&self, fs: &dyn Filesystem) -> FsResult<bool> {
        let Some(temporary) = &self.temporary else { return Ok(false) };
        match fs.stat(&temporary.dir, &temporary.name) {
            Ok(stat) => Ok(stat.links > 1),
            Err(Fault::NotFound) => Ok(self.target.digest(fs)? == self.step.new),
            Err(fault) => Err(fault),
        }
    }

    /// Fails where the file is no longer what the change was planned on.
    fn check_fresh(&self, fs: &dyn Filesystem, verb: &str, change: &FileChange) -> Result<()> {
        let path = &change.place.given;
        let there = self.target.digest(fs).map_err(|fault| fault.at(verb, path))?;
        match (&there, &self.step.old) {
            (there, old) if there == old => Ok(()),
            (Some(_), None) => Err(Fault::Exists.at(verb, path)),
            _ => Err(Error::at(Code::ChangedSinceRead, verb, path, "it was changed at the same time by someone else")
                .hint("read it again, then repeat the change on what is there now")),
        }
    }

    /// How far the step came, judged by content.
    pub fn progress(&self, fs: &dyn Filesystem) -> FsResult<Progress> {
        let step = self.step;
        let target = self.target.digest(fs)?;
        let prepared = match &self.temporary {
            Some(temporary) => temporary.digest(fs)? == step.new,
            None => true,
        };
        // A rewrite in place that was torn is begun again from the temporary file.
        let ready = prepared && (target == step.old || (step.in_place && target.is_some()));
        if let Some(to) = &self.to {
            let moved = to.digest(fs)? == step.new;
            return Ok(match (moved, &target) {
                (true, None) => Progress::Applied,
                (false, target) if *target == step.new || ready => Progress::Ready,
                // Linked under the new name, and not yet gone from the old one.
                (true, target) if *target == step.new => Progress::Ready,
                _ => Progress::Lost,
            });
        }
        Ok(match () {
            () if target == step.new => Progress::Applied,
            () if ready => Progress::Ready,
            () => Progress::Lost,
        })
    }

    /// Makes the names that the step touched durable.
    pub fn sync(&self, fs: &dyn Filesystem) -> FsResult<()> {
        self.directories().try_for_each(|(_, site)| fs.sync_dir(&site.dir))
    }

    fn directories(&self) -> impl Iterator<Item = (&Spot, &Site)> {
        let to = self.step.to.as_ref().zip(self.to.as_ref());
        std::iter::once((&self.step.target, &self.target)).chain(to)
    }

    /// Removes the temporary file and the backup.
    pub fn clean(&self, fs: &dyn Filesystem) -> FsResult<()> {
        self.temporary.as_ref().map_or(Ok(()), |temporary| temporary.discard(fs))?;
        self.backup.discard(fs)
    }
}
