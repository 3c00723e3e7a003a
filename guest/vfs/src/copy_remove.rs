//! Copying one file and removing a whole tree.

use paddock_types::entry::Kind;

use crate::bytes::copy_bytes;
use crate::open_location::{OpenLocation, is_temporary, private_name};
use crate::{Dir, DirEntry, Fault, Filesystem, FsResult, Open};

/// Copies the file `from` to the new file `to`, durably, and returns its size in bytes.
///
/// WASI cannot set a mode, owner or attributes. If the host transfers modes when a temporary file is renamed, the new
/// content is first renamed over `model`, a second link of the source, which gives it the source's mode, and then to
/// its destination.
pub fn copy_file(
    fs: &dyn Filesystem,
    carries_modes: bool,
    from: &OpenLocation,
    to: &OpenLocation,
    model: &OpenLocation,
) -> FsResult<u64> {
    let draft = if is_temporary(&to.name) { to.clone() } else { to.sibling(&private_name(fs)) };
    let source = fs.open_file(&from.dir, &from.name, Open::Read)?;
    let target = fs.open_file(&draft.dir, &draft.name, Open::CreateNew)?;
    let size = copy_bytes(fs, &source, &target)?;
    fs.sync_file(&target)?;
    if carries_modes {
        match from.link(fs, model) {
            Ok(()) => {
                let carried = draft.rename(fs, model).and_then(|()| model.rename(fs, to));
                return carried.map(|()| size).inspect_err(|_| drop(model.discard(fs)));
            }
            Err(Fault::Unsupported | Fault::Access | Fault::CrossDevice) => {}
            Err(fault) => return Err(fault),
        }
    }
    if let Some(mode) = from.mode(fs) {
        fs.set_mode(&draft.dir, &draft.name, mode)?;
    }
    if draft.name != to.name {
        draft.rename(fs, to)?;
    }
    Ok(size)
}

/// Removes a file, a link, or a directory with its content. Succeeds if the entry does not exist.
pub fn remove(fs: &dyn Filesystem, location: &OpenLocation) -> FsResult<()> {
    match fs.stat(&location.dir, &location.name) {
        Ok(stat) if stat.kind == Kind::Directory => {}
        Ok(_) => return location.discard(fs),
        Err(Fault::NotFound) => return Ok(()),
        Err(fault) => return Err(fault),
    }
    let mut path = vec![Emptied::open(fs, location.clone(), 0)?];
    while let Some(top) = path.last_mut() {
        match top.left.pop() {
            Some(entry) if entry.kind == Kind::Directory => {
                let inner = OpenLocation { dir: top.dir.clone(), name: entry.name };
                path.push(Emptied::open(fs, inner, 0)?);
            }
            Some(entry) => OpenLocation { dir: top.dir.clone(), name: entry.name }.discard(fs)?,
            None => {
                let Some(Emptied { location, attempts, .. }) = path.pop() else { break };
                // The handle of the directory is closed, since Windows removes no directory that is open.
                match fs.remove_dir(&location.dir, &location.name) {
                    // Another process has created an entry in the directory since it was listed.
                    Err(Fault::NotEmpty) if attempts < MAX_ATTEMPTS => {
                        path.push(Emptied::open(fs, location, attempts)?)
                    }
                    removed => removed?,
                }
            }
        }
    }
    Ok(())
}

/// Maximum number of listings of a directory that another process fills while it is removed.
const MAX_ATTEMPTS: u32 = 8;

/// A directory that is being removed, with its remaining entries.
struct Emptied {
    location: OpenLocation,
    dir: Dir,
    left: Vec<DirEntry>,
    attempts: u32,
}

impl Emptied {
    /// Opens and lists a directory that was listed `attempts` times before.
    fn open(fs: &dyn Filesystem, location: OpenLocation, attempts: u32) -> FsResult<Self> {
        let dir = fs.open_dir(&location.dir, &location.name)?;
        let left = fs.list(&dir)?.entries;
        Ok(Self { location, dir, left, attempts: attempts + 1 })
    }
}
