//! Removes the contents of a directory that a command filled. Trees of any depth need few descriptors and no
//! recursion.

use std::ffi::{OsStr, OsString};
use std::io;
use std::time::Instant;

use cap_fs_ext::DirExt;
use cap_std::fs::Dir;

/// Removes the contents of a directory, until `until` at the latest. No other program should use the directory:
/// entries that are created meanwhile may remain.
pub(crate) fn empty(directory: &Dir, until: Option<Instant>) -> io::Result<()> {
    let check = || match until.is_some_and(|until| Instant::now() >= until) {
        true => Err(io::Error::from(io::ErrorKind::TimedOut)),
        false => Ok(()),
    };
    let mut moved = 0_u64;
    let mut left = names(directory)?;
    while let Some(name) = left.pop() {
        check()?;
        if directory.remove_file_or_symlink(&name).is_ok() || directory.remove_dir(&name).is_ok() {
            continue;
        }
        let below = open(directory, &name)?;
        for inner in names(&below)? {
            check()?;
            if below.remove_file_or_symlink(&inner).is_ok() || below.remove_dir(&inner).is_ok() {
                continue;
            }
            // Moving subdirectories to the top keeps the stack and the descriptors constant at any depth. A rename
            // to another parent changes `..`, for which the moved directory has to be writable: `open` makes it so.
            drop(open(&below, &inner)?);
            let free = free_name(directory, &mut moved);
            below.rename(&inner, directory, &free)?;
            left.push(free);
        }
        directory.remove_dir(&name)?;
    }
    Ok(())
}

/// Opens a directory. Grants its owner access first, since a command may have removed the permissions.
fn open(directory: &Dir, name: &OsStr) -> io::Result<Dir> {
    #[cfg(unix)]
    {
        let mode = cap_std::fs::PermissionsExt::from_mode(0o700);
        // If the missing permissions matter, the open below fails.
        let _ = directory.set_permissions(name, mode);
    }
    directory.open_dir_nofollow(name)
}

fn names(directory: &Dir) -> io::Result<Vec<OsString>> {
    directory.entries()?.map(|entry| Ok(entry?.file_name())).collect()
}

fn free_name(directory: &Dir, count: &mut u64) -> OsString {
    loop {
        *count += 1;
        let name = OsString::from(format!(".paddock-removed-{count}"));
        if directory.symlink_metadata(&name).is_err() {
            return name;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use cap_std::ambient_authority;

    use super::*;

    fn top() -> (tempfile::TempDir, Dir) {
        let top = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(top.path(), ambient_authority()).unwrap();
        (top, dir)
    }

    #[test]
    fn everything_in_it_is_removed_and_no_link_target() {
        let (outside, _) = top();
        fs::write(outside.path().join("kept"), "").unwrap();
        let (top, dir) = top();
        fs::create_dir_all(top.path().join("a/b/c")).unwrap();
        fs::write(top.path().join("a/b/file"), "").unwrap();
        fs::create_dir(top.path().join(".paddock-removed-1")).unwrap();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(outside.path(), top.path().join("a/out")).unwrap();
            std::os::unix::fs::symlink(outside.path(), top.path().join("out")).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o000);
            fs::set_permissions(top.path().join("a/b"), mode).unwrap();
        }
        empty(&dir, None).unwrap();
        assert_eq!(fs::read_dir(top.path()).unwrap().count(), 0);
        assert!(outside.path().join("kept").exists());
    }

    #[test]
    fn a_removal_that_takes_too_long_is_continued_later() {
        let (top, dir) = top();
        fs::create_dir_all(top.path().join("a/b")).unwrap();
        assert_eq!(empty(&dir, Some(Instant::now())).unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(top.path().join("a/b").exists());
        empty(&dir, None).unwrap();
        assert_eq!(fs::read_dir(top.path()).unwrap().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn depth_takes_neither_stack_nor_descriptors() {
        const DEPTH: usize = 20_000;
        let (_top, dir) = top();
        let mut below = dir.try_clone().unwrap();
        for _ in 0..DEPTH {
            below.create_dir("d").unwrap();
            below = below.open_dir("d").unwrap();
        }
        drop(below);
        let thread = std::thread::Builder::new().stack_size(64 * 1024);
        let removed = thread.spawn(move || empty(&dir, None).map(|()| dir.entries().unwrap().count())).unwrap();
        assert_eq!(removed.join().unwrap().unwrap(), 0);
    }
}
