//! Applies a patch, all of it or nothing.

use crate::error::{Code, Error, Result};
use crate::request;
use crate::response;
use crate::workspace::Workspace;

/// Applies a patch, all of it or nothing.
pub fn run(_workspace: &Workspace<'_>, _args: &request::ApplyPatch) -> Result<response::ApplyPatch> {
    Err(Error::new(Code::Io, "being written"))
}
