//! The host's preopened directories, through `wasi:filesystem` descriptors. Rust's standard library would end a listing
//! at the first name that is not UTF-8, would let the host follow links, and requests rights that some hosts do not
//! know.

use std::cell::OnceCell;
use std::rc::Rc;

use paddock_types::entry::{Kind, Time};
use paddock_types::policy::Policy;
use wasip2::clocks::{monotonic_clock, wall_clock};
use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{
    Datetime, Descriptor, DescriptorFlags, DescriptorStat, DescriptorType, ErrorCode, MetadataHashValue, OpenFlags,
    PathFlags,
};
use wasip2::random::random::get_random_u64;

use crate::{Dir, DirEntry, Fault, File, Filesystem, FsResult, Listing, MAX_OFFSET, Open, Preopen, Stat};

/// The host follows no links: the `workspace` crate reads them.
const NO_FOLLOW: PathFlags = PathFlags::empty();

/// Bytes of one write.
const WRITE_SIZE: usize = 64 * 1024;

/// Maximum number of consecutive entries that a host may fail to return before the listing ends: a host that repeats an
/// error forever must not hang the call.
const MAX_BAD_ENTRIES: u64 = 1_000_000;

/// Prefix of a name that requests permission bits, followed by four octal digits, from a host that sets them.
const MODE_PREFIX: &str = ".paddock-mode-";

/// Permission bits in a metadata hash, if the host reports them there. Set-user-id and set-group-id are excluded and
/// never restored.
const MODE_BITS: u64 = 0o1777;

/// Bit of the upper word of a metadata hash that is set if the hash changes with every change of the file.
const STAMP_BIT: u64 = 0o10000;

/// The host's preopens.
pub struct WasiFs {
    /// Whether the host reports and sets permission bits: `host.keeps_modes` of the policy.
    keeps_modes: bool,
    /// Whether the host says which metadata hashes are stamps: `host.has_stamps` of the policy.
    has_stamps: bool,
}

impl WasiFs {
    /// Returns the features of the host that a policy describes.
    pub fn of(policy: &Policy) -> &'static Self {
        match (policy.host.keeps_modes, policy.host.has_stamps) {
            (false, false) => &Self { keeps_modes: false, has_stamps: false },
            (false, true) => &Self { keeps_modes: false, has_stamps: true },
            (true, false) => &Self { keeps_modes: true, has_stamps: false },
            (true, true) => &Self { keeps_modes: true, has_stamps: true },
        }
    }
}

impl Filesystem for WasiFs {
    fn preopens(&self) -> Vec<Preopen> {
        let preopen = |(descriptor, guest_path)| Preopen { guest_path, dir: Dir(Rc::new(descriptor)) };
        get_directories().into_iter().map(preopen).collect()
    }

    fn open_dir(&self, dir: &Dir, name: &str) -> FsResult<Dir> {
        Ok(Dir(Rc::new(open_dir(dir.descriptor()?, name)?)))
    }

    fn open_file(&self, dir: &Dir, name: &str, mode: Open) -> FsResult<File> {
        let (open, flags) = match mode {
            Open::Read => (OpenFlags::empty(), DescriptorFlags::READ),
            Open::Write => (OpenFlags::empty(), DescriptorFlags::READ | DescriptorFlags::WRITE),
            Open::CreateNew => {
                (OpenFlags::CREATE | OpenFlags::EXCLUSIVE, DescriptorFlags::READ | DescriptorFlags::WRITE)
            }
        };
        let opened = dir.descriptor()?.open_at(NO_FOLLOW, name, open, flags).map_err(fault)?;
        Ok(File(Rc::new(opened)))
    }

    fn list(&self, dir: &Dir) -> FsResult<Listing> {
        let stream = itself(dir.descriptor()?, Descriptor::read_directory)?;
        let mut listing = Listing::default();
        while listing.unnamed + listing.unreadable < MAX_BAD_ENTRIES {
            match stream.read_directory_entry() {
                Ok(None) => break,
                Ok(Some(entry)) => listing.entries.push(DirEntry { name: entry.name, kind: kind(entry.type_) }),
                Err(ErrorCode::IllegalByteSequence) => listing.unnamed += 1,
                Err(_) => listing.unreadable += 1,
            }
        }
        Ok(listing)
    }

    fn stat(&self, dir: &Dir, name: &str) -> FsResult<Stat> {
        dir.descriptor()?.stat_at(NO_FOLLOW, name).map(stat).map_err(fault)
    }

    fn stat_file(&self, file: &File) -> FsResult<Stat> {
        file.descriptor()?.stat().map(stat).map_err(fault)
    }

    fn stat_dir(&self, dir: &Dir) -> FsResult<Stat> {
        itself(dir.descriptor()?, Descriptor::stat).map(stat)
    }

    fn is_same_dir(&self, dir: &Dir, other: &Dir) -> FsResult<bool> {
        Ok(dir.descriptor()?.is_same_object(other.descriptor()?))
    }

    fn stamp(&self, dir: &Dir, name: &str) -> Option<[u64; 2]> {
        stamp(dir.descriptor().ok().filter(|_| self.has_stamps)?.metadata_hash_at(NO_FOLLOW, name).ok()?)
    }

    fn stamp_dir(&self, dir: &Dir) -> Option<[u64; 2]> {
        stamp(dir.descriptor().ok().filter(|_| self.has_stamps)?.metadata_hash().ok()?)
    }

    fn unopened_dir(&self, dir: &Dir, name: &str) -> Option<(Dir, [u64; 2])> {
        let stamp = self.stamp(dir, name)?;
        let unopened = UnopenedDir { above: dir.clone(), name: name.to_owned(), stamp, opened: OnceCell::new() };
        Some((Dir(Rc::new(unopened)), stamp))
    }

    fn read_link(&self, dir: &Dir, name: &str) -> FsResult<String> {
        dir.descriptor()?.readlink_at(name).map_err(|code| match code {
            ErrorCode::NotPermitted => Fault::Outside,
            code => fault(code),
        })
    }

    fn read(&self, file: &File, offset: u64, max: usize, into: &mut Vec<u8>) -> FsResult<usize> {
        check_offset(offset)?;
        let descriptor = file.descriptor()?;
        let (bytes, _end) = retry(|| descriptor.read(max as u64, offset))?;
        // If this is the last block, or fills the buffer, no copy is needed.
        if into.is_empty() && (bytes.len() < max || into.capacity() <= bytes.len()) {
            *into = bytes;
            return Ok(into.len());
        }
        into.extend_from_slice(&bytes);
        Ok(bytes.len())
    }

    fn write(&self, file: &File, offset: u64, bytes: &[u8]) -> FsResult<()> {
        check_offset(offset.saturating_add(bytes.len() as u64))?;
        let descriptor = file.descriptor()?;
        let (mut offset, mut rest) = (offset, bytes);
        while !rest.is_empty() {
            let part = rest.get(..WRITE_SIZE).unwrap_or(rest);
            let written = retry(|| descriptor.write(part, offset))?;
            if written == 0 {
                return Err(Fault::Io("the file system took no more bytes".to_owned()));
            }
            offset += written;
            rest = usize::try_from(written).ok().and_then(|written| rest.get(written..)).unwrap_or_default();
        }
        Ok(())
    }

    fn set_size(&self, file: &File, size: u64) -> FsResult<()> {
        check_offset(size)?;
        let descriptor = file.descriptor()?;
        retry(|| descriptor.set_size(size))
    }

    fn sync_file(&self, file: &File) -> FsResult<()> {
        let descriptor = file.descriptor()?;
        retry(|| descriptor.sync())
    }

    fn sync_dir(&self, dir: &Dir) -> FsResult<()> {
        match dir.descriptor()?.sync() {
            // Some hosts and file systems cannot sync directories, and there is no alternative.
            Err(ErrorCode::Unsupported | ErrorCode::Invalid | ErrorCode::BadDescriptor | ErrorCode::IsDirectory) => {
                Ok(())
            }
            other => other.map_err(fault),
        }
    }

    fn make_dir(&self, dir: &Dir, name: &str) -> FsResult<()> {
        dir.descriptor()?.create_directory_at(name).map_err(fault)
    }

    fn link(&self, dir: &Dir, name: &str, to_dir: &Dir, to: &str) -> FsResult<()> {
        dir.descriptor()?.link_at(NO_FOLLOW, name, to_dir.descriptor()?, to).map_err(fault)
    }

    fn symlink(&self, dir: &Dir, name: &str, target: &str) -> FsResult<()> {
        dir.descriptor()?.symlink_at(target, name).map_err(fault)
    }

    fn rename(&self, dir: &Dir, name: &str, to_dir: &Dir, to: &str) -> FsResult<()> {
        dir.descriptor()?.rename_at(name, to_dir.descriptor()?, to).map_err(fault)
    }

    fn unlink(&self, dir: &Dir, name: &str) -> FsResult<()> {
        dir.descriptor()?.unlink_file_at(name).map_err(fault)
    }

    fn remove_dir(&self, dir: &Dir, name: &str) -> FsResult<()> {
        dir.descriptor()?.remove_directory_at(name).map_err(fault)
    }

    fn mode(&self, dir: &Dir, name: &str) -> Option<u32> {
        let hash = dir.descriptor().ok().filter(|_| self.keeps_modes)?.metadata_hash_at(NO_FOLLOW, name).ok()?;
        u32::try_from(hash.upper & MODE_BITS).ok()
    }

    fn set_mode(&self, dir: &Dir, name: &str, mode: u32) -> FsResult<()> {
        if !self.keeps_modes {
            return Ok(());
        }
        let dir = dir.descriptor()?;
        dir.rename_at(name, dir, &format!("{MODE_PREFIX}{mode:04o}")).map_err(fault)
    }

    fn random(&self) -> u64 {
        get_random_u64()
    }

    fn now(&self) -> Time {
        wall_time()
    }

    fn clock_ms(&self) -> u64 {
        monotonic_clock::now() / 1_000_000
    }
}

/// Returns the time of day, for the memory backend.
pub fn wall_time() -> Time {
    let now = wall_clock::now();
    Time { seconds: now.seconds, nanoseconds: now.nanoseconds }
}

impl Dir {
    fn descriptor(&self) -> FsResult<&Descriptor> {
        match self.0.downcast_ref() {
            Some(descriptor) => Ok(descriptor),
            None => self.0.downcast_ref::<UnopenedDir>().ok_or(Fault::Gone)?.descriptor(),
        }
    }
}

/// A directory that is opened when it is first used.
struct UnopenedDir {
    above: Dir,
    name: String,
    stamp: [u64; 2],
    opened: OnceCell<Descriptor>,
}

impl UnopenedDir {
    fn descriptor(&self) -> FsResult<&Descriptor> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let opened = open_dir(self.above.descriptor()?, &self.name)?;
        // Otherwise what is known of the directory would be taken for what is known of another one.
        if opened.metadata_hash().ok().and_then(stamp) != Some(self.stamp) {
            return Err(Fault::Gone);
        }
        Ok(self.opened.get_or_init(|| opened))
    }
}

fn open_dir(dir: &Descriptor, name: &str) -> FsResult<Descriptor> {
    dir.open_at(NO_FOLLOW, name, OpenFlags::DIRECTORY, DescriptorFlags::READ).map_err(fault)
}

impl File {
    fn descriptor(&self) -> FsResult<&Descriptor> {
        self.0.downcast_ref().ok_or(Fault::Gone)
    }
}

/// Queries a directory about itself. The shim of jco answers only for `.` in a preopened directory, not for the
/// directory itself.
fn itself<T>(dir: &Descriptor, call: impl Fn(&Descriptor) -> Result<T, ErrorCode>) -> FsResult<T> {
    let reported = match call(dir) {
        Err(ErrorCode::Invalid | ErrorCode::BadDescriptor) => {
            let opened = dir.open_at(NO_FOLLOW, ".", OpenFlags::DIRECTORY, DescriptorFlags::READ);
            opened.and_then(|opened| call(&opened))
        }
        reported => reported,
    };
    reported.map_err(fault)
}

/// Returns the stamp that a metadata hash is, if the host says so.
fn stamp(hash: MetadataHashValue) -> Option<[u64; 2]> {
    (hash.upper & STAMP_BIT != 0).then_some([hash.lower, hash.upper])
}

/// Repeats a call that a signal in the host interrupted.
fn retry<T>(mut call: impl FnMut() -> Result<T, ErrorCode>) -> FsResult<T> {
    loop {
        match call() {
            Err(ErrorCode::Interrupted) => {}
            other => return other.map_err(fault),
        }
    }
}

/// Refuses large offsets, which JavaScript hosts would round and so write to another place.
fn check_offset(offset: u64) -> FsResult<()> {
    if offset > MAX_OFFSET { Err(Fault::TooLarge) } else { Ok(()) }
}

fn stat(stat: DescriptorStat) -> Stat {
    Stat {
        kind: kind(stat.type_),
        size: stat.size,
        links: stat.link_count,
        modified: stat.data_modification_timestamp.map(time),
        accessed: stat.data_access_timestamp.map(time),
        changed: stat.status_change_timestamp.map(time),
    }
}

fn time(at: Datetime) -> Time {
    Time { seconds: at.seconds, nanoseconds: at.nanoseconds }
}

fn kind(descriptor_type: DescriptorType) -> Kind {
    match descriptor_type {
        DescriptorType::RegularFile => Kind::File,
        DescriptorType::Directory => Kind::Directory,
        DescriptorType::SymbolicLink => Kind::Link,
        DescriptorType::Unknown
        | DescriptorType::BlockDevice
        | DescriptorType::CharacterDevice
        | DescriptorType::Fifo
        | DescriptorType::Socket => Kind::Other,
    }
}

/// Converts an error code of WASI.
fn fault(code: ErrorCode) -> Fault {
    match code {
        ErrorCode::NoEntry => Fault::NotFound,
        ErrorCode::Exist => Fault::Exists,
        ErrorCode::NotDirectory => Fault::NotDirectory,
        ErrorCode::IsDirectory => Fault::IsDirectory,
        ErrorCode::NotEmpty => Fault::NotEmpty,
        ErrorCode::Loop => Fault::Link,
        ErrorCode::NoSuchDevice | ErrorCode::NoTty | ErrorCode::InvalidSeek | ErrorCode::Pipe => Fault::NotRegular,
        ErrorCode::Access | ErrorCode::NotPermitted => Fault::Access,
        ErrorCode::InsufficientSpace | ErrorCode::Quota => Fault::NoSpace,
        ErrorCode::ReadOnly => Fault::ReadOnly,
        ErrorCode::FileTooLarge | ErrorCode::Overflow => Fault::TooLarge,
        ErrorCode::IllegalByteSequence | ErrorCode::NameTooLong => Fault::Name,
        ErrorCode::CrossDevice => Fault::CrossDevice,
        ErrorCode::Unsupported => Fault::Unsupported,
        ErrorCode::Busy | ErrorCode::TextFileBusy | ErrorCode::WouldBlock | ErrorCode::Already => Fault::Busy,
        ErrorCode::InsufficientMemory => Fault::NoMemory,
        ErrorCode::NoDevice | ErrorCode::NotRecoverable => Fault::Gone,
        ErrorCode::BadDescriptor
        | ErrorCode::Deadlock
        | ErrorCode::InProgress
        | ErrorCode::Interrupted
        | ErrorCode::Invalid
        | ErrorCode::Io
        | ErrorCode::MessageSize
        | ErrorCode::NoLock
        | ErrorCode::TooManyLinks => Fault::Io(code.message().to_owned()),
    }
}
