//! The catalog of tools, and the component that provides them.

use crate::call::Call;
use crate::engine;
use crate::guests::Guests;
use crate::types::{Tool, ToolError};

/// Returns the names of all dialects.
///
/// # Errors
///
/// `io` if the component cannot be loaded.
pub fn dialects() -> Result<Vec<String>, ToolError> {
    bare().run(&Call::unwatched(false), async |guest, store| guest.tools(&mut *store)?.call_dialects(store).await)
}

/// Returns the tools of a dialect, always in the same order. Tools that run commands are included if the
/// specification of the dialect requires it. [`Workspace::tools`](crate::Workspace::tools) returns the tools of one
/// workspace.
///
/// # Errors
///
/// `unknown-dialect` if no dialect has this name, `io` if the component cannot be loaded.
pub fn tools(dialect: &str) -> Result<Vec<Tool>, ToolError> {
    bare().run(&Call::unwatched(false), async |guest, store| {
        guest.tools(&mut *store)?.call_describe(store, dialect).await
    })?
}

/// Returns the bytes of the component, for another host.
pub fn component() -> &'static [u8] {
    &engine::COMPONENT
}

/// Returns guests without a directory, which suffice to describe tools.
pub(crate) fn bare() -> Guests {
    Guests::default()
}
