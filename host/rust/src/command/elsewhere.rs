//! Commands on systems that cannot confine processes: only WASI programs run.

use super::{Commands, How};
use crate::bindings::exports::paddock::files::commands::{Ran, RunArgs, Session, StartArgs, WriteArgs};
use crate::roots::Roots;
use crate::types::{ErrorCode, ToolError};

impl Commands {
    pub(super) fn words(&self, _: &Roots, _: &str) -> Result<Vec<String>, ToolError> {
        Err(self.unsupported())
    }

    pub(super) fn run_process(&self, _: &How<'_>, _: &RunArgs, _: Vec<String>) -> Result<Ran, ToolError> {
        Err(self.unsupported())
    }

    pub(super) fn start(&self, _: &How<'_>, _: &StartArgs) -> Result<Ran, ToolError> {
        Err(self.unsupported())
    }

    pub(super) fn write(&self, _: &How<'_>, write: &WriteArgs) -> Result<Ran, ToolError> {
        Err(no_session(write.session))
    }

    pub(super) fn has_session(&self, _: u32) -> bool {
        false
    }

    pub(super) fn sessions(&self) -> Vec<Session> {
        Vec::new()
    }

    pub(super) fn kill(&self, _: &How<'_>, id: u32) -> Result<Ran, ToolError> {
        Err(no_session(id))
    }

    /// Drops the kept output. This system has no sessions.
    pub(crate) fn end(&self) {
        self.retained.clear();
    }

    fn unsupported(&self) -> ToolError {
        let names: Vec<_> = self.policy.programs.keys().map(|name| format!("`{name}`")).collect();
        let hint = match names.as_slice() {
            [] => {
                "use the file tools; the person who runs this can name WASI programs in `commands.programs`".to_owned()
            }
            names => format!("use the file tools, or one command by itself of the programs {}", names.join(", ")),
        };
        ToolError::new(ErrorCode::Denied, "commands can be confined only on Linux, so this host runs no processes")
            .hint(&hint)
    }
}

fn no_session(id: u32) -> ToolError {
    ToolError::new(ErrorCode::NotFound, format!("there is no session {id}: this system has no sessions"))
        .hint("sessions are of processes, which run on Linux alone; use the file tools")
}
