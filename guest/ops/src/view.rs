//! Reads a file or lists a directory, whichever the path names.

use paddock_types::error::{Code, Result};
use paddock_types::request;
use paddock_types::response::Response;
use paddock_workspace::Workspace;

use crate::operation::{ChangingOperation, Operation};
use crate::recorder::Recorder;
use crate::{list, read};

impl Operation for request::View {
    fn name(&self) -> &'static str {
        "read"
    }

    fn requested_paths(&self) -> Vec<String> {
        vec![self.read.path.clone()]
    }

    fn as_change(&self) -> Option<&dyn ChangingOperation> {
        None
    }

    fn run(&self, workspace: &Workspace<'_>) -> Result<Response> {
        run(workspace, self)
    }

    fn record(&self, response: &Response, recorder: &mut Recorder<'_>) {
        match response {
            Response::List(_) => {
                recorder.record.operation = self.list.name();
                self.list.record(response, recorder);
            }
            _ => self.read.record(response, recorder),
        }
    }
}

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
