//! Reads text from a file.

use crate::error::{Code, Error, Result};
use crate::request;
use crate::response;
use crate::workspace::Workspace;

/// Reads text from a file.
pub fn run(_workspace: &Workspace<'_>, _args: &request::Read) -> Result<response::Read> {
    Err(Error::new(Code::Io, "being written"))
}
