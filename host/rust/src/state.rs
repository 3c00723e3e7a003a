//! The state directory, which holds journals outside of the workspace, and its lock.

use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::budget::{CallBudget, Interruption};
#[cfg(feature = "snapshots")]
use crate::directory::found;
use crate::directory::{Deferred, Directory, private_file};
use crate::hex::hex;
use crate::mount::{self, Mount, STATE};
use crate::types::{ErrorCode, ToolError};
use crate::user_directories;

/// Interval between attempts to take the lock.
const RETRY: Duration = Duration::from_millis(5);

/// Subdirectory with the contents of files that commands are about to change.
#[cfg(feature = "commands")]
pub(crate) const COMMANDS: &str = "commands";

/// Suffix of the directory, beside the state directory of a workspace, that has the state directories of its parts: those
/// directories that a server made the roots of tokens.
#[cfg(any(feature = "snapshots", all(target_os = "linux", feature = "serve")))]
pub(crate) const PARTS: &str = "@";

/// Directory in the workspace for the journal of a call without a state directory.
const JOURNAL_INSIDE: &str = ".paddock";

/// The choice of a state directory for a workspace.
#[derive(Clone, Debug, Default)]
pub(crate) enum StateChoice {
    /// A directory below the user's own state directory.
    #[default]
    User,
    At(PathBuf),
    None,
}

/// The state directory of one workspace. The first change creates it; afterwards it stays open.
#[derive(Clone, Debug)]
pub(crate) struct StateDir {
    directory: Deferred,
    /// Whether a call that changes something fails if the directory cannot be created. Otherwise the call runs
    /// without it.
    is_required: bool,
}

impl StateChoice {
    /// Resolves the state directory of the workspace at `root`, if it has one. Fails if a link in one of the roots
    /// would decide which directory that is.
    pub(crate) fn resolve(self, root: &Path, roots: &[Mount]) -> io::Result<Option<StateDir>> {
        let open = |path: PathBuf, is_required| {
            let walk = mount::open_named(&path, roots.iter().map(|root| &root.directory))?;
            Deferred::new(walk).map(|directory| StateDir { directory, is_required })
        };
        match self {
            Self::None => Ok(None),
            Self::At(path) => open(path, true).map(Some),
            Self::User => {
                match user_directories::state().map(|parent| open(parent.join(name(root)), false)).transpose() {
                    // The default location is optional: if this user may not access it, the workspace has no state
                    // directory.
                    Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied => Ok(None),
                    opened => opened,
                }
            }
        }
    }
}

/// Returns the name of the state directory of the workspace at `root`, in the user's directory.
pub(crate) fn name(root: &Path) -> String {
    let digest = Sha256::digest(root.as_os_str().as_encoded_bytes());
    hex(&digest).chars().take(16).collect()
}

impl StateDir {
    pub(crate) fn new(directory: Deferred) -> Self {
        Self { directory, is_required: true }
    }

    /// Returns the directory at these names inside the state directory. Creating it creates the state directory
    /// too.
    pub(crate) fn below(&self, names: &[&str]) -> Deferred {
        self.directory.below(names)
    }

    /// Creates the directory, accessible to its owner alone.
    pub(crate) fn create(&self) -> io::Result<Directory> {
        self.directory.create()
    }

    /// Creates the directory. If it is optional and cannot be created, returns `None`; calls then leave no backups.
    pub(crate) fn create_if_allowed(&self) -> Result<Option<Directory>, ToolError> {
        match self.create() {
            Ok(directory) => Ok(Some(directory)),
            Err(cause) if self.is_required => Err(ToolError::new(
                code(&cause),
                format!("cannot make the state directory `{}`: {cause}", self.path().display()),
            )
            .hint("nothing was changed; the person who runs this has to name a directory that can be written to")),
            // A directory that exists may have the journal of a change that was cut off.
            Err(_) => self.get(),
        }
    }

    /// Returns the directory, or `None` if it does not exist, or if it is optional and this user may not open it.
    pub(crate) fn get(&self) -> Result<Option<Directory>, ToolError> {
        match self.directory.get() {
            Err(cause) if !self.is_required && cause.kind() == io::ErrorKind::PermissionDenied => Ok(None),
            directory => directory.map_err(|cause| self.unreadable(&cause)),
        }
    }

    fn unreadable(&self, cause: &io::Error) -> ToolError {
        unreadable(&self.path(), cause)
    }

    /// Returns the directory for contents that commands are about to change, and creates it if needed.
    #[cfg(feature = "commands")]
    pub(crate) fn commands(&self) -> io::Result<Directory> {
        self.create()?.create_subdirectory(COMMANDS)
    }

    /// Returns the path of the directory, for messages.
    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path()
    }

    /// Returns whether a call left a journal, or the record of an unfinished overlay commit. The next call
    /// completes or undoes it.
    pub(crate) fn has_journal(directory: &Directory) -> Result<bool, ToolError> {
        let names = directory.names().map_err(|cause| unreadable(directory.path(), &cause))?;
        Ok(names.iter().any(|name| is_journal(name)))
    }

    /// Returns whether a call that had a part of the workspace as its root left a journal.
    #[cfg(feature = "snapshots")]
    pub(crate) fn has_journal_of_part(&self) -> Result<bool, ToolError> {
        let parts = self.directory.beside(PARTS).map_or(Ok(None), |parts| parts.get());
        let Some(parts) = parts.map_err(|cause| self.unreadable(&cause))? else { return Ok(false) };
        for name in parts.names().map_err(|cause| self.unreadable(&cause))? {
            let part = found(parts.subdirectory(name)).map_err(|cause| self.unreadable(&cause))?;
            if part.map_or(Ok(false), |part| Self::has_journal(&part))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the mount of the directory for a guest.
    pub(crate) fn mount(directory: Directory) -> Mount {
        Mount::own(directory, STATE)
    }

    /// Waits until no other call changes the workspace. Dropping the result releases the lock.
    pub(crate) fn lock(directory: &Directory, budget: &CallBudget) -> Result<File, ToolError> {
        let file = open_lock(directory).map_err(|cause| failed(&cause))?;
        wait(budget, || file.try_lock())?;
        Ok(file)
    }

    /// Returns whether a call changes the workspace.
    #[cfg(all(target_os = "linux", feature = "serve"))]
    pub(crate) fn is_locked(directory: &Directory) -> Result<bool, ToolError> {
        let file = open_lock(directory).map_err(|cause| failed(&cause))?;
        // Several threads can find this out at the same time.
        match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(cause)) => Err(failed(&cause)),
        }
    }
}

/// Repeats an attempt to take a lock until it succeeds or the call has to end.
pub(crate) fn wait(budget: &CallBudget, attempt: impl Fn() -> Result<(), TryLockError>) -> Result<(), ToolError> {
    loop {
        match attempt() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => thread::sleep(RETRY),
            Err(TryLockError::Error(cause)) => return Err(failed(&cause)),
        }
        match budget.interruption() {
            Some(Interruption::Deadline) => return Err(busy()),
            Some(interruption) => return Err(interruption.explain()),
            None => {}
        }
    }
}

/// Returns whether the name is that of a journal or of the record of an overlay commit, of any set of roots. One that is still
/// being written, `….new`, has no effect: its change has not begun.
pub(crate) fn is_journal(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let is_record = name.starts_with(b"journal") || name.starts_with(b"commit");
    is_record && !name.ends_with(b".refused") && !name.ends_with(b".new")
}

/// Returns whether a call left a journal in the workspace itself, where calls without a state directory store it.
/// If the directory cannot be opened or read for another reason than its absence, returns true.
pub(crate) fn has_journal_inside(root: &Directory) -> bool {
    match root.subdirectory(JOURNAL_INSIDE) {
        Ok(own) => StateDir::has_journal(&own).unwrap_or(true),
        Err(cause) => cause.kind() != io::ErrorKind::NotFound,
    }
}

fn unreadable(path: &Path, cause: &io::Error) -> ToolError {
    ToolError::new(code(cause), format!("cannot open the state directory `{}`: {cause}", path.display()))
        .hint("nothing was changed; the person who runs this has to check the state directory")
}

fn open_lock(directory: &Directory) -> io::Result<File> {
    directory.open_file("lock", private_file().read(true).create(true).truncate(false))
}

fn code(cause: &io::Error) -> ErrorCode {
    match cause.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorCode::NoSpace,
        _ => ErrorCode::Io,
    }
}

pub(crate) fn failed(cause: &io::Error) -> ToolError {
    let error = ToolError::new(code(cause), format!("cannot lock the workspace: {cause}"));
    error.hint(match has_no_locks(cause) {
        true => {
            "nothing was changed; the file system of the state directory has no locks (`flock`), so that the person who runs \
             this has to name a state directory on another one"
        }
        false => "the person who runs this has to check the state directory",
    })
}

/// Returns whether the error says that the file system, or its server, cannot lock files.
fn has_no_locks(cause: &io::Error) -> bool {
    #[cfg(unix)]
    if cause.raw_os_error() == Some(rustix::io::Errno::NOLCK.raw_os_error()) {
        return true;
    }
    cause.kind() == io::ErrorKind::Unsupported
}

fn busy() -> ToolError {
    ToolError::new(ErrorCode::LimitExceeded, "another process is changing this workspace")
        .hint("call again when it has finished; nothing was changed")
}
