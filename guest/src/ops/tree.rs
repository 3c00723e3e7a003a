//! Shows a directory as a tree.

use crate::error::{Code, Error, Result};
use crate::request;
use crate::response;
use crate::workspace::Workspace;

/// Shows a directory as a tree.
pub fn run(_workspace: &Workspace<'_>, _args: &request::Tree) -> Result<response::Tree> {
    Err(Error::new(Code::Io, "being written"))
}
