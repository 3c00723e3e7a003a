//! The status page for operators: workspaces, their recent calls and changes, and the undo of a change. The page has no
//! script.
//!
//! The browser sends the operator's token by HTTP Basic, as the password. A cookie would need a session on the server, and
//! the browser would send it to every port of the host, so that another server on the machine could read it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::body::{Body, to_bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use tokio::time::timeout;
use url::form_urlencoded;

use super::super::limits::Running;
use super::super::narrowing::{InnerPath, Narrowing};
use super::super::recent::{Recent, RecentCall};
use super::super::record::Record;
use super::super::served::Served;
use super::super::target::Target;
use super::reply::Rejection;
use super::{Inner, open};
use crate::approval::{Approver, Decision};
use crate::types::{HistoryArgs, HistoryResult};
use crate::{CallOptions, Outcome};

mod page;

use page::{Changes, Overview};

/// Maximum size of a form in bytes.
const MAX_FORM: usize = 8 << 10;

/// Maximum number of changes that can be undone on the page, and of directories of tokens with changes of their own.
const MAX_CHANGES: u32 = 20;
const MAX_PARTS: usize = 4;

/// Maximum number of workspaces on the page.
const MAX_WORKSPACES: usize = 200;

/// A request of an operator.
struct Operator {
    app: Arc<Inner>,
    record: Arc<Record>,
    holder: String,
}

/// A workspace whose page is shown, with the capacity of a call, because the page makes calls.
struct Visited {
    target: Target,
    running: Arc<Running>,
}

/// Shows all workspaces.
pub(super) async fn overview(State(app): State<Arc<Inner>>, headers: HeaderMap) -> Result<Response<Body>, Rejection> {
    let operator = Operator::new(app, &headers)?;
    operator.record.set_caller(&operator.holder, None, None);
    let (app, recent) = (&operator.app, operator.recent()?);
    let active = recent.active();
    let has_no_calls = |name: &&str| !active.iter().any(|active| active.workspace == **name);
    let mut idle: Vec<&str> = app.workspaces.names().filter(has_no_calls).collect();
    idle.sort_unstable();
    let idle_count = idle.len();
    idle.truncate(MAX_WORKSPACES.saturating_sub(active.len()));
    let overview = Overview {
        active: &active,
        left_out: idle_count - idle.len(),
        idle: &idle,
        running: app.calls.used(),
        sessions: app.sessions.count(),
        open: app.workspaces.count(),
    };
    Ok(answer(StatusCode::OK, &overview.render()))
}

/// Shows the recent calls of a workspace, and its changes.
pub(super) async fn workspace(
    State(app): State<Arc<Inner>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Response<Body>, Rejection> {
    let operator = Operator::new(app, &headers)?;
    operator.record.set_caller(&operator.holder, Some(&name), None);
    let visited = operator.begin(&name)?;
    operator.render(StatusCode::OK, &visited, None).await
}

/// Undoes the changes of a call.
pub(super) async fn undo(
    State(app): State<Arc<Inner>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response<Body>, Rejection> {
    let operator = Operator::new(app, &headers)?;
    let form = form(body, operator.app.limits.body_timeout()).await;
    let part = form.as_ref().ok().and_then(|form| form.part.as_ref());
    operator.record.set_caller(&operator.holder, Some(&name), part);
    let (Form { backup, part }, visited) = (form?, operator.begin(&name)?);
    let served = operator.open(&visited, part).await?;
    let outcome = operator.restore(&served, &backup).await;
    match outcome.error {
        None => Ok(redirect(&name)),
        Some(error) => operator.render(StatusCode::CONFLICT, &visited, Some(&error.message)).await,
    }
}

impl Operator {
    /// Admits a request with the token of an operator.
    fn new(app: Arc<Inner>, headers: &HeaderMap) -> Result<Self, Rejection> {
        if !app.authority.has_operator() {
            return Err(Rejection::not_found("no token in the configuration is an operator's"));
        }
        let token = token(headers);
        let holder = app.authority.operator(token.as_deref(), SystemTime::now()).map_err(|denied| {
            let rejection = Rejection::new(StatusCode::UNAUTHORIZED, "denied", denied.to_string()).because("token");
            rejection.with(
                header::WWW_AUTHENTICATE,
                "Basic realm=\"paddock: any name, and an operator's token\", charset=\"UTF-8\"",
            )
        })?;
        let holder = holder.to_owned();
        Ok(Self { app, record: super::record()?, holder })
    }

    fn recent(&self) -> Result<&Recent, Rejection> {
        let none = || Rejection::not_found("the server does not record calls");
        self.app.recorder.recent.as_ref().ok_or_else(none)
    }

    fn begin(&self, workspace: &str) -> Result<Visited, Rejection> {
        let target = self.app.workspaces.find(workspace)?;
        let running = Arc::new(self.app.workspaces.tenant(&target)?.begin(&self.app.calls)?);
        Ok(Visited { target, running })
    }

    /// Opens a workspace, or the part of it to which a token was limited, which has backups of its own.
    async fn open(&self, visited: &Visited, path: Option<InnerPath>) -> Result<Arc<Served>, Rejection> {
        let narrowing = Narrowing { path, policy: Vec::new() };
        let located = visited.target.locate(&narrowing)?;
        open(&self.app, &visited.target, &located, &narrowing, Some(&visited.running)).await
    }

    /// Undoes the changes of a call. The operator approves it by the request.
    async fn restore(&self, served: &Served, backup: &str) -> Outcome {
        let approver = Approver::new(|_| Decision::Approve);
        let options = CallOptions::dialect("paddock").with_approver(approver);
        let options = CallOptions { listener: Some(self.record.listener()), ..options };
        served.workspace.call_async("restore", &json!({"backup": backup}).to_string(), options).await
    }

    async fn render(
        &self,
        status: StatusCode,
        visited: &Visited,
        failure: Option<&str>,
    ) -> Result<Response<Body>, Rejection> {
        let name = &visited.target.name;
        let mut calls = self.recent()?.of(name);
        let mut parts = vec![None];
        for part in calls.iter().map(|call| &call.part) {
            if parts.len() <= MAX_PARTS && !parts.contains(part) {
                parts.push(part.clone());
            }
        }
        let mut changes = Vec::new();
        let mut hidden = HashMap::new();
        for part in parts {
            let served = self.open(visited, part.clone()).await.map_err(|rejection| rejection.message().to_owned());
            let of_part = calls.iter().filter(|call| call.part == part).flat_map(RecentCall::all_paths);
            let paths: BTreeSet<_> = of_part.cloned().collect();
            hidden.insert(part.clone(), hidden_paths(served.clone(), paths).await);
            changes.push(Changes { part, history: history(served).await });
        }
        for call in &mut calls {
            // Without an answer, every path is hidden.
            let hidden = hidden.get(&call.part).and_then(Option::as_ref);
            call.hide(|path| hidden.is_none_or(|hidden| hidden.contains(path)));
        }
        Ok(answer(status, &page::workspace(name, &calls, &changes, failure)))
    }
}

/// Returns the changes that can be undone.
async fn history(served: Result<Arc<Served>, String>) -> Result<HistoryResult, String> {
    let (served, args) = (served?, HistoryArgs { limit: MAX_CHANGES });
    let history = tokio::task::spawn_blocking(move || served.workspace.history(&args)).await;
    history.map_err(|cause| cause.to_string())?.map_err(|error| error.message)
}

/// Returns those of the paths that no tool may show now, by rules that may be newer than the calls. Returns `None` if that
/// is not known.
async fn hidden_paths(served: Result<Arc<Served>, String>, paths: BTreeSet<String>) -> Option<HashSet<String>> {
    let (served, paths) = (served.ok()?, paths.into_iter().collect::<Vec<_>>());
    let hidden = tokio::task::spawn_blocking(move || served.workspace.hidden(&paths)).await;
    hidden.ok()?.ok().map(|hidden| hidden.into_iter().collect())
}

/// Fields of the form.
struct Form {
    backup: String,
    part: Option<InnerPath>,
}

async fn form(body: Body, time: Duration) -> Result<Form, Rejection> {
    let wrong = |_| Rejection::bad_request("the form is too large or ended too early");
    let slow = |_| Rejection::bad_request("the form took too long").because("body_timeout_ms");
    let body = timeout(time, to_bytes(body, MAX_FORM)).await.map_err(slow)?.map_err(wrong)?;
    let field =
        |name: &str| form_urlencoded::parse(&body).find(|(own, _)| own == name).map(|(_, value)| value.into_owned());
    let part = InnerPath::parse(&field("part").unwrap_or_default()).map_err(Rejection::bad_request)?;
    let backup = field("backup").ok_or_else(|| Rejection::bad_request("the form has no `backup`"))?;
    Ok(Form { backup, part })
}

/// Returns the token of a request: the password of HTTP Basic, or a bearer token.
fn token(headers: &HeaderMap) -> Option<String> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next().filter(|_| values.next().is_none())?;
    let (scheme, value) = value.to_str().ok()?.split_once(' ')?;
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(value.trim().to_owned());
    }
    let pair = STANDARD.decode(value.trim()).ok().filter(|_| scheme.eq_ignore_ascii_case("basic"))?;
    String::from_utf8(pair).ok()?.split_once(':').map(|(_, password)| password.to_owned())
}

/// Returns the page with headers that forbid everything that it does not need.
fn answer(status: StatusCode, html: &str) -> Response<Body> {
    let policy = page::content_security_policy();
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, &*policy),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // With `no-referrer`, a browser would send a form with the origin `null`.
        (header::REFERRER_POLICY, "same-origin"),
    ];
    let mut response = (status, html.to_owned()).into_response();
    for (name, value) in headers {
        if let Ok(value) = HeaderValue::from_str(value) {
            response.headers_mut().insert(name, value);
        }
    }
    response.headers_mut().insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    response.headers_mut().insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    response
}

/// Returns the answer after an undo, so that a reload repeats no form. The name of a workspace has no character that a URL
/// has to escape.
fn redirect(workspace: &str) -> Response<Body> {
    (StatusCode::SEE_OTHER, [(header::LOCATION, format!("/status/w/{workspace}"))]).into_response()
}
