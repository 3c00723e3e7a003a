//! The answer to a request: one message as JSON, or a stream of events.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Response, StatusCode, header};
use hyper::body::{Body as HttpBody, Frame};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::super::super::limits::{Running, Slot};
use super::super::reply::json_response;
use super::is_answer;

/// Interval between comments in a stream without events, which show both sides that the connection is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// What a request holds until its answer has been sent.
#[expect(dead_code, reason = "the values are dropped at the end")]
pub(super) enum Guard {
    Call(Running),
    Stream(Slot),
    None,
}

/// Messages for one request.
pub(super) struct Answers {
    lines: mpsc::Receiver<Vec<u8>>,
    _guard: Guard,
    spend: Box<dyn Fn(usize) + Send>,
}

impl Answers {
    /// Creates the answer. `spend` is called with the number of bytes of each message.
    pub(super) fn new(lines: mpsc::Receiver<Vec<u8>>, guard: Guard, spend: Box<dyn Fn(usize) + Send>) -> Self {
        Self { lines, _guard: guard, spend }
    }

    /// Waits for the first message, and returns the response: JSON if this message is the answer, or else events. With
    /// `has_status`, the status says which error the answer is.
    pub(super) async fn respond(mut self, accepts_events: bool, has_status: bool) -> Response<Body> {
        loop {
            let Some(line) = self.lines.recv().await else { return lost() };
            let message: Value = serde_json::from_slice(&line).unwrap_or_default();
            if is_answer(&message) {
                (self.spend)(line.len());
                let status = if has_status { status(&message) } else { StatusCode::OK };
                return json_response(status, line.trim_ascii_end().to_vec());
            }
            if accepts_events {
                return self.into_events(Some(line));
            }
            // A client that accepts JSON only gets the answer alone.
        }
    }

    /// Returns all messages as events.
    pub(super) fn into_events(self, first: Option<Vec<u8>>) -> Response<Body> {
        let mut keep_alive = interval(KEEP_ALIVE);
        keep_alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        keep_alive.reset();
        let is_open = true;
        let mut response = Response::new(Body::new(Events { answers: self, first, keep_alive, is_open }));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

struct Events {
    answers: Answers,
    first: Option<Vec<u8>>,
    keep_alive: Interval,
    is_open: bool,
}

impl HttpBody for Events {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if !self.is_open {
            return Poll::Ready(None);
        }
        let line = match self.first.take() {
            Some(line) => Poll::Ready(Some(line)),
            None => self.answers.lines.poll_recv(context),
        };
        match line {
            Poll::Ready(Some(line)) => {
                (self.answers.spend)(line.len());
                let message: Value = serde_json::from_slice(&line).unwrap_or_default();
                self.is_open = !is_answer(&message);
                self.keep_alive.reset();
                Poll::Ready(Some(Ok(Frame::data(event(&line)))))
            }
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => match self.keep_alive.poll_tick(context) {
                Poll::Ready(_) => Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b":\n\n"))))),
                Poll::Pending => Poll::Pending,
            },
        }
    }
}

/// Returns a line as an event. JSON in one line needs no escapes.
fn event(line: &[u8]) -> Bytes {
    let mut event = b"event: message\ndata: ".to_vec();
    event.extend_from_slice(line.trim_ascii_end());
    event.extend_from_slice(b"\n\n");
    event.into()
}

/// Returns the status of an answer in the stateless revision.
fn status(answer: &Value) -> StatusCode {
    match answer.pointer("/error/code").and_then(Value::as_i64) {
        // The header differs, a capability is missing, the protocol version is not supported, the request is invalid.
        Some(-32020 | -32021 | -32022 | -32600 | -32700) => StatusCode::BAD_REQUEST,
        Some(-32601) => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    }
}

fn lost() -> Response<Body> {
    let error = json!({"code": -32603, "message": "the session or the server has ended"});
    let body = json!({"jsonrpc": "2.0", "id": null, "error": error}).to_string();
    json_response(StatusCode::INTERNAL_SERVER_ERROR, body)
}
