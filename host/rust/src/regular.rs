//! Regular files of which others may have put something else in the place.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

/// Why a file is not opened.
pub(crate) enum Refused {
    /// It is a symbolic link.
    Link,
    /// It is a directory, FIFO, socket or device.
    NotRegular,
    /// The system's own reason.
    Io(io::Error),
}

impl From<io::Error> for Refused {
    fn from(cause: io::Error) -> Self {
        Self::Io(cause)
    }
}

/// Options to read with, through no link: a FIFO must not hang whoever opens it.
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

/// Opens what is itself a regular file, with the [`options`] or more.
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
