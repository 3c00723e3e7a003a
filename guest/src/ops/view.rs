//! Reads a file or lists a directory, whichever the path names.

use crate::error::{Code, Result};
use crate::ops::{list, read};
use crate::request;
use crate::response::Response;
use crate::workspace::Workspace;

/// Reads a file or lists a directory, whichever the path names.
pub fn run(workspace: &Workspace<'_>, args: &request::View) -> Result<Response> {
    match read::run(workspace, &args.read) {
        // What is neither is a file that cannot be read.
        Err(error) if error.code == Code::NotAFile => match list::run(workspace, &args.list) {
            Err(other) if other.code == Code::NotADirectory => Err(error),
            listed => listed.map(Response::List),
        },
        read => read.map(Response::Read),
    }
}
