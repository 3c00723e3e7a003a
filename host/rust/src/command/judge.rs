//! What the component says of a command: which paths it may touch, and what it changed.

use std::sync::Weak;
use std::time::Duration;

use crate::bindings::exports::paddock::files::commands::{Access, Before, Recorded, Verdict};
use crate::sandbox::{Control, Sandbox};
use crate::types::{ErrorCode, ToolError};
use crate::watch::Call;
use crate::workspace::Inner;

/// What a command did, as the history has it.
const VERB: &str = "run";

/// How long a judgement may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Judges one command, by one guest for as long as it runs.
pub(crate) struct Judge {
    workspace: Weak<Inner>,
    guest: Option<Sandbox>,
}

impl Judge {
    pub(crate) fn new(workspace: Weak<Inner>) -> Self {
        Self { workspace, guest: None }
    }

    /// Whether a command may do that at a path. Where the component cannot say, it may not.
    pub(crate) fn allows(&mut self, path: &str, access: Access, is_directory: bool) -> Verdict {
        self.ask(path, access, is_directory)
            .unwrap_or_else(|error| Verdict { refused: Some(error.message), ignored: false })
    }

    fn ask(&mut self, path: &str, access: Access, is_directory: bool) -> Result<Verdict, ToolError> {
        let mut guest = match self.guest.take() {
            Some(guest) => guest,
            None => self.workspace.upgrade().ok_or_else(gone)?.looking(Control::within(PATIENCE))?,
        };
        let said = guest.run(Control::within(PATIENCE), async |guest, store| {
            guest.commands(&mut *store)?.call_allows(store, path, access, is_directory).await
        })?;
        self.guest = Some(guest);
        Ok(said)
    }

    /// Compares what was with what is, and keeps a backup.
    pub(crate) fn record(&self, before: &[Before]) -> Result<Recorded, ToolError> {
        let workspace = self.workspace.upgrade().ok_or_else(gone)?;
        let call = Call::untold(true);
        workspace.run_fresh(&call, async |guest, store| {
            guest.commands(&mut *store)?.call_record_changes(store, VERB, before).await
        })?
    }
}

fn gone() -> ToolError {
    ToolError::new(ErrorCode::Cancelled, "the workspace was closed")
}
