//! What tools there are, and the component that has them.

use crate::engine;
use crate::types::{Tool, ToolError};
use crate::watch::Call;
use crate::workspace::{Inner, Workspace};

/// The names of all dialects.
pub fn dialects() -> Result<Vec<String>, ToolError> {
    bare().run(&Call::untold(false), async |guest, store| guest.tools(&mut *store)?.call_dialects(store).await)
}

/// The tools of a dialect, always in the same order; those that run commands are among them where its specification
/// says so. [`Workspace::tools`] has those of one workspace.
pub fn tools(dialect: &str) -> Result<Vec<Tool>, ToolError> {
    bare().tools(dialect)
}

impl Workspace {
    /// The tools of a dialect in this workspace, always in the same order: those that run commands are among them where its
    /// policy enables commands.
    pub fn tools(&self, dialect: &str) -> Result<Vec<Tool>, ToolError> {
        self.run(&Call::untold(false), async |guest, store| {
            guest.tools(&mut *store)?.call_describe(store, dialect).await
        })?
    }
}

/// The component itself, for another host.
pub fn component() -> &'static [u8] {
    engine::COMPONENT
}

/// A guest without a directory is enough to tell what tools there are.
pub(crate) fn bare() -> Workspace {
    Workspace::new(Inner::default())
}
