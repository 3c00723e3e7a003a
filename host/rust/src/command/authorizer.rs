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

/// Name of a command's changes in the history.
const OPERATION: &str = "run";

/// Time limit of one authorization.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long recording may take, whatever calls may. The guest makes digests for five seconds; a record that does not come
/// to its end is lost, and with it the way back.
const RECORDED_WITHIN: Duration = Duration::from_secs(120);

/// How long one guest judges, which reads each rule once: rules that come to be while a command runs hold for it. With
/// the time that the supervisor of a command remembers answers (`ANSWERS_HOLD` of `host/supervisor/src/guard.rs`), less than
/// a second.
const RULES_HOLD: Duration = Duration::from_millis(250);

/// Authorizes the accesses of one command.
pub(crate) struct Authorizer {
    guests: Weak<Guests>,
    /// A guest, and when it was made.
    guest: Option<(Sandbox, Instant)>,
    cancel: CancelToken,
}

impl Authorizer {
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
        let budget = CallBudget { deadline, cancel: self.cancel.clone(), progress: Progress::default() };
        let known = self.guest.take().filter(|(_, made)| made.elapsed() < RULES_HOLD);
        let (mut guest, made) = match known {
            Some(known) => known,
            None => (self.guests.upgrade().ok_or_else(gone)?.looking(budget.clone())?, Instant::now()),
        };
        let said = guest.run(budget, async |guest, store| {
            guest.commands(&mut *store)?.call_allows(store, path, access, is_directory).await
        })?;
        self.guest = Some((guest, made));
        Ok(said)
    }

    /// Compares what was with what is, and keeps a backup.
    pub(crate) fn record(&self, before: &[Before]) -> Result<Recorded, ToolError> {
        let guests = self.guests.upgrade().ok_or_else(gone)?;
        let call = Call::untold(true);
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
