//! Reads several files; one failure is an entry, not the end.

use crate::error::{Code, Error, Result};
use crate::request;
use crate::response;
use crate::workspace::Workspace;

/// Reads several files; one failure is an entry, not the end.
pub fn run(_workspace: &Workspace<'_>, _args: &request::ReadMany) -> Result<response::ReadMany> {
    Err(Error::new(Code::Io, "being written"))
}
