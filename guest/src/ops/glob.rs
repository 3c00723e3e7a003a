//! Finds files by name.

use crate::error::{Code, Error, Result};
use crate::request;
use crate::response;
use crate::workspace::Workspace;

/// Finds files by name.
pub fn run(_workspace: &Workspace<'_>, _args: &request::Glob) -> Result<response::Glob> {
    Err(Error::new(Code::Io, "being written"))
}
