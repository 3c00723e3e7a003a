//! Files that a setting names and that are opened again for each use: somebody may write them anew meanwhile.

use std::ffi::OsString;
use std::io;
#[cfg(feature = "programs")]
use std::path::PathBuf;
use std::path::{Component, Path};

use cap_std::fs::OpenOptions;

use crate::directory::Directory;
use crate::mount::{self, Mount};
use crate::regular::Refused;

/// A file by names below a directory that is held, none of which is a link: the top of the root that it is in, or the
/// deepest directory on its path that was there when the workspace was opened.
#[derive(Clone, Debug)]
pub(crate) struct NamedFile {
    above: Directory,
    names: Vec<OsString>,
}

impl NamedFile {
    /// The file at a path. Fails where a link in one of the roots leads out of that root.
    pub(crate) fn new(path: &Path, roots: &[Mount]) -> io::Result<Self> {
        let walk = mount::open_named(path, roots.iter().map(|root| &root.directory))?;
        let in_root = roots.iter().find_map(|root| Some((&root.directory, walk.below(&root.directory)?)));
        Ok(match in_root {
            Some((root, below)) => Self { above: root.clone(), names: names(&below) },
            None => Self { names: walk.missing.into_iter().chain(walk.file).collect(), above: walk.directory },
        })
    }

    /// Opens it to be read. Fails where it is no regular file, or one of the names is a link by now.
    pub(crate) fn open(&self) -> Result<std::fs::File, Refused> {
        let Some((name, directories)) = self.names.split_last() else { return Err(Refused::NotRegular) };
        let directory = self.above.descend(directories.iter().map(OsString::as_os_str))?;
        directory.open_regular(name, OpenOptions::new().read(true))
    }

    /// The directory that is there instead of a file.
    #[cfg(target_os = "linux")]
    pub(crate) fn directory(&self) -> io::Result<Directory> {
        self.above.descend(self.names.iter().map(OsString::as_os_str))
    }

    /// Its path, for people.
    #[cfg(feature = "programs")]
    pub(crate) fn path(&self) -> PathBuf {
        self.names.iter().fold(self.above.path().to_owned(), |path, name| path.join(name))
    }
}

fn names(path: &Path) -> Vec<OsString> {
    let named = path.components().filter(|part| matches!(part, Component::Normal(_)));
    named.map(|part| part.as_os_str().to_owned()).collect()
}
