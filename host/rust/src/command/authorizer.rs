//! Authorization of a command by the component: which paths it may access, and the record of its changes.

use std::sync::Weak;
use std::time::{Duration, Instant};

use crate::bindings::exports::paddock::files::commands::{Access, Before, Recorded, Verdict};
use crate::budget::CallBudget;
use crate::call::Call;
use crate::guests::Guests;
use crate::options::{CancelToken, Progress};
use crate::sandbox::Sandbox;
use crate::types::{ErrorCode, ToolError};

/// Operation name of the changes of a command in the history.
const OPERATION: &str = "run";

/// Time limit of one authorization.
const PATIENCE: Duration = Duration::from_secs(10);

/// Time limit for recording, independent of the time limit of calls. The guest computes digests for at most five
/// seconds; an incomplete record is lost, and the changes cannot be undone.
const RECORDED_WITHIN: Duration = Duration::from_secs(120);

/// Maximum age of the guest that authorizes accesses. A guest reads each rule file once, and rules that are added
/// while a command runs must apply to it: together with the time for which the supervisor caches answers, within a
/// second.
const RULES_HOLD: Duration = Duration::from_millis(250);

/// Authorizes the accesses of one command.
pub(crate) struct Authorizer {
    guests: Weak<Guests>,
    /// The guest, and the time at which it was created.
    guest: Option<(Sandbox, Instant)>,
    cancel: CancelToken,
}

impl Authorizer {
    /// Creates an authorizer. The token cancels current and later authorizations.
    pub(crate) fn new(guests: Weak<Guests>, cancel: CancelToken) -> Self {
        Self { guests, guest: None, cancel }
    }

    /// Returns whether a command may make this access to a path relative to its root. Without an answer of the
    /// component in time, the access is refused.
    pub(crate) fn allows(
        &mut self,
        (root, below): (usize, &str),
        access: Access,
        is_directory: bool,
        until: Instant,
    ) -> Verdict {
        let verdict = self.rendered_path(root, below).and_then(|path| self.query(&path, access, is_directory, until));
        verdict.unwrap_or_else(|error| Verdict { refused: Some(error.message), ignored: false })
    }

    /// Returns the path in the form of results.
    pub(crate) fn rendered_path(&self, root: usize, below: &str) -> Result<String, ToolError> {
        Ok(self.guests.upgrade().ok_or_else(gone)?.roots.rendered_path(root, below))
    }

    fn query(&mut self, path: &str, access: Access, is_directory: bool, until: Instant) -> Result<Verdict, ToolError> {
        let deadline = until.min(Instant::now() + PATIENCE);
        let budget = CallBudget { deadline, cancel: self.cancel.clone(), progress: Progress::default() };
        let known = self.guest.take().filter(|(_, created_at)| created_at.elapsed() < RULES_HOLD);
        let (mut guest, created_at) = match known {
            Some(known) => known,
            None => (self.guests.upgrade().ok_or_else(gone)?.looking(budget.clone())?, Instant::now()),
        };
        let verdict = guest.run(budget, async |guest, store| {
            guest.commands(&mut *store)?.call_allows(store, path, access, is_directory).await
        })?;
        self.guest = Some((guest, created_at));
        Ok(verdict)
    }

    /// Compares the earlier state with the current state, and stores a backup.
    pub(crate) fn record(&self, before: &[Before]) -> Result<Recorded, ToolError> {
        let guests = self.guests.upgrade().ok_or_else(gone)?;
        let call = Call::unwatched(true);
        let deadline = Instant::now() + RECORDED_WITHIN;
        let budget = CallBudget { deadline, cancel: CancelToken::default(), progress: Progress::default() };
        guests.run_fresh_under(budget, &call, async |guest, store| {
            guest.commands(&mut *store)?.call_record_changes(store, OPERATION, before).await
        })?
    }
}

fn gone() -> ToolError {
    ToolError::new(ErrorCode::Cancelled, "the workspace was closed")
}
