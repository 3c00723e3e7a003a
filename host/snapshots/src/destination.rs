//! The place of a restored tree.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use cap_fs_ext::DirExt;
use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::descent::create_directory;
use crate::error::{Error, Result};
use crate::markers::random;

/// The place of a restored tree: a directory that does not exist, or that is empty. The directory above is held open.
#[derive(Debug)]
pub struct Destination {
    parent: Dir,
    name: OsString,
    path: PathBuf,
}

impl Destination {
    /// Opens the directory above `path`.
    ///
    /// # Errors
    ///
    /// [`Error::Destination`] if there is anything at `path` but an empty directory, or no directory above it.
    pub fn open(path: &Path) -> Result<Self> {
        let unfit = |cause: String| Error::Destination { path: path.display().to_string(), cause };
        let absolute = std::path::absolute(path).map_err(|cause| unfit(cause.to_string()))?;
        let (Some(above), Some(name)) = (absolute.parent(), absolute.file_name()) else {
            return Err(unfit("name the directory by a path that ends in its own name".to_owned()));
        };
        let parent = Dir::open_ambient_dir(above, ambient_authority())
            .map_err(|cause| unfit(format!("cannot open `{}`: {cause}", above.display())))?;
        let destination = Self { parent, name: name.to_owned(), path: absolute.clone() };
        destination.check().map_err(|cause| unfit(cause.to_string()))?;
        Ok(destination)
    }

    /// Returns the path of the tree.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn check(&self) -> io::Result<()> {
        let metadata = match self.parent.symlink_metadata(&self.name) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
            metadata => metadata?,
        };
        if !metadata.is_dir() {
            return Err(io::Error::other("it exists and is not a directory; name one that does not exist"));
        }
        match self.parent.open_dir_nofollow(&self.name)?.entries()?.next() {
            None => Ok(()),
            Some(_) => {
                Err(io::Error::other("the directory is not empty; name an empty one, or one that does not exist"))
            }
        }
    }

    /// Creates a sibling of the place that only its owner can enter.
    pub(crate) fn create_sibling(&self) -> Result<(OsString, Dir)> {
        let mut name = OsString::from(".");
        name.push(&self.name);
        name.push(format!(".restore-{}", random()?));
        let created = create_directory(&self.parent, &name).and_then(|()| self.parent.open_dir_nofollow(&name));
        let dir = created.map_err(Error::file("create", self.path.with_file_name(&name).display()))?;
        Ok((name, dir))
    }

    /// Removes a sibling with all that is in it.
    pub(crate) fn remove_sibling(&self, name: &OsString) -> io::Result<()> {
        self.parent.remove_dir_all(name)
    }

    /// Moves a directory to the place. Fails if there is anything but an empty directory.
    pub(crate) fn replace(&self, from: &Dir, name: &str) -> Result<()> {
        let fail =
            |cause: io::Error| Error::Destination { path: self.path.display().to_string(), cause: cause.to_string() };
        self.check().map_err(fail)?;
        // Other systems do not rename a directory to an existing one. An entry that appears meanwhile is an error.
        if cfg!(windows) && self.parent.symlink_metadata(&self.name).is_ok() {
            self.parent.remove_dir(&self.name).map_err(fail)?;
        }
        from.rename(name, &self.parent, &self.name).map_err(fail)?;
        // A directory that cannot be read cannot be synced: the tree is in place, but a crash may undo the rename.
        #[cfg(unix)]
        if let Ok(parent) = crate::descent::readable(&self.parent) {
            rustix::fs::fsync(parent).map_err(|cause| fail(cause.into()))?;
        }
        Ok(())
    }
}
