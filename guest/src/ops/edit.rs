//! Replaces text in a file.

use crate::error::{Code, Error, Result};
use crate::request;
use crate::response;
use crate::workspace::Workspace;

/// Replaces text in a file.
pub fn run(_workspace: &Workspace<'_>, _args: &request::Edit) -> Result<response::Edit> {
    Err(Error::new(Code::Io, "being written"))
}
