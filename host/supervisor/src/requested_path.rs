//! Paths as the command gives them, resolved once, on its behalf.
//!
//! `/proc/self`, `/dev/fd` and their like mean the caller, not the supervisor: they are rewritten by their text. A link
//! that leads to them is the supervisor's own `/proc` directory when it is resolved, which the command gets nothing of.

use std::ffi::{CString, OsStr, OsString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::caller::Call;

/// How many links that lead nowhere are followed for a file to be made.
const MAX_LINKS: usize = 40;

/// A path and where it starts.
pub(crate) enum RequestedPath {
    Path {
        base: Option<OwnedFd>,
        path: CString,
    },
    /// The file of a descriptor of the caller.
    Descriptor(OwnedFd),
    /// The caller's controlling terminal.
    Terminal,
}

/// A name in a directory that is open.
pub(crate) struct Entry {
    pub(crate) directory: OwnedFd,
    /// With a slash at its end where the caller gave one.
    pub(crate) name: CString,
    /// Without links, as far as the directory goes.
    pub(crate) path: PathBuf,
}

impl RequestedPath {
    /// The path in an argument, from the directory in another, or from the working directory.
    pub(crate) fn read(call: &Call, directory: Option<usize>, path: usize) -> Result<Self, Errno> {
        let path = call.path(path)?;
        if path.as_bytes().starts_with(b"/") {
            return match special(call, path.as_bytes())? {
                Some(requested_path) => Ok(requested_path),
                None => Ok(Self::Path { base: None, path }),
            };
        }
        let directory = directory.map_or(libc::AT_FDCWD, |it| call.int(it));
        Ok(Self::Path { base: Some(call.directory(directory)?), path })
    }

    /// The same where an empty path stands for the directory's descriptor itself.
    pub(crate) fn read_or_descriptor(
        call: &Call,
        directory: usize,
        path: usize,
        empty_allowed: bool,
    ) -> Result<Self, Errno> {
        if empty_allowed && (call.word(path) == 0 || call.path(path)?.is_empty()) {
            return call.directory(call.int(directory)).map(Self::Descriptor);
        }
        Self::read(call, Some(directory), path)
    }

    /// What is there, without any access to it.
    pub(crate) fn find(&self, follow: bool) -> Result<OwnedFd, Errno> {
        match self {
            Self::Path { base, path } => {
                let nofollow = if follow { OFlags::empty() } else { OFlags::NOFOLLOW };
                open(base.as_ref(), path, OFlags::PATH | nofollow)
            }
            Self::Descriptor(descriptor) => descriptor.try_clone().map_err(|_| Errno::MFILE),
            Self::Terminal => Err(Errno::NXIO),
        }
    }

    /// The directory that has, or is to have, the last name of the path.
    pub(crate) fn entry(&self) -> Result<Entry, Errno> {
        let Self::Path { base, path } = self else { return Err(Errno::ACCESS) };
        if path.is_empty() {
            return Err(Errno::NOENT);
        }
        let bytes = path.as_bytes();
        let end = bytes.iter().rposition(|it| *it != b'/').map_or(0, |it| it + 1);
        let start = bytes.iter().take(end).rposition(|it| *it == b'/').map_or(0, |it| it + 1);
        let (parent, name) = (bytes.get(..start).unwrap_or_default(), bytes.get(start..end).unwrap_or_default());
        if name.is_empty() {
            // The root directory is in no other.
            return Err(Errno::EXIST);
        }
        // No name of something, but of a directory on the way to it, whose path would be told wrongly.
        if name == b"." || name == b".." {
            return Err(Errno::INVAL);
        }
        let directory = open(base.as_ref(), &text(if parent.is_empty() { b"." } else { parent })?, DIRECTORY)?;
        let mut path = real_path(directory.as_fd())?;
        path.push(OsStr::from_bytes(name));
        let slash = bytes.get(end..).is_some_and(|it| !it.is_empty());
        let name = if slash { [name, b"/"].concat() } else { name.to_vec() };
        Ok(Entry { directory, name: text(&name)?, path })
    }

    /// The entry of a file to be made: where the last name is a link that leads nowhere, what that stands for.
    pub(crate) fn entry_to_make(&self) -> Result<Entry, Errno> {
        let mut entry = self.entry()?;
        for _ in 0..MAX_LINKS {
            match rustix::fs::readlinkat(&entry.directory, &entry.name, Vec::new()) {
                Ok(target) if target.as_bytes().starts_with(b"/") => {
                    entry = Self::Path { base: None, path: target }.entry()?;
                }
                Ok(target) => entry = Self::Path { base: Some(entry.directory), path: target }.entry()?,
                Err(_) => return Ok(entry),
            }
        }
        Err(Errno::LOOP)
    }
}

impl Entry {
    /// What the name stands for, without following it and without any access to it.
    pub(crate) fn find(&self) -> Result<OwnedFd, Errno> {
        open(Some(&self.directory), &self.name, OFlags::PATH | OFlags::NOFOLLOW)
    }

    /// The last name, without the caller's slash.
    pub(crate) fn plain_name(&self) -> Result<CString, Errno> {
        let name = self.name.as_bytes();
        text(name.strip_suffix(b"/").unwrap_or(name))
    }
}

const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);

fn open(base: Option<&OwnedFd>, path: &CString, flags: OFlags) -> Result<OwnedFd, Errno> {
    let base = base.map_or(CWD, AsFd::as_fd);
    rustix::fs::openat2(base, path, flags | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::NO_MAGICLINKS)
}

/// Where the kernel has what a descriptor is of; not absolute for pipes, sockets and their like.
pub(crate) fn real_path(descriptor: BorrowedFd<'_>) -> Result<PathBuf, Errno> {
    let path = rustix::fs::readlinkat(CWD, own_link(descriptor), Vec::new())?;
    Ok(PathBuf::from(OsString::from_vec(path.into_bytes())))
}

/// The supervisor's own way to what a descriptor is of, for calls that take no descriptor.
pub(crate) fn own_link(descriptor: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", descriptor.as_raw_fd())
}

/// A path that is about the caller itself.
fn special(call: &Call, path: &[u8]) -> Result<Option<RequestedPath>, Errno> {
    let mut names = path.split(|it| *it == b'/').filter(|it| !it.is_empty() && *it != b".");
    let first = (names.next(), names.next());
    let rest: Vec<&[u8]> = names.collect();
    if rest.contains(&b"..".as_slice()) {
        return Ok(None);
    }
    match first {
        (Some(b"dev"), Some(name)) => device(call, name, &rest),
        (Some(b"proc"), Some(b"mounts")) if rest.is_empty() => Ok(Some(absolute(own(call, &[b"mounts"])?)?)),
        (Some(b"proc"), Some(b"self")) => of_process(call, own(call, &[])?, &rest).map(Some),
        (Some(b"proc"), Some(b"thread-self")) => {
            let thread = own(call, &[b"task", call.task.to_string().as_bytes()])?;
            of_process(call, thread, &rest).map(Some)
        }
        (Some(b"proc"), Some(name)) if name.first().is_some_and(u8::is_ascii_digit) => {
            let own = own(call, &[])?;
            let named = own.file_name().is_some_and(|it| it.as_bytes() == name);
            if named { of_process(call, own, &rest).map(Some) } else { Ok(None) }
        }
        _ => Ok(None),
    }
}

fn device(call: &Call, name: &[u8], rest: &[&[u8]]) -> Result<Option<RequestedPath>, Errno> {
    let requested_path = match (name, rest) {
        (b"stdin", []) => RequestedPath::Descriptor(call.descriptor(0)?),
        (b"stdout", []) => RequestedPath::Descriptor(call.descriptor(1)?),
        (b"stderr", []) => RequestedPath::Descriptor(call.descriptor(2)?),
        (b"tty", []) => RequestedPath::Terminal,
        (b"fd", rest) => {
            let descriptors: Vec<&[u8]> = std::iter::once(b"fd".as_slice()).chain(rest.iter().copied()).collect();
            of_process(call, own(call, &[])?, &descriptors)?
        }
        _ => return Ok(None),
    };
    Ok(Some(requested_path))
}

/// A path below the directory of the caller's process, whose magic links are the caller's own.
fn of_process(call: &Call, process: PathBuf, rest: &[&[u8]]) -> Result<RequestedPath, Errno> {
    let (linked, rest) = match rest {
        [b"fd", descriptor, rest @ ..] => {
            let number = std::str::from_utf8(descriptor).ok().and_then(|it| it.parse().ok()).ok_or(Errno::NOENT)?;
            (call.descriptor(number).map_err(|_| Errno::NOENT)?, rest)
        }
        [b"cwd", rest @ ..] => (call.link("cwd")?, rest),
        [b"root", rest @ ..] => (call.link("root")?, rest),
        [b"exe"] => (call.link("exe")?, [].as_slice()),
        rest => return absolute(process.join(OsStr::from_bytes(&rest.join(&b'/')))),
    };
    if rest.is_empty() {
        return Ok(RequestedPath::Descriptor(linked));
    }
    Ok(RequestedPath::Path { base: Some(linked), path: text(&rest.join(&b'/'))? })
}

/// `/proc` and the caller's process, and names below.
fn own(call: &Call, names: &[&[u8]]) -> Result<PathBuf, Errno> {
    let mut path = Path::new("/proc").join(call.process()?.to_string());
    path.extend(names.iter().map(|it| OsStr::from_bytes(it)));
    Ok(path)
}

fn absolute(path: PathBuf) -> Result<RequestedPath, Errno> {
    Ok(RequestedPath::Path { base: None, path: text(path.as_os_str().as_bytes())? })
}

fn text(bytes: &[u8]) -> Result<CString, Errno> {
    CString::new(bytes).map_err(|_| Errno::INVAL)
}
