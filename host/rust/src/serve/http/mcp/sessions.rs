//! Sessions of the protocol revisions that start with `initialize`. Their number is bounded, and each belongs to the rights
//! that began it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_core::Stream;
use paddock_protocol::envelope::Id;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionTransport,
};
use rmcp::transport::streamable_http_server::{SessionId, SessionManager};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::super::super::limits::{Slot, Slots};
use super::super::super::lock;
use super::super::Admitted;
use super::end_with_token;

/// All sessions of the server.
pub(in super::super) struct Sessions {
    local: LocalSessionManager,
    slots: Slots,
    /// Owners of the sessions.
    owners: Mutex<HashMap<SessionId, Owner>>,
    requests: Arc<Requests>,
}

/// Requests of sessions without an answer.
type Requests = Mutex<HashSet<(String, Id)>>;

/// A request of a session that has no answer yet. No other request of the session gets its id: the library would send both
/// answers on one stream, and keep the other stream for ever.
pub(super) struct OpenRequest {
    requests: Arc<Requests>,
    request: (String, Id),
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        lock(&self.requests).remove(&self.request);
    }
}

struct Owner {
    rights: String,
    /// The places in the workspace and in the server.
    _slots: [Slot; 2],
    /// Ends the task that waits for the end of the token.
    _end: DropGuard,
}

/// All sessions, and the owner of one that a request begins.
pub(super) struct OwnSessions {
    admitted: Arc<Admitted>,
    owner: Mutex<Option<(String, [Slot; 2])>>,
}

/// Failure of a session.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionError {
    /// The request must not begin a session.
    #[error("the request cannot begin a session")]
    NotReserved,
    #[error(transparent)]
    Local(#[from] LocalSessionManagerError),
}

impl Sessions {
    /// Creates the sessions, of which each ends when it had no message for the time `idle`.
    pub(in super::super) fn new(max: usize, idle: Duration) -> Self {
        let mut local = LocalSessionManager::default();
        local.session_config.keep_alive = Some(idle);
        local.session_config.sse_retry = None;
        Self { local, slots: Slots::new(max), owners: Mutex::default(), requests: Arc::default() }
    }

    /// Reserves the place of a new session, if there is one.
    pub(super) fn reserve(&self) -> Option<Slot> {
        self.slots.take()
    }

    /// Returns whether a session exists and was begun with these rights.
    pub(super) fn belongs_to(&self, id: &str, rights: &str) -> bool {
        lock(&self.owners).get(id).is_some_and(|owner| owner.rights == rights)
    }

    /// Begins a request of a session. Returns `None` if another one with this id has no answer yet.
    pub(super) fn begin(&self, session: &str, id: &Id) -> Option<OpenRequest> {
        let request = (session.to_owned(), id.clone());
        let is_new = lock(&self.requests).insert(request.clone());
        is_new.then(|| OpenRequest { requests: Arc::clone(&self.requests), request })
    }

    /// Ends a session, if it exists.
    async fn close(&self, id: &SessionId) -> Result<(), LocalSessionManagerError> {
        lock(&self.owners).remove(id);
        self.local.close_session(id).await
    }

    /// Returns the number of open sessions.
    pub(in super::super) fn count(&self) -> usize {
        self.slots.used()
    }
}

impl OwnSessions {
    pub(super) fn new(admitted: Arc<Admitted>, rights: String, slots: Option<[Slot; 2]>) -> Self {
        Self { admitted, owner: Mutex::new(slots.map(|slots| (rights, slots))) }
    }

    fn all(&self) -> &Sessions {
        &self.admitted.app.sessions
    }
}

impl SessionManager for OwnSessions {
    type Error = SessionError;
    type Transport = SessionTransport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionError> {
        let owner = lock(&self.owner).take();
        let (rights, slots) = owner.ok_or(SessionError::NotReserved)?;
        let (id, transport) = self.all().local.create_session().await?;
        let end = CancellationToken::new();
        let owner = Owner { rights, _slots: slots, _end: end.clone().drop_guard() };
        lock(&self.all().owners).insert(id.clone(), owner);
        let (admitted, own) = (Arc::clone(&self.admitted), id.clone());
        tokio::spawn(async move {
            end_with_token(Arc::clone(&admitted), end).await;
            admitted.app.sessions.close(&own).await
        });
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionError> {
        Ok(self.all().local.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionError> {
        Ok(self.all().local.has_session(id).await?)
    }

    /// Ends a session. The library also calls this function when a session has ended by itself.
    async fn close_session(&self, id: &SessionId) -> Result<(), SessionError> {
        Ok(self.all().close(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        Ok(self.all().local.create_stream(id, message).await?)
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), SessionError> {
        Ok(self.all().local.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        Ok(self.all().local.create_standalone_stream(id).await?)
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        Ok(self.all().local.resume(id, last_event_id).await?)
    }
}
