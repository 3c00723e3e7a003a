//! Operations on the whole tree of an in-memory workspace: loading, snapshots and checkpoints.

use crate::call::Call;
use crate::types::ToolError;
use crate::workspace::Workspace;

/// Operations on the whole tree of an in-memory workspace. Checkpoints also work in an overlay. In other workspaces
/// these calls fail with `io`.
impl Workspace {
    /// Replaces the tree by the contents of a tar archive. If this fails, the tree is unchanged.
    ///
    /// # Errors
    ///
    /// `invalid-argument` if the archive is invalid, `no-space` if it does not fit into the memory limit.
    pub fn load(&self, archive: &[u8]) -> Result<(), ToolError> {
        self.guests().run(&Call::unwatched(true), async |guest, store| {
            guest.session(&mut *store)?.call_load(store, archive).await
        })?
    }

    /// Returns the tree as a tar archive in path order.
    ///
    /// # Errors
    ///
    /// `io` if the workspace is not in memory.
    pub fn snapshot(&self) -> Result<Vec<u8>, ToolError> {
        self.guests()
            .run(&Call::unwatched(false), async |guest, store| guest.session(&mut *store)?.call_snapshot(store).await)?
    }

    /// Stores the current tree as a checkpoint for [`Workspace::rollback`]. The name has at most 64 letters,
    /// digits, `_`, `-` and `.`. Files that do not change afterwards take no further memory.
    ///
    /// # Errors
    ///
    /// `already-exists` if a checkpoint has this name.
    pub fn checkpoint(&self, name: &str) -> Result<(), ToolError> {
        let call = Call::unwatched(true);
        self.guests().run(&call, async |guest, store| guest.session(&mut *store)?.call_checkpoint(store, name).await)?
    }

    /// Restores the tree of a checkpoint. All checkpoints remain.
    ///
    /// # Errors
    ///
    /// `not-found` if no checkpoint has this name.
    pub fn rollback(&self, name: &str) -> Result<(), ToolError> {
        let call = Call::unwatched(true);
        self.complete_commit()?;
        self.guests().run(&call, async |guest, store| guest.session(&mut *store)?.call_rollback(store, name).await)?
    }

    /// Returns the names of all checkpoints, in order.
    ///
    /// # Errors
    ///
    /// `io` if the workspace is neither in memory nor an overlay.
    pub fn checkpoints(&self) -> Result<Vec<String>, ToolError> {
        self.guests().run(&Call::unwatched(false), async |guest, store| {
            guest.session(&mut *store)?.call_checkpoints(store).await
        })?
    }
}
