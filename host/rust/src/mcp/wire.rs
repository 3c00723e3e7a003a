//! Messages over standard input and output, a line each, within bounds: when a client has asked for more than may be under
//! way, or does not read what it is told, no more of its messages are read until there is room. Nothing is dropped.
//!
//! What answers a question of the server or cancels a request is passed on at once, past requests that wait for room, as
//! long as no more than [`MAX_AHEAD`] of these do.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ClientNotification, ClientRequest, ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;

use super::lines::{Line, Lines};
use super::load::Load;
use super::splice::Marks;

/// Bytes of one message.
pub(super) const MAX_LINE: usize = 16 << 20;

/// Requests that are read and wait for room, and bytes of them all.
const MAX_AHEAD: usize = 256;
const MAX_AHEAD_BYTES: usize = 16 << 20;

/// How long nothing may be written, once the client has closed its end, before no more is begun. What is under way then
/// still has the time that the protocol's library gives it, 5 seconds.
const PATIENCE: Duration = Duration::from_secs(2);

type Received = RxJsonRpcMessage<RoleServer>;
type Sent = TxJsonRpcMessage<RoleServer>;

pub(super) struct Wire<R, W> {
    lines: Lines<BufReader<R>>,
    write: Arc<Mutex<W>>,
    marks: Marks,
    load: Arc<Load>,
    ahead: Ahead,
    /// The client has closed its end.
    is_closed: bool,
}

/// Requests that wait for room, each with its bytes.
#[derive(Default)]
struct Ahead {
    requests: VecDeque<(RequestId, Received, usize)>,
    bytes: usize,
}

impl<R: AsyncRead + Unpin, W> Wire<R, W> {
    pub(super) fn new(marks: Marks, read: R, write: W) -> Self {
        let (lines, write) = (Lines::new(BufReader::new(read), MAX_LINE), Arc::new(Mutex::new(write)));
        Self { lines, write, marks, load: Arc::default(), ahead: Ahead::default(), is_closed: false }
    }
}

impl<R, W> Transport<RoleServer> for Wire<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(&mut self, message: Sent) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let written = self.marks.line(&message);
        let (write, load, answered) = (Arc::clone(&self.write), Arc::clone(&self.load), answered(&message));
        let bytes = written.as_ref().map_or(0, Vec::len);
        load.wait_to_write(bytes);
        async move {
            let write = async {
                let mut write = write.lock().await;
                write.write_all(&written?).await?;
                write.flush().await
            };
            let done = write.await;
            load.wrote(bytes);
            if let Some(id) = answered {
                load.end(&id);
            }
            done
        }
    }

    async fn receive(&mut self) -> Option<Received> {
        loop {
            if let Some(request) = self.ahead.next(&self.load) {
                return Some(request);
            }
            if self.is_closed {
                return self.rest().await;
            }
            let may_read = self.ahead.has_room() && self.load.is_read();
            let line = tokio::select! {
                () = self.load.changed.notified(), if !(may_read && self.ahead.is_empty()) => continue,
                line = self.lines.next(), if may_read => line,
            };
            match line {
                Line::Message(bytes) => {
                    let length = bytes.len();
                    let parsed = parse(bytes);
                    match parsed {
                        Parsed::Message(message) => {
                            if let Some(message) = self.take(*message, length) {
                                return Some(message);
                            }
                        }
                        Parsed::Wrong(error, id) => drop(tokio::spawn(self.send(Sent::error(error, id)))),
                        Parsed::Nothing => {}
                    }
                }
                Line::TooLong => drop(tokio::spawn(self.send(Sent::error(too_long(), None)))),
                Line::End => self.is_closed = true,
            }
        }
    }

    /// What is being written goes on as long as the process does.
    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<R, W> Wire<R, W> {
    /// A message that is passed on at once; none where it waits for room, or was about one that did.
    fn take(&mut self, message: Received, bytes: usize) -> Option<Received> {
        match message {
            JsonRpcMessage::Request(request) if !is_ping(&request.request) => {
                let id = request.id.clone();
                self.ahead.push(id, JsonRpcMessage::Request(request), bytes);
                None
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification {
                    let id = &cancelled.params.request_id;
                    // Nobody waits for its answer.
                    if id.as_ref().is_some_and(|id| self.ahead.remove(id)) {
                        return None;
                    }
                    id.iter().for_each(|id| self.load.end(id));
                }
                Some(JsonRpcMessage::Notification(notification))
            }
            message => Some(message),
        }
    }

    /// After the client has closed its end: the requests that still wait, and the end once all are answered, or nobody
    /// reads the answers.
    async fn rest(&mut self) -> Option<Received> {
        loop {
            if let Some(request) = self.ahead.next(&self.load) {
                return Some(request);
            }
            if self.ahead.is_empty() && self.load.is_idle() {
                return None;
            }
            let before = self.load.written();
            let changed = tokio::time::timeout(PATIENCE, self.load.changed.notified()).await;
            if changed.is_err() && self.load.written() == before {
                return None;
            }
        }
    }
}

impl Ahead {
    /// The first request, where it may begin.
    fn next(&mut self, load: &Load) -> Option<Received> {
        let (_, _, bytes) = self.requests.front()?;
        if !load.has_room(*bytes) {
            return None;
        }
        let (id, request, bytes) = self.requests.pop_front()?;
        self.bytes = self.bytes.saturating_sub(bytes);
        load.begin(id, bytes);
        Some(request)
    }

    fn push(&mut self, id: RequestId, request: Received, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.requests.push_back((id, request, bytes));
    }

    fn remove(&mut self, id: &RequestId) -> bool {
        let Some(at) = self.requests.iter().position(|(waiting, _, _)| waiting == id) else { return false };
        if let Some((_, _, bytes)) = self.requests.remove(at) {
            self.bytes = self.bytes.saturating_sub(bytes);
        }
        true
    }

    fn has_room(&self) -> bool {
        self.requests.len() < MAX_AHEAD && self.bytes < MAX_AHEAD_BYTES
    }

    fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }
}

/// It costs nothing and tells that the server is there, so it waits for no room.
fn is_ping(request: &ClientRequest) -> bool {
    matches!(request, ClientRequest::PingRequest(_))
}

/// The request that a message answers.
fn answered(message: &Sent) -> Option<RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(response.id.clone()),
        JsonRpcMessage::Error(error) => error.id.clone(),
        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
    }
}

enum Parsed {
    Message(Box<Received>),
    /// What it is answered with.
    Wrong(ErrorData, Option<RequestId>),
    /// No answer is due.
    Nothing,
}

fn parse(line: &[u8]) -> Parsed {
    match serde_json::from_slice(line) {
        Ok(message) => Parsed::Message(Box::new(message)),
        // Nobody can tell what it was; an answer could be the other side's own noise come back.
        Err(cause) if cause.is_syntax() || cause.is_eof() => Parsed::Nothing,
        Err(cause) => {
            let Ok(Value::Object(mut message)) = serde_json::from_slice(line) else { return Parsed::Nothing };
            match message.remove("id").map(serde_json::from_value) {
                // Notifications that are not known are for others.
                None if message.contains_key("method") => Parsed::Nothing,
                id => Parsed::Wrong(ErrorData::invalid_request(cause.to_string(), None), id.and_then(Result::ok)),
            }
        }
    }
}

fn too_long() -> ErrorData {
    let message = format!("a message may have at most {MAX_LINE} bytes; write a large file in parts, with `append`");
    ErrorData::invalid_request(message, None)
}
