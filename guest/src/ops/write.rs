//! Writes a file whole, or appends to it.

use crate::error::{Code, Error, Result};
use crate::request;
use crate::response;
use crate::workspace::Workspace;

/// Writes a file whole, or appends to it.
pub fn run(_workspace: &Workspace<'_>, _args: &request::Write) -> Result<response::Write> {
    Err(Error::new(Code::Io, "being written"))
}
