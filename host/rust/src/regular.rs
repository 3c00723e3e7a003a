//! Opens regular files at paths where another program may have put a link, a FIFO or a device.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

/// Reason why a file was not opened.
pub(crate) enum Refused {
    /// The path is a symbolic link.
    Link,
    /// The path is a directory, FIFO, socket or device.
    NotRegular,
    /// The system reported an error.
    Io(io::Error),
}

impl From<io::Error> for Refused {
    fn from(cause: io::Error) -> Self {
        Self::Io(cause)
    }
}

/// Returns options to open a file for reading, without following a link and without blocking on a FIFO.
pub(crate) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits().cast_signed());
    }
    options
}

/// Opens a path that is itself a regular file, with `options`: those of [`options`], or more.
pub(crate) fn open(path: &Path, options: &OpenOptions) -> Result<File, Refused> {
    if fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink()) {
        return Err(Refused::Link);
    }
    let file = options.open(path)?;
    if !file.metadata()?.is_file() {
        return Err(Refused::NotRegular);
    }
    Ok(file)
}
