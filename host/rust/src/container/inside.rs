//! Resolution of a path as a process in the container would resolve it.
//!
//! `openat2` with `RESOLVE_IN_ROOT` opens the directory too, but does not return its path without links.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags, openat, readlinkat};
use rustix::io::Errno;

/// Maximum number of links on a path, as on Linux.
const MAX_LINKS: usize = 40;

/// Opens the directory `path` below `root`, and returns its path from there without links.
///
/// The path is resolved name by name, so that the system follows no link: a link in a container can have any target.
pub(super) fn open(root: impl AsFd, path: &str) -> Result<(OwnedFd, PathBuf), String> {
    let fail = |cause: Errno| format!("its working directory `{path}`: {}", io::Error::from(cause));
    let root = root.as_fd();
    let mut ahead: VecDeque<OsString> = names(Path::new(path)).collect();
    let mut passed: Vec<(OsString, OwnedFd)> = Vec::new();
    let mut links = 0;
    while let Some(name) = ahead.pop_front() {
        if name == ".." {
            passed.pop();
            continue;
        }
        let above = passed.last().map_or(root, |(_, directory)| directory.as_fd());
        match step(above, &name).map_err(fail)? {
            Step::Directory(directory) => passed.push((name, directory)),
            Step::Link(_) if links == MAX_LINKS => return Err(fail(Errno::LOOP)),
            Step::Link(target) => {
                links += 1;
                if target.is_absolute() {
                    passed.clear();
                }
                names(&target).collect::<Vec<_>>().into_iter().rev().for_each(|name| ahead.push_front(name));
            }
        }
    }
    let full = passed.iter().fold(PathBuf::from("/"), |full, (name, _)| full.join(name));
    match passed.pop() {
        Some((_, directory)) => Ok((directory, full)),
        None => Ok((root.try_clone_to_owned().map_err(|cause| cause.to_string())?, full)),
    }
}

enum Step {
    Directory(OwnedFd),
    Link(PathBuf),
}

fn step(above: impl AsFd, name: &OsStr) -> Result<Step, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(&above, name, flags, Mode::empty()) {
        Ok(directory) => Ok(Step::Directory(directory)),
        Err(cause @ (Errno::NOTDIR | Errno::LOOP)) => {
            let target = readlinkat(&above, name, Vec::new()).map_err(|_| cause)?;
            Ok(Step::Link(OsString::from_vec(target.into_bytes()).into()))
        }
        Err(cause) => Err(cause),
    }
}

fn names(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    let named = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    named.map(|part| part.as_os_str().to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_stay_below_the_root() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("root");
        fs::create_dir_all(root.join("srv/app")).unwrap();
        fs::create_dir(directory.path().join("canary")).unwrap();
        symlink("/srv/app", root.join("absolute")).unwrap();
        symlink("../../../../srv", root.join("srv/up")).unwrap();
        symlink("../canary", root.join("out")).unwrap();
        symlink(directory.path().join("canary"), root.join("far")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        fs::write(root.join("file"), "").unwrap();
        let root: OwnedFd = fs::File::open(&root).unwrap().into();
        let path = |path| open(&root, path).map(|(_, path)| path.into_os_string().into_string().unwrap());
        assert_eq!(path("/"), Ok("/".to_owned()));
        assert_eq!(path("/../../srv//./app/.."), Ok("/srv".to_owned()));
        assert_eq!(path("/absolute"), Ok("/srv/app".to_owned()));
        assert_eq!(path("srv/up/app"), Ok("/srv/app".to_owned()));
        for (wrong, cause) in [
            ("/out", "No such file"),
            ("/far", "No such file"),
            ("/loop", "symbolic links"),
            ("/file", "Not a directory"),
        ] {
            assert!(path(wrong).unwrap_err().contains(cause), "{wrong}: {:?}", path(wrong));
        }
    }
}
