//! Describes what a path names.

use crate::error::{Code, Error, Result};
use crate::request;
use crate::response;
use crate::workspace::Workspace;

/// Describes what a path names.
pub fn run(_workspace: &Workspace<'_>, _args: &request::Stat) -> Result<response::Stat> {
    Err(Error::new(Code::Io, "being written"))
}
