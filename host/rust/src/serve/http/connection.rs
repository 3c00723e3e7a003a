//! Connections: their number, the time that each may take, and their end.

use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::super::config::ServerLimits;
use super::super::limits::{Slot, Slots};

/// Maximum number of headers of a request.
const MAX_HEADERS: usize = 64;

/// Maximum size in bytes of what a connection has read and not parsed yet. A connection needs no more for the headers of a
/// request, and reads a body in parts.
const READ_BUFFER: usize = 64 << 10;

/// Number of bytes of an answer that a client has to take in the time of `limits.write_timeout_ms`, unless the answer ends
/// before. A client that takes single bytes would hold its connection and the answer for hours.
const PROGRESS: usize = 64 << 10;

/// Pause after an error of the listener, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// Maximum time for which the server waits for cancelled calls.
const GRACE: Duration = Duration::from_secs(2);

/// The end of the server, in two steps.
#[derive(Clone, Default)]
pub(super) struct Shutdown {
    /// Cancelled when no further request is accepted, while running calls may end.
    pub(super) draining: CancellationToken,
    /// Cancelled when running calls are cancelled.
    pub(super) cancelling: CancellationToken,
}

/// Serves connections until `shutdown` completes and all requests have ended or were cancelled. Returns the deadline of the
/// shutdown.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    limits: &ServerLimits,
    shutdown: &Shutdown,
    requested: impl Future<Output = ()>,
) -> std::time::Instant {
    let slots = Slots::new(limits.max_connections);
    let mut connections = JoinSet::new();
    let mut requested = pin!(requested);
    loop {
        let accepted = tokio::select! {
            () = &mut requested => break,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        match (accepted, slots.take()) {
            (Ok((stream, _)), Some(slot)) => {
                let connection = connection(stream, router.clone(), limits.clone(), shutdown.clone(), slot);
                connections.spawn(connection);
            }
            // The client sees that the connection is closed.
            (Ok(_), None) => {}
            (Err(_), _) => sleep(PAUSE).await,
        }
    }
    drop(listener);
    let deadline = std::time::Instant::now() + limits.shutdown();
    shutdown.draining.cancel();
    let all_ended = async |connections: &mut JoinSet<()>| while connections.join_next().await.is_some() {};
    let _ = timeout(limits.shutdown(), all_ended(&mut connections)).await;
    // This also ends the sessions that have no connection.
    shutdown.cancelling.cancel();
    // The connections end at once; their calls end when the guests see it.
    let _ = timeout(GRACE, all_ended(&mut connections)).await;
    deadline
}

async fn connection(stream: TcpStream, router: Router, limits: ServerLimits, shutdown: Shutdown, _slot: Slot) {
    // Answers are small and are written as a whole.
    let _ = stream.set_nodelay(true);
    let io = TokioIo::new(Patient::new(stream, limits.write_timeout()));
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(limits.header_timeout());
    builder.max_headers(MAX_HEADERS).max_header_size(limits.max_header_bytes);
    builder.max_buf_size(READ_BUFFER.max(limits.max_header_bytes));
    let mut connection = pin!(builder.serve_connection(io, TowerToHyperService::new(router)));
    tokio::select! {
        // An error is the client's.
        _ = connection.as_mut() => return,
        () = shutdown.draining.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    tokio::select! {
        _ = connection => {}
        () = shutdown.cancelling.cancelled() => {}
    }
}

/// A stream whose writes fail if the peer takes too little of an answer in some time.
struct Patient {
    stream: TcpStream,
    timeout: Duration,
    /// Set while an answer waits for the peer.
    waiting: Option<Waiting>,
}

struct Waiting {
    deadline: Pin<Box<Sleep>>,
    /// Number of bytes that the peer has taken since the deadline was set.
    taken: usize,
}

impl Patient {
    fn new(stream: TcpStream, timeout: Duration) -> Self {
        Self { stream, timeout, waiting: None }
    }

    /// Fails if a write waits and the deadline has passed.
    fn check(&mut self, context: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match (&written, &mut self.waiting) {
            (Poll::Ready(Ok(length)), Some(waiting)) => {
                waiting.taken = waiting.taken.saturating_add(*length);
                if waiting.taken >= PROGRESS {
                    self.waiting = None;
                }
            }
            (Poll::Pending, waiting) => {
                let deadline = || Box::pin(tokio::time::sleep_until(Instant::now() + self.timeout));
                let waiting = waiting.get_or_insert_with(|| Waiting { deadline: deadline(), taken: 0 });
                if waiting.deadline.as_mut().poll(context).is_ready() {
                    return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                }
            }
            _ => {}
        }
        written
    }
}

impl AsyncRead for Patient {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.check(context, written)
    }

    /// Flushes the stream, which succeeds at once. A caller flushes when the whole of what it has to write is written.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.waiting = None;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
