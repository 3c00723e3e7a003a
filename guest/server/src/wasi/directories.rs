//! The preopened directories, as far as the lock needs them. Names are opened without following links.

use wasip2::clocks::{monotonic_clock, wall_clock};
use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{Descriptor, DescriptorFlags, ErrorCode, OpenFlags, PathFlags};
use wasip2::random::random::get_random_u64;

use crate::guarded::Directories;
use crate::lock::{self, Clock, Lock, LockDirectory, LockError, StateDirectory, Times};

/// Path of the state directory.
const STATE: &str = "/paddock-state";
/// Directory of a journal in a root, for calls without a state directory.
const INSIDE: &str = ".paddock";

/// Maximum number of entries of a directory that cannot be listed.
const MAX_OTHER_ENTRIES: usize = 10_000;

/// The preopened directories.
pub(super) struct Preopened {
    state: Option<Opened>,
    roots: Vec<Opened>,
    times: Times,
}

impl Preopened {
    pub(super) fn new(times: Times) -> Self {
        let (mut state, mut roots) = (None, Vec::new());
        for (directory, path) in get_directories() {
            match path.trim_end_matches('/') == STATE {
                true => state = Some(Opened(directory)),
                false => roots.push(Opened(directory)),
            }
        }
        Self { state, roots, times }
    }
}

impl Directories for Preopened {
    type Lock = Opened;
    type Clock = WasiClock;

    fn lock(&self) -> Result<Option<Lock<Opened, WasiClock>>, LockError> {
        let Some(state) = &self.state else { return Ok(None) };
        let directory = lock::open(state, WasiClock.random())?;
        Ok(Some(Lock::new(directory, WasiClock, self.times)))
    }

    fn has_journal(&self) -> bool {
        match &self.state {
            Some(state) => state.has_journal(),
            None => self.roots.iter().any(|root| match root.open(INSIDE) {
                Ok(directory) => directory.is_some_and(|directory| directory.has_journal()),
                Err(_) => true,
            }),
        }
    }
}

/// An open directory.
pub(super) struct Opened(Descriptor);

impl Opened {
    /// Returns whether the directory contains a journal, or the record of an unfinished commit of an overlay. If it cannot
    /// be listed, returns true.
    fn has_journal(&self) -> bool {
        self.names().map_or(true, |names| names.iter().any(|name| is_journal(name)))
    }

    fn create_directory(&self, name: &str) -> Result<(), String> {
        self.0.create_directory_at(name).map_err(cause("create"))
    }

    fn remove_file(&self, name: &str) -> Result<(), ErrorCode> {
        self.0.unlink_file_at(name)
    }
}

/// Returns whether a name is that of a journal or of the record of an overlay commit, of any set of roots. One that is still
/// being written has no effect: its change has not begun.
fn is_journal(name: &str) -> bool {
    let is_record = name.starts_with("journal") || name.starts_with("commit");
    is_record && !name.ends_with(".refused") && !name.ends_with(".new")
}

impl LockDirectory for Opened {
    fn names(&self) -> Result<Vec<String>, String> {
        let stream = itself(&self.0, Descriptor::read_directory).map_err(cause("list"))?;
        let (mut names, mut others) = (Vec::new(), 0);
        while others < MAX_OTHER_ENTRIES {
            match stream.read_directory_entry() {
                Ok(Some(entry)) => names.push(entry.name),
                Ok(None) => return Ok(names),
                // wasmtime inspects each entry after it has read the name. Meanwhile another call may have renamed or
                // removed the entry, which is not part of the list then.
                Err(ErrorCode::NoEntry | ErrorCode::IllegalByteSequence) => others += 1,
                Err(code) => return Err(cause("list")(code)),
            }
        }
        Err(format!(
            "cannot list the directory: more than {MAX_OTHER_ENTRIES} entries have no name in UTF-8, or disappeared"
        ))
    }

    fn create(&self, name: &str) -> Result<(), String> {
        let flags = (OpenFlags::CREATE, DescriptorFlags::READ | DescriptorFlags::WRITE);
        self.0.open_at(PathFlags::empty(), name, flags.0, flags.1).map(drop).map_err(cause("create"))
    }

    fn rename(&self, from: &str, to: &str) -> Result<bool, String> {
        match self.0.rename_at(from, &self.0, to) {
            Ok(()) => Ok(true),
            Err(ErrorCode::NoEntry) => Ok(false),
            Err(code) => Err(cause("rename")(code)),
        }
    }

    fn remove(&self, name: &str) -> Result<(), String> {
        match self.remove_file(name) {
            Ok(()) | Err(ErrorCode::NoEntry) => Ok(()),
            Err(code) => Err(cause("remove")(code)),
        }
    }
}

impl StateDirectory for Opened {
    type Lock = Self;

    fn open(&self, name: &str) -> Result<Option<Self>, String> {
        match self.0.open_at(PathFlags::empty(), name, OpenFlags::DIRECTORY, DescriptorFlags::READ) {
            Ok(directory) => Ok(Some(Self(directory))),
            Err(ErrorCode::NoEntry) => Ok(None),
            Err(code) => Err(cause("open")(code)),
        }
    }

    fn make(&self, name: &str) -> Result<Self, String> {
        self.create_directory(name)?;
        self.open(name)?.ok_or_else(|| format!("`{name}` disappeared"))
    }

    fn sync(&self, lock: &Self) -> Result<(), String> {
        // Some engines and file systems cannot sync directories, and there is no alternative.
        let _ = lock.0.sync();
        let _ = itself(&self.0, Descriptor::sync);
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> Result<bool, String> {
        match self.0.rename_at(from, &self.0, to) {
            Ok(()) => Ok(true),
            Err(ErrorCode::NotEmpty | ErrorCode::Exist) => Ok(false),
            Err(code) => Err(cause("rename")(code)),
        }
    }

    fn remove(&self, name: &str) -> Result<(), String> {
        self.0.remove_directory_at(name).map_err(cause("remove"))
    }
}

/// Queries a directory about itself. The shim of jco answers only for `.` in a preopened directory, not for the
/// directory itself.
fn itself<T>(directory: &Descriptor, query: impl Fn(&Descriptor) -> Result<T, ErrorCode>) -> Result<T, ErrorCode> {
    match query(directory) {
        Err(ErrorCode::Invalid | ErrorCode::BadDescriptor) => {
            let opened = directory.open_at(PathFlags::empty(), ".", OpenFlags::DIRECTORY, DescriptorFlags::READ)?;
            query(&opened)
        }
        other => other,
    }
}

fn cause(operation: &'static str) -> impl Fn(ErrorCode) -> String {
    move |code| format!("cannot {operation} an entry: {}", code.name())
}

/// The clocks and random numbers of WASI.
pub(super) struct WasiClock;

impl Clock for WasiClock {
    fn now_ms(&self) -> u64 {
        let now = wall_clock::now();
        now.seconds.saturating_mul(1000).saturating_add(u64::from(now.nanoseconds / 1_000_000))
    }

    fn sleep_ms(&self, ms: u64) {
        monotonic_clock::subscribe_duration(ms.saturating_mul(1_000_000)).block();
    }

    fn random(&self) -> u64 {
        get_random_u64()
    }
}
