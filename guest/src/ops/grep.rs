//! Finds text in files.

use crate::error::{Code, Error, Result};
use crate::request;
use crate::response;
use crate::workspace::Workspace;

/// Finds text in files.
pub fn run(_workspace: &Workspace<'_>, _args: &request::Grep) -> Result<response::Grep> {
    Err(Error::new(Code::Io, "being written"))
}
