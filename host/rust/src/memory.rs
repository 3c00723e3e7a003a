//! Workspaces in memory: what goes into them and comes out as a whole.

use crate::call::Call;
use crate::types::ToolError;
use crate::workspace::Workspace;

/// A workspace in memory, as a whole. Over any other, these calls fail with `io`.
impl Workspace {
    /// Replaces the whole tree by a tar archive's; the tree stays as it was where that fails.
    pub fn load(&self, archive: &[u8]) -> Result<(), ToolError> {
        self.guests().run(&Call::untold(true), async |guest, store| {
            guest.session(&mut *store)?.call_load(store, archive).await
        })?
    }

    /// The whole tree, as a tar archive in path order.
    pub fn snapshot(&self) -> Result<Vec<u8>, ToolError> {
        self.guests()
            .run(&Call::untold(false), async |guest, store| guest.session(&mut *store)?.call_snapshot(store).await)?
    }

    /// Keeps the tree as it is under a name, of at most 64 letters, digits, `_`, `-` and `.`, for
    /// [`Workspace::rollback`]. What is not changed afterwards takes no further memory.
    pub fn checkpoint(&self, name: &str) -> Result<(), ToolError> {
        let call = Call::untold(true);
        self.guests().run(&call, async |guest, store| guest.session(&mut *store)?.call_checkpoint(store, name).await)?
    }

    /// Makes the tree what it was at a checkpoint. All checkpoints stay.
    pub fn rollback(&self, name: &str) -> Result<(), ToolError> {
        let call = Call::untold(true);
        self.guests().run(&call, async |guest, store| guest.session(&mut *store)?.call_rollback(store, name).await)?
    }

    /// The names of all checkpoints, in order.
    pub fn checkpoints(&self) -> Result<Vec<String>, ToolError> {
        self.guests()
            .run(&Call::untold(false), async |guest, store| guest.session(&mut *store)?.call_checkpoints(store).await)?
    }
}
