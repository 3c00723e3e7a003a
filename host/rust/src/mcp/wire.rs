//! Transport over two byte streams, such as standard input and output, with one message per line and with bounds on the
//! memory that one client can make the server use.
//!
//! A request starts while fewer than [`MAX_REQUESTS`](super::load::MAX_REQUESTS) are in flight. Requests beyond that are
//! read ahead, up to [`MAX_AHEAD`], and start in their order. Everything else is handled as soon as it is read: a `ping`,
//! `notifications/cancelled`, and the client's answers to the server's own requests. Two conditions stop the reading:
//! [`MAX_AHEAD`] requests are read ahead, or too much is queued for the client. From then on the server sees nothing
//! until a request ends or the client reads. The server drops no request.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ClientNotification, ClientRequest, ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::TxJsonRpcMessage;
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex, Notify};
use tokio::time::{Instant, timeout_at};

use super::lines::{Line, Lines};
use super::load::{Load, Queued};
use super::message::{MAX_LINE_BYTES, Parsed, Received, parse, too_long};
use super::splice::Placeholders;

/// Maximum number of requests that are read ahead, and the total weight in bytes at which no more are.
const MAX_AHEAD: usize = 256;
const MAX_AHEAD_WEIGHT: usize = 16 << 20;

/// Limits after the end of the input: the time without any request ending, and the time without the client reading,
/// after which the remaining answers are given up.
const UNANSWERED: Duration = Duration::from_secs(5);
const STALLED: Duration = Duration::from_secs(2);

/// Maximum number of bytes of one write. Small writes show that a slow client still reads.
const CHUNK: usize = 64 << 10;

type Sent = TxJsonRpcMessage<RoleServer>;

pub(super) struct Wire<R, W> {
    lines: Lines<BufReader<R>>,
    write: Arc<Mutex<W>>,
    placeholders: Placeholders,
    load: Arc<Load>,
    ahead: ReadAhead,
    /// Set at the end of the input.
    ending: Option<Ending>,
    /// Notified when nothing is left to do after the end of the input.
    finished: Arc<Notify>,
}

/// Requests that have been read and have not started.
#[derive(Default)]
struct ReadAhead {
    requests: VecDeque<Waiting>,
    weight: usize,
}

struct Waiting {
    id: RequestId,
    request: Received,
    weight: usize,
}

/// State after the end of the input: the number of ended requests, and the time when it last grew.
struct Ending {
    ended: u64,
    since: Instant,
}

impl<R: AsyncRead + Unpin, W> Wire<R, W> {
    pub(super) fn new(placeholders: Placeholders, read: R, write: W) -> Self {
        let (lines, write) = (Lines::new(BufReader::new(read), MAX_LINE_BYTES), Arc::new(Mutex::new(write)));
        let (load, ahead, finished) = (Arc::default(), ReadAhead::default(), Arc::default());
        Self { lines, write, placeholders, load, ahead, ending: None, finished }
    }

    /// Returns the object that is notified when the input has ended and every answer has been written or given up.
    pub(super) fn finished(&self) -> Arc<Notify> {
        Arc::clone(&self.finished)
    }
}

impl<R, W> Transport<RoleServer> for Wire<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(&mut self, message: Sent) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let line = self.placeholders.line(&message);
        let queued = self.load.queue(line.as_ref().map_or(0, Vec::len));
        let (write, load, answered) = (Arc::clone(&self.write), Arc::clone(&self.load), answered_request(&message));
        async move {
            let written = match line {
                Ok(line) => write_line(&write, &line, &queued).await,
                Err(cause) => Err(cause),
            };
            drop(queued);
            if let Some(id) = answered {
                load.end(&id);
            }
            written
        }
    }

    /// Receives the next message. The caller drops this future whenever the server has something to send, so that all
    /// state is in `self`.
    async fn receive(&mut self) -> Option<Received> {
        loop {
            if let Some(request) = self.ahead.start_next(&self.load) {
                return Some(request);
            }
            if self.ending.is_some() {
                return self.remaining().await;
            }
            let may_read = self.ahead.has_room() && self.load.can_queue();
            let line = tokio::select! {
                () = self.load.changed.notified(), if !may_read || !self.ahead.is_empty() => continue,
                line = self.lines.next(), if may_read => line,
            };
            let parsed = match line {
                Line::Message(line) => parse(line),
                Line::TooLong => Parsed::Invalid(too_long(), None),
                Line::End => {
                    self.ending = Some(Ending { ended: self.load.ended(), since: Instant::now() });
                    continue;
                }
            };
            match parsed {
                Parsed::Message(message, weight) => {
                    if let Some(message) = self.accept(*message, weight) {
                        return Some(message);
                    }
                }
                Parsed::Invalid(error, id) => self.refuse(error, id),
                Parsed::Ignored => {}
            }
        }
    }

    /// Does nothing: writes that have begun continue until the process ends.
    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<R, W> Wire<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// Returns a message that is handled at once. Any other is read ahead, refused, or cancels one that was read ahead.
    fn accept(&mut self, message: Received, weight: usize) -> Option<Received> {
        match message {
            JsonRpcMessage::Request(request) => match &request.request {
                // A `ping` needs no work and shows that the server is alive. Its answer counts in the queue.
                ClientRequest::PingRequest(_) if self.load.begin_ping(&request.id) => {
                    Some(JsonRpcMessage::Request(request))
                }
                ClientRequest::SubscriptionsListenRequest(_) => {
                    match self.load.begin_listener(request.id.clone(), weight) {
                        Ok(()) => return Some(JsonRpcMessage::Request(request)),
                        Err(cause) => self.refuse(ErrorData::invalid_request(cause, None), Some(request.id)),
                    }
                    None
                }
                _ if self.load.is_listener(&request.id) => {
                    let error = ErrorData::invalid_request("the id is in use by `subscriptions/listen`", None);
                    self.refuse(error, Some(request.id));
                    None
                }
                _ => {
                    self.ahead.push(request.id.clone(), JsonRpcMessage::Request(request), weight);
                    None
                }
            },
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    // The protocol lets a cancelled request go without an answer.
                    if self.ahead.remove(id) {
                        return None;
                    }
                    self.load.end(id);
                }
                Some(JsonRpcMessage::Notification(notification))
            }
            message => Some(message),
        }
    }

    fn refuse(&mut self, error: ErrorData, id: Option<RequestId>) {
        // This answer is not sent by `send`, because its request was never in flight.
        let line = self.placeholders.line(&Sent::error(error, id));
        let queued = self.load.queue(line.as_ref().map_or(0, Vec::len));
        let write = Arc::clone(&self.write);
        tokio::spawn(async move { write_line(&write, &line?, &queued).await });
    }

    /// After the end of the input: starts the requests that were read ahead. Ends when every request has its answer, or
    /// when the answers no longer make progress.
    async fn remaining(&mut self) -> Option<Received> {
        loop {
            if let Some(request) = self.ahead.start_next(&self.load) {
                return Some(request);
            }
            let (now, ended) = (Instant::now(), self.load.ended());
            let ending = self.ending.get_or_insert(Ending { ended, since: now });
            if ending.ended != ended {
                *ending = Ending { ended, since: now };
            }
            let stalled = self.load.stalled_since().map(|since| since.max(ending.since) + STALLED);
            let deadline = stalled.into_iter().fold(ending.since + UNANSWERED, Instant::min);
            if (self.ahead.is_empty() && self.load.is_idle()) || now >= deadline {
                self.finished.notify_one();
                return None;
            }
            // The next iteration distinguishes a change from the deadline.
            let _elapsed = timeout_at(deadline, self.load.changed.notified()).await;
        }
    }
}

async fn write_line<W: AsyncWrite + Unpin>(write: &Mutex<W>, line: &[u8], queued: &Queued) -> io::Result<()> {
    let mut write = write.lock().await;
    for chunk in line.chunks(CHUNK) {
        write.write_all(chunk).await?;
        queued.progress();
    }
    write.flush().await
}

impl ReadAhead {
    /// Starts the first request, if it has room.
    fn start_next(&mut self, load: &Load) -> Option<Received> {
        let first = self.requests.front()?;
        if !load.has_room(&first.id, first.weight) {
            return None;
        }
        let Waiting { id, request, weight } = self.requests.pop_front()?;
        self.weight = self.weight.saturating_sub(weight);
        load.begin(id, weight);
        Some(request)
    }

    fn push(&mut self, id: RequestId, request: Received, weight: usize) {
        self.weight = self.weight.saturating_add(weight);
        self.requests.push_back(Waiting { id, request, weight });
    }

    fn remove(&mut self, id: &RequestId) -> bool {
        let Some(at) = self.requests.iter().position(|waiting| waiting.id == *id) else { return false };
        let removed = self.requests.remove(at);
        self.weight = self.weight.saturating_sub(removed.map_or(0, |waiting| waiting.weight));
        true
    }

    fn has_room(&self) -> bool {
        self.requests.len() < MAX_AHEAD && self.weight < MAX_AHEAD_WEIGHT
    }

    fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }
}

/// Returns the id of the request that a message answers.
fn answered_request(message: &Sent) -> Option<RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(response.id.clone()),
        JsonRpcMessage::Error(error) => error.id.clone(),
        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
    }
}
