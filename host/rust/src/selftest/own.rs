//! This library as the host under test.

use super::fixture::Fixture;
use super::subject::{Answer, Call, Subject};
use crate::approval::Decision;
use crate::options::CallOptions;
use crate::workspace::Workspace;

/// This library, with a workspace in a directory or in an overlay over it.
pub struct Own {
    overlay: Option<&'static str>,
    workspace: Option<Workspace>,
}

impl Own {
    /// Creates a host with a workspace in a directory.
    pub fn directory() -> Self {
        Self { overlay: None, workspace: None }
    }

    /// Creates a host with a workspace in an overlay over a directory.
    pub fn overlay() -> Self {
        Self { overlay: Some("selftest"), workspace: None }
    }
}

impl Subject for Own {
    fn open(&mut self, fixture: &Fixture) -> Result<(), String> {
        let mut builder = Workspace::builder().root(fixture.root()).state_dir(fixture.state());
        // A call that waits for a person would not be tried to its end.
        builder = builder.approver(|_| Decision::Approve);
        if let Some(overlay) = self.overlay {
            builder = builder.overlay(overlay);
        }
        self.workspace = Some(builder.build().map_err(|cause| cause.with_sources())?);
        Ok(())
    }

    fn call(&mut self, call: &Call<'_>) -> Answer {
        let options = CallOptions::dialect(call.dialect);
        let outcome = self.workspace.as_ref().map(|it| it.call_with(call.tool, &call.arguments.to_string(), &options));
        outcome.map_or_else(|| Answer::from(crate::Outcome::invalid_argument("nothing is open")), Answer::from)
    }
}
