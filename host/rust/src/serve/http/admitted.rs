//! Requests for a workspace: the rights and the limits of the caller, the body, and the workspace that they open.

use std::sync::Arc;
use std::time::SystemTime;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::time::timeout;

use super::super::authority::{Denied, Grant};
use super::super::limits::{Busy, Running, Slot, Tenant};
use super::super::name::is_name;
use super::super::narrowing::Narrowing;
use super::super::record::Record;
use super::super::refusal::Refusal;
use super::super::served::Served;
use super::super::target::{Located, Target};
use super::super::telemetry::{Direction, log};
use super::reply::Rejection;
use super::{Inner, record};

/// Size in bytes from which a body counts as large. Smaller ones take little memory, even if every connection sends one.
const LARGE_BODY: u64 = 64 << 10;

/// A request of a caller who has rights in the workspace.
pub(super) struct Admitted {
    pub(super) app: Arc<Inner>,
    pub(super) target: Target,
    pub(super) located: Located,
    token: Option<String>,
    pub(super) grant: Arc<Grant>,
    pub(super) tenant: Arc<Tenant>,
    pub(super) record: Arc<Record>,
}

impl Admitted {
    /// Admits a request for a workspace, if its token has rights there.
    pub(super) fn new(app: Arc<Inner>, workspace: String, headers: &HeaderMap) -> Result<Self, Rejection> {
        let url = app.provider.as_ref().filter(|_| is_name(&workspace));
        let url = url.map(|(url, _)| format!("{url}/.well-known/oauth-protected-resource/w/{workspace}/mcp"));
        let refused = |denied| Rejection::from(denied).with_metadata(url.as_deref());
        let token = token(headers).map_err(refused)?.map(str::to_owned);
        let grant = app.authority.authorize(token.as_deref(), &workspace, SystemTime::now()).map_err(refused)?;
        let record = record()?;
        record.set_caller(&grant.holder, Some(&workspace), grant.narrowing.path.as_ref());
        // Only a caller who may use the workspace learns whether it exists.
        let target = app.workspaces.find(&workspace)?;
        let located = target.locate(&grant.narrowing)?;
        let tenant = app.workspaces.tenant(&target)?;
        Ok(Self { app, target, located, token, grant: Arc::new(grant), tenant, record })
    }

    pub(super) fn has_expired(&self) -> bool {
        self.grant.expires.is_some_and(|expires| expires <= SystemTime::now())
    }

    /// Returns whether the token still has rights in the workspace.
    pub(super) fn is_valid(&self) -> bool {
        let now = SystemTime::now();
        self.app.authority.authorize(self.token.as_deref(), &self.target.name, now).is_ok()
    }

    /// Fails if a rate or a budget permits no call now. Nothing is taken from them.
    pub(super) fn check(&self) -> Result<(), Rejection> {
        self.grant.check_budgets()?;
        Ok(self.tenant.check()?)
    }

    /// Starts a call, if the limits and the budgets permit it.
    pub(super) fn begin(&self) -> Result<Arc<Running>, Rejection> {
        // A caller without a budget takes no capacity of the workspace.
        self.grant.check_budgets()?;
        let running = self.tenant.begin(&self.app.calls)?;
        self.grant.spend_call()?;
        Ok(Arc::new(running))
    }

    /// Reads the body of the request. The slots are those of a large body, which takes memory and time until it has been
    /// parsed.
    pub(super) async fn body(&self, body: Body) -> Result<(Bytes, Option<[Slot; 2]>), Rejection> {
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
    pub(super) fn spend(&self, direction: Direction, bytes: usize) {
        self.tenant.spend_bytes(bytes);
        self.grant.spend_bytes(bytes);
        self.app.recorder.telemetry.metrics.transfer(direction, bytes);
    }

    pub(super) fn dialect(&self, requested: Option<&str>) -> Result<String, Rejection> {
        Ok(self.grant.dialect(requested, &self.target.source.dialect)?)
    }

    /// Opens the workspace with the rights of the caller, for this call if there is one.
    pub(super) async fn open(&self, call: Option<&Arc<Running>>) -> Result<Arc<Served>, Rejection> {
        open(&self.app, &self.target, &self.located, &self.grant.narrowing, call).await
    }
}

/// Opens a workspace, unless it is open. For a call, no change remains cut off. The call has its place in the limits until
/// then, even if the client disconnects.
pub(super) async fn open(
    app: &Arc<Inner>,
    target: &Target,
    located: &Located,
    narrowing: &Narrowing,
    call: Option<&Arc<Running>>,
) -> Result<Arc<Served>, Rejection> {
    if app.lock_check.has_failed() {
        return Err(Rejection::no_locks());
    }
    let opened = app.workspaces.opened(target, located, narrowing)?;
    let recovers = call.is_some() && app.workspaces.may_be_unfinished(target, narrowing, opened.as_ref());
    if let Some(served) = opened.clone().filter(|_| !recovers) {
        return Ok(served);
    }
    // Each opening blocks a thread, also that for a message that is no call.
    let slot = match call {
        None => Some(app.calls.take().ok_or(Busy::CALLS)?),
        Some(_) => None,
    };
    let (all, target, narrowing, call) = (app.workspaces.clone(), target.clone(), narrowing.clone(), call.cloned());
    let (name, located) = (target.name.clone(), located.clone());
    let open = move || {
        let _capacity = (call, slot);
        let served = opened.map_or_else(|| all.open(&target, located, &narrowing), Ok)?;
        if recovers {
            all.recover(&target, narrowing.path.as_ref(), &served.workspace.guests().budget(None))?;
        }
        Ok(served)
    };
    let opened = tokio::task::spawn_blocking(open).await;
    let lost = |_| Rejection::new(StatusCode::INTERNAL_SERVER_ERROR, "io", "the call was lost").because("failure");
    opened.map_err(lost)?.map_err(|refusal| {
        // The caller does not learn the cause of a failure, because it may name paths of the host.
        match &refusal {
            Refusal::Failed(cause) => {
                log(&format!("paddock: cannot open the workspace `{name}`: {}", cause.with_sources()));
            }
            Refusal::Unfinished(cause) => {
                log(&format!("paddock: cannot recover the workspace `{name}`: {}", cause.message));
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
