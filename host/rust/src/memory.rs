//! Workspaces in memory: what goes into them and comes out as a whole.

use std::path::{Path, PathBuf};

use crate::bindings::exports::paddock::files::session;
use crate::policy::Access;
use crate::types::{ErrorCode, Skipped, ToolError};
use crate::watch::Call;
use crate::workspace::Workspace;

/// A directory of which a workspace in memory gets a copy.
///
/// Copied are files, directories and relative links, hidden and git-ignored ones too; what the directory's
/// `.agentignore` files name is not. No link is followed. Mode bits are not copied: the component cannot see them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostMount {
    /// The directory.
    pub host_path: PathBuf,
    /// Where the copy is to be, relative to the workspace; its top where there is none.
    pub mount_path: Option<String>,
    /// Globs of the only files to copy; all where there is none. One without `/` is matched against names.
    pub include_glob: Vec<String>,
    /// Globs of what is left out, directories with all that is in them. They win over `include_glob`.
    pub exclude_glob: Vec<String>,
    /// The most bytes of all its files together; with more, nothing is copied.
    pub max_bytes: Option<u64>,
}

impl HostMount {
    /// The whole directory, at the top of the workspace.
    pub fn new(host_path: impl AsRef<Path>) -> Self {
        Self { host_path: host_path.as_ref().to_owned(), ..Self::default() }
    }
}

/// What was copied.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Mounted {
    /// Files.
    pub files: u64,
    /// Bytes of these files.
    pub bytes: u64,
    /// Symbolic links that were left out, since they lead to an absolute path.
    pub absolute_links: u64,
    /// What else was left out.
    pub skipped: Skipped,
}

/// A workspace in memory, as a whole. Over any other, these calls fail with `io`.
impl Workspace {
    /// Replaces the whole tree by a tar archive's; the tree stays as it was where that fails.
    pub fn load(&self, archive: &[u8]) -> Result<(), ToolError> {
        self.run(&Call::untold(true), async |guest, store| guest.session(&mut *store)?.call_load(store, archive).await)?
    }

    /// The whole tree, as a tar archive in path order.
    pub fn snapshot(&self) -> Result<Vec<u8>, ToolError> {
        self.run(&Call::untold(false), async |guest, store| guest.session(&mut *store)?.call_snapshot(store).await)?
    }

    /// Copies a directory of this machine into the tree; the tree stays as it was where that fails.
    pub fn copy_in(&self, mount: &HostMount) -> Result<Mounted, ToolError> {
        let directory = Self::builder().root_with(&mount.host_path, Access::ReadOnly).no_state_dir();
        let directory = directory.limits(*self.limits()).build();
        let directory = directory.map_err(|cause| ToolError::new(ErrorCode::NotFound, cause.to_string()))?;
        let choice = session::Choice {
            include_glob: mount.include_glob.clone(),
            exclude_glob: mount.exclude_glob.clone(),
            max_bytes: Some(mount.max_bytes.unwrap_or(u64::MAX).min(self.limits().max_tree_bytes)),
        };
        let call = Call::untold(false);
        let session::Collected { archive, files, bytes, absolute_links, skipped } = directory
            .run(&call, async |guest, store| guest.session(&mut *store)?.call_collect(store, &choice).await)??;
        let path = mount.mount_path.as_deref().unwrap_or_default().trim_matches('/');
        let call = Call::untold(true);
        self.run(&call, async |guest, store| guest.session(&mut *store)?.call_add(store, &archive, path).await)??;
        Ok(Mounted { files, bytes, absolute_links, skipped })
    }

    /// Keeps the tree as it is under a name, of at most 64 letters, digits, `_`, `-` and `.`, for
    /// [`Workspace::rollback`]. What is not changed afterwards takes no further memory.
    pub fn checkpoint(&self, name: &str) -> Result<(), ToolError> {
        let call = Call::untold(true);
        self.run(&call, async |guest, store| guest.session(&mut *store)?.call_checkpoint(store, name).await)?
    }

    /// Makes the tree what it was at a checkpoint. All checkpoints stay.
    pub fn rollback(&self, name: &str) -> Result<(), ToolError> {
        let call = Call::untold(true);
        self.run(&call, async |guest, store| guest.session(&mut *store)?.call_rollback(store, name).await)?
    }

    /// The names of all checkpoints, in order.
    pub fn checkpoints(&self) -> Result<Vec<String>, ToolError> {
        self.run(&Call::untold(false), async |guest, store| guest.session(&mut *store)?.call_checkpoints(store).await)?
    }
}
