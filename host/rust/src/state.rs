//! Where journals are kept, outside the workspace, and the lock beside them.

use std::env;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::hex::hex;
use crate::mount::{Mount, STATE};
use crate::policy::Access;
use crate::sandbox::{Control, Stop};
use crate::types::{ErrorCode, ToolError};

/// How often a held lock is tried again.
const RETRY: Duration = Duration::from_millis(5);

/// The directory in a state directory for what commands are about to change.
pub(crate) const COMMANDS: &str = "commands";

/// Which state directory a workspace is to have.
#[derive(Clone, Debug, Default)]
pub(crate) enum StateChoice {
    /// Below the user's own state directory.
    #[default]
    User,
    At(PathBuf),
    None,
}

/// The state directory of one workspace; it is made when something is first changed.
#[derive(Clone, Debug)]
pub(crate) struct StateDir(PathBuf);

impl StateChoice {
    /// The state directory of the workspace at `root`, if it has one.
    pub(crate) fn resolve(self, root: &Path) -> Option<StateDir> {
        match self {
            Self::None => None,
            Self::At(path) => std::path::absolute(path).ok().map(StateDir),
            Self::User => parent().map(|parent| StateDir(parent.join(name(root)))),
        }
    }
}

/// Where the state directories of all workspaces are.
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
    pub(crate) fn at(path: PathBuf) -> Self {
        Self(path)
    }

    /// Makes it, for its owner alone. Where it cannot be made, calls go without.
    pub(crate) fn create(&self) -> io::Result<()> {
        make_private(&self.0)
    }

    /// Where commands put contents before they change them, made if need be.
    pub(crate) fn commands(&self) -> io::Result<PathBuf> {
        let path = self.0.join(COMMANDS);
        make_private(&path)?;
        Ok(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The audit file in it.
    pub(crate) fn audit(&self) -> PathBuf {
        self.0.join("audit.jsonl")
    }

    pub(crate) fn exists(&self) -> bool {
        self.0.is_dir()
    }

    /// Whether a call left a journal, or a note of an overlay that it was taking over, which the next one finishes or undoes.
    pub(crate) fn has_journal(&self) -> bool {
        ["journal", "commit"].iter().any(|name| self.0.join(name).exists())
    }

    pub(crate) fn mount(&self) -> Mount {
        Mount { host: self.0.clone(), guest: STATE.to_owned(), access: Access::ReadWrite, opened: None }
    }

    /// Waits until no other call changes the workspace. The lock goes with the result.
    pub(crate) fn lock(&self, control: &Control) -> Result<File, ToolError> {
        let file = self.open_lock().map_err(|cause| failed(&cause))?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) => thread::sleep(RETRY),
                Err(TryLockError::Error(cause)) => return Err(failed(&cause)),
            }
            match control.stop() {
                Some(Stop::Deadline) => return Err(busy()),
                Some(stop) => return Err(stop.explain()),
                None => {}
            }
        }
    }

    fn open_lock(&self) -> io::Result<File> {
        private().read(true).create(true).truncate(false).open(self.0.join("lock"))
    }
}

/// Makes a directory of its owner alone, with those above it.
fn make_private(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

/// Makes or empties a file of its owner alone.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    private().create(true).truncate(true).open(path)
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.write(true);
    options
}

fn failed(cause: &io::Error) -> ToolError {
    let code = match cause.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorCode::NoSpace,
        _ => ErrorCode::Io,
    };
    ToolError::new(code, format!("cannot lock the workspace: {cause}"))
        .hint("the person who runs this has to see to the state directory")
}

fn busy() -> ToolError {
    ToolError::new(ErrorCode::LimitExceeded, "another process is changing this workspace")
        .hint("call again when it has finished; nothing was changed")
}
