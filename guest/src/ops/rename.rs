//! Moves a file or directory.

use crate::error::{Code, Error, Result};
use crate::request;
use crate::response;
use crate::workspace::Workspace;

/// Moves a file or directory.
pub fn run(_workspace: &Workspace<'_>, _args: &request::Transfer) -> Result<response::Transfer> {
    Err(Error::new(Code::Io, "being written"))
}
