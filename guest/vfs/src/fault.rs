//! Failures that a backend reports, and the errors that they become.

use paddock_types::error::{Code, Error};

/// Result of a backend's operation.
pub type FsResult<T> = Result<T, Fault>;

/// A failure that a backend reports. [`Fault::at`] converts it to an [`Error`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The entry does not exist.
    NotFound,
    /// The entry exists already.
    Exists,
    /// The entry is not a directory.
    NotDirectory,
    /// The entry is a directory.
    IsDirectory,
    /// The directory has entries.
    NotEmpty,
    /// The entry is a symbolic link.
    Link,
    /// The entry is a FIFO, socket or device.
    NotRegular,
    /// The path leads outside of the preopened directory.
    Outside,
    /// Access was refused.
    Access,
    /// No space is left.
    NoSpace,
    /// The host has too little memory or too many open files.
    NoMemory,
    /// The file system or the preopen is read-only.
    ReadOnly,
    /// The size or offset is larger than the maximum.
    TooLarge,
    /// The text is not a name for this file system.
    Name,
    /// The two names are on different file systems.
    CrossDevice,
    /// The backend has no such operation.
    Unsupported,
    /// The entry is in use.
    Busy,
    /// The file system is no longer reachable.
    Gone,
    /// Any other failure, with its description.
    Io(String),
}

impl Fault {
    /// Converts the fault to the error of an operation on a path.
    pub fn at(&self, operation: &str, path: &str) -> Error {
        let (code, cause) = self.explain();
        let error = Error::at(code, operation, path, cause);
        match self {
            Self::NoSpace => error.hint("free some space, then call again; nothing was changed"),
            Self::NoMemory => {
                error.hint("call again when fewer calls are running, or divide the work into smaller parts")
            }
            Self::Name => error.hint("use the name that a list shows, or another one"),
            Self::ReadOnly => error.hint("read from it, or change something in a writable root"),
            _ => error,
        }
    }

    /// Returns the cause without operation and path.
    pub fn cause(&self) -> &str {
        self.explain().1
    }

    fn explain(&self) -> (Code, &str) {
        match self {
            Self::NotFound => (Code::NotFound, "no such file or directory"),
            Self::Exists => (Code::AlreadyExists, "the path already exists"),
            Self::NotDirectory => (Code::NotADirectory, "a part of the path is not a directory"),
            Self::IsDirectory => (Code::NotAFile, "it is a directory"),
            Self::NotEmpty => (Code::DirectoryNotEmpty, "the directory is not empty"),
            Self::Link => (Code::OutsideWorkspace, "a part of the path became a symbolic link"),
            Self::NotRegular => (Code::NotAFile, "it is not a regular file"),
            Self::Outside => (Code::OutsideWorkspace, "it leads outside the workspace"),
            Self::Access => (Code::PermissionDenied, "the file system refused access"),
            Self::NoSpace => (Code::NoSpace, "no space left on the file system"),
            Self::NoMemory => (Code::LimitExceeded, "the host has too many open files or too little memory"),
            Self::ReadOnly => (Code::ReadOnly, "this root is read-only"),
            Self::TooLarge => (Code::TooLarge, "the file system allows no file of that size"),
            Self::Name => (Code::InvalidPath, "the file system takes no such name"),
            Self::CrossDevice => (Code::Io, "the two are on different file systems"),
            Self::Unsupported => (Code::Io, "the file system cannot do that"),
            Self::Busy => (Code::Io, "it is in use by another program"),
            Self::Gone => (Code::BackendGone, "the file system is no longer available"),
            Self::Io(cause) => (Code::Io, cause),
        }
    }
}
