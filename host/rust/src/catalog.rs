//! The catalog of tools, and the component that provides them.

use crate::call::Call;
use crate::engine;
use crate::guests::Guests;
use crate::types::{Tool, ToolError};

/// The names of all dialects.
pub fn dialects() -> Result<Vec<String>, ToolError> {
    bare().run(&Call::untold(false), async |guest, store| guest.tools(&mut *store)?.call_dialects(store).await)
}

/// The tools of a dialect, always in the same order; those that run commands are among them where its specification
/// says so. [`Workspace::tools`](crate::Workspace::tools) has those of one workspace.
pub fn tools(dialect: &str) -> Result<Vec<Tool>, ToolError> {
    bare()
        .run(&Call::untold(false), async |guest, store| guest.tools(&mut *store)?.call_describe(store, dialect).await)?
}

/// The component itself, for another host.
pub fn component() -> &'static [u8] {
    engine::COMPONENT
}

/// Guests without a directory, which is enough to tell what tools there are.
pub(crate) fn bare() -> Guests {
    Guests::default()
}
