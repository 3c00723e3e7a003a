//! Connections, routes, and the checks of each request.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{MatchedPath, Path, Request, State};
use axum::http::{Response, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::time::sleep;
use url::Url;

use super::authority::Authority;
use super::config::{ServerLimits, Settings};
use super::descriptors;
use super::limits::Slots;
use super::lock_check::{Checking, LockCheck};
use super::name::is_name;
use super::record::{Record, Recorder};
use super::telemetry::{Reason, log};
use super::workspaces::Workspaces;
use crate::error::Error;
use crate::policy::Configuration;

mod admitted;
mod connection;
mod mcp;
mod openapi;
mod origins;
mod reply;
mod status;
mod tools;

use admitted::{Admitted, open};
use connection::Shutdown;
use mcp::Sessions;
use origins::Origins;
use reply::{Rejection, json_response};

/// The server without its listener.
pub(super) struct App(Arc<Inner>);

struct Inner {
    workspaces: Arc<Workspaces>,
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
        let max_sessions = limits.max_sessions.min(descriptors::max_sessions());
        let sessions = Arc::new(Sessions::new(max_sessions, limits.session_idle()));
        let url = |url: &Url| url.as_str().trim_end_matches('/').to_owned();
        let provider = settings.public_url.as_ref().zip(settings.jwt.as_ref());
        let provider = provider.map(|(public_url, jwt)| (url(public_url), jwt.issuer.clone()));
        let inner = Inner {
            workspaces: Arc::new(workspaces),
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

    /// Returns the maximum number of calls at the same time.
    pub(super) fn max_calls(&self) -> usize {
        self.0.limits.max_calls
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

/// Returns the record of the request.
fn record() -> Result<Arc<Record>, Rejection> {
    let lost = |_| Rejection::new(StatusCode::INTERNAL_SERVER_ERROR, "io", "the request has no record");
    RECORD.try_with(Arc::clone).map_err(lost)
}
