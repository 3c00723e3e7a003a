//! Connections, routes, and the checks of each request.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{MatchedPath, Path, Request, State};
use axum::http::{HeaderMap, Response, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};
use url::Url;

use super::authority::{Authority, Denied, Grant};
use super::config::{ServerLimits, Settings};
use super::limits::{Running, Slot, Slots, Tenant};
use super::lock_check::{Checking, LockCheck};
use super::name::is_name;
use super::narrowing::Narrowing;
use super::record::{Record, Recorder};
use super::refusal::Refusal;
use super::served::Served;
use super::telemetry::{Direction, Reason, log};
use super::workspaces::Workspaces;
use crate::error::Error;
use crate::policy::Configuration;

mod connection;
mod mcp;
mod openapi;
mod origins;
mod reply;
mod status;
mod tools;

use connection::Shutdown;
use mcp::Sessions;
use origins::Origins;
use reply::{Rejection, json_response};

/// The server without its listener.
pub(super) struct App(Arc<Inner>);

struct Inner {
    workspaces: Workspaces,
    authority: Authority,
    origins: Origins,
    limits: ServerLimits,
    /// Running calls of all workspaces.
    calls: Slots,
    /// Large bodies that are being read.
    bodies: Slots,
    sessions: Arc<Sessions>,
    recorder: Arc<Recorder>,
    /// URL of the server and URL of the identity provider, if there is one.
    provider: Option<(String, String)>,
    lock_check: Arc<LockCheck>,
    shutdown: Shutdown,
}

tokio::task_local! {
    /// Record of the request.
    static RECORD: Arc<Record>;
}

/// A request of a caller who has rights in the workspace.
struct Admitted {
    app: Arc<Inner>,
    workspace: String,
    token: Option<String>,
    grant: Arc<Grant>,
    tenant: Arc<Tenant>,
    record: Arc<Record>,
}

impl App {
    pub(super) fn new(
        file: &Configuration,
        settings: &Settings,
        workspaces: Workspaces,
        authority: Authority,
        recorder: Recorder,
    ) -> Result<Self, Error> {
        let limits = settings.limits.clone();
        if limits.max_header_bytes < MIN_HEADER_BYTES {
            return Err(file.wrong("limits.max_header_bytes", format!("it has to be at least {MIN_HEADER_BYTES}")));
        }
        let origins = Origins::new(settings.listen, &settings.hosts, &settings.origins, settings.public_url.as_ref());
        let [calls, bodies] = [limits.max_calls; 2].map(Slots::new);
        let shutdown = Shutdown::default();
        let sessions = Arc::new(Sessions::new(limits.max_sessions, limits.session_idle()));
        let url = |url: &Url| url.as_str().trim_end_matches('/').to_owned();
        let provider = settings.public_url.as_ref().zip(settings.jwt.as_ref());
        let provider = provider.map(|(public_url, jwt)| (url(public_url), jwt.issuer.clone()));
        let inner = Inner {
            workspaces,
            authority,
            origins,
            limits,
            calls,
            bodies,
            sessions,
            recorder: Arc::new(recorder),
            provider,
            lock_check: Arc::default(),
            shutdown,
        };
        let app = Self(Arc::new(inner));
        app.gauges();
        Ok(app)
    }

    /// Adds the gauges, which do not keep the server in memory.
    fn gauges(&self) {
        let gauge = |name, description, value: fn(&Inner) -> usize| {
            let app = Arc::downgrade(&self.0);
            let value = move || app.upgrade().map_or(0, |app| value(&app));
            self.0.recorder.telemetry.metrics.gauge(name, description, value);
        };
        gauge("paddock.running_calls", "Calls that run now", |app| app.calls.used());
        gauge(
            "paddock.running_search_threads",
            "Threads that search for calls now, each with an instance of its own",
            |_| crate::parallel::running_workers(),
        );
        gauge("paddock.sessions", "Open MCP sessions", |app| app.sessions.count());
        gauge("paddock.open_workspaces", "Workspaces that are open", |app| app.workspaces.count());
    }

    pub(super) async fn serve(self, listener: TcpListener, shutdown: impl Future<Output = ()>) {
        let app = self.0;
        let mut shutdown = pin!(shutdown);
        let checked = app.clone();
        let _checking = tokio::select! {
            checking = tokio::task::spawn_blocking(move || checked.check_locks()) => checking,
            () = &mut shutdown => return,
        };
        let deadline = connection::serve(listener, router(&app), &app.limits, &app.shutdown, shutdown).await;
        let rest = deadline.saturating_duration_since(Instant::now()).max(FLUSH);
        app.recorder.telemetry.clone().shutdown(rest).await;
    }
}

impl Inner {
    /// Checks from now on that the locks exclude other servers.
    fn check_locks(&self) -> Option<Checking> {
        let heartbeats = self.workspaces.heartbeats()?;
        let checking = heartbeats.and_then(|directory| self.lock_check.start(directory));
        checking
            .inspect_err(|cause| log(&format!("paddock: cannot check the locks in the state directory: {cause}")))
            .ok()
    }
}

/// Size in bytes from which a body counts as large. Smaller ones take little memory, even if every connection sends one.
const LARGE_BODY: u64 = 64 << 10;

/// Time after which a request without the right or the capacity is answered. A client that repeats it at once, over each of
/// its connections, takes little of the processors that way.
const REFUSAL_PAUSE: Duration = Duration::from_millis(100);

/// Path of the status page.
const STATUS: &str = "/status";

/// Minimum of the setting `limits.max_header_bytes`, which leaves room for a token.
const MIN_HEADER_BYTES: usize = 1024;

/// Minimum time for the last metrics and traces, also if the calls took all the time of the shutdown.
const FLUSH: Duration = Duration::from_millis(500);

fn router(app: &Arc<Inner>) -> Router {
    Router::new()
        .route("/w/{workspace}/tools", get(tools::list))
        .route("/w/{workspace}/call", post(tools::call))
        .route("/w/{workspace}/mcp", post(mcp::post).get(mcp::of_session).delete(mcp::of_session))
        .route("/.well-known/oauth-protected-resource/w/{workspace}/mcp", get(protected_resource))
        .route("/openapi.json", get(openapi::document))
        .route("/metrics", get(counters))
        .route(STATUS, get(status::overview))
        .route("/status/w/{workspace}", get(status::workspace))
        .route("/status/w/{workspace}/undo", post(status::undo))
        .fallback(no_resource)
        .method_not_allowed_fallback(no_method)
        .layer(middleware::from_fn_with_state(app.clone(), check))
        .route("/healthz", get(healthy))
        .route("/readyz", get(ready))
        .with_state(app.clone())
}

/// Checks what does not depend on the resource, and records the request.
async fn check(State(app): State<Arc<Inner>>, request: Request, next: Next) -> Response<Body> {
    let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let (recorder, method) = (app.recorder.clone(), request.method().clone());
    let record = Arc::new(Record::new(recorder, method, request.uri().path(), route, request.headers()));
    let answered = async {
        let checked = match app.shutdown.draining.is_cancelled() {
            false if is_status(request.uri().path()) => {
                app.origins.check_same(request.method(), request.uri(), request.headers())
            }
            false => app.origins.check(request.uri(), request.headers()),
            true => Err(Rejection::closing()),
        };
        let response = match checked {
            Ok(()) => next.run(request).await,
            Err(rejection) => rejection.into_response(),
        };
        let status = response.status();
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS) {
            sleep(REFUSAL_PAUSE).await;
        }
        record.answered(status, response.extensions().get::<Reason>().copied());
        response
    };
    RECORD.scope(record.clone(), answered).await
}

/// Returns whether a path is that of the status page or below it.
fn is_status(path: &str) -> bool {
    path.strip_prefix(STATUS).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the metadata of the authorization, as in RFC 9728.
async fn protected_resource(State(app): State<Arc<Inner>>, Path(workspace): Path<String>) -> Response<Body> {
    let Some((url, issuer)) = app.provider.as_ref().filter(|_| is_name(&workspace)) else {
        return Rejection::not_found("the server has no identity provider").into_response();
    };
    let metadata = json!({
        "resource": format!("{url}/w/{workspace}/mcp"),
        "authorization_servers": [issuer],
        "bearer_methods_supported": ["header"],
    });
    json_response(StatusCode::OK, metadata.to_string())
}

async fn counters(State(app): State<Arc<Inner>>) -> Response<Body> {
    match app.recorder.telemetry.metrics.render() {
        Some(text) => ([(header::CONTENT_TYPE, prometheus::TEXT_FORMAT)], text).into_response(),
        None => Rejection::not_found("the configuration does not publish the metrics").into_response(),
    }
}

async fn no_resource() -> Rejection {
    Rejection::not_found("there is no such resource; `/openapi.json` lists those that exist")
}

async fn no_method() -> Rejection {
    Rejection::new(StatusCode::METHOD_NOT_ALLOWED, "invalid-argument", "the resource has no such method")
}

async fn healthy() -> &'static str {
    "ok\n"
}

async fn ready(State(app): State<Arc<Inner>>) -> Response<Body> {
    match app.shutdown.draining.is_cancelled() {
        false if app.lock_check.has_failed() => Rejection::no_locks().into_response(),
        false => "ok\n".into_response(),
        true => Rejection::closing().into_response(),
    }
}

impl Admitted {
    /// Admits a request for a workspace, if its token has rights there.
    fn new(app: Arc<Inner>, workspace: String, headers: &HeaderMap) -> Result<Self, Rejection> {
        let url = app.provider.as_ref().filter(|_| is_name(&workspace));
        let url = url.map(|(url, _)| format!("{url}/.well-known/oauth-protected-resource/w/{workspace}/mcp"));
        let refused = |denied| Rejection::from(denied).with_metadata(url.as_deref());
        let token = token(headers).map_err(refused)?.map(str::to_owned);
        let grant = app.authority.authorize(token.as_deref(), &workspace, SystemTime::now()).map_err(refused)?;
        let record = record()?;
        record.set_caller(&grant.holder, Some(&workspace), grant.narrowing.path.as_ref());
        // Only a caller who may use the workspace learns whether it exists.
        let tenant = app.workspaces.tenant(&workspace)?;
        Ok(Self { app, workspace, token, grant: Arc::new(grant), tenant, record })
    }

    /// Returns whether the token still has rights in the workspace.
    fn is_valid(&self) -> bool {
        let now = SystemTime::now();
        let is_current = self.grant.expires.is_none_or(|expires| expires > now);
        is_current && self.app.authority.authorize(self.token.as_deref(), &self.workspace, now).is_ok()
    }

    /// Fails if a rate or a budget permits no call now. Nothing is taken from them.
    fn check(&self) -> Result<(), Rejection> {
        self.grant.check_budgets()?;
        Ok(self.tenant.check()?)
    }

    /// Starts a call, if the limits and the budgets permit it.
    fn begin(&self) -> Result<Arc<Running>, Rejection> {
        // A caller without a budget takes no capacity of the workspace.
        self.grant.check_budgets()?;
        let running = self.tenant.begin(&self.app.calls)?;
        self.grant.spend_call()?;
        Ok(Arc::new(running))
    }

    /// Reads the body of the request. The slots are those of a large body, which takes memory and time until it has been
    /// parsed.
    async fn body(&self, body: Body) -> Result<(Bytes, Option<[Slot; 2]>), Rejection> {
        let limits = &self.app.limits;
        let too_large = || {
            let message = format!("a body may have at most {} bytes", limits.max_body_bytes);
            Rejection::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", message).because("max_body_bytes")
        };
        // The header may announce more than the client ever sends.
        if body.size_hint().lower() > u64::try_from(limits.max_body_bytes).unwrap_or(u64::MAX) {
            return Err(too_large());
        }
        let is_small = body.size_hint().upper().is_some_and(|size| size < LARGE_BODY);
        let slots = (!is_small).then(|| self.tenant.body(&self.app.bodies)).transpose()?;
        let collected = timeout(limits.body_timeout(), Limited::new(body, limits.max_body_bytes).collect()).await;
        let too_slow = |_| {
            let rejection = Rejection::new(StatusCode::REQUEST_TIMEOUT, "limit-exceeded", "the body took too long");
            rejection.because("body_timeout_ms")
        };
        let body = collected.map_err(too_slow)?.map_err(|cause| match cause.downcast_ref::<LengthLimitError>() {
            Some(_) => too_large(),
            None => Rejection::bad_request("the body ended too early"),
        })?;
        let body = body.to_bytes();
        self.spend(Direction::Received, body.len());
        Ok((body, slots))
    }

    /// Accounts for bytes of the request or the answer.
    fn spend(&self, direction: Direction, bytes: usize) {
        self.tenant.spend_bytes(bytes);
        self.grant.spend_bytes(bytes);
        self.app.recorder.telemetry.metrics.transfer(direction, bytes);
    }

    fn dialect(&self, requested: Option<&str>) -> Result<String, Rejection> {
        Ok(self.grant.dialect(requested, self.app.workspaces.dialect(&self.workspace)?)?)
    }

    /// Opens the workspace with the rights of the caller, for this call if there is one.
    async fn open(&self, call: Option<&Arc<Running>>) -> Result<Arc<Served>, Rejection> {
        open(&self.app, &self.workspace, &self.grant.narrowing, call).await
    }
}

/// Returns the record of the request.
fn record() -> Result<Arc<Record>, Rejection> {
    let lost = |_| Rejection::new(StatusCode::INTERNAL_SERVER_ERROR, "io", "the request has no record");
    RECORD.try_with(Arc::clone).map_err(lost)
}

/// Opens a workspace, unless it is open. For a call, no change remains cut off. The call has its place in the limits until
/// then, even if the client disconnects.
async fn open(
    app: &Arc<Inner>,
    workspace: &str,
    narrowing: &Narrowing,
    call: Option<&Arc<Running>>,
) -> Result<Arc<Served>, Rejection> {
    if app.lock_check.has_failed() {
        return Err(Rejection::no_locks());
    }
    let opened = app.workspaces.opened(workspace, narrowing)?;
    let recovers = call.is_some() && app.workspaces.may_be_unfinished(workspace, narrowing)?;
    if let Some(served) = opened.clone().filter(|_| !recovers) {
        return Ok(served);
    }
    let (owned, name, narrowing, call) = (app.clone(), workspace.to_owned(), narrowing.clone(), call.cloned());
    let open = move || {
        let _call = call;
        if recovers {
            owned.workspaces.recover(&name)?;
        }
        opened.map_or_else(|| owned.workspaces.open(&name, &narrowing), Ok)
    };
    let opened = tokio::task::spawn_blocking(open).await;
    let lost = |_| Rejection::new(StatusCode::INTERNAL_SERVER_ERROR, "io", "the call was lost").because("failure");
    opened.map_err(lost)?.map_err(|refusal| {
        // The caller does not learn the cause of a failure, because it may name paths of the host.
        match &refusal {
            Refusal::Failed(cause) => {
                log(&format!("paddock: cannot open the workspace `{workspace}`: {}", cause.with_sources()));
            }
            Refusal::Unfinished(cause) => {
                log(&format!("paddock: cannot recover the workspace `{workspace}`: {}", cause.message));
            }
            _ => {}
        }
        refusal.into()
    })
}

/// Returns the token of a request.
fn token(headers: &HeaderMap) -> Result<Option<&str>, Denied> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), more) = (values.next(), values.next()) else { return Ok(None) };
    let token = value.to_str().ok().and_then(|value| value.split_once(' '));
    match (token, more) {
        (Some((scheme, token)), None) if scheme.eq_ignore_ascii_case("bearer") => Ok(Some(token.trim())),
        _ => Err(Denied::Invalid("the header `Authorization` has to be `Bearer TOKEN`".to_owned())),
    }
}
