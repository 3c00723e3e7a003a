//! Transport over two byte streams, such as standard input and output, with one message per line and with bounds on the
//! memory that one client can make the server use.
//!
//! A request starts while fewer than [`MAX_REQUESTS`](super::load::MAX_REQUESTS) are in flight. Requests beyond that are
//! read ahead, up to [`MAX_AHEAD`](super::ahead::MAX_AHEAD), and start in their order. Everything else is handled as
//! soon as it is read: a `ping`, `notifications/cancelled`, and the client's answers to the server's own requests. Two
//! conditions stop the reading: that many requests are read ahead, or too much is queued for the client. From then on
//! the server sees nothing until a request ends or the client reads. The server drops no request.
//!
//! A line that is no message is answered by an error. The messages of a batch are handled like lines; their answers are
//! collected in [`Batches`].

use std::io;
use std::sync::Arc;

use paddock_protocol::batch::{INITIALIZE, array_error, overflow_error};
use paddock_protocol::envelope::{Answer, Id, MAX_MESSAGE_BYTES};
use paddock_protocol::lines::Line;
use paddock_protocol::rpc_error::RpcError;
use rmcp::RoleServer;
use rmcp::model::{
    ClientNotification, ClientRequest, JsonRpcMessage, JsonRpcRequest, ProtocolVersion, RequestId, ServerResult,
};
use rmcp::service::TxJsonRpcMessage;
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex, Notify};
use tokio::time::sleep_until;

use super::ahead::{ReadAhead, Waiting};
use super::batch::{BatchNumber, Batches, Next};
use super::ending::Ending;
use super::lines::Lines;
use super::load::{Load, Queued};
use super::message::{Parsed, Received, id_of, parse};
use super::splice::Placeholders;

/// Maximum number of bytes of one write. It exceeds most answers, because another thread writes, and each write costs two
/// changes of the thread. A further write shows that a slow client has read the one before.
const CHUNK: usize = 128 << 10;

type Sent = TxJsonRpcMessage<RoleServer>;

pub(super) struct Wire<R, W> {
    lines: Lines<BufReader<R>>,
    write: Arc<Mutex<W>>,
    placeholders: Placeholders,
    load: Arc<Load>,
    ahead: ReadAhead,
    batches: Batches,
    /// Whether the session's protocol revision has batches.
    has_batches: bool,
    /// The error of a message that is too long.
    too_long: RpcError,
    /// Set at the end of the input.
    ending: Option<Ending>,
    /// Notified when nothing is left to do after the end of the input.
    finished: Arc<Notify>,
}

impl<R: AsyncRead + Unpin, W> Wire<R, W> {
    /// Creates a transport that answers a message which is too long with the error `too_long`.
    pub(super) fn new(placeholders: Placeholders, read: R, write: W, too_long: RpcError) -> Self {
        let (lines, write) = (Lines::new(BufReader::new(read), MAX_MESSAGE_BYTES), Arc::new(Mutex::new(write)));
        let (load, ahead, finished) = (Arc::default(), ReadAhead::default(), Arc::default());
        let (batches, has_batches) = (Batches::default(), false);
        Self { lines, write, placeholders, load, ahead, batches, has_batches, too_long, ending: None, finished }
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
        if let JsonRpcMessage::Response(response) = &message
            && let ServerResult::InitializeResult(initialized) = &response.result
        {
            self.has_batches = initialized.protocol_version == ProtocolVersion::V_2025_03_26;
        }
        let answered = answered_request(&message);
        let batch = answered.as_ref().and_then(|id| self.batches.end(id));
        let line = match (self.placeholders.line(&message), batch) {
            (Ok(line), Some(batch)) => Ok(self.batches.answer(batch, &line)),
            (Err(_), Some(batch)) => Ok(self.batches.close_one(batch)),
            (line, None) => line.map(Some),
        };
        let queued = self.load.queue(line.as_ref().map_or(0, |line| line.as_ref().map_or(0, Vec::len)));
        let (write, load) = (Arc::clone(&self.write), Arc::clone(&self.load));
        async move {
            let written = match line {
                Ok(Some(line)) => write_line(&write, &line, &queued).await,
                // The last answer of the batch brings this one.
                Ok(None) => Ok(()),
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
            if let Some(request) = self.start_next() {
                return Some(request);
            }
            if self.ending.is_some() {
                return self.remaining().await;
            }
            let may_read = self.ahead.has_capacity() && self.load.can_queue();
            if may_read && self.batches.is_unread() {
                match self.next_of_batch() {
                    Some(message) => return Some(message),
                    None => continue,
                }
            }
            let line = tokio::select! {
                () = self.load.changed.notified(), if !may_read || !self.ahead.is_empty() => continue,
                line = self.lines.next(), if may_read => line,
            };
            let parsed = match line {
                Some(Line::Text(line)) => parse(&line),
                Some(Line::TooLong(id)) => Parsed::Invalid(self.too_long.clone(), id),
                None => {
                    self.ending = Some(Ending::new(self.load.progress()));
                    continue;
                }
            };
            if let Some(message) = self.handle(parsed, None) {
                return Some(message);
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
    /// Handles a line, or a message of a batch. Returns a message that has to be processed now.
    fn handle(&mut self, parsed: Parsed, batch: Option<BatchNumber>) -> Option<Received> {
        match parsed {
            Parsed::Message(message, weight) => return self.accept(*message, weight, batch),
            Parsed::Invalid(error, id) => self.refuse(&error, id.as_ref(), batch),
            Parsed::Batch(messages) => match array_error(self.has_batches, batch.is_some(), messages.len()) {
                Some(error) => self.refuse(&error, None, batch),
                None => self.batches.begin(messages),
            },
            Parsed::Ignored => {}
        }
        None
    }

    /// Handles the next message of the current batch.
    fn next_of_batch(&mut self) -> Option<Received> {
        match self.batches.next()? {
            Next::Message(message, batch) => self.handle(parse(message.get().as_bytes()), Some(batch)),
            Next::End(batch) => {
                let line = self.batches.close_one(batch);
                self.write(line);
                None
            }
        }
    }

    /// Returns a message that is handled at once. Any other is read ahead, refused, or cancels one that was read ahead.
    fn accept(&mut self, message: Received, weight: usize, batch: Option<BatchNumber>) -> Option<Received> {
        match message {
            JsonRpcMessage::Request(request) => self.accept_request(request, weight, batch),
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                    && self.cancel(id)
                {
                    return None;
                }
                Some(JsonRpcMessage::Notification(notification))
            }
            message => Some(message),
        }
    }

    /// Returns a request that is handled at once. Any other is refused or read ahead.
    fn accept_request(
        &mut self,
        request: JsonRpcRequest<ClientRequest>,
        weight: usize,
        batch: Option<BatchNumber>,
    ) -> Option<Received> {
        let refusal = match &request.request {
            // A `ping` needs no work and shows that the server is alive. Its answer counts in the queue.
            ClientRequest::PingRequest(_) if self.load.begin_ping(&request.id) => None,
            ClientRequest::SubscriptionsListenRequest(_) => self.load.begin_listener(request.id.clone(), weight).err(),
            ClientRequest::InitializeRequest(_) if batch.is_some() => Some(INITIALIZE.into()),
            _ if self.load.is_listener(&request.id) => Some("the id is in use by `subscriptions/listen`".into()),
            _ => {
                batch.into_iter().for_each(|batch| self.batches.expect(batch));
                let id = request.id.clone();
                self.ahead.push(Waiting { id, request: JsonRpcMessage::Request(request), weight, batch });
                return None;
            }
        };
        if let Some(cause) = refusal {
            self.refuse(&RpcError::invalid_request(cause), Some(&id_of(&request.id)), batch);
            return None;
        }
        if let Some(batch) = batch {
            self.batches.expect(batch);
            self.batches.start(request.id.clone(), batch);
        }
        Some(JsonRpcMessage::Request(request))
    }

    /// Forgets a request that the client cancels: the protocol lets it go without an answer. Returns whether the
    /// request had not started.
    fn cancel(&mut self, id: &RequestId) -> bool {
        if let Some(waiting) = self.ahead.remove(id) {
            self.end_of_batch(waiting.batch);
            return true;
        }
        let batch = self.batches.end(id);
        self.end_of_batch(batch);
        self.load.end(id);
        false
    }

    /// Starts the requests that were read ahead and have room, and returns the next.
    fn start_next(&mut self) -> Option<Received> {
        loop {
            let Waiting { id, request, batch, .. } = self.ahead.start_next(&self.load)?;
            match batch {
                None => return Some(request),
                Some(batch) if self.batches.has_capacity() => {
                    self.batches.start(id, batch);
                    return Some(request);
                }
                Some(_) => {
                    // The request never reached the handler.
                    self.load.end(&id);
                    self.refuse_expected(&overflow_error(), Some(&id_of(&id)), batch);
                }
            }
        }
    }

    /// Answers a line, or a message of a batch, that was never in flight.
    fn refuse(&mut self, error: &RpcError, id: Option<&Id>, batch: Option<BatchNumber>) {
        batch.into_iter().for_each(|batch| self.batches.expect(batch));
        self.refuse_expected(error, id, batch);
    }

    /// Answers a message as [`Self::refuse`] does, of which its batch knows.
    fn refuse_expected(&mut self, error: &RpcError, id: Option<&Id>, batch: Option<BatchNumber>) {
        let answer = Answer::new(id, Err(error));
        // The structure has no map with other keys than strings, the only values that cannot be serialized.
        let Ok(line) = self.placeholders.line(&answer) else { return };
        let line = match batch {
            Some(batch) => self.batches.answer(batch, &line),
            None => Some(line),
        };
        self.write(line);
    }

    /// Records that a request of a batch gets no answer.
    fn end_of_batch(&mut self, batch: Option<BatchNumber>) {
        let line = batch.and_then(|batch| self.batches.close_one(batch));
        self.write(line);
    }

    /// Writes a line that ends no request in flight.
    fn write(&self, line: Option<Vec<u8>>) {
        let Some(line) = line else { return };
        let queued = self.load.queue(line.len());
        let write = Arc::clone(&self.write);
        tokio::spawn(async move { write_line(&write, &line, &queued).await });
    }

    /// After the end of the input: starts the requests that were read ahead. Ends when every request has its answer, or
    /// when the answers no longer make progress.
    async fn remaining(&mut self) -> Option<Received> {
        loop {
            if let Some(request) = self.start_next() {
                return Some(request);
            }
            let ending = self.ending.get_or_insert_with(|| Ending::new(self.load.progress()));
            let is_done = self.ahead.is_empty() && self.load.is_idle();
            if is_done || ending.is_abandoned() {
                self.finished.notify_one();
                return None;
            }
            tokio::select! {
                () = self.load.changed.notified() => {}
                () = sleep_until(ending.next_tick) => ending.tick(self.load.progress()),
            }
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

/// Returns the id of the request that a message answers.
fn answered_request(message: &Sent) -> Option<RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(response.id.clone()),
        JsonRpcMessage::Error(error) => error.id.clone(),
        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::AsyncReadExt;

    use super::*;

    /// Number of bytes after which the server sees that a client reads. `host/guide/src/mcp.md` has the same number.
    const SEEN: usize = 128 << 10;

    #[tokio::test]
    async fn a_slow_client_is_seen_to_read() {
        let (output, mut client) = tokio::io::duplex(1 << 10);
        let (load, line) = (Arc::<Load>::default(), vec![b' '; 3 * SEEN]);
        let queued = load.queue(line.len());
        let writing = tokio::spawn(async move { write_line(&Mutex::new(output), &line, &queued).await });
        for part in 1..=3 {
            client.read_exact(&mut vec![0; SEEN]).await.unwrap();
            let seen = async {
                while load.progress().written < part {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(Duration::from_secs(10), seen).await.unwrap();
        }
        writing.await.unwrap().unwrap();
    }
}
