//! MCP over streamable HTTP, for the protocol revisions with sessions and for the stateless revision 2026-07-28.
//!
//! Each session, and each stateless request, is one stream of the MCP server of this library, so that all answers are
//! those of the stdio transport. The HTTP transport of the `rmcp` library parses bodies itself: it accepts repeated names,
//! has no batches and no bounds, and knows nothing of the placeholders for structured content.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::Value;

use super::super::limits::Busy;
use super::reply::{Rejection, json_response};
use super::{Admitted, Inner};
use crate::mcp;

mod answers;
mod exchange;
mod head;
mod sessions;

use answers::{Answers, Guard};
use head::Head;
use sessions::Session;
pub(super) use sessions::Sessions;

/// Header with the identifier of a session.
const SESSION: &str = "mcp-session-id";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct McpQuery {
    dialect: Option<String>,
}

/// Handles the messages of a body.
pub(super) async fn post(
    State(app): State<Arc<Inner>>,
    Path(workspace): Path<String>,
    query: Result<Query<McpQuery>, axum::extract::rejection::QueryRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response<Body>, Rejection> {
    let admitted = Arc::new(Admitted::new(app, workspace, &headers)?);
    let Query(query) = query.map_err(|cause| Rejection::bad_request(cause.body_text()))?;
    let dialect = admitted.dialect(query.dialect.as_deref())?;
    check_content_type(&headers)?;
    let body = admitted.body(body).await?;
    let body = body.trim_ascii();
    if let Some(refusal) = mcp::refusal(body) {
        return Ok(json_response(StatusCode::BAD_REQUEST, refusal));
    }
    let head = Head::parse(body);
    let line = one_line(body);
    let accepts_events = accepts(&headers, "text/event-stream");
    if let Some(session) = session(&admitted, &headers, &dialect)? {
        return in_session(&admitted, &session, &head, line, accepts_events).await;
    }
    if head.is_initialize() {
        return initialize(&admitted, &dialect, &head, line).await;
    }
    if let Err(mismatch) = head.check_headers(&headers) {
        return Ok(json_response(StatusCode::BAD_REQUEST, head.error(-32020, &mismatch)));
    }
    if !head.is_request() {
        // Without a session, a notification or an answer has no receiver.
        return Ok(StatusCode::ACCEPTED.into_response());
    }
    if !head.is_stateless() {
        let cause =
            "start a session by `initialize` and repeat its `Mcp-Session-Id`, or use the protocol revision 2026-07-28";
        return Ok(json_response(StatusCode::BAD_REQUEST, head.error(-32600, cause)));
    }
    let guard: Guard = match head.is_listen() {
        true => Guard::Stream(admitted.tenant.stream()?),
        false => Guard::Call(admitted.begin()?),
    };
    let served = admitted.open().await?;
    let lines = exchange::start(served.server(&dialect), line, admitted.app.phase.subscribe(), head.is_listen());
    let spender = admitted.clone();
    let answers = Answers::new(lines, guard, Box::new(move |bytes| spender.spend(bytes)));
    Ok(answers.respond(accepts_events, true).await)
}

/// Opens the stream of a session on which the server sends what belongs to no request.
pub(super) async fn get(
    State(app): State<Arc<Inner>>,
    Path(workspace): Path<String>,
    query: Result<Query<McpQuery>, axum::extract::rejection::QueryRejection>,
    headers: HeaderMap,
) -> Result<Response<Body>, Rejection> {
    let admitted = Arc::new(Admitted::new(app, workspace, &headers)?);
    let Query(query) = query.map_err(|cause| Rejection::bad_request(cause.body_text()))?;
    let dialect = admitted.dialect(query.dialect.as_deref())?;
    let session = session(&admitted, &headers, &dialect)?.ok_or_else(|| {
        Rejection::new(StatusCode::METHOD_NOT_ALLOWED, "invalid-argument", "only a session has a stream of its own")
    })?;
    let guard = Guard::Stream(admitted.tenant.stream()?);
    let lines = session
        .open_stream()
        .ok_or_else(|| Rejection::new(StatusCode::CONFLICT, "already-exists", "the session has a stream already"))?;
    let spender = admitted.clone();
    let answers = Answers::new(lines, guard, Box::new(move |bytes| spender.spend(bytes)));
    Ok(answers.into_events(None))
}

/// Ends a session.
pub(super) async fn delete(
    State(app): State<Arc<Inner>>,
    Path(workspace): Path<String>,
    query: Result<Query<McpQuery>, axum::extract::rejection::QueryRejection>,
    headers: HeaderMap,
) -> Result<StatusCode, Rejection> {
    let admitted = Admitted::new(app, workspace, &headers)?;
    let Query(query) = query.map_err(|cause| Rejection::bad_request(cause.body_text()))?;
    let dialect = admitted.dialect(query.dialect.as_deref())?;
    let session = session(&admitted, &headers, &dialect)?.ok_or_else(no_session)?;
    admitted.app.sessions.remove(&session);
    Ok(StatusCode::NO_CONTENT)
}

/// Returns the session that the request names, if it names one. A session belongs to the rights that began it.
fn session(admitted: &Admitted, headers: &HeaderMap, dialect: &str) -> Result<Option<Arc<Session>>, Rejection> {
    let Some(id) = headers.get(SESSION) else { return Ok(None) };
    let id = id.to_str().map_err(|_| no_session())?;
    admitted.app.sessions.get(id, &owner(admitted, dialect)).map(Some).ok_or_else(no_session)
}

fn no_session() -> Rejection {
    Rejection::not_found("there is no such session; start one by `initialize`")
}

fn owner(admitted: &Admitted, dialect: &str) -> String {
    format!("{}\n{dialect}\n{}", admitted.workspace, admitted.grant.key())
}

async fn initialize(
    admitted: &Arc<Admitted>,
    dialect: &str,
    head: &Head,
    line: Vec<u8>,
) -> Result<Response<Body>, Rejection> {
    let running = admitted.begin()?;
    let served = admitted.open().await?;
    let app = &admitted.app;
    let session = app.sessions.start(served.server(dialect), owner(admitted, dialect), app.phase.subscribe());
    let session = session.ok_or_else(|| {
        Rejection::new(StatusCode::SERVICE_UNAVAILABLE, "limit-exceeded", "the server has too many sessions")
    })?;
    let lines = session.request(head, line, false, running).await.ok_or_else(no_session)?;
    let spender = admitted.clone();
    let answers = Answers::new(lines, Guard::None, Box::new(move |bytes| spender.spend(bytes)));
    let mut response = answers.respond(false, false).await;
    match (response.status(), HeaderValue::from_str(session.id())) {
        (StatusCode::OK, Ok(id)) => drop(response.headers_mut().insert(SESSION, id)),
        _ => app.sessions.remove(&session),
    }
    Ok(response)
}

async fn in_session(
    admitted: &Arc<Admitted>,
    session: &Arc<Session>,
    head: &Head,
    line: Vec<u8>,
    accepts_events: bool,
) -> Result<Response<Body>, Rejection> {
    if !head.is_request() {
        let is_written = session.write(line).await;
        head.cancelled().for_each(|id| session.forget(&id));
        return match is_written {
            true => Ok(StatusCode::ACCEPTED.into_response()),
            false if session.is_open() => Err(Busy { retry_after: Duration::from_secs(1) }.into()),
            false => Err(no_session()),
        };
    }
    if head.is_batch() && !session.has_batches() {
        let cause = "only the protocol revision 2025-03-26 has batches; send each message in a request of its own";
        return Ok(json_response(StatusCode::BAD_REQUEST, head.error(-32600, cause)));
    }
    let running = admitted.begin()?;
    let Some(lines) = session.request(head, line, accepts_events, running).await else {
        return Ok(json_response(StatusCode::BAD_REQUEST, head.error(-32600, "the id is in use by another request")));
    };
    let spender = admitted.clone();
    let answers = Answers::new(lines, Guard::None, Box::new(move |bytes| spender.spend(bytes)));
    Ok(answers.respond(accepts_events, false).await)
}

fn check_content_type(headers: &HeaderMap) -> Result<(), Rejection> {
    let media_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match media_type.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json") {
        true => Ok(()),
        false => {
            let message = "the body has to be `application/json`";
            Err(Rejection::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "invalid-argument", message))
        }
    }
}

/// Returns whether the client accepts a media type. A client that says nothing gets JSON.
fn accepts(headers: &HeaderMap, media_type: &str) -> bool {
    let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut ranges = values.flat_map(|value| value.split(','));
    ranges.any(|range| {
        let mut parts = range.split(';');
        let is_type = parts.next().is_some_and(|range| range.trim().eq_ignore_ascii_case(media_type));
        let is_excluded = parts.any(|parameter| matches!(parameter.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000"));
        is_type && !is_excluded
    })
}

/// Returns a message as one line. The message is valid JSON, in which a line break is white space.
fn one_line(body: &[u8]) -> Vec<u8> {
    let space = |byte: &u8| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte };
    body.iter().map(space).chain([b'\n']).collect()
}

/// Returns whether a line is the answer to a request.
fn is_answer(line: &Value) -> bool {
    match line {
        Value::Array(_) => true,
        line => line.get("method").is_none(),
    }
}
