//! Entries are written into the temporary directory of a restored snapshot. Paths are opened name by name, no link is
//! followed, and no existing entry is replaced.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use cap_fs_ext::DirExt;
use cap_std::fs::Dir;
use futures_util::TryStreamExt;
use futures_util::stream::BoxStream;
use sha2::{Digest as _, Sha256};
use tokio::task::spawn_blocking;

#[cfg(unix)]
use crate::descent::readable;
use crate::descent::{Descent, create_directory, create_file};
use crate::digest::Digest;
use crate::entry::{Entry, Time};
use crate::error::{Error, Result};
use crate::object::object_key;
use crate::path::{SnapshotPath, os_name};
use crate::store::{Content, Store, failed};

/// Size in bytes of a part of a file that is copied from a directory.
const PART: usize = 256 << 10;

/// Permission bits without which a directory cannot be filled, or moved to another directory.
const OWNER: u32 = 0o700;

/// Writes entries below the temporary directory.
pub(crate) struct Writer {
    top: Dir,
    descent: Mutex<Descent>,
}

impl Writer {
    pub(crate) fn new(top: &Dir) -> Result<Self> {
        let top = top.try_clone().map_err(Error::file("open", "."))?;
        Ok(Self { top, descent: Mutex::new(Descent::new([])) })
    }

    /// Creates a directory or a link. Files follow.
    pub(crate) fn create(&self, entry: &Entry) -> Result<()> {
        let create = || match entry {
            Entry::File { .. } => Ok(()),
            Entry::Directory { path, .. } if path.parent().is_none() => {
                let name = path.name().map_err(io::Error::other)?;
                create_directory(&self.top, &name)?;
                let tree = self.top.open_dir_nofollow(&name)?;
                self.descent.lock().unwrap_or_else(PoisonError::into_inner).add(path.as_bytes(), tree);
                Ok(())
            }
            Entry::Directory { path, .. } => self.at(path, create_directory),
            Entry::Link { path, target, .. } => self.at(path, |dir, name| {
                let target: Vec<u8> = target.clone().try_into().map_err(io::Error::other)?;
                create_link(dir, &os_name(&target).map_err(io::Error::other)?, name)
            }),
        };
        create().map_err(Error::file("create", entry.path()))
    }

    /// Runs `action` with the directory that contains an entry, and the entry's name.
    fn at<T>(&self, path: &SnapshotPath, action: impl FnOnce(&Dir, &OsStr) -> io::Result<T>) -> io::Result<T> {
        if path.parent().is_none() {
            return action(&self.top, &path.name().map_err(io::Error::other)?);
        }
        let mut descent = self.descent.lock().unwrap_or_else(PoisonError::into_inner);
        let (dir, name) = descent.parent(path)?;
        action(dir, &name)
    }

    /// Sets the modes of directories and the times of directories and links, from the bottom to the top, and makes
    /// everything durable.
    pub(crate) fn finish(&self, entries: &[Entry]) -> Result<()> {
        for entry in entries.iter().rev().filter(|entry| !matches!(entry, Entry::File { .. })) {
            self.finish_entry(entry).map_err(Error::file("set the metadata of", entry.path()))?;
        }
        sync(&self.top).map_err(Error::file("sync", "."))
    }

    fn finish_entry(&self, entry: &Entry) -> io::Result<()> {
        let path = entry.path();
        if let Entry::Directory { mode, .. } = entry {
            let added = if path.parent().is_none() { OWNER } else { 0 };
            let mut descent = self.descent.lock().unwrap_or_else(PoisonError::into_inner);
            set_mode(descent.directory(path.as_bytes())?, mode | added)?;
        }
        self.at(path, |dir, name| set_times(dir, name, entry.modified()))
    }
}

/// Reads the content of a file from the store and writes it, with the file's mode and time. Fails if the content has not the
/// size and the digest of the entry.
pub(crate) async fn restore_file(store: Store, writer: Arc<Writer>, entry: Entry) -> Result<()> {
    let Entry::File { path, mode, modified, size, sha256 } = entry else { return Ok(()) };
    let object = object_key(&sha256);
    let wrong = |cause: &str| Error::Object { path: path.to_string(), object: object.clone(), cause: cause.to_owned() };
    let (actual, content) = store.get(&object).await?.ok_or_else(|| wrong("is missing"))?;
    if actual != size {
        return Err(wrong(&format!("has {actual} bytes in place of {size}")));
    }
    let (create_path, fail) = (path.clone(), |cause| Error::file("write", &path)(cause));
    let create = move || writer.at(&create_path, create_file).map(cap_std::fs::File::into_std);
    let file = spawn_blocking(create).await?.map_err(fail)?;
    let output = Output { file, hasher: Sha256::new(), left: size };
    let output = match content {
        Content::File(source) => spawn_blocking(move || output.copy(source)).await?.map_err(fail)?,
        Content::Stream(stream) => output.receive(stream, &object).await?.map_err(fail)?,
    };
    let Some(output) = output else { return Err(wrong("has more bytes than its metadata say")) };
    if output.left != 0 {
        return Err(wrong("ends too early"));
    }
    let Output { file, hasher, .. } = output;
    if Digest::from_hasher(hasher) != sha256 {
        return Err(wrong("has another SHA-256 than its key says"));
    }
    let finish = move || {
        set_file_mode(&file, mode)?;
        file.set_times(std::fs::FileTimes::new().set_modified(system(modified)?))?;
        sync_file(&file)
    };
    spawn_blocking(finish).await?.map_err(fail)
}

/// A file that is being written, with the digest so far.
struct Output {
    file: std::fs::File,
    hasher: Sha256,
    /// Bytes that are still expected.
    left: u64,
}

impl Output {
    /// Appends bytes; `None` if they are more than expected.
    fn append(mut self, bytes: &[u8]) -> io::Result<Option<Self>> {
        let Some(left) = self.left.checked_sub(bytes.len() as u64) else { return Ok(None) };
        self.left = left;
        self.hasher.update(bytes);
        self.file.write_all(bytes)?;
        Ok(Some(self))
    }

    fn copy(self, source: std::fs::File) -> io::Result<Option<Self>> {
        let mut output = self;
        // One byte more than expected shows a file that is too long.
        let mut source = source.take(output.left.saturating_add(1));
        let mut part = vec![0; PART];
        loop {
            let bytes = match source.read(&mut part)? {
                0 => return Ok(Some(output)),
                length => part.get(..length).unwrap_or_default(),
            };
            let Some(next) = output.append(bytes)? else { return Ok(None) };
            output = next;
        }
    }

    async fn receive(
        self,
        mut stream: BoxStream<'static, object_store::Result<Bytes>>,
        object: &str,
    ) -> Result<io::Result<Option<Self>>> {
        let mut output = self;
        while let Some(bytes) = stream.try_next().await.map_err(failed("read", object))? {
            match spawn_blocking(move || output.append(&bytes)).await? {
                Ok(Some(next)) => output = next,
                ended => return Ok(ended),
            }
        }
        Ok(Ok(Some(output)))
    }
}

fn system(time: Time) -> io::Result<std::time::SystemTime> {
    time.system().ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// Sets the times of an entry, and of a link itself. `cap-std` panics for times before 1970.
#[cfg(unix)]
fn set_times(dir: &Dir, name: &OsStr, Time(seconds, nanoseconds): Time) -> io::Result<()> {
    use rustix::fs::{AtFlags, Timespec, Timestamps, utimensat};

    let time = Timespec { tv_sec: seconds, tv_nsec: nanoseconds as _ };
    let times = Timestamps { last_access: time, last_modification: time };
    Ok(utimensat(dir, name, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// Sets the times of an entry, and of a link itself. Times before 1970 become the first of 1970.
#[cfg(not(unix))]
fn set_times(dir: &Dir, name: &OsStr, time: Time) -> io::Result<()> {
    use cap_fs_ext::SystemTimeSpec;

    let time = cap_std::time::SystemTime::from_std(system(time)?.max(std::time::UNIX_EPOCH));
    let time = || Some(SystemTimeSpec::Absolute(time));
    dir.set_symlink_times(name, time(), time())
}

#[cfg(unix)]
fn create_link(dir: &Dir, target: &OsStr, name: &OsStr) -> io::Result<()> {
    dir.symlink_contents(target, name)
}

/// Windows has a kind of link for files and another one for directories, and a snapshot does not say which one is meant.
#[cfg(not(unix))]
fn create_link(dir: &Dir, target: &OsStr, name: &OsStr) -> io::Result<()> {
    DirExt::symlink_file(dir, target, name)
}

#[cfg(unix)]
pub(crate) fn set_mode(dir: &Dir, mode: u32) -> io::Result<()> {
    Ok(rustix::fs::fchmod(readable(dir)?, rustix::fs::Mode::from_raw_mode(mode as rustix::fs::RawMode))?)
}

/// Directories of other systems have no modes.
#[cfg(not(unix))]
pub(crate) fn set_mode(_dir: &Dir, _mode: u32) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn set_file_mode(file: &std::fs::File, mode: u32) -> io::Result<()> {
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(mode))
}

#[cfg(not(unix))]
fn set_file_mode(file: &std::fs::File, mode: u32) -> io::Result<()> {
    let mut permissions = file.metadata()?.permissions();
    permissions.set_readonly(mode & 0o200 == 0);
    file.set_permissions(permissions)
}

/// Makes a file durable, unless [`sync`] makes all files durable at the end.
fn sync_file(file: &std::fs::File) -> io::Result<()> {
    if cfg!(target_os = "linux") { Ok(()) } else { file.sync_all() }
}

/// Makes all files and directories durable.
#[cfg(target_os = "linux")]
fn sync(dir: &Dir) -> io::Result<()> {
    // One call for the whole file system is faster than one for each of thousands of files.
    Ok(rustix::fs::syncfs(readable(dir)?)?)
}

/// Makes all files and directories durable. The files are it already.
#[cfg(all(unix, not(target_os = "linux")))]
fn sync(dir: &Dir) -> io::Result<()> {
    Ok(rustix::fs::fsync(readable(dir)?)?)
}

/// Makes all files and directories durable. The files are it already.
#[cfg(not(unix))]
fn sync(_dir: &Dir) -> io::Result<()> {
    Ok(())
}

/// Gives the owner all rights to the directories in a directory. The depth is bounded by that of a path.
pub(crate) fn make_removable(dir: &Dir) -> io::Result<()> {
    for entry in dir.entries()? {
        let name = entry?.file_name();
        if dir.symlink_metadata(&name)?.is_dir() {
            #[cfg(unix)]
            dir.set_permissions(&name, cap_std::fs::PermissionsExt::from_mode(OWNER))?;
            make_removable(&dir.open_dir_nofollow(&name)?)?;
        }
    }
    Ok(())
}
