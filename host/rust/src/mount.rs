//! The directories that a guest gets.

use std::io;
use std::path::{Path, PathBuf};

use wasmtime_wasi::{FsPerms, WasiCtxBuilder};

use crate::error::Error;
use crate::policy::Access;

/// The guest path of the first root, the workspace itself.
pub(crate) const WORKSPACE: &str = "/workspace";

/// The guest path of the state directory.
pub(crate) const STATE: &str = "/paddock-state";

/// One directory and its guest path.
#[derive(Clone, Debug)]
pub(crate) struct Mount {
    pub(crate) host: PathBuf,
    pub(crate) guest: String,
    pub(crate) access: Access,
}

impl Mount {
    /// Fails where `host` is no directory, or `guest` no single name below `/`.
    pub(crate) fn new(host: &Path, guest: &str, access: Access) -> Result<Self, Error> {
        let root = |cause| Error::Root { path: host.to_owned(), cause };
        let real = host.canonicalize().map_err(root)?;
        if !real.is_dir() {
            return Err(root(io::ErrorKind::NotADirectory.into()));
        }
        let name = guest.strip_prefix('/').unwrap_or_default();
        if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\\', '\0']) {
            return Err(Error::Mount { guest: guest.to_owned(), cause: "a guest path is `/` and one name" });
        }
        if guest == STATE {
            return Err(Error::Mount { guest: guest.to_owned(), cause: "it is the state directory's" });
        }
        Ok(Self { host: real, guest: guest.to_owned(), access })
    }

    /// Hands the directory to a guest, with no right that it is not to have.
    pub(crate) fn preopen(&self, wasi: &mut WasiCtxBuilder) -> wasmtime::Result<()> {
        let rights = match self.access {
            Access::ReadOnly => FsPerms::ReadOnly,
            Access::ReadWrite => FsPerms::ReadWrite,
        };
        wasi.preopened_dir(&self.host, &self.guest, rights).map(|_| ())
    }
}
