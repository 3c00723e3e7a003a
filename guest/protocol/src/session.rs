//! The session of one client that writes each message on a line, as over standard input and output. Requests are answered
//! in their order, one at a time.

use serde_json::value::RawValue;

use crate::batch::{self, MAX_COLLECTED_BYTES, array_error, overflow_error};
use crate::envelope::{Id, answer, too_long};
use crate::lines::Line;
use crate::message::{Message, Request, parse};
use crate::rpc_error::RpcError;
use crate::server::{BATCHES, Lifecycle, Server, agreed_revision, missing_metadata};
use crate::tools::Tools;

/// A session over lines.
pub struct Session<'t, T> {
    server: Server<'t, T>,
    lifecycle: Lifecycle,
}

impl<'t, T: Tools> Session<'t, T> {
    /// Creates the session of a client that has sent nothing.
    pub fn new(server: Server<'t, T>) -> Self {
        Self { server, lifecycle: Lifecycle::default() }
    }

    /// Returns the answer to a line, without a line break; `None` if the line is not answered.
    pub fn answer(&mut self, line: &Line) -> Option<String> {
        match line {
            Line::TooLong(id) => Some(answer(id.as_ref(), Err(&too_long(self.server.dialect())))),
            Line::Text(text) => match parse(text) {
                Message::Batch(messages) => self.answer_batch(&messages),
                message => self.answer_message(message),
            },
        }
    }

    fn answer_message(&mut self, message: Message<'_>) -> Option<String> {
        match message {
            Message::Request(request) => Some(self.answer_request(&request)),
            Message::Invalid(error, id) => Some(answer(id.as_ref(), Err(&error))),
            Message::Notification | Message::Response => None,
            Message::Batch(messages) => array_error(true, true, messages.len()).map(|error| refusal(&error)),
        }
    }

    fn answer_request(&mut self, request: &Request) -> String {
        let result = self.server.result(request, &self.lifecycle);
        if result.is_ok() {
            self.choose_lifecycle(request);
        }
        answer(Some(&request.id), result.as_deref())
    }

    /// Records the lifecycle that a client has chosen by a request without error. `server/discover` and `ping` choose
    /// none.
    fn choose_lifecycle(&mut self, request: &Request) {
        match request.method.as_str() {
            "initialize" => {
                let requested = request.params.get("protocolVersion").and_then(serde_json::Value::as_str);
                self.lifecycle = Lifecycle::Initialized(agreed_revision(requested.unwrap_or_default()).to_owned());
            }
            "server/discover" | "ping" => {}
            _ if self.lifecycle == Lifecycle::Open && missing_metadata(request).is_empty() => {
                self.lifecycle = Lifecycle::Stateless;
            }
            _ => {}
        }
    }

    fn answer_batch(&mut self, messages: &[&RawValue]) -> Option<String> {
        let has_batches = self.lifecycle == Lifecycle::Initialized(BATCHES.to_owned());
        if let Some(error) = array_error(has_batches, false, messages.len()) {
            return Some(refusal(&error));
        }
        let (mut answers, mut collected) = (Vec::new(), 0_usize);
        for message in messages {
            let answer = self.answer_in_batch(parse(message.get().as_bytes()), collected);
            collected = collected.saturating_add(answer.as_ref().map_or(0, String::len));
            answers.extend(answer);
        }
        (!answers.is_empty()).then(|| format!("[{}]", answers.join(",")))
    }

    fn answer_in_batch(&mut self, message: Message<'_>, collected: usize) -> Option<String> {
        let refused = |id: &Id, error: RpcError| Some(answer(Some(id), Err(&error)));
        match message {
            Message::Request(Request { id, method, .. }) if method == "initialize" => {
                refused(&id, RpcError::invalid_request(batch::INITIALIZE))
            }
            Message::Request(Request { id, .. }) if collected >= MAX_COLLECTED_BYTES => refused(&id, overflow_error()),
            message => self.answer_message(message),
        }
    }
}

fn refusal(error: &RpcError) -> String {
    answer(None, Err(error))
}

#[cfg(test)]
mod tests;
