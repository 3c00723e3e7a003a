//! Paddock's own temporary directories: accessible to their owner alone, open as long as they exist, outside every
//! root.

use std::env;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
#[cfg(target_os = "linux")]
use std::time::Instant;

use crate::directory::{Directory, private_directory};
use crate::hex::hex;
use crate::mount::{self, Mount};
use crate::remove;

/// Prefix of the names of temporary directories.
const PREFIX: &str = "paddock-";

/// A temporary directory, removed when this value is dropped.
#[derive(Debug)]
pub(crate) struct Temporary {
    above: Directory,
    name: String,
    directory: Directory,
    /// The temporary directory that contains this one, and that has to exist at least as long.
    outer: Option<Arc<Temporary>>,
}

impl Temporary {
    /// Creates a temporary directory in `above`, with an unpredictable name.
    pub(crate) fn below(above: Directory) -> io::Result<Self> {
        let mut nonce = [0; 16];
        getrandom::fill(&mut nonce).map_err(io::Error::other)?;
        let name = format!("{PREFIX}{}", hex(&nonce));
        above.entries().create_dir_with(&name, &private_directory())?;
        let directory = above.subdirectory(&name)?;
        Ok(Self { above, name, directory, outer: None })
    }

    /// Creates a temporary directory in another one, which is removed later.
    pub(crate) fn inside(outer: &Arc<Self>) -> io::Result<Self> {
        let mut temporary = Self::below(outer.directory.clone())?;
        temporary.outer = Some(Arc::clone(outer));
        Ok(temporary)
    }

    /// Creates a temporary directory outside every root, whatever the environment names. If a root contains every
    /// directory for temporary files, as `/` does, the new directory is inside that root.
    pub(crate) fn outside(roots: &[Mount]) -> io::Result<Self> {
        let is_outside = |parent: &Directory| !mount::hold(roots, parent);
        let parents = || candidates().filter_map(|path| open(path, roots));
        let outside = parents().filter(is_outside).find_map(|parent| Self::below(parent).ok());
        match outside.or_else(|| parents().find_map(|parent| Self::below(parent).ok())) {
            Some(temporary) => Ok(temporary),
            None => Err(io::Error::other("no directory for temporary files can be written")),
        }
    }

    pub(crate) fn directory(&self) -> &Directory {
        &self.directory
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the directory that contains this one.
    #[cfg(target_os = "linux")]
    pub(crate) fn above(&self) -> &Directory {
        &self.above
    }

    /// Removes the contents, until `until` at the latest.
    #[cfg(target_os = "linux")]
    pub(crate) fn empty(&self, until: Instant) {
        // `Drop` removes the rest.
        let _ = remove::empty(self.directory.entries(), Some(until));
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Best effort: the names of the remaining files are unpredictable.
        let _ = remove::empty(self.directory.entries(), None);
        let is_own = self.above.identity_of(&self.name) == Some(self.directory.identity());
        // Windows removes no directory that is open.
        self.directory = self.above.clone();
        // Removes the entry of that name only if it is still this directory.
        if is_own {
            let _ = self.above.entries().remove_dir(&self.name);
        }
    }
}

fn open(path: PathBuf, roots: &[Mount]) -> Option<Directory> {
    mount::open_named(&path, roots.iter().map(|root| &root.directory)).ok()?.end().ok()
}

/// Returns directories for temporary files, the preferred ones first.
fn candidates() -> impl Iterator<Item = PathBuf> {
    let usual = ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from).into_iter().filter(|_| cfg!(unix));
    let own = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    std::iter::once(env::temp_dir()).chain(usual).chain(own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Access;

    fn root(path: &std::path::Path) -> Mount {
        Mount::new(Directory::open(path).unwrap(), "/workspace", Access::ReadWrite).unwrap()
    }

    #[test]
    fn a_temporary_directory_is_private_and_removed_with_its_content() {
        let top = tempfile::tempdir().unwrap();
        let temporary = Temporary::below(Directory::open(top.path()).unwrap()).unwrap();
        let path = temporary.directory().path().to_owned();
        std::fs::create_dir_all(path.join("a/b")).unwrap();
        #[cfg(unix)]
        assert_eq!(
            std::os::unix::fs::PermissionsExt::mode(&temporary.directory().metadata().unwrap().permissions()) & 0o777,
            0o700
        );
        drop(temporary);
        assert!(!path.exists());
    }

    #[test]
    fn an_entry_that_took_its_name_stays() {
        let top = tempfile::tempdir().unwrap();
        let temporary = Temporary::below(Directory::open(top.path()).unwrap()).unwrap();
        let path = temporary.directory().path().to_owned();
        std::fs::rename(&path, top.path().join("moved")).unwrap();
        std::fs::create_dir_all(path.join("other")).unwrap();
        drop(temporary);
        assert!(path.join("other").exists() && top.path().join("moved").exists());
    }

    #[test]
    fn a_root_that_holds_the_usual_directory_is_avoided() {
        let usual = root(&env::temp_dir());
        let temporary = Temporary::outside(&[usual]).unwrap();
        assert!(!temporary.directory().path().starts_with(env::temp_dir().canonicalize().unwrap()), "{temporary:?}");
        // Every directory is inside this root.
        let temporary = Temporary::outside(&[root(std::path::Path::new("/"))]).unwrap();
        assert!(temporary.directory().path().exists());
    }
}
