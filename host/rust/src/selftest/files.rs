//! Creates files, links and devices.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::zip::{self, Member};

/// Writes a file, and creates its missing parent directories.
pub(super) fn file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    above(path)?;
    fs::write(path, bytes)
}

/// Writes a valid archive.
pub(super) fn good_archive(path: &Path) -> io::Result<()> {
    let member = Member { name: "unpacked.txt".to_owned(), text: "x\n".to_owned(), link: None };
    file(path, &zip::archive(&[member], str::to_owned))
}

pub(super) fn link(path: &Path, target: &str) -> io::Result<()> {
    above(path)?;
    symlink(target, path)
}

pub(super) fn special(path: &Path, kind: FileType, device: u64) -> io::Result<()> {
    above(path)?;
    Ok(mknodat(CWD, path, kind, Mode::RUSR | Mode::WUSR, device)?)
}

pub(super) fn above(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}
