//! Directory listings that read only the directory itself. The stock function calls `stat` for every entry before
//! it returns the first name.

use std::fs::File;
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, RawDirEntry, SeekFrom, openat, seek, statat};
use wasmtime::StoreContextMut;
use wasmtime::component::{LinkerInstance, Resource, ResourceType};
use wasmtime_wasi::filesystem::WasiFilesystemView;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{DirectoryEntry, ErrorCode};

use super::{Fd, FilesView, answer, code, directory, stat};

/// Size in bytes of the buffer for one read of directory entries.
const BATCH: usize = 32 * 1024;
/// Maximum number of entries of a directory that is read whole. A larger directory is read in batches.
const AT_ONCE: usize = 4_096;

/// Maximum number of open listings of a guest, since each holds entries in memory. The component opens one at a
/// time.
const MAX_LISTINGS: usize = 64;

/// An open listing, which the guest holds as a `directory-entry-stream`.
pub(super) struct Entries {
    batch: std::vec::IntoIter<Entry>,
    /// A handle for the remaining entries. No other listing moves its position.
    rest: Option<File>,
}

type Entry = Result<DirectoryEntry, ErrorCode>;
type Stream = Resource<Entries>;

pub(super) fn add_to_linker<T: FilesView>(types: &mut LinkerInstance<'_, T>) -> wasmtime::Result<()> {
    types.resource("directory-entry-stream", ResourceType::host::<Entries>(), |mut store, rep| {
        store.data_mut().filesystem().table.delete(Stream::new_own(rep))?;
        store.data_mut().files().listings -= 1;
        Ok(())
    })?;
    types
        .func_wrap("[method]descriptor.read-directory", |store, (dir,)| Ok((answer(read_directory(store, &dir))?,)))?;
    types.func_wrap("[method]directory-entry-stream.read-directory-entry", |store, (entries,)| {
        Ok((answer(next(store, &entries))?,))
    })
}

fn read_directory(mut store: StoreContextMut<'_, impl FilesView>, dir: &Fd) -> FsResult<Stream> {
    if store.data_mut().files().listings >= MAX_LISTINGS {
        return Err(ErrorCode::InsufficientMemory.into());
    }
    let view = store.data_mut().filesystem();
    let dir = Arc::clone(&directory(view.table.get(dir)?)?.dir);
    let stream = view.table.push(Entries::of(&dir)?)?;
    store.data_mut().files().listings += 1;
    Ok(stream)
}

fn next(mut store: StoreContextMut<'_, impl FilesView>, entries: &Stream) -> FsResult<Option<DirectoryEntry>> {
    let view = store.data_mut().filesystem();
    Ok(view.table.get_mut(entries)?.next()?)
}

impl Entries {
    fn of(dir: &File) -> Result<Self, ErrorCode> {
        // The existing handle suffices for a directory that is read whole. It cannot serve for a root: other guests
        // share the handle of a root, and it is open with `O_PATH`.
        if seek(dir, SeekFrom::Start(0)).is_ok() {
            let (entries, ended) = read(dir, AT_ONCE)?;
            if ended {
                return Ok(Self { batch: entries.into_iter(), rest: None });
            }
        }
        let again = openat(dir, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        Ok(Self { batch: Vec::new().into_iter(), rest: Some(again.map_err(code)?.into()) })
    }

    fn next(&mut self) -> Result<Option<DirectoryEntry>, ErrorCode> {
        while self.batch.len() == 0
            && let Some(dir) = &self.rest
        {
            let (entries, ended) = read(dir, 1)?;
            self.batch = entries.into_iter();
            if ended {
                self.rest = None;
            }
        }
        self.batch.next().transpose()
    }
}

/// Reads at least `max` entries, or all that remain, and returns whether the directory has no more.
fn read(dir: &File, max: usize) -> Result<(Vec<Entry>, bool), ErrorCode> {
    let mut buffer = Vec::with_capacity(BATCH);
    let mut raw = RawDir::new(dir, buffer.spare_capacity_mut());
    let mut entries = Vec::new();
    // Stops only when the buffer is empty, so that no entry is lost that the system has returned.
    while entries.len() < max || !raw.is_buffer_empty() {
        let Some(entry) = raw.next() else { return Ok((entries, true)) };
        let entry = entry.map_err(code)?;
        if entry.file_name() != c"." && entry.file_name() != c".." {
            entries.push(directory_entry(dir, &entry));
        }
    }
    Ok((entries, false))
}

fn directory_entry(dir: &File, entry: &RawDirEntry<'_>) -> Entry {
    let name = entry.file_name().to_str().map_err(|_| ErrorCode::IllegalByteSequence)?;
    let kind = match entry.file_type() {
        // Some file systems do not report the type.
        FileType::Unknown => {
            let stat = statat(dir, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW).map_err(code)?;
            FileType::from_raw_mode(stat.st_mode)
        }
        known => known,
    };
    Ok(DirectoryEntry { type_: stat::kind(kind), name: name.to_owned() })
}
