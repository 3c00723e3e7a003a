//! MCP over streamable HTTP, for the protocol revisions with sessions and for the stateless revision 2026-07-28.
//!
//! The transport is that of the `rmcp` library. Before it sees a request, this module checks the rights and the limits
//! of the caller, and the message by the rules of the stdio transport, which are stricter than those of the library.
//! The library has no batches, so that a batch is refused here.

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::body::{Body, Bytes};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, Method, Request, Response, StatusCode, header};
use axum::response::IntoResponse;
use http_body_util::{BodyExt, Full};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use tokio::time::sleep;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::super::limits::{Running, Slot};
use super::super::opened::Key;
use super::super::served::Served;
use super::super::telemetry::Direction;
use super::reply::{Rejection, json_response};
use super::{Admitted, Inner};
use crate::mcp::{self, Kind};

mod sessions;

pub(super) use sessions::Sessions;
use sessions::{OpenRequest, OwnSessions};

/// Header with the identifier of a session.
const SESSION: &str = "mcp-session-id";

/// Interval between comments in a stream without events, which show both sides that the connection is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Interval at which the token of an open stream is checked again. Its own checks may compare the time, and an identity
/// provider may withdraw a key.
const CHECK_AGAIN: Duration = Duration::from_secs(10);

/// Number of checks in a row that end a stream, and the interval between them.
const FAILED_CHECKS: u32 = 3;
const CHECK_FAILED_AGAIN: Duration = Duration::from_millis(500);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct McpQuery {
    dialect: Option<String>,
}

/// The part of the limits that a message uses.
#[derive(Default)]
struct Reserved {
    capacity: Option<Capacity>,
    /// A call, which reads or changes files.
    call: Option<Arc<Running>>,
    /// The places of a new session.
    session: Option<[Slot; 2]>,
    stream: Option<OpenStream>,
}

/// The capacity that a message takes until it has been handled.
#[expect(dead_code, reason = "the values are dropped at the end")]
enum Capacity {
    Call(Arc<Running>),
    Stream(Slot),
}

/// The values that a message holds until it has been handled.
#[expect(dead_code, reason = "the values are dropped at the end")]
struct Held {
    capacity: Option<Capacity>,
    request: Option<OpenRequest>,
}

/// An open stream. It ends when the token of the caller expires, or has no budget any more.
struct OpenStream {
    end: CancellationToken,
    /// Ends the task that waits for the expiry.
    _guard: DropGuard,
    /// The capacity of a stream of a session. That of another one is held by its message.
    _slot: Option<Slot>,
}

/// A request for MCP whose caller has rights in the workspace and in the session.
struct Caller {
    admitted: Arc<Admitted>,
    dialect: String,
    /// The rights, the directory of the workspace and the dialect, to which a session belongs.
    owner: String,
}

/// Handles a message.
pub(super) async fn post(
    State(app): State<Arc<Inner>>,
    Path(workspace): Path<String>,
    query: Result<Query<McpQuery>, axum::extract::rejection::QueryRejection>,
    request: Request<Body>,
) -> Result<Response<Body>, Rejection> {
    let (mut parts, body) = request.into_parts();
    let caller = Caller::new(app, workspace, query, &mut parts.headers)?;
    // The budgets of the token are not checked: without one, a client can still cancel.
    caller.admitted.tenant.check()?;
    let (body, _slots) = caller.admitted.body(body).await?;
    let kind = match mcp::kind(body.trim_ascii()) {
        Ok(kind) => kind,
        Err(refusal) => {
            caller.admitted.tenant.message()?;
            return Ok(json_response(StatusCode::BAD_REQUEST, refusal));
        }
    };
    let session = parts.headers.get(SESSION).and_then(|session| session.to_str().ok());
    let request = match (&kind, session) {
        (Kind::Call(id) | Kind::Listen(id), Some(session)) => match caller.admitted.app.sessions.begin(session, id) {
            None => return Ok(json_response(StatusCode::BAD_REQUEST, mcp::repeated_id(id))),
            request => request,
        },
        _ => None,
    };
    let is_in_session = session.is_some();
    let Reserved { capacity, call, session, stream } = caller.reserve(&kind)?;
    if matches!(kind, Kind::Ignored) {
        return Ok(StatusCode::ACCEPTED.into_response());
    }
    // The library passes the extensions to the handler of the message.
    parts.extensions.insert(caller.admitted.record.listener());
    parts.extensions.insert(Arc::new(Held { capacity, request }));
    // A message of a session that is no call needs no workspace: the session has its own.
    let served = match is_in_session && call.is_none() {
        true => None,
        false => Some(caller.admitted.open(call.as_ref()).await?),
    };
    // From now on, only the handler of the message holds the capacity.
    drop(call);
    let stops = stream.as_ref().map_or(&caller.admitted.app.shutdown.cancelling, |stream| &stream.end);
    let service = caller.service(served, session, stops);
    let response = service.handle(Request::from_parts(parts, Full::new(body))).await;
    Ok(caller.counted(response, stream))
}

/// Opens the stream of a session on which the server sends what belongs to no request, or ends the session.
pub(super) async fn of_session(
    State(app): State<Arc<Inner>>,
    Path(workspace): Path<String>,
    query: Result<Query<McpQuery>, axum::extract::rejection::QueryRejection>,
    mut request: Request<Body>,
) -> Result<Response<Body>, Rejection> {
    let caller = Caller::new(app, workspace, query, request.headers_mut())?;
    // A request without a session opens no workspace.
    if !request.headers().contains_key(SESSION) {
        return Err(Rejection::bad_request("the request needs the header `Mcp-Session-Id` of a session"));
    }
    caller.admitted.tenant.message()?;
    let opens_stream = *request.method() == Method::GET;
    let slot = opens_stream.then(|| caller.admitted.tenant.stream()).transpose()?;
    let stream = caller.stream(slot);
    let service = caller.service(None, None, &stream.end);
    let response = service.handle(request).await;
    Ok(caller.counted(response, Some(stream)))
}

impl Caller {
    /// Admits the caller, and removes the token from the request, so that the library cannot log it. Fails if the request
    /// names a session that other rights have begun.
    fn new(
        app: Arc<Inner>,
        workspace: String,
        query: Result<Query<McpQuery>, axum::extract::rejection::QueryRejection>,
        headers: &mut HeaderMap,
    ) -> Result<Self, Rejection> {
        let admitted = Arc::new(Admitted::new(app, workspace, headers)?);
        headers.remove(header::AUTHORIZATION);
        let Query(query) = query.map_err(|cause| Rejection::bad_request(cause.body_text()))?;
        let dialect = admitted.dialect(query.dialect.as_deref())?;
        let Key { name, rest } = &admitted.located.key;
        let owner = format!("{name}\n{rest}\n{dialect}\n{}", admitted.grant.key());
        let session = headers.get(SESSION).map(|id| id.to_str().unwrap_or_default());
        if session.is_some_and(|id| !admitted.app.sessions.belongs_to(id, &owner)) {
            return Err(Rejection::not_found("there is no such session; start one by `initialize`"));
        }
        Ok(Self { admitted, dialect, owner })
    }

    /// Takes the part of the limits that a message uses.
    fn reserve(&self, kind: &Kind) -> Result<Reserved, Rejection> {
        let (admitted, tenant) = (&self.admitted, &self.admitted.tenant);
        Ok(match kind {
            Kind::Ignored | Kind::Notification => {
                tenant.message()?;
                Reserved::default()
            }
            Kind::Initialize => {
                let call = admitted.begin()?;
                let capacity = Some(Capacity::Call(call.clone()));
                let of_workspace = tenant.session()?;
                let of_server = admitted.app.sessions.reserve().ok_or_else(Rejection::too_many_sessions)?;
                Reserved { capacity, call: Some(call), session: Some([of_workspace, of_server]), stream: None }
            }
            Kind::Call(_) => {
                let call = admitted.begin()?;
                Reserved { capacity: Some(Capacity::Call(call.clone())), call: Some(call), ..Reserved::default() }
            }
            Kind::Listen(_) => {
                tenant.message()?;
                let capacity = Some(Capacity::Stream(tenant.stream()?));
                Reserved { capacity, stream: Some(self.stream(None)), ..Reserved::default() }
            }
        })
    }

    /// Returns the transport for one request. One that belongs to no session needs the workspace. With slots, the request can
    /// begin a session. Streams of the response end when `stops` is cancelled.
    fn service(
        &self,
        served: Option<Arc<Served>>,
        slots: Option<[Slot; 2]>,
        stops: &CancellationToken,
    ) -> StreamableHttpService<impl rmcp::ServerHandler, OwnSessions> {
        // The server has checked `Host` and `Origin`, and the size of the body.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(usize::MAX)
            .with_sse_keep_alive(Some(KEEP_ALIVE))
            .with_sse_retry(None)
            .with_json_response(true)
            .with_cancellation_token(stops.child_token());
        let sessions = OwnSessions::new(Arc::clone(&self.admitted), self.owner.clone(), slots);
        let (dialect, has_resources) = (self.dialect.clone(), self.admitted.grant.permits_resources(&self.dialect));
        let handler = move || {
            let served = served.as_ref().ok_or_else(|| io::Error::other("the request belongs to a session"))?;
            Ok(served.server(&dialect).into_handler(has_resources))
        };
        StreamableHttpService::new(handler, Arc::new(sessions), config)
    }

    /// Returns a stream that ends at the latest when the token expires.
    fn stream(&self, slot: Option<Slot>) -> OpenStream {
        let end = self.admitted.app.shutdown.draining.child_token();
        tokio::spawn(end_with_token(Arc::clone(&self.admitted), end.clone()));
        OpenStream { _guard: end.clone().drop_guard(), end, _slot: slot }
    }

    /// Returns the response, whose bytes are accounted for. The stream is held until the response has been sent.
    fn counted<B>(self, response: Response<B>, stream: Option<OpenStream>) -> Response<Body>
    where
        B: axum::body::HttpBody<Data = Bytes, Error = std::convert::Infallible> + Send + 'static,
    {
        response.map(|body| {
            Body::new(body.map_frame(move |frame| {
                self.admitted.spend(Direction::Sent, frame.data_ref().map_or(0, Bytes::len));
                if let Some(stream) = &stream
                    && self.admitted.grant.check_budgets().is_err()
                {
                    stream.end.cancel();
                }
                frame
            }))
        })
    }
}

/// Ends a stream or a session when its token is no longer valid.
async fn end_with_token(admitted: Arc<Admitted>, end: CancellationToken) {
    // A check of a signed token has a time limit, which a process that is held up exceeds.
    let mut failures = 0;
    while failures < FAILED_CHECKS && !admitted.has_expired() {
        failures = if admitted.is_valid() { 0 } else { failures + 1 };
        let rest = |expires: SystemTime| expires.duration_since(SystemTime::now()).unwrap_or_default();
        let pause = if failures == 0 { CHECK_AGAIN } else { CHECK_FAILED_AGAIN };
        tokio::select! {
            () = sleep(admitted.grant.expires.map_or(pause, rest).min(pause)) => {}
            () = end.cancelled() => return,
        }
    }
    end.cancel();
}
