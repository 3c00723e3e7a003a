//! Reads a file or lists a directory, whichever the path names.

use paddock_types::error::{Code, Result};
use paddock_types::request;
use paddock_types::response::Response;
use paddock_workspace::Workspace;

use crate::{list, read};

/// Reads a file or lists a directory, whichever the path names.
pub fn run(workspace: &Workspace<'_>, args: &request::View) -> Result<Response> {
    match read::run(workspace, &args.read) {
        // An entry that is neither file nor directory is reported as an unreadable file.
        Err(error) if error.code == Code::NotAFile => match list::run(workspace, &args.list) {
            Err(other) if other.code == Code::NotADirectory => Err(error),
            listed => listed.map(Response::List),
        },
        read => read.map(Response::Read),
    }
}
