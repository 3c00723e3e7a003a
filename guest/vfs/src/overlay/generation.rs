//! Generations of layers. The layers of an overlay are in a directory `layers-N`, and the file `current` contains the
//! current N. A replacement of all layers is prepared as the next generation and becomes current by one rename.

use paddock_types::entry::Kind;

use crate::bytes::read_up_to;
use crate::open_location::{OpenLocation, temporary_name};
use crate::overlay::OverlayFs;
use crate::{Dir, Fault, Filesystem, FsResult, Open, copy_remove};

const CURRENT: &str = "current";
const LAYERS: &str = "layers-";
const CHECKPOINTS: &str = "checkpoints";
/// Bytes of the largest number.
const MAX_DIGITS: u64 = 20;

/// Returns the current generation in an overlay's directory; the first if there is no file `current`.
pub(super) fn current(fs: &dyn Filesystem, top: &Dir) -> FsResult<u64> {
    let file = match fs.open_file(top, CURRENT, Open::Read) {
        Err(Fault::NotFound) => return Ok(0),
        other => other?,
    };
    let digits = match read_up_to(fs, &file, MAX_DIGITS) {
        Err(Fault::TooLarge) => Vec::new(),
        other => other?,
    };
    let number = std::str::from_utf8(&digits).ok().and_then(|digits| digits.parse().ok());
    number.ok_or_else(|| Fault::Io(format!("the overlay is damaged: `{CURRENT}` is no number")))
}

impl OverlayFs<'_> {
    /// Returns the directory of the layers; `None` if nothing was changed yet.
    pub(super) fn layers(&self) -> FsResult<Option<Dir>> {
        let Some(top) = &self.top else { return Ok(None) };
        self.open_if_there(top, &name(self.generation))
    }

    /// Returns the directory of the layers, created if it does not exist.
    pub(super) fn make_layers(&self) -> FsResult<Dir> {
        self.make_way(self.top.as_ref().ok_or(Fault::ReadOnly)?, [name(self.generation).as_str()])
    }

    /// Stores the present changes under a name. Fails with [`Fault::Exists`] if the name exists.
    pub fn checkpoint(&self, name: &str) -> FsResult<()> {
        let fs = self.inner;
        let dir = self.make_way(self.top.as_ref().ok_or(Fault::ReadOnly)?, [CHECKPOINTS])?;
        match fs.stat(&dir, name) {
            Err(Fault::NotFound) => {}
            Ok(_) => return Err(Fault::Exists),
            Err(fault) => return Err(fault),
        }
        let draft = self.draft()?;
        copy(fs, self.layers()?, &draft)?;
        draft.rename(fs, &OpenLocation { dir: dir.clone(), name: name.to_owned() })?;
        fs.sync_dir(&dir)
    }

    /// Restores the changes of a checkpoint. Fails with [`Fault::NotFound`] if it does not exist. The overlay must be
    /// opened again to see the result.
    pub fn rollback(&self, name: &str) -> FsResult<()> {
        let checkpoints = self.checkpoints_dir()?.ok_or(Fault::NotFound)?;
        self.replace_by(Some(self.inner.open_dir(&checkpoints, name)?))
    }

    /// Discards all changes. The overlay must be opened again to see the result.
    pub fn clear(&self) -> FsResult<()> {
        self.replace_by(None)
    }

    /// Returns the names of all checkpoints, in byte order.
    pub fn checkpoints(&self) -> FsResult<Vec<String>> {
        let Some(dir) = self.checkpoints_dir()? else { return Ok(Vec::new()) };
        let mut names: Vec<_> = self.inner.list(&dir)?.entries.into_iter().map(|entry| entry.name).collect();
        names.sort_unstable();
        Ok(names)
    }

    fn checkpoints_dir(&self) -> FsResult<Option<Dir>> {
        self.top.as_ref().map_or(Ok(None), |top| self.open_if_there(top, CHECKPOINTS))
    }

    /// Replaces all layers by a copy of `layers`.
    fn replace_by(&self, layers: Option<Dir>) -> FsResult<()> {
        let fs = self.inner;
        let top = self.top.as_ref().ok_or(Fault::ReadOnly)?;
        let next = self.generation.checked_add(1).ok_or(Fault::TooLarge)?;
        let location = |name: String| OpenLocation { dir: top.clone(), name };
        // A crash may have left an earlier attempt.
        copy_remove::remove(fs, &location(name(next)))?;
        copy(fs, layers, &location(name(next)))?;
        fs.sync_dir(top)?;
        self.draft()?.publish(fs, &next.to_string().into_bytes().into(), &location(CURRENT.to_owned()))?;
        // A failure is ignored: `CURRENT` no longer names the old generation.
        drop(copy_remove::remove(fs, &location(name(self.generation))));
        Ok(())
    }
}

pub(super) fn name(generation: u64) -> String {
    format!("{LAYERS}{generation}")
}

/// Copies all layers durably to the new directory `to`. Files keep their modes if the host transfers them.
fn copy(fs: &dyn Filesystem, layers: Option<Dir>, to: &OpenLocation) -> FsResult<()> {
    fs.make_dir(&to.dir, &to.name)?;
    let Some(from) = layers else { return Ok(()) };
    let mut ahead = vec![(from, fs.open_dir(&to.dir, &to.name)?)];
    while let Some((from, to)) = ahead.pop() {
        for entry in fs.list(&from)?.entries {
            let source = OpenLocation { dir: from.clone(), name: entry.name.clone() };
            let target = OpenLocation { dir: to.clone(), name: entry.name.clone() };
            match entry.kind {
                Kind::Directory => {
                    fs.make_dir(&to, &entry.name)?;
                    ahead.push((fs.open_dir(&from, &entry.name)?, fs.open_dir(&to, &entry.name)?));
                }
                Kind::File => {
                    copy_remove::copy_file(fs, true, &source, &target, &target.sibling(&temporary_name(fs)))?;
                }
                Kind::Link => fs.symlink(&to, &entry.name, &fs.read_link(&from, &entry.name)?)?,
                Kind::Other => {}
            }
        }
        fs.sync_dir(&to)?;
    }
    Ok(())
}
