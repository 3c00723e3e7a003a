//! Paths in the command's system calls, resolved once, on the command's behalf.
//!
//! `/proc/self`, `/dev/fd` and similar paths refer to the caller, not to the supervisor, so that their text is
//! rewritten. A symbolic link to such a path resolves to the supervisor's own `/proc` directory, to which the command
//! has no access.

use std::ffi::{CString, OsStr, OsString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::caller::Call;

/// Maximum number of dangling links that are followed to create a file.
const MAX_LINKS: usize = 40;

/// A path and its starting point.
pub(crate) enum RequestedPath {
    Path {
        base: Option<OwnedFd>,
        path: CString,
    },
    /// The file behind a descriptor of the caller.
    Descriptor(OwnedFd),
    /// The caller's controlling terminal.
    Terminal,
}

/// An entry name in an open directory.
pub(crate) struct Entry {
    pub(crate) directory: OwnedFd,
    /// Name of the entry, with a trailing slash if the caller wrote one.
    pub(crate) name: CString,
    /// Path of the entry; its directory part contains no links.
    pub(crate) path: PathBuf,
}

impl RequestedPath {
    /// Reads the path in argument `path`, relative to the directory descriptor in argument `directory`, or to the
    /// working directory if that is `None`.
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

    /// Like [`RequestedPath::read`], but an empty path refers to the directory descriptor itself if `empty_allowed`.
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

    /// Opens the entry at the path with `O_PATH`, which gives no access to its content.
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

    /// Returns the last name of the path and the directory that contains it or is about to.
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
            // The root directory has no parent that contains it.
            return Err(Errno::EXIST);
        }
        // `.` and `..` name a directory on the way to the entry, whose path would be reported wrongly.
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

    /// Returns the entry of a file to create. If the last name is a dangling link, this is the entry that the link
    /// points to.
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
    /// Opens the entry with `O_PATH`, without following a link.
    pub(crate) fn find(&self) -> Result<OwnedFd, Errno> {
        open(Some(&self.directory), &self.name, OFlags::PATH | OFlags::NOFOLLOW)
    }

    /// Returns the name without the caller's trailing slash.
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

/// Returns the kernel's path of an open file; it is not absolute for pipes, sockets and similar objects.
pub(crate) fn real_path(descriptor: BorrowedFd<'_>) -> Result<PathBuf, Errno> {
    let path = rustix::fs::readlinkat(CWD, own_link(descriptor), Vec::new())?;
    Ok(PathBuf::from(OsString::from_vec(path.into_bytes())))
}

/// Returns a path to an open file for system calls that take no descriptor.
pub(crate) fn own_link(descriptor: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", descriptor.as_raw_fd())
}

/// Rewrites an absolute path that refers to the caller itself; returns `None` for any other path.
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

/// Returns a path in the `/proc` directory of the caller's process. Magic links in it are resolved as the caller's own.
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

/// Returns the path of the caller's process directory in `/proc`, with `names` appended.
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
