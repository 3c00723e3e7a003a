//! Export of a directory tree as a tar archive in path order: the initial content of an in-memory workspace.
//! Links are not followed, and entries that are blocked for tools are left out.

use std::io;

use paddock_search::glob;
use paddock_search::globs::Globs;
use paddock_search::hidden::Hidden;
use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result, Term};
use paddock_types::phrase;
use paddock_types::response::Skipped;
use paddock_vfs::{Dir, Fault, Open, bytes};

use crate::Workspace;
use crate::walk::{Options, Walk};

const OPERATION: &str = "copy";

/// Selection of the entries of a directory to export.
pub struct Choice {
    /// Globs of the files and links to export; all if empty.
    pub include: Vec<String>,
    /// Globs of entries to leave out; a directory is left out with its content.
    pub exclude: Vec<String>,
    /// Maximum total size of the files in bytes.
    pub max_bytes: Option<u64>,
}

/// Result of an export.
pub struct Collected {
    /// The archive.
    pub archive: Vec<u8>,
    /// Number of files in the archive.
    pub files: u64,
    /// Total size of these files in bytes.
    pub bytes: u64,
    /// Number of links left out because their absolute target would reveal a host path.
    pub absolute_links: u64,
    /// Numbers of other entries that were left out.
    pub skipped: Skipped,
}

/// Exports the selected entries of the workspace.
pub fn collect(workspace: &Workspace<'_>, choice: &Choice) -> Result<Collected> {
    let include = glob::exclusion(&choice.include, || "include".into(), &workspace.root_names())?;
    let options = Options {
        hidden: Hidden::Show,
        include_ignored: true,
        exclude: glob::exclusion(&choice.exclude, || "exclude".into(), &workspace.root_names())?,
        ..Options::default()
    };
    let (resolved, dir) = workspace.directory_to_search(".", OPERATION)?;
    let mut walk = Walk::new(workspace, &resolved, &dir, options, OPERATION)?;
    let mut collecting = Collecting {
        workspace,
        include: Some(include).filter(|_| !choice.include.is_empty()),
        max_bytes: choice.max_bytes.unwrap_or(u64::MAX),
        archive: tar::Builder::new(Vec::new()),
        files: 0,
        bytes: 0,
        absolute_links: 0,
    };
    while let Some(entry) = walk.next_entry() {
        collecting.add(entry.dir, entry.name, entry.below, entry.kind)?;
    }
    if walk.stopped || walk.skipped.unreadable > 0 {
        let cause =
            if walk.stopped { "it has more entries than one call can examine" } else { "a part cannot be read" };
        return Err(
            Error::at(Code::LimitExceeded, OPERATION, ".", cause).hint(phrase!["leave parts out by ", Term::Exclude])
        );
    }
    let Collecting { archive, files, bytes, absolute_links, .. } = collecting;
    let archive = archive.into_inner().map_err(|cause| Error::new(Code::Io, cause.to_string()))?;
    Ok(Collected { archive, files, bytes, absolute_links, skipped: walk.skipped })
}

struct Collecting<'w> {
    workspace: &'w Workspace<'w>,
    include: Option<Globs>,
    max_bytes: u64,
    archive: tar::Builder<Vec<u8>>,
    files: u64,
    bytes: u64,
    absolute_links: u64,
}

impl Collecting<'_> {
    fn add(&mut self, dir: &Dir, name: &str, path: &str, kind: Kind) -> Result<()> {
        let is_included = self.include.as_ref().is_none_or(|include| include.is_match(path));
        match kind {
            // With `include` globs, unpacking creates only the parent directories of matching entries.
            Kind::Directory if self.include.is_none() => {
                let header = header(tar::EntryType::Directory, 0o755, 0);
                self.append(header, path, &[])
            }
            Kind::File if is_included => self.add_file(dir, name, path),
            Kind::Link if is_included => self.add_link(dir, name, path),
            _ => Ok(()),
        }
    }

    fn add_file(&mut self, dir: &Dir, name: &str, path: &str) -> Result<()> {
        let fault = |fault: Fault| fault.at(OPERATION, path);
        let fs = self.workspace.fs;
        let file = fs.open_file(dir, name, Open::Read).map_err(fault)?;
        let stat = fs.stat_file(&file).map_err(fault)?;
        let remaining = self.max_bytes.saturating_sub(self.bytes);
        let mut bytes = Vec::new();
        if stat.size <= remaining {
            // Reads one byte past the limit to detect a file that grows while it is read.
            let max = remaining.saturating_add(1);
            bytes::each_part(fs, &file, 0, max, |_, part| {
                bytes.extend_from_slice(part);
                Ok(())
            })
            .map_err(fault)?;
        }
        if stat.size > remaining || bytes.len() as u64 > remaining {
            let cause = format!("the files together have more than {} bytes", self.max_bytes);
            return Err(Error::at(Code::LimitExceeded, OPERATION, path, cause).hint(phrase![
                "leave some out by ",
                Term::Exclude,
                ", or raise the cap"
            ]));
        }
        self.files += 1;
        self.bytes += bytes.len() as u64;
        let mut header = header(tar::EntryType::Regular, 0o644, bytes.len() as u64);
        header.set_mtime(stat.modified.map_or(0, |modified| modified.seconds));
        self.append(header, path, &bytes)
    }

    fn add_link(&mut self, dir: &Dir, name: &str, path: &str) -> Result<()> {
        let target = match self.workspace.fs.read_link(dir, name) {
            Ok(target) if !target.starts_with('/') => target,
            Ok(_) | Err(Fault::Outside) => {
                self.absolute_links += 1;
                return Ok(());
            }
            Err(fault) => return Err(fault.at(OPERATION, path)),
        };
        let mut header = header(tar::EntryType::Symlink, 0o777, 0);
        let appended = self.archive.append_link(&mut header, path, target);
        appended.map_err(|cause| failed(path, &cause))
    }

    fn append(&mut self, mut header: tar::Header, path: &str, bytes: &[u8]) -> Result<()> {
        self.archive.append_data(&mut header, path, bytes).map_err(|cause| failed(path, &cause))
    }
}

fn header(kind: tar::EntryType, mode: u32, size: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_mtime(0);
    header
}

fn failed(path: &str, cause: &io::Error) -> Error {
    Error::at(Code::Io, OPERATION, path, cause.to_string())
}
