//! Record of a program's changes and refused accesses. The state of a path is stored before its first change, as the
//! supervisor does for processes.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};

use wasmtime_wasi::filesystem::{Descriptor, Dir};
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorFlags, DescriptorType, OpenFlags};

use super::names::{self, View};
use crate::bindings::exports::paddock::files::commands::{Before, Refused};
use crate::command::undo_staging::{self, UndoStaging};
use crate::directory::private_file;
use crate::types::EntryKind;

/// Maximum number of recorded changed paths.
const MAX_PATHS: usize = 100_000;

/// Maximum number of refused paths in a result.
const MAX_REFUSED: usize = 20;

/// Changes of a program.
pub(super) struct Changes {
    staging: UndoStaging,
    /// Number of bytes that may still be stored.
    left: u64,
    /// Whether backups are enabled.
    keeps: bool,
    noted_paths: HashSet<String>,
    pub(super) before: Vec<Before>,
    /// Number of changed paths that ignore rules hide.
    pub(super) ignored: u64,
    not_stored: Vec<String>,
    /// Number of changed paths beyond the maximum.
    unnoted: u64,
    pub(super) refused: Vec<Refused>,
    /// Host paths at which a copy replaced a file with other hard links.
    pub(super) broken: Vec<String>,
    /// Number of refusals beyond the maximum.
    more_refused: u64,
    /// Number of names that were left out of listings because they are not UTF-8.
    pub(super) unreadable_names: u64,
}

/// An entry that is about to change.
pub(super) struct ChangeTarget<'s> {
    /// Directory of the entry.
    pub(super) dir: &'s Dir,
    pub(super) name: &'s str,
    pub(super) kind: Option<DescriptorType>,
}

impl Changes {
    /// Creates an empty record that stores at most `stored_bytes` bytes.
    pub(super) fn new(staging: UndoStaging, stored_bytes: u64) -> Self {
        Self {
            left: stored_bytes,
            keeps: stored_bytes > 0 && staging.is_lasting(),
            staging,
            noted_paths: HashSet::new(),
            before: Vec::new(),
            ignored: 0,
            not_stored: Vec::new(),
            unnoted: 0,
            refused: Vec::new(),
            broken: Vec::new(),
            more_refused: 0,
            unreadable_names: 0,
        }
    }

    /// Records the state of a path, in the form of results, before its first change.
    pub(super) fn note(&mut self, view: &mut View<'_>, change_target: &ChangeTarget<'_>, path: &str, is_ignored: bool) {
        if self.noted_paths.contains(path) {
            return;
        }
        if self.noted_paths.len() >= MAX_PATHS {
            self.unnoted += 1;
            return;
        }
        self.noted_paths.insert(path.to_owned());
        if is_ignored {
            self.ignored += 1;
            return;
        }
        let (kind, mut target, mut staged_file) = (change_target.kind.map(entry_kind), None, None);
        match kind {
            Some(EntryKind::Link) => target = names::read_link(view, change_target.dir, change_target.name).ok(),
            Some(EntryKind::File) if self.keeps => {
                staged_file = self.keep(view, change_target).ok();
                if staged_file.is_none() {
                    self.not_stored.push(path.to_owned());
                }
            }
            _ => {}
        }
        let mode = matches!(kind, Some(EntryKind::File | EntryKind::Directory)).then(|| mode(change_target)).flatten();
        self.before.push(Before { path: path.to_owned(), kind, target, staged_file, mode });
    }

    /// Copies a file to the staging directory and returns the name by which the component finds it.
    fn keep(&mut self, view: &mut View<'_>, change_target: &ChangeTarget<'_>) -> io::Result<String> {
        let number = self.before.len().to_string();
        let staged_file = self.staging.state_path(&number).ok_or(io::ErrorKind::NotFound)?;
        let opened =
            names::open(view, change_target.dir, change_target.name, (OpenFlags::empty(), DescriptorFlags::READ));
        let Ok(Descriptor::File(file)) = opened else { return Err(io::ErrorKind::PermissionDenied.into()) };
        let staging = self.staging.directory();
        let mut to = staging.open_file(&number, private_file().create_new(true))?;
        match copy(&file.file, &mut to, self.left) {
            Ok(bytes) => {
                self.left -= bytes;
                Ok(staged_file)
            }
            Err(cause) => {
                staging.entries().remove_file(number)?;
                Err(cause)
            }
        }
    }

    /// Records that the program was refused a path.
    pub(super) fn refuse(&mut self, path: String, cause: String) {
        let refused = Refused { path, cause };
        if self.refused.contains(&refused) {
            return;
        }
        match self.refused.len() < MAX_REFUSED {
            true => self.refused.push(refused),
            false => self.more_refused += 1,
        }
    }

    /// Returns notes for the result.
    pub(super) fn notes(&self) -> Vec<String> {
        let counted = [
            (self.unnoted, "more changes are not listed, and cannot be undone"),
            (self.more_refused, "more accesses were refused"),
            (self.unreadable_names, "names that are no UTF-8 were left out of listings"),
        ];
        let counted =
            counted.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
        let broken = undo_staging::broken(&self.broken, self.broken.len() as u64);
        undo_staging::not_stored(&self.not_stored).into_iter().chain(broken).chain(counted).collect()
    }
}

/// Returns the permission bits of an entry.
#[cfg(target_os = "linux")]
fn mode(change_target: &ChangeTarget<'_>) -> Option<u32> {
    let stat = rustix::fs::statat(&change_target.dir.dir, change_target.name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW);
    stat.ok().map(|stat| stat.st_mode & crate::wasi::mode::SET)
}

/// Permission bits are read and set only on Linux.
#[cfg(not(target_os = "linux"))]
fn mode(_: &ChangeTarget<'_>) -> Option<u32> {
    None
}

/// Copies a file of at most `max` bytes and returns its size.
pub(super) fn copy(from: &File, to: &mut File, max: u64) -> io::Result<u64> {
    match io::copy(&mut from.take(max.saturating_add(1)), to)? {
        bytes if bytes > max => Err(io::ErrorKind::FileTooLarge.into()),
        bytes => Ok(bytes),
    }
}

fn entry_kind(kind: DescriptorType) -> EntryKind {
    match kind {
        DescriptorType::RegularFile => EntryKind::File,
        DescriptorType::Directory => EntryKind::Directory,
        DescriptorType::SymbolicLink => EntryKind::Link,
        _ => EntryKind::Other,
    }
}
