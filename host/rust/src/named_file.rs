//! Files that a setting names. Each use opens the file again, since another program may have rewritten it.

use std::ffi::OsString;
use std::io;
#[cfg(feature = "programs")]
use std::path::PathBuf;
use std::path::{Component, Path};

use cap_std::fs::OpenOptions;

use crate::directory::Directory;
use crate::mount::{self, Mount};
use crate::regular::Refused;

/// A file as a sequence of names below an open directory; no name is a symbolic link. The directory is the root
/// that contains the file, or otherwise the deepest directory of the path that existed when the workspace was
/// opened.
#[derive(Clone, Debug)]
pub(crate) struct NamedFile {
    above: Directory,
    names: Vec<OsString>,
}

impl NamedFile {
    /// Resolves the path of a file. Fails if a link in one of the roots leads out of that root.
    pub(crate) fn new(path: &Path, roots: &[Mount]) -> io::Result<Self> {
        let walk = mount::open_named(path, roots.iter().map(|root| &root.directory))?;
        let in_root = roots.iter().find_map(|root| Some((&root.directory, walk.below(&root.directory)?)));
        Ok(match in_root {
            Some((root, below)) => Self { above: root.clone(), names: names(&below) },
            None => Self { names: walk.missing.into_iter().chain(walk.file).collect(), above: walk.directory },
        })
    }

    /// Opens the file for reading. Fails if it is not a regular file, or if one of the names has become a symbolic
    /// link.
    pub(crate) fn open(&self) -> Result<std::fs::File, Refused> {
        let Some((name, directories)) = self.names.split_last() else { return Err(Refused::NotRegular) };
        let directory = self.above.descend(directories.iter().map(OsString::as_os_str))?;
        directory.open_regular(name, OpenOptions::new().read(true))
    }

    /// Opens the path as a directory, for a setting that names a directory instead of a file.
    #[cfg(target_os = "linux")]
    pub(crate) fn directory(&self) -> io::Result<Directory> {
        self.above.descend(self.names.iter().map(OsString::as_os_str))
    }

    /// Returns the path of the file, for messages.
    #[cfg(feature = "programs")]
    pub(crate) fn path(&self) -> PathBuf {
        self.names.iter().fold(self.above.path().to_owned(), |path, name| path.join(name))
    }
}

fn names(path: &Path) -> Vec<OsString> {
    let named = path.components().filter(|part| matches!(part, Component::Normal(_)));
    named.map(|part| part.as_os_str().to_owned()).collect()
}
