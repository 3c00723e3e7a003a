//! Responses.

use serde_json::json;

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// Status.
    pub status: u16,
    /// Headers, with names in lower case.
    pub headers: Vec<(&'static str, String)>,
    /// Body.
    pub body: Vec<u8>,
}

/// A refusal of a request that reached no tool: JSON with a code and a message.
#[derive(Debug)]
pub(super) struct Rejection {
    status: u16,
    code: &'static str,
    message: String,
    headers: Vec<(&'static str, String)>,
}

impl Response {
    /// Creates a response with JSON.
    pub(super) fn json(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self::new(status, "application/json", body.into())
    }

    /// Creates a response with a text.
    pub(super) fn text(status: u16, body: &str) -> Self {
        Self::new(status, "text/plain; charset=utf-8", body.into())
    }

    /// Creates a response without a body.
    pub(super) fn empty(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new() }
    }

    /// Returns the response to a request that the server cannot handle because of its own configuration. The cause belongs
    /// to the log of the server, and not to the client.
    pub fn misconfigured() -> Self {
        Rejection::new(500, "io", "the server is not configured correctly; its log has the cause").into_response()
    }

    fn new(status: u16, content_type: &str, body: Vec<u8>) -> Self {
        // The answer must be neither cached nor taken for another type.
        let headers =
            [("content-type", content_type), ("cache-control", "no-store"), ("x-content-type-options", "nosniff")];
        Self { status, headers: headers.map(|(name, value)| (name, value.to_owned())).to_vec(), body }
    }
}

impl Rejection {
    pub(super) fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), headers: Vec::new() }
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "invalid-argument", message)
    }

    pub(super) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(403, "denied", message)
    }

    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(super) fn into_response(self) -> Response {
        let body = json!({"error": {"code": self.code, "message": self.message}}).to_string();
        let mut response = Response::json(self.status, body);
        response.headers.extend(self.headers);
        response
    }
}
