//! A store that is a directory. Its entries are opened name by name: a link in a directory that another user can change
//! would lead out of the store.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use cap_fs_ext::{DirExt, MetadataExt};
use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::descent::open_file;
use crate::object::Object;

/// The open directory of a store.
pub(crate) struct Directory {
    top: Dir,
}

impl Directory {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { top: Dir::open_ambient_dir(path, ambient_authority())? })
    }

    /// Returns device and inode.
    pub(crate) fn identity(&self) -> io::Result<(u64, u64)> {
        let metadata = self.top.dir_metadata()?;
        Ok((metadata.dev(), metadata.ino()))
    }

    /// Opens an object; `None` if there is none. Fails for everything but a regular file.
    pub(crate) fn get(&self, key: &str) -> io::Result<Option<std::fs::File>> {
        let (above, name) = key.rsplit_once('/').unwrap_or((".", key));
        if_present(self.above(above).and_then(|dir| open_file(&dir, name.as_ref())).map(cap_std::fs::File::into_std))
    }

    /// Removes an object, if there is one.
    pub(crate) fn remove(&self, key: &str) -> io::Result<()> {
        let (above, name) = key.rsplit_once('/').unwrap_or((".", key));
        if_present(self.above(above).and_then(|dir| dir.remove_file(name))).map(drop)
    }

    /// Fails if a name of the directory of a key is not a directory. A missing one is none of them.
    pub(crate) fn check(&self, key: &str) -> io::Result<()> {
        let above = key.rsplit_once('/').map_or(".", |(above, _)| above);
        if_present(self.above(above)).map(drop)
    }

    /// Lists the regular files below a directory, in it and in its own directories, each with its key.
    pub(crate) fn list(&self, directory: &str) -> io::Result<Vec<Object>> {
        let mut objects = Vec::new();
        if let Some(dir) = if_present(self.above(directory))? {
            let mut inner = Vec::new();
            add_files(&dir, directory, &mut objects, &mut inner)?;
            for name in inner {
                let Some(dir) = if_present(dir.open_dir_nofollow(&name))? else { continue };
                add_files(&dir, &format!("{directory}/{name}"), &mut objects, &mut Vec::new())?;
            }
        }
        Ok(objects)
    }

    fn above(&self, path: &str) -> io::Result<Dir> {
        let mut dir = self.top.try_clone()?;
        for name in path.split('/').filter(|name| *name != ".") {
            dir = dir.open_dir_nofollow(name)?;
        }
        Ok(dir)
    }
}

/// Adds the regular files of a directory, and the names of its own directories. No key has a name that is not UTF-8.
fn add_files(dir: &Dir, path: &str, objects: &mut Vec<Object>, inner: &mut Vec<String>) -> io::Result<()> {
    for entry in dir.entries()? {
        let Ok(name) = entry?.file_name().into_string() else { continue };
        let Some(metadata) = if_present(dir.symlink_metadata(OsStr::new(&name)))? else { continue };
        if metadata.is_dir() {
            inner.push(name);
        } else if metadata.is_file() {
            let modified = metadata.modified().map_or(SystemTime::UNIX_EPOCH, cap_std::time::SystemTime::into_std);
            objects.push(Object { key: format!("{path}/{name}"), size: metadata.len(), modified });
        }
    }
    Ok(())
}

fn if_present<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}
