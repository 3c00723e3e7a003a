//! Lists a directory.

use crate::error::{Code, Error, Result};
use crate::request;
use crate::response;
use crate::workspace::Workspace;

/// Lists a directory.
pub fn run(_workspace: &Workspace<'_>, _args: &request::List) -> Result<response::List> {
    Err(Error::new(Code::Io, "being written"))
}
