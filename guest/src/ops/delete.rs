//! Deletes a file or directory.

use crate::error::{Code, Error, Result};
use crate::request;
use crate::response;
use crate::workspace::Workspace;

/// Deletes a file or directory.
pub fn run(_workspace: &Workspace<'_>, _args: &request::Delete) -> Result<response::Delete> {
    Err(Error::new(Code::Io, "being written"))
}
