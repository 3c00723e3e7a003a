//! Directories that contain a file, according to the kernel. The path of a file shows only the directories through
//! which it was reached.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use paddock_supervisor::protocol::Identity;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

/// Maximum number of parent directories; the kernel's longest path has fewer.
const MAX_HOLDERS: usize = 4096;

/// Returns device and inode of a file.
pub(crate) fn identity(stat: &Stat) -> Identity {
    Identity { device: stat.st_dev, inode: stat.st_ino }
}

/// Returns the directories that contain an open file, from the innermost to the root directory. Fails with `ACCESS` if
/// another file has its path by now.
pub(crate) fn holders(opened: impl AsFd, stat: &Stat, path: &Path) -> Result<Vec<Identity>, Errno> {
    let mut holders = Vec::new();
    let mut directory = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => above(opened)?,
        _ => holder(stat, path)?,
    };
    while holders.len() < MAX_HOLDERS {
        let next = identity(&rustix::fs::fstat(&directory)?);
        // The root directory is its own parent.
        if holders.last() == Some(&next) {
            return Ok(holders);
        }
        holders.push(next);
        directory = above(&directory)?;
    }
    Err(Errno::ACCESS)
}

/// Returns the directory that contains a file under the path that the kernel reports for it.
fn holder(stat: &Stat, path: &Path) -> Result<OwnedFd, Errno> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Err(Errno::ACCESS) };
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let directory = rustix::fs::openat2(CWD, parent, FLAGS, Mode::empty(), resolve).map_err(|_| Errno::ACCESS)?;
    let is_gone = stat.st_nlink == 0;
    let there = rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW);
    let is_it = there.is_ok_and(|there| identity(&there) == identity(stat));
    if is_it || is_gone { Ok(directory) } else { Err(Errno::ACCESS) }
}

fn above(directory: impl AsFd) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(directory, c"..", FLAGS, Mode::empty())
}

const FLAGS: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
