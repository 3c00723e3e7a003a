//! Sessions of the protocol revisions that start with `initialize`. Each has a stream of its own, whose messages are
//! distributed among the requests of the session.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex};
use tokio::sync::{Mutex as AsyncMutex, mpsc, watch};
use tokio::task::AbortHandle;

use super::super::super::limits::{Running, Slot, Slots};
use super::super::connection::Phase;
use super::{Head, is_answer};
use crate::mcp;

/// Maximum number of bytes between a session and its stream in each direction.
const BUFFER: usize = 64 << 10;

/// Maximum number of messages that wait for one request. A client that reads too slowly loses the request's stream.
const MAX_WAITING: usize = 64;

/// Maximum number of requests of a session without an answer.
const MAX_ROUTES: usize = 64;

/// Maximum number of lines of a session that wait to be read by the server.
const MAX_WRITES: usize = 16;

/// The protocol revision that has batches.
const WITH_BATCHES: &str = "2025-03-26";

/// All sessions by their identifiers.
pub(in super::super) struct Sessions {
    slots: Slots,
    idle: Duration,
    by_id: Mutex<HashMap<String, Arc<Session>>>,
}

/// One session.
pub(super) struct Session {
    id: String,
    /// The rights and the workspace of the session.
    owner: String,
    input: Arc<AsyncMutex<DuplexStream>>,
    routes: Arc<Mutex<Routes>>,
    has_batches: Arc<AtomicBool>,
    /// Lines that wait for the session.
    writes: Slots,
    used: Mutex<Instant>,
    task: AbortHandle,
    _slot: Slot,
}

/// Receivers of the messages of a session.
#[derive(Default)]
struct Routes {
    requests: Vec<Route>,
    stream: Option<mpsc::Sender<Vec<u8>>>,
}

/// A request, or a batch, without an answer.
struct Route {
    ids: Vec<String>,
    progress: Vec<String>,
    is_batch: bool,
    /// Whether the client accepts other messages before the answer.
    accepts_events: bool,
    to: mpsc::Sender<Vec<u8>>,
    /// The call counts as running until it is answered, even if the client has disconnected.
    _running: Running,
}

impl Sessions {
    pub(in super::super) fn new(max: usize, idle: Duration) -> Self {
        Self { slots: Slots::new(max), idle, by_id: Mutex::default() }
    }

    /// Starts a session. Returns `None` if there are too many.
    pub(super) fn start(
        &self,
        server: mcp::Server,
        owner: String,
        phase: watch::Receiver<Phase>,
    ) -> Option<Arc<Session>> {
        self.end_idle();
        let slot = self.slots.take()?;
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).ok()?;
        let session = Arc::new(Session::new(crate::hex::hex(&bytes), owner, server, phase, slot));
        lock(&self.by_id).insert(session.id.clone(), session.clone());
        Some(session)
    }

    /// Returns the session of this identifier, if it belongs to `owner` and has not ended.
    pub(super) fn get(&self, id: &str, owner: &str) -> Option<Arc<Session>> {
        let session = lock(&self.by_id).get(id).filter(|session| session.owner == owner).cloned()?;
        if session.task.is_finished() {
            self.remove(&session);
            return None;
        }
        *lock(&session.used) = Instant::now();
        Some(session)
    }

    pub(super) fn remove(&self, session: &Session) {
        lock(&self.by_id).remove(&session.id);
        session.task.abort();
        *lock(&session.routes) = Routes::default();
    }

    /// Ends the sessions that nobody has used for some time, and that have no request and no stream.
    pub(in super::super) fn end_idle(&self) {
        let is_idle = |session: &Session| {
            session.task.is_finished()
                || (lock(&session.used).elapsed() >= self.idle && lock(&session.routes).is_empty())
        };
        lock(&self.by_id).retain(|_, session| !is_idle(session));
    }

    /// Returns the number of open sessions.
    pub(in super::super) fn count(&self) -> usize {
        self.slots.used()
    }
}

impl Session {
    fn new(id: String, owner: String, server: mcp::Server, mut phase: watch::Receiver<Phase>, slot: Slot) -> Self {
        let (input, server_input) = duplex(BUFFER);
        let (server_output, output) = duplex(BUFFER);
        let (input, has_batches) = (Arc::new(AsyncMutex::new(input)), Arc::<AtomicBool>::default());
        let routes = Arc::<Mutex<Routes>>::default();
        let (of_task, answers, batches) = (routes.clone(), Arc::downgrade(&input), has_batches.clone());
        let task = tokio::spawn(async move {
            let closing = async {
                drop(phase.wait_for(|phase| *phase != Phase::Serving).await);
                // Subscriptions end at once, and requests when they are answered.
                lock(&of_task).stream = None;
                drop(phase.wait_for(|phase| *phase == Phase::Cancelling).await);
            };
            tokio::select! {
                served = server.serve(server_input, server_output) => drop(served),
                () = distribute(output, &of_task, &answers, &batches) => {}
                () = closing => {}
            }
            // Their clients see that the streams end.
            *lock(&of_task) = Routes::default();
        });
        let (used, task) = (Mutex::new(Instant::now()), task.abort_handle());
        let writes = Slots::new(MAX_WRITES);
        Self { id, owner, input, routes, has_batches, writes, used, task, _slot: slot }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn has_batches(&self) -> bool {
        self.has_batches.load(Ordering::Acquire)
    }

    /// Returns whether the session has not ended.
    pub(super) fn is_open(&self) -> bool {
        !self.task.is_finished()
    }

    /// Writes a line. Returns false if too many lines wait, or if the session has ended.
    pub(super) async fn write(&self, line: Vec<u8>) -> bool {
        let Some(slot) = self.writes.take() else { return false };
        let input = self.input.clone();
        // A client that disconnects must not leave a part of a line in the stream.
        let written = tokio::spawn(async move {
            let _slot = slot;
            input.lock().await.write_all(&line).await.is_ok()
        });
        written.await.unwrap_or(false)
    }

    /// Forgets a request that its client has cancelled: it has no answer.
    pub(super) fn forget(&self, id: &str) {
        let mut routes = lock(&self.routes);
        routes.requests.iter_mut().for_each(|route| route.ids.retain(|known| known != id));
        routes.requests.retain(|route| !route.ids.is_empty());
    }

    /// Makes a request. Returns `None` if one of its ids is in use, or the session has ended.
    pub(super) async fn request(
        &self,
        head: &Head,
        line: Vec<u8>,
        accepts_events: bool,
        running: Running,
    ) -> Option<mpsc::Receiver<Vec<u8>>> {
        let (to, lines) = mpsc::channel(MAX_WAITING);
        let (ids, progress) = (head.ids().collect::<Vec<_>>(), head.progress_tokens().collect());
        {
            let mut routes = lock(&self.routes);
            let is_used = |id: &String| routes.requests.iter().any(|route| route.ids.contains(id));
            if routes.requests.len() >= MAX_ROUTES || ids.iter().any(is_used) {
                return None;
            }
            let is_batch = head.is_batch();
            routes.requests.push(Route { ids, progress, is_batch, accepts_events, to, _running: running });
        }
        if self.write(line).await {
            return Some(lines);
        }
        head.ids().for_each(|id| self.forget(&id));
        None
    }

    /// Opens the stream for messages that belong to no request. Returns `None` if it is open already.
    pub(super) fn open_stream(&self) -> Option<mpsc::Receiver<Vec<u8>>> {
        let mut routes = lock(&self.routes);
        if routes.stream.as_ref().is_some_and(|stream| !stream.is_closed()) {
            return None;
        }
        let (to, lines) = mpsc::channel(MAX_WAITING);
        routes.stream = Some(to);
        Some(lines)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Distributes the messages of a session until it ends.
async fn distribute(
    output: DuplexStream,
    routes: &Mutex<Routes>,
    input: &Weak<AsyncMutex<DuplexStream>>,
    has_batches: &AtomicBool,
) {
    let mut output = BufReader::new(output);
    loop {
        let mut line = Vec::new();
        match output.read_until(b'\n', &mut line).await {
            Ok(length) if length > 0 => {}
            _ => return,
        }
        let message: Value = serde_json::from_slice(&line).unwrap_or_default();
        if message.pointer("/result/protocolVersion").is_some_and(|version| version == WITH_BATCHES) {
            has_batches.store(true, Ordering::Release);
        }
        let is_sent = lock(routes).send(line, &message);
        if let (false, Some(id), Some(input)) = (is_sent, message.get("id"), input.upgrade()) {
            // Nobody can answer the request of the server, which would wait.
            let error = json!({"code": -32601, "message": "the client has no stream for the request"});
            let refusal = format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "error": error}));
            tokio::spawn(async move { input.lock().await.write_all(refusal.as_bytes()).await });
        }
    }
}

impl Routes {
    fn is_empty(&self) -> bool {
        self.requests.is_empty() && self.stream.as_ref().is_none_or(mpsc::Sender::is_closed)
    }

    /// Sends a message to its receiver. A receiver that is full or gone loses the message. Returns false if a request of
    /// the server has no receiver.
    fn send(&mut self, line: Vec<u8>, message: &Value) -> bool {
        if is_answer(message) {
            if let Some(at) = self.answered(message) {
                drop(self.requests.remove(at).to.try_send(line));
            }
            return true;
        }
        let token = message.pointer("/params/progressToken").map(Value::to_string);
        let of_progress =
            token.and_then(|token| self.requests.iter().position(|route| route.progress.contains(&token)));
        // A request of the server, such as a question to a person, belongs to a call: the last one that can receive it.
        let is_subscription = message["method"] == "notifications/resources/updated";
        let stream = self.stream.as_ref().filter(|stream| !stream.is_closed());
        let of_call = self.requests.iter().rposition(|route| route.accepts_events && !route.to.is_closed());
        let to = match (of_progress, of_call, stream) {
            (Some(at), ..) => self.requests.get(at).map(|route| &route.to),
            (None, _, Some(stream)) if is_subscription => Some(stream),
            (None, Some(at), _) => self.requests.get(at).map(|route| &route.to),
            (None, None, stream) => stream,
        };
        to.is_some_and(|to| to.try_send(line).is_ok())
    }

    /// Returns the request that a message answers.
    fn answered(&self, message: &Value) -> Option<usize> {
        match message {
            Value::Array(answers) => {
                let ids: Vec<String> =
                    answers.iter().filter_map(|answer| answer.get("id")).map(Value::to_string).collect();
                let is_of = |route: &Route| route.is_batch && ids.iter().any(|id| route.ids.contains(id));
                // A batch of invalid messages has no id.
                let any = || self.requests.iter().position(|route| route.is_batch);
                self.requests.iter().position(is_of).or_else(any)
            }
            answer => {
                let id = answer.get("id").unwrap_or(&json!(null)).to_string();
                self.requests.iter().position(|route| route.ids.contains(&id))
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
