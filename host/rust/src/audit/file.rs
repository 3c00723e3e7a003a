//! Opening and locking of the audit files.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use cap_std::fs::OpenOptions;

use crate::directory::{Directory, Identity, private_file};
use crate::regular::{self, Refused};

/// Maximum time that a call waits for the lock of the audit log, and interval between its attempts.
const PATIENCE: Duration = Duration::from_secs(10);
const RETRY: Duration = Duration::from_micros(500);

/// The two files of an audit log, in an open directory.
#[derive(Clone, Debug)]
pub(super) struct Files {
    directory: Directory,
    name: OsString,
}

impl Files {
    pub(super) fn new(directory: Directory, name: OsString) -> Self {
        Self { directory, name }
    }

    pub(super) fn paths(&self) -> [PathBuf; 2] {
        let path = self.directory.path().join(&self.name);
        [head(&path), path]
    }

    /// Opens and locks the file of records. No other process writes to it while the returned file is open.
    pub(super) fn lock(&self) -> io::Result<File> {
        let patience = Instant::now() + PATIENCE;
        loop {
            let file = self.opened(&self.name, private_file().read(true).append(true).create(true))?;
            match file.try_lock() {
                // The previous holder of the lock may have replaced the file.
                Ok(()) if Some(Identity::of_file(&file)?) == self.directory.identity_of(&self.name) => return Ok(file),
                Ok(()) => {}
                Err(TryLockError::Error(cause)) => return Err(cause),
                Err(TryLockError::WouldBlock) if Instant::now() >= patience => {
                    return Err(io::Error::other("another process holds the lock of the audit file"));
                }
                Err(TryLockError::WouldBlock) => thread::sleep(RETRY),
            }
        }
    }

    /// Opens the file of records for reading and writing, and creates it if it is missing.
    pub(super) fn open(&self) -> io::Result<File> {
        self.opened(&self.name, private_file().read(true).create(true).truncate(false))
    }

    /// Opens the head file in the same way.
    pub(super) fn open_head(&self) -> io::Result<File> {
        let name = head(Path::new(&self.name));
        self.opened(name.as_os_str(), private_file().read(true).create(true).truncate(false))
    }

    fn opened(&self, name: &std::ffi::OsStr, options: &mut OpenOptions) -> io::Result<File> {
        let path = || self.directory.path().join(name);
        let metadata = self.directory.entries().symlink_metadata(name);
        if metadata.is_ok_and(|metadata| metadata.is_symlink()) {
            return Err(refused(&path(), Refused::Link));
        }
        let file = self.directory.open_regular(name, options).map_err(|cause| refused(&path(), cause))?;
        Ok(file)
    }
}

/// Returns the path of the head file, which describes the last record.
pub(super) fn head(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".head");
    name.into()
}

/// Opens a file for reading.
pub(super) fn open_to_read(path: &Path) -> io::Result<File> {
    regular::open(path, &regular::options()).map_err(|cause| refused(path, cause))
}

fn refused(path: &Path, cause: Refused) -> io::Error {
    match cause {
        Refused::Link => io::Error::other(format!("`{}` is a symbolic link", path.display())),
        Refused::NotRegular => io::Error::other(format!("`{}` is not a regular file", path.display())),
        Refused::Io(cause) => cause,
    }
}
