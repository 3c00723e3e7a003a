//! What the component says of a command: which paths it may touch, and what it changed.

use std::sync::Weak;
use std::time::{Duration, Instant};

use crate::bindings::exports::paddock::files::commands::{Access, Before, Recorded, Verdict};
use crate::budget::Control;
use crate::call::Call;
use crate::guests::Guests;
use crate::options::{CancelToken, Progress};
use crate::sandbox::Sandbox;
use crate::types::{ErrorCode, ToolError};

/// What a command did, as the history has it.
const VERB: &str = "run";

/// How long a judgement may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Judges one command, by one guest for as long as it runs.
pub(crate) struct Judge {
    guests: Weak<Guests>,
    guest: Option<Sandbox>,
    cancel: CancelToken,
}

impl Judge {
    /// The token ends judgements that are under way, and those that would come.
    pub(crate) fn new(guests: Weak<Guests>, cancel: CancelToken) -> Self {
        Self { guests, guest: None, cancel }
    }

    /// Whether a command may do that at a path from the top of a root, said in time. Where the component cannot say, it
    /// may not.
    pub(crate) fn allows(
        &mut self,
        (root, below): (usize, &str),
        access: Access,
        is_directory: bool,
        until: Instant,
    ) -> Verdict {
        let said = self.shown(root, below).and_then(|path| self.ask(&path, access, is_directory, until));
        said.unwrap_or_else(|error| Verdict { refused: Some(error.message), ignored: false })
    }

    /// The path as results show it.
    pub(crate) fn shown(&self, root: usize, below: &str) -> Result<String, ToolError> {
        Ok(self.guests.upgrade().ok_or_else(gone)?.roots.shown(root, below))
    }

    fn ask(&mut self, path: &str, access: Access, is_directory: bool, until: Instant) -> Result<Verdict, ToolError> {
        let deadline = until.min(Instant::now() + PATIENCE);
        let control = Control { deadline, cancel: self.cancel.clone(), progress: Progress::default() };
        let mut guest = match self.guest.take() {
            Some(guest) => guest,
            None => self.guests.upgrade().ok_or_else(gone)?.looking(control.clone())?,
        };
        let said = guest.run(control, async |guest, store| {
            guest.commands(&mut *store)?.call_allows(store, path, access, is_directory).await
        })?;
        self.guest = Some(guest);
        Ok(said)
    }

    /// Compares what was with what is, and keeps a backup.
    pub(crate) fn record(&self, before: &[Before]) -> Result<Recorded, ToolError> {
        let guests = self.guests.upgrade().ok_or_else(gone)?;
        let call = Call::untold(true);
        guests.run_fresh(&call, async |guest, store| {
            guest.commands(&mut *store)?.call_record_changes(store, VERB, before).await
        })?
    }
}

fn gone() -> ToolError {
    ToolError::new(ErrorCode::Cancelled, "the workspace was closed")
}
