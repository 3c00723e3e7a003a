//! Applies a patch, all of it or nothing: every file is read and changed in
//! memory, part by part in the order of the patch, before the first is written.

use std::collections::{HashMap, HashSet};

use crate::error::{Code, Error, Result};
use crate::fs::Stat;
use crate::fs::commit::{FileChange, commit};
use crate::fs::resolve::{Last, Place};
use crate::patch::{self, Action, FilePatch, Hunk, plan};
use crate::policy::HardLinks;
use crate::request;
use crate::response::{self, PatchAction, PatchedFile};
use crate::text::encoding::is_binary;
use crate::workspace::{Workspace, etag};

const VERB: &str = "patch";
/// Bytes of all files of a patch together, before and after it: they are in memory at the same time.
const MAX_TOTAL_BYTES: usize = 64 * 1024 * 1024;
/// Bytes at the start of a file that tell whether it is text.
const HEAD: usize = 8 * 1024;

/// Applies a patch, all of it or nothing.
pub fn run(workspace: &Workspace<'_>, args: &request::ApplyPatch) -> Result<response::ApplyPatch> {
    let plan = Plan::make(workspace, &args.patch)?;
    let files = plan.results();
    let mut notes = plan.notes.clone();
    if !args.dry_run {
        notes.extend(commit(workspace, VERB, plan.changes())?);
    }
    Ok(response::ApplyPatch { files, notes })
}

/// All that a patch changes.
struct Plan<'w> {
    workspace: &'w Workspace<'w>,
    files: Vec<Planned>,
    /// Index in `files` by resolved path, so that two spellings of one file are one file.
    known: HashMap<String, usize>,
    notes: Vec<String>,
    total: usize,
}

/// A file before the patch and as it is planned so far.
struct Planned {
    place: Place,
    old: Option<Vec<u8>>,
    new: Option<Vec<u8>>,
    /// The file whose content was moved here.
    from: Option<usize>,
    /// The content is not that of the file that was here.
    is_replaced: bool,
    added: u64,
    removed: u64,
}

impl<'w> Plan<'w> {
    fn make(workspace: &'w Workspace<'w>, patch: &str) -> Result<Self> {
        let limits = &workspace.policy.limits;
        if patch.len() as u64 > limits.max_file_bytes {
            let cause = format!("it has {} bytes, and at most {} are taken", patch.len(), limits.max_file_bytes);
            return Err(Error::argument("patch", cause).hint("split it into several patches"));
        }
        let parts = patch::parse(patch)?;
        if parts.len() as u64 > limits.max_files {
            let cause =
                format!("the patch changes {} files, and one call changes at most {}", parts.len(), limits.max_files);
            return Err(Error::new(Code::LimitExceeded, cause).hint("split it into several patches"));
        }
        let mut plan = Self { workspace, files: Vec::new(), known: HashMap::new(), notes: Vec::new(), total: 0 };
        parts.iter().try_for_each(|part| plan.part(part))?;
        plan.check_nesting()?;
        plan.check_aliases()?;
        Ok(plan)
    }

    fn part(&mut self, part: &FilePatch<'_>) -> Result<()> {
        let path = part.path.as_str();
        let file = match &part.action {
            Action::Add(hunks) => {
                let file = self.vacant(path)?;
                self.put(file, Vec::new(), path, hunks)?;
                file
            }
            Action::Update(hunks) => {
                let file = self.present(path, Last::Follow)?;
                let bytes = self.take(file);
                self.put(file, bytes, path, hunks)?;
                file
            }
            Action::Move { to, hunks } => self.moved(path, to, hunks)?,
            Action::Delete(hunks) => {
                let file = self.present(path, Last::Keep)?;
                self.delete(file, path, hunks.as_deref())?;
                file
            }
        };
        if let Some(mode) = &part.mode
            && let Some(planned) = self.files.get(file)
        {
            self.notes
                .push(format!("`{}`: its mode was not set to {mode}, since WASI cannot set modes", planned.place.path));
        }
        Ok(())
    }

    fn moved(&mut self, path: &str, to: &str, hunks: &[Hunk<'_>]) -> Result<usize> {
        let source = self.present(path, Last::Keep)?;
        let target = self.vacant(to)?;
        let bytes = self.take(source);
        let origin = self.files.get_mut(source).and_then(|file| {
            let own = Some(source).filter(|_| file.old.is_some() && !file.is_replaced);
            file.is_replaced = true;
            file.from.take().or(own)
        });
        let counted =
            self.files.get_mut(source).map(|file| (std::mem::take(&mut file.added), std::mem::take(&mut file.removed)));
        self.put(target, bytes, path, hunks)?;
        if let (Some(file), Some((added, removed))) = (self.files.get_mut(target), counted) {
            file.from = origin;
            file.added += added;
            file.removed += removed;
        }
        Ok(target)
    }

    fn delete(&mut self, file: usize, path: &str, hunks: Option<&[Hunk<'_>]>) -> Result<()> {
        let bytes = self.take(file);
        let removed = match hunks {
            Some(hunks) => {
                check_text(path, &bytes)?;
                plan::emptied(path, bytes, hunks)?
            }
            None if is_binary(head(&bytes)) => 0,
            None => count_lines(&bytes),
        };
        if let Some(file) = self.files.get_mut(file) {
            file.removed += removed;
            file.from = None;
            file.is_replaced = true;
        }
        Ok(())
    }

    /// The content so far; the file is not there afterwards.
    fn take(&mut self, file: usize) -> Vec<u8> {
        self.files.get_mut(file).and_then(|file| file.new.take()).unwrap_or_default()
    }

    /// Puts `bytes` with the hunks applied into a file.
    fn put(&mut self, file: usize, bytes: Vec<u8>, path: &str, hunks: &[Hunk<'_>]) -> Result<()> {
        let limit = self.workspace.policy.limits.max_file_bytes;
        let before = bytes.len();
        let patched = if hunks.is_empty() {
            plan::Patched { bytes, added: 0, removed: 0 }
        } else {
            check_text(path, &bytes)?;
            plan::patched(path, bytes, hunks)?
        };
        if patched.bytes.len() as u64 > limit {
            let cause =
                format!("it would have {} bytes, and files are handled whole up to {limit}", patched.bytes.len());
            return Err(Error::at(Code::TooLarge, VERB, path, cause).hint("split it into several files"));
        }
        self.count(patched.bytes.len().saturating_sub(before))?;
        if let Some(file) = self.files.get_mut(file) {
            file.added += patched.added;
            file.removed += patched.removed;
            file.new = Some(patched.bytes);
        }
        Ok(())
    }

    fn count(&mut self, bytes: usize) -> Result<()> {
        self.total = self.total.saturating_add(bytes);
        if self.total > MAX_TOTAL_BYTES {
            let cause =
                format!("the files of the patch have more than {MAX_TOTAL_BYTES} bytes together, before and after it");
            return Err(Error::new(Code::LimitExceeded, cause).hint("split it into several patches"));
        }
        Ok(())
    }

    /// The file at `path`, which has to be there.
    fn present(&mut self, path: &str, last: Last) -> Result<usize> {
        let place = self.workspace.resolve_with(path, VERB, last)?;
        self.workspace.check_change(&place, VERB)?;
        if let Some(&file) = self.known.get(&place.path) {
            if self.files.get(file).is_some_and(|file| file.new.is_some()) {
                return Ok(file);
            }
            return Err(rejected(path, "an earlier part of the patch deletes or moves it")
                .hint("put the parts in the order in which they are to be done"));
        }
        // A patch that names no file does not apply.
        place.existing(self.workspace, VERB).map_err(|error| match error.code {
            Code::NotFound => Error { code: Code::PatchRejected, ..error },
            _ => error,
        })?;
        let (bytes, _) = self.workspace.read_whole(&place, VERB)?;
        self.count(bytes.len().saturating_mul(2))?;
        Ok(self.insert(place, Some(bytes)))
    }

    /// The file at `path`, where nothing may be.
    fn vacant(&mut self, path: &str) -> Result<usize> {
        let place = self.workspace.resolve_with(path, VERB, Last::Keep)?;
        self.workspace.check_change(&place, VERB)?;
        let taken = "something exists there already";
        let hint = "update what is there, or delete it first, or use another path";
        match self.known.get(&place.path) {
            Some(&file) if self.files.get(file).is_some_and(|file| file.new.is_none()) => Ok(file),
            Some(_) => Err(rejected(path, taken).hint(hint)),
            None if place.stat.is_some() => Err(rejected(path, taken).hint(hint)),
            None => Ok(self.insert(place, None)),
        }
    }

    fn insert(&mut self, place: Place, old: Option<Vec<u8>>) -> usize {
        let file = self.files.len();
        self.known.insert(place.path.clone(), file);
        let new = old.clone();
        self.files.push(Planned { place, old, new, from: None, is_replaced: false, added: 0, removed: 0 });
        file
    }

    /// No new file may stand where another one needs a directory.
    fn check_nesting(&self) -> Result<()> {
        let files: HashSet<_> =
            self.files.iter().filter(|file| file.new.is_some()).map(|file| file.place.path.as_str()).collect();
        let new = self.files.iter().filter(|file| file.new.is_some() && !file.place.missing.is_empty());
        for file in new {
            let path = file.place.path.as_str();
            let above =
                path.match_indices('/').filter_map(|(end, _)| path.get(..end)).find(|above| files.contains(above));
            if let Some(above) = above {
                return Err(
                    rejected(&file.place.given, &format!("the patch makes `{above}` a file")).hint("use another path")
                );
            }
        }
        Ok(())
    }

    /// Two places may be one file by a spelling that the file system folds, or
    /// by a hard link that is written through: one change would undo the other.
    fn check_aliases(&self) -> Result<()> {
        let there: Vec<(&Planned, Stat)> =
            self.files.iter().filter_map(|file| Some((file, file.place.stat?))).collect();
        for (index, (file, stat)) in there.iter().enumerate() {
            let before = there.iter().take(index);
            let twin = before.filter(|(other, its)| its == stat && other.old == file.old).find(|(other, _)| {
                let is_shared = stat.links > 1 && self.workspace.policy.hard_links == HardLinks::Keep;
                is_shared || !self.is_listed(&file.place) || !self.is_listed(&other.place)
            });
            if let Some((twin, _)) = twin {
                let cause = format!("it is the same file as `{}`", twin.place.path);
                return Err(
                    rejected(&file.place.given, &cause).hint("name the file in one way, in one part of the patch")
                );
            }
        }
        Ok(())
    }

    /// Whether the directory has the name just as it is spelled.
    fn is_listed(&self, place: &Place) -> bool {
        let listing = self.workspace.fs.list(&place.dir);
        listing.is_ok_and(|listing| listing.entries.iter().any(|entry| entry.name == place.name))
    }

    /// One entry a file that differs, in the order of the patch.
    fn results(&self) -> Vec<PatchedFile> {
        let entry = |(index, file): (usize, &Planned)| {
            let moved_from = self.origin(file).map(|origin| origin.place.path.clone());
            let action = match (&file.old, &file.new) {
                _ if moved_from.is_some() => PatchAction::Move,
                (None, Some(_)) => PatchAction::Add,
                (Some(_), Some(_)) => PatchAction::Update,
                (Some(_), None) if !self.is_origin(index) => PatchAction::Delete,
                (_, None) => return None,
            };
            Some(PatchedFile {
                path: file.place.path.clone(),
                action,
                moved_from,
                lines_added: file.added,
                lines_removed: file.removed,
                etag: file.new.as_deref().map(etag),
            })
        };
        self.files.iter().enumerate().filter_map(entry).collect()
    }

    /// What has to be done on the file system.
    fn changes(mut self) -> Vec<FileChange> {
        let moves: HashMap<usize, usize> = self
            .files
            .iter()
            .enumerate()
            .filter(|(_, file)| self.origin(file).is_some())
            .filter_map(|(index, file)| Some((file.from?, index)))
            .collect();
        let targets: HashSet<usize> = moves.values().copied().collect();
        let moved: HashMap<usize, (Place, Option<Vec<u8>>)> = moves
            .iter()
            .filter_map(|(from, to)| {
                let target = self.files.get_mut(*to)?;
                Some((*from, (target.place.clone(), target.new.take())))
            })
            .collect();
        let mut moved = moved;
        let change = |(index, file): (usize, Planned)| {
            if targets.contains(&index) {
                return None;
            }
            let Planned { place, old, new, .. } = file;
            if let Some((to, new)) = moved.remove(&index) {
                return Some(FileChange { place, old, new, to: Some(to) });
            }
            (old != new).then_some(FileChange { place, old, new, to: None })
        };
        self.files.into_iter().enumerate().filter_map(change).collect()
    }

    /// The file that is moved here as a whole: it is gone, and nothing was here.
    fn origin(&self, file: &Planned) -> Option<&Planned> {
        let origin = self.files.get(file.from?)?;
        (file.old.is_none() && file.new.is_some() && origin.new.is_none()).then_some(origin)
    }

    fn is_origin(&self, index: usize) -> bool {
        self.files.iter().any(|file| file.from == Some(index) && self.origin(file).is_some())
    }
}

fn rejected(path: &str, cause: &str) -> Error {
    Error::at(Code::PatchRejected, VERB, path, cause)
}

fn check_text(path: &str, bytes: &[u8]) -> Result<()> {
    if is_binary(head(bytes)) {
        return Err(Error::at(Code::BinaryFile, VERB, path, "it is not text")
            .hint("a patch can only delete or move it; write it anew by other means"));
    }
    Ok(())
}

fn head(bytes: &[u8]) -> &[u8] {
    bytes.get(..HEAD).unwrap_or(bytes)
}

fn count_lines(bytes: &[u8]) -> u64 {
    let newlines = memchr::memchr_iter(b'\n', bytes).count() as u64;
    newlines + u64::from(bytes.last().is_some_and(|last| *last != b'\n'))
}
