//! Makes a directory.

use crate::error::{Code, Error, Result};
use crate::request;
use crate::response;
use crate::workspace::Workspace;

/// Makes a directory.
pub fn run(_workspace: &Workspace<'_>, _args: &request::MakeDir) -> Result<response::MakeDir> {
    Err(Error::new(Code::Io, "being written"))
}
