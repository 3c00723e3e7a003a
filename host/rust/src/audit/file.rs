//! The audit's files: how they are opened and locked.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::regular::{self, Refused};

/// How long a call waits until no other one writes its record, and how often it looks.
const PATIENCE: Duration = Duration::from_secs(10);
const RETRY: Duration = Duration::from_micros(500);

/// The path with its directory's own name, which is made for its owner alone.
pub(super) fn real(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::other("it names no file"));
    };
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(directory)?;
    Ok(directory.canonicalize()?.join(name))
}

/// The file beside it that tells of the last record.
pub(super) fn head(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".head");
    name.into()
}

/// The file, which nobody else writes to as long as it is open.
pub(super) fn lock(path: &Path) -> io::Result<File> {
    let patience = Instant::now() + PATIENCE;
    loop {
        let mut options = options();
        let file = regular(path, options.append(true).create(true))?;
        match file.try_lock() {
            // Who had the lock may have put another file there.
            Ok(()) if is_at(&file, path) => return Ok(file),
            Ok(()) => {}
            Err(TryLockError::Error(cause)) => return Err(cause),
            Err(TryLockError::WouldBlock) if Instant::now() >= patience => {
                return Err(io::Error::other("another process keeps the audit file locked"));
            }
            Err(TryLockError::WouldBlock) => thread::sleep(RETRY),
        }
    }
}

/// Opens a file to read and write it, and makes it where it is not there.
pub(super) fn open(path: &Path) -> io::Result<File> {
    regular(path, options().write(true).create(true).truncate(false))
}

/// Opens a file to read it.
pub(super) fn open_to_read(path: &Path) -> io::Result<File> {
    regular(path, &options())
}

/// For reading, and for the owner alone where the file is made.
fn options() -> OpenOptions {
    let mut options = regular::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn regular(path: &Path, options: &OpenOptions) -> io::Result<File> {
    regular::open(path, options).map_err(|refused| match refused {
        Refused::Link => io::Error::other(format!("`{}` is a symbolic link", path.display())),
        Refused::NotRegular => io::Error::other(format!("`{}` is no regular file", path.display())),
        Refused::Io(cause) => cause,
    })
}

/// Whether the file is still the one at `path`.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let same = |a: &fs::Metadata, b: &fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    file.metadata().is_ok_and(|own| fs::symlink_metadata(path).is_ok_and(|there| same(&own, &there)))
}

#[cfg(not(unix))]
fn is_at(_file: &File, _path: &Path) -> bool {
    true
}
