//! Names, modes and special files, which differ between systems.

use std::ffi::{OsStr, OsString};
use std::fs::{FileType, Metadata};
use std::io;
use std::path::Path;

use super::setup::Start;

#[cfg(unix)]
mod unix {
    use std::fs;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};

    use rustix::fs::{CWD, mknodat};

    use super::*;

    pub fn bytes(name: &OsStr) -> Vec<u8> {
        name.as_bytes().to_vec()
    }

    pub fn name(path: &[u8]) -> OsString {
        OsString::from_vec(path.to_vec())
    }

    pub fn mode(path: &Path) -> io::Result<Option<u32>> {
        Ok(Some(fs::metadata(path)?.permissions().mode() & 0o7777))
    }

    pub fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
    }

    pub fn open_for_times(path: &Path) -> io::Result<fs::File> {
        fs::File::open(path)
    }

    /// Returns an absolute path as calls name it.
    pub fn argument(path: &Path) -> String {
        path.to_string_lossy().into_owned()
    }

    pub fn is_fifo(kind: FileType) -> bool {
        kind.is_fifo()
    }

    pub fn fifo(path: &Path) -> io::Result<()> {
        Ok(mknodat(CWD, path, rustix::fs::FileType::Fifo, 0o644.into(), 0)?)
    }

    pub fn symlink(target: &str, path: &Path) -> io::Result<()> {
        std::os::unix::fs::symlink(target, path)
    }

    pub fn status(metadata: &Metadata) -> [i64; 4] {
        let (inode, mode) = (metadata.ino().cast_signed(), i64::from(metadata.mode()));
        [inode, mode, metadata.ctime(), metadata.ctime_nsec()]
    }

    pub fn unfit(_: &Start) -> Option<&'static str> {
        None
    }
}

#[cfg(windows)]
mod windows {
    use std::fs;
    use std::os::windows::fs::{MetadataExt, OpenOptionsExt};

    use super::super::tree::Node;
    use super::*;

    pub fn bytes(name: &OsStr) -> Vec<u8> {
        name.to_string_lossy().into_owned().into_bytes()
    }

    pub fn name(path: &[u8]) -> OsString {
        String::from_utf8_lossy(path).into_owned().into()
    }

    pub fn mode(_: &Path) -> io::Result<Option<u32>> {
        Ok(None)
    }

    pub fn set_mode(_: &Path, _: u32) -> io::Result<()> {
        Ok(())
    }

    /// Opens a file or directory with the right to set its times.
    pub fn open_for_times(path: &Path) -> io::Result<fs::File> {
        const FILE_WRITE_ATTRIBUTES: u32 = 0x100;
        const BACKUP_SEMANTICS: u32 = 0x0200_0000;
        fs::File::options().access_mode(FILE_WRITE_ATTRIBUTES).custom_flags(BACKUP_SEMANTICS).open(path)
    }

    /// Returns an absolute path as calls name it: not in the form `\\?\C:\`, which is outside of every root, and with
    /// the `/` that results have.
    pub fn argument(path: &Path) -> String {
        let path = path.to_string_lossy();
        path.strip_prefix(r"\\?\").unwrap_or(&path).replace('\\', "/")
    }

    pub fn is_fifo(_: FileType) -> bool {
        false
    }

    pub fn fifo(_: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub fn symlink(_: &str, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub fn status(metadata: &Metadata) -> [i64; 4] {
        let time = |time: u64| time.cast_signed();
        [time(metadata.creation_time()), time(metadata.last_write_time()), i64::from(metadata.file_attributes()), 0]
    }

    pub fn unfit(start: &Start) -> Option<&'static str> {
        let is_name = |name: &str| {
            let stem = name.split('.').next().unwrap_or_default().to_ascii_lowercase();
            !name.ends_with(['.', ' '])
                && !name.contains(|c: char| c < ' ' || "<>:\"|?*\\".contains(c))
                && !["con", "prn", "aux", "nul", "com1"].contains(&stem.as_str())
        };
        let is_path = |path: &[u8]| std::str::from_utf8(path).is_ok_and(|path| path.split('/').all(is_name));
        let folded: std::collections::HashSet<_> =
            start.tree.keys().map(|path| String::from_utf8_lossy(path).to_lowercase()).collect();
        match () {
            () if start.tree.values().any(|node| matches!(node, Node::Link(_))) => {
                Some("a symbolic link needs a privilege on Windows, and Wine makes none")
            }
            () if start.tree.values().any(|node| *node == Node::Fifo) => Some("Windows has no FIFOs in directories"),
            () if !start.tree.keys().all(|path| is_path(path)) => Some("Windows takes no such name"),
            () if folded.len() < start.tree.len() => Some("two names are one on Windows"),
            () if !start.modes.is_empty() => Some("Windows has no modes"),
            () => None,
        }
    }
}

#[cfg(unix)]
pub use unix::*;
#[cfg(windows)]
pub use windows::*;
