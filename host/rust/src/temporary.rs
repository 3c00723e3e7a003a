//! Temporary directories of Paddock's own: for their owner alone, held as long as they are there, outside every root.

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

/// What the names of temporary directories begin with.
const PREFIX: &str = "paddock-";

/// A temporary directory, which is removed with this.
#[derive(Debug)]
pub(crate) struct Temporary {
    above: Directory,
    name: String,
    directory: Directory,
    /// The one that it is in, which stays as long as this.
    outer: Option<Arc<Temporary>>,
}

impl Temporary {
    /// A new one below `above`, with a name that nobody can guess.
    pub(crate) fn below(above: Directory) -> io::Result<Self> {
        let mut nonce = [0; 16];
        getrandom::fill(&mut nonce).map_err(io::Error::other)?;
        let name = format!("{PREFIX}{}", hex(&nonce));
        above.entries().create_dir_with(&name, &private_directory())?;
        let directory = above.subdirectory(&name)?;
        Ok(Self { above, name, directory, outer: None })
    }

    /// A new one in another, which is removed after it.
    pub(crate) fn inside(outer: &Arc<Self>) -> io::Result<Self> {
        let mut made = Self::below(outer.directory.clone())?;
        made.outer = Some(Arc::clone(outer));
        Ok(made)
    }

    /// A new one outside every root, whatever the environment says. Only where a root holds every directory for
    /// temporary files, as `/` does, it lies inside.
    pub(crate) fn outside(roots: &[Mount]) -> io::Result<Self> {
        let is_outside = |parent: &Directory| !mount::hold(roots, parent);
        let parents = || candidates().filter_map(|path| open(path, roots));
        let outside = parents().filter(is_outside).find_map(|parent| Self::below(parent).ok());
        match outside.or_else(|| parents().find_map(|parent| Self::below(parent).ok())) {
            Some(made) => Ok(made),
            None => Err(io::Error::other("no directory for temporary files can be written")),
        }
    }

    pub(crate) fn directory(&self) -> &Directory {
        &self.directory
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The directory that it was made in.
    #[cfg(target_os = "linux")]
    pub(crate) fn above(&self) -> &Directory {
        &self.above
    }

    /// Removes what is in it, as far as there is time.
    #[cfg(target_os = "linux")]
    pub(crate) fn empty(&self, until: Instant) {
        // What stays is removed with it.
        let _ = remove::empty(self.directory.entries(), Some(until));
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // What stays is in nobody's way.
        let _ = remove::empty(self.directory.entries(), None);
        // Whatever has the name by now is only removed if it is this directory.
        if self.above.identity_of(&self.name) == Some(self.directory.identity()) {
            let _ = self.above.entries().remove_dir(&self.name);
        }
    }
}

fn open(path: PathBuf, roots: &[Mount]) -> Option<Directory> {
    mount::open_named(&path, roots.iter().map(|root| &root.directory)).ok()?.end().ok()
}

/// Directories for temporary files, by preference.
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
    fn it_is_private_and_goes_with_what_is_in_it() {
        let top = tempfile::tempdir().unwrap();
        let made = Temporary::below(Directory::open(top.path()).unwrap()).unwrap();
        let path = made.directory().path().to_owned();
        std::fs::create_dir_all(path.join("a/b")).unwrap();
        #[cfg(unix)]
        assert_eq!(
            std::os::unix::fs::PermissionsExt::mode(&made.directory().metadata().unwrap().permissions()) & 0o777,
            0o700
        );
        drop(made);
        assert!(!path.exists());
    }

    #[test]
    fn what_took_its_name_stays() {
        let top = tempfile::tempdir().unwrap();
        let made = Temporary::below(Directory::open(top.path()).unwrap()).unwrap();
        let path = made.directory().path().to_owned();
        std::fs::rename(&path, top.path().join("moved")).unwrap();
        std::fs::create_dir_all(path.join("other")).unwrap();
        drop(made);
        assert!(path.join("other").exists() && top.path().join("moved").exists());
    }

    #[test]
    fn a_root_that_holds_the_usual_place_is_avoided() {
        let usual = root(&env::temp_dir());
        let made = Temporary::outside(&[usual]).unwrap();
        assert!(!made.directory().path().starts_with(env::temp_dir().canonicalize().unwrap()), "{made:?}");
        // Every directory is in this one.
        let made = Temporary::outside(&[root(std::path::Path::new("/"))]).unwrap();
        assert!(made.directory().path().exists());
    }
}
