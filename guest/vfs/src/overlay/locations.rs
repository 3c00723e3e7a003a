//! Locations of differences in the layers, for display, commit and undo.

use paddock_types::entry::Kind;

use crate::copy_remove;
use crate::open_location::OpenLocation;
use crate::overlay::changes::{Difference, Is, is_same};
use crate::overlay::whiteouts::{AT, BaseEntry, IN};
use crate::overlay::{GONE, ORIGIN, OverlayFs, UPPER, root_name};
use crate::{Dir, Fault, FsResult};

impl Difference {
    /// Returns whether the difference is `other` or below it.
    pub fn is_in(&self, other: &Self) -> bool {
        self.root == other.root && self.path.starts_with(&other.path)
    }

    /// Returns whether a directory of the base was hidden as a whole, so that its entries have no whiteouts.
    pub fn hides_directory(&self) -> bool {
        matches!(self.was, Some(BaseEntry::Directory { .. }))
    }

    /// Returns whether the overlay has the file or link that the base had, so that only the base has changed it since.
    pub fn is_unchanged(&self) -> bool {
        self.is_same(self.was.as_ref()) && !self.hides_directory()
    }

    /// Returns whether the overlay's entry replaces one of the base that has to be removed first.
    pub fn removes_first(&self) -> bool {
        let kinds = self.was.as_ref().zip(self.is.as_ref()).map(|(was, is)| (was.kind(), is.kind()));
        kinds.is_some_and(|kinds| !matches!(kinds, (Kind::File, Kind::File) | (Kind::Directory, Kind::Directory)))
    }

    /// Returns whether the present entry is a directory.
    pub fn is_directory(&self) -> bool {
        self.is == Some(Is::Directory)
    }

    /// Returns whether the base's present entry `now` equals the overlay's entry.
    pub fn is_same(&self, now: Option<&BaseEntry>) -> bool {
        match (&self.is, now) {
            (None, None) => true,
            (Some(Is::Directory), Some(BaseEntry::Directory { .. })) => true,
            (is, Some(now)) => is_same(now, is.as_ref()),
            (Some(_), None) => false,
        }
    }
}

impl OverlayFs<'_> {
    /// Returns the location of the present entry.
    pub fn upper_location(&self, difference: &Difference) -> FsResult<OpenLocation> {
        self.location(UPPER, difference)
    }

    /// Returns the path of the present entry in the overlay's directory.
    pub fn upper_path(&self, difference: &Difference) -> String {
        let layers = crate::overlay::generation::name(self.generation);
        [&layers, UPPER, &root_name(&difference.root), &difference.path.join("/")].map(str::to_owned).join("/")
    }

    /// Returns the location of the entry in the base, which may not exist.
    pub fn base_location(&self, difference: &Difference) -> FsResult<OpenLocation> {
        let roots = self.inner.preopens();
        let root = roots.into_iter().find(|preopen| preopen.guest_path == difference.root).ok_or(Fault::Gone)?;
        let (name, above) = difference.path.split_last().ok_or(Fault::Name)?;
        Ok(OpenLocation { dir: self.enter(root.dir, above)?, name: name.clone() })
    }

    /// Returns the location of the stored content of the base's file. Fails with [`Fault::NotFound`] if it was too
    /// large to be stored.
    pub fn origin_location(&self, difference: &Difference) -> FsResult<OpenLocation> {
        let location = self.location(ORIGIN, difference)?;
        self.inner.stat(&location.dir, &location.name).map(|_| location)
    }

    /// Removes the upper entry and the whiteout of a name, so that the base's entry is visible. The visible step is the
    /// removal of the upper entry.
    pub fn take_back(&self, difference: &Difference) -> FsResult<()> {
        self.discard_whiteout(difference)?;
        self.discard(ORIGIN, difference)?;
        self.discard(UPPER, difference)?;
        self.discard_empty_above(difference)
    }

    /// Removes the empty upper directories above a name that the base has too: they would become new directories if somebody
    /// removed those of the base.
    fn discard_empty_above(&self, difference: &Difference) -> FsResult<()> {
        let mut above = difference.clone();
        while above.path.pop().is_some() && !above.path.is_empty() {
            let in_base = self.base_location(&above).and_then(|at| self.inner.open_dir(&at.dir, &at.name));
            let Ok(location) = self.location(UPPER, &above) else { continue };
            if in_base.is_err() {
                break;
            }
            match self.inner.remove_dir(&location.dir, &location.name) {
                Err(Fault::NotEmpty) => break,
                Err(Fault::NotFound | Fault::NotDirectory) | Ok(()) => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok(())
    }

    /// Removes the whiteout of a name, and those of names below it, which the whiteout of a directory hides.
    pub fn discard_whiteout(&self, difference: &Difference) -> FsResult<()> {
        // The inner ones are first, so that a crash does not make them effective.
        self.discard_whiteouts(IN, difference)?;
        self.discard_whiteouts(AT, difference)
    }

    /// Removes the entry for a name from the directory `kind` of the whiteouts.
    fn discard_whiteouts(&self, kind: &str, difference: &Difference) -> FsResult<()> {
        let (name, above) = difference.path.split_last().ok_or(Fault::Name)?;
        let names: Vec<_> =
            above.iter().flat_map(|name| [IN, name.as_str()]).chain([kind]).map(str::to_owned).collect();
        match self.tree_dir(GONE, &difference.root).and_then(|dir| self.enter(dir, &names)) {
            Ok(dir) => copy_remove::remove(self.inner, &OpenLocation { dir, name: name.clone() }),
            Err(Fault::NotFound) => Ok(()),
            Err(fault) => Err(fault),
        }
    }

    fn discard(&self, tree: &str, difference: &Difference) -> FsResult<()> {
        match self.location(tree, difference) {
            Ok(location) => copy_remove::remove(self.inner, &location),
            Err(Fault::NotFound | Fault::NotDirectory) => Ok(()),
            Err(fault) => Err(fault),
        }
    }

    fn location(&self, tree: &str, difference: &Difference) -> FsResult<OpenLocation> {
        let (name, above) = difference.path.split_last().ok_or(Fault::Name)?;
        Ok(OpenLocation { dir: self.enter(self.tree_dir(tree, &difference.root)?, above)?, name: name.clone() })
    }

    fn tree_dir(&self, tree: &str, root: &str) -> FsResult<Dir> {
        let dir = self.tree(tree)?.ok_or(Fault::NotFound)?;
        self.inner.open_dir(&dir, &root_name(root))
    }

    fn enter(&self, dir: Dir, names: &[String]) -> FsResult<Dir> {
        names.iter().try_fold(dir, |dir, name| self.inner.open_dir(&dir, name))
    }
}
