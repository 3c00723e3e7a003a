//! The state directory: journals outside of the workspace, and their lock.

use std::env;
use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::budget::{CallBudget, Interruption};
use crate::directory::{Deferred, Directory, private_file};
use crate::hex::hex;
use crate::mount::{self, Mount, STATE};
use crate::types::{ErrorCode, ToolError};

/// Interval at which a held lock is tried again.
const RETRY: Duration = Duration::from_millis(5);

/// The directory in a state directory for what commands are about to change.
#[cfg(feature = "commands")]
pub(crate) const COMMANDS: &str = "commands";

/// Directory in the workspace for the journal of a call without a state directory.
const JOURNAL_INSIDE: &str = ".paddock";

/// Which state directory a workspace is to have.
#[derive(Clone, Debug, Default)]
pub(crate) enum StateChoice {
    /// Below the user's own state directory.
    #[default]
    User,
    At(PathBuf),
    None,
}

/// The state directory of one workspace. It is made when something is first changed, and held from then on.
#[derive(Clone, Debug)]
pub(crate) struct StateDir {
    directory: Deferred,
    /// Somebody named it: without it no call changes anything.
    is_required: bool,
}

impl StateChoice {
    /// The state directory of the workspace at `root`, if it has one. Fails where a link in one of the roots would
    /// decide which directory that is.
    pub(crate) fn resolve(self, root: &Path, roots: &[Mount]) -> io::Result<Option<StateDir>> {
        let open = |path: PathBuf, is_required| {
            let walk = mount::open_named(&path, roots.iter().map(|root| &root.directory))?;
            Deferred::new(walk).map(|directory| StateDir { directory, is_required })
        };
        match self {
            Self::None => Ok(None),
            Self::At(path) => open(path, true).map(Some),
            Self::User => match parent().map(|parent| open(parent.join(name(root)), false)).transpose() {
                // Nobody asked for this one, which this user cannot get into.
                Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied => Ok(None),
                opened => opened,
            },
        }
    }
}

/// Directory of the state directories of all workspaces.
pub(crate) fn parent() -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("PADDOCK_STATE_DIR")
        .or_else(|| absolute("XDG_STATE_HOME").map(|state| state.join("paddock")))
        .or_else(|| env::home_dir().map(|home| home.join(".local/state/paddock")))
}

fn name(root: &Path) -> String {
    let digest = Sha256::digest(root.as_os_str().as_encoded_bytes());
    hex(&digest).chars().take(16).collect()
}

impl StateDir {
    pub(crate) fn new(directory: Deferred) -> Self {
        Self { directory, is_required: true }
    }

    /// The directory at these names in it, which it may have to be made for.
    pub(crate) fn below(&self, names: &[&str]) -> Deferred {
        self.directory.below(names)
    }

    /// Makes it, for its owner alone.
    pub(crate) fn create(&self) -> io::Result<Directory> {
        self.directory.create()
    }

    /// The same; none where nobody named it and this user may not make it: calls go without backups then.
    pub(crate) fn create_if_allowed(&self) -> Result<Option<Directory>, ToolError> {
        match self.create() {
            Ok(directory) => Ok(Some(directory)),
            Err(cause) if self.is_required => Err(ToolError::new(
                code(&cause),
                format!("cannot make the state directory `{}`: {cause}", self.path().display()),
            )
            .hint("nothing was changed; the person who runs this has to name a directory that can be written to")),
            Err(_) => Ok(None),
        }
    }

    /// The directory, if it is there.
    pub(crate) fn get(&self) -> Option<Directory> {
        self.directory.get()
    }

    /// Returns the directory for contents that commands are about to change, and creates it if needed.
    #[cfg(feature = "commands")]
    pub(crate) fn commands(&self) -> io::Result<Directory> {
        self.create()?.create_subdirectory(COMMANDS)
    }

    /// Its path, for people.
    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path()
    }

    /// Whether a call left a journal, or a note of an overlay that it was taking over, which the next one finishes or undoes.
    pub(crate) fn has_journal(directory: &Directory) -> bool {
        directory.identity_of("commit").is_some() || directory.names().any(|name| is_journal(&name))
    }

    /// The directory as a guest gets it.
    pub(crate) fn mount(directory: Directory) -> Mount {
        Mount::own(directory, STATE)
    }

    /// Waits until no other call changes the workspace. The lock goes with the result.
    pub(crate) fn lock(directory: &Directory, budget: &CallBudget) -> Result<File, ToolError> {
        let file = open_lock(directory).map_err(|cause| failed(&cause))?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) => thread::sleep(RETRY),
                Err(TryLockError::Error(cause)) => return Err(failed(&cause)),
            }
            match budget.stop() {
                Some(Interruption::Deadline) => return Err(busy()),
                Some(stop) => return Err(stop.explain()),
                None => {}
            }
        }
    }
}

/// Whether a name is that of the journal of a change, of whichever roots.
fn is_journal(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b"journal") && name != "journal.refused"
}

/// Whether a call left a journal in the workspace itself, where calls without a state directory keep it. What cannot be told
/// counts as yes.
pub(crate) fn has_journal_inside(root: &Directory) -> bool {
    match root.subdirectory(JOURNAL_INSIDE) {
        Ok(own) => StateDir::has_journal(&own),
        Err(cause) => cause.kind() != io::ErrorKind::NotFound,
    }
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

fn failed(cause: &io::Error) -> ToolError {
    ToolError::new(code(cause), format!("cannot lock the workspace: {cause}"))
        .hint("the person who runs this has to see to the state directory")
}

fn busy() -> ToolError {
    ToolError::new(ErrorCode::LimitExceeded, "another process is changing this workspace")
        .hint("call again when it has finished; nothing was changed")
}
