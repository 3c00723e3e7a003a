//! Answers of the server that no tool has made.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use serde_json::json;

use super::super::authority::Denied;
use super::super::limits::Busy;
use super::super::refusal::Refusal;
use super::super::telemetry::Reason;

/// A refusal of a request, as JSON with a code, a message and a hint.
#[derive(Debug)]
pub(super) struct Rejection {
    status: StatusCode,
    code: &'static str,
    message: String,
    headers: Vec<(header::HeaderName, String)>,
    /// The reason for the metrics.
    reason: Reason,
}

impl Rejection {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), headers: Vec::new(), reason: Reason("request") }
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid-argument", message)
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", message)
    }

    /// Returns the refusal of new requests during a shutdown.
    pub(super) fn closing() -> Self {
        let rejection = Self::new(StatusCode::SERVICE_UNAVAILABLE, "backend-gone", "the server shuts down");
        rejection.because("shutdown").with(header::CONNECTION, "close").retry(Duration::from_secs(5))
    }

    /// Returns the refusal of calls while changes of another server could be lost.
    pub(super) fn no_locks() -> Self {
        let message = "the locks in `state_dir` do not exclude another server, so that changes could be lost; the operator has to move `state_dir` to a file system whose locks work between these machines, or to run one server";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "io", message).because("locks")
    }

    /// Returns the refusal of a new MCP session.
    pub(super) fn too_many_sessions() -> Self {
        let rejection =
            Self::new(StatusCode::SERVICE_UNAVAILABLE, "limit-exceeded", "the server has too many MCP sessions");
        rejection.because("max_sessions").retry(Duration::from_secs(5))
    }

    /// Returns the message.
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// Sets the reason for the metrics: the name of a limit, or what was wrong.
    pub(super) fn because(mut self, reason: &'static str) -> Self {
        self.reason = Reason(reason);
        self
    }

    /// Adds the URL of the authorization's metadata to a refusal for want of a valid token.
    pub(super) fn with_metadata(mut self, url: Option<&str>) -> Self {
        if let Some(url) = url {
            for (_, value) in self.headers.iter_mut().filter(|(name, _)| *name == header::WWW_AUTHENTICATE) {
                let separator = if value.contains('=') { "," } else { "" };
                *value = format!("{value}{separator} resource_metadata=\"{url}\"");
            }
        }
        self
    }

    /// Adds a header.
    pub(super) fn with(mut self, name: header::HeaderName, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    fn retry(self, after: Duration) -> Self {
        // Whole seconds, rounded up.
        let seconds = after.as_secs() + u64::from(after.subsec_nanos() > 0);
        self.with(header::RETRY_AFTER, seconds.max(1).to_string())
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response<Body> {
        let body = json!({"error": {"code": self.code, "message": self.message}}).to_string();
        let mut response = json_response(self.status, body);
        response.extensions_mut().insert(self.reason);
        for (name, value) in self.headers {
            if let Ok(value) = HeaderValue::from_str(&value) {
                response.headers_mut().insert(name, value);
            }
        }
        response
    }
}

impl From<Denied> for Rejection {
    fn from(denied: Denied) -> Self {
        let message = denied.to_string();
        match denied {
            Denied::Missing => {
                let rejection = Self::new(StatusCode::UNAUTHORIZED, "denied", message);
                rejection.because("token").with(header::WWW_AUTHENTICATE, "Bearer")
            }
            Denied::Invalid(_) => Self::new(StatusCode::UNAUTHORIZED, "denied", message)
                .because("token")
                .with(header::WWW_AUTHENTICATE, "Bearer error=\"invalid_token\""),
            Denied::Forbidden(_) => Self::new(StatusCode::FORBIDDEN, "denied", message)
                .because("rights")
                .with(header::WWW_AUTHENTICATE, "Bearer error=\"insufficient_scope\""),
        }
    }
}

impl From<Busy> for Rejection {
    fn from(busy: Busy) -> Self {
        let message = "the workspace or the server has too many calls; repeat this one after the time in `Retry-After`";
        let rejection = Self::new(StatusCode::TOO_MANY_REQUESTS, "limit-exceeded", message);
        rejection.because(busy.limit).retry(busy.retry_after)
    }
}

impl From<Refusal> for Rejection {
    fn from(refusal: Refusal) -> Self {
        let message = refusal.to_string();
        match refusal {
            Refusal::Unknown => Self::not_found(message).because("workspace"),
            Refusal::Narrowing(_) => Self::new(StatusCode::FORBIDDEN, "denied", message).because("rights"),
            Refusal::Full => {
                let rejection = Self::new(StatusCode::SERVICE_UNAVAILABLE, "limit-exceeded", message);
                rejection.because("max_open_workspaces").retry(Duration::from_secs(5))
            }
            // The cause names paths of the host, which are for the operator's log.
            Refusal::Unfinished(_) => Self::new(StatusCode::SERVICE_UNAVAILABLE, "io", message).because("failure"),
            Refusal::Failed(_) => Self::new(StatusCode::INTERNAL_SERVER_ERROR, "io", message).because("failure"),
        }
    }
}

/// Returns an answer with JSON.
pub(super) fn json_response(status: StatusCode, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
