//! Names of checkpoints, of trees in memory and of overlays.

use paddock_policy::name::is_plain;
use paddock_types::error::{Error, Result, printable};

/// Fails if `name` is not a valid name for a checkpoint.
pub fn check_name(name: &str) -> Result<()> {
    if !is_plain(name) {
        return Err(Error::argument("name", format!("`{}` is not a valid name for a checkpoint", printable(name)))
            .hint("use 1 to 64 letters, digits, `-`, `_` and `.`, no `.` first"));
    }
    Ok(())
}
