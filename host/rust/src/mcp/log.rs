//! Log messages about the end of each call, for a client that asks for them.
//!
//! In the protocol revisions that start with `initialize`, the client asks by `logging/setLevel`, in the stateless
//! revision by `io.modelcontextprotocol/logLevel` in a request. A client that does not ask gets no log messages.

#![expect(deprecated, reason = "deprecated in the newest revision, which still has them, and all that older ones have")]

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};
use rmcp::service::{Peer, RequestContext};
use rmcp::{ErrorData, RoleServer};

use super::is_stateless;
use crate::{Ended, Event};

/// Calls whose end is sent to the client as a log message. Clones share one state.
#[derive(Clone, Default)]
pub struct Log {
    calls: Arc<Mutex<Calls>>,
    /// Level that `logging/setLevel` has set.
    level: Arc<Mutex<Option<LoggingLevel>>>,
}

#[derive(Default)]
struct Calls {
    /// Logged calls by their ids, with the event of those that have ended.
    by_id: HashMap<String, Option<Ended>>,
    next: u64,
}

/// A call whose end is sent to the client.
pub(super) struct LoggedCall {
    log: Log,
    pub(super) id: String,
    level: LoggingLevel,
}

impl Log {
    /// Returns the listener for [`Builder::on_event`](crate::Builder::on_event) of every workspace that is served.
    pub fn listener(&self) -> impl Fn(&Event) + Clone + Send + Sync + 'static {
        let log = self.clone();
        move |event| {
            if let Event::End(ended) = event
                && let Some(waiting) = log.lock().by_id.get_mut(&ended.call)
            {
                *waiting = Some(ended.clone());
            }
        }
    }

    /// Returns a value for another client of the same workspaces, which sets its own level.
    #[cfg(all(target_os = "linux", feature = "serve"))]
    pub(crate) fn for_client(&self) -> Self {
        Self { calls: self.calls.clone(), level: Arc::default() }
    }

    /// Handles `logging/setLevel`; fails in a protocol revision without it.
    pub(super) fn set(&self, level: LoggingLevel, context: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
        if is_stateless(context) {
            return Err(ErrorData::method_not_found::<rmcp::model::SetLevelRequestMethod>());
        }
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = Some(level);
        Ok(())
    }

    /// Registers a call that is about to be made, if the client wants log messages.
    pub(super) fn expect(&self, context: &RequestContext<RoleServer>) -> Option<LoggedCall> {
        let of_session = || *self.level.lock().unwrap_or_else(PoisonError::into_inner);
        let level = if is_stateless(context) { context.meta.log_level() } else { of_session() }?;
        let mut calls = self.lock();
        calls.next += 1;
        let started = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        let id = format!("{started:x}-{:x}-{}", std::process::id(), calls.next);
        calls.by_id.insert(id.clone(), None);
        Some(LoggedCall { log: self.clone(), id, level })
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LoggedCall {
    /// Sends the log message of the call, unless its level is below the one that the client wants.
    pub(super) async fn tell(self, peer: &Peer<RoleServer>) {
        let Some(ended) = self.log.lock().by_id.remove(&self.id).flatten() else { return };
        let level = if ended.is_refused() { LoggingLevel::Warning } else { LoggingLevel::Info };
        if (level as u8) < self.level as u8 {
            return;
        }
        let Ok(data) = serde_json::to_value(Event::End(ended)) else { return };
        let message = LoggingMessageNotificationParam::new(level, data).with_logger("paddock");
        // A client that is gone needs no message.
        let _ = peer.notify_logging_message(message).await;
    }
}

impl Drop for LoggedCall {
    fn drop(&mut self) {
        self.log.lock().by_id.remove(&self.id);
    }
}
