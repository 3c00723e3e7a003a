//! Journal (being written).

use crate::error::Result;
use crate::workspace::Workspace;

/// Finishes or undoes what a crash left half done.
pub fn recover(_workspace: &Workspace<'_>) -> Result<()> {
    Ok(())
}
