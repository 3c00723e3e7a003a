//! Limits of one workspace. A call that exceeds a limit is refused at once with the time after which it would be
//! accepted: nothing waits in a queue.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::config::TenantLimits;
use crate::mcp::Polls;

/// Time in seconds for which an unused rate accumulates.
const BURST_SECONDS: f64 = 10.0;

/// Time after which a caller should try again if too many calls run.
const BUSY: Duration = Duration::from_secs(1);

/// Limits and use of one workspace.
pub(super) struct Tenant {
    calls: Slots,
    bodies: Slots,
    streams: Slots,
    sessions: Slots,
    rates: Mutex<Rates>,
    /// Lock of the checks of subscriptions.
    pub(super) polls: Polls,
}

/// Rates of one workspace.
struct Rates {
    calls: Bucket,
    bytes: Bucket,
    milliseconds: Bucket,
}

/// The limit that refused a call, and the time after which the call would be accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Busy {
    /// Name of the setting.
    pub(super) limit: &'static str,
    pub(super) retry_after: Duration,
}

impl Busy {
    /// The refusal if the server has no capacity for another call.
    pub(super) const CALLS: Self = Self { limit: "max_calls", retry_after: BUSY };
}

/// A counter with a maximum.
#[derive(Clone)]
pub(super) struct Slots(Arc<Count>);

struct Count {
    used: AtomicUsize,
    max: usize,
}

/// A used slot, which dropping the value releases.
pub(super) struct Slot(Arc<Count>);

/// A running call. Dropping the value ends the call and accounts for its time.
pub(super) struct Running {
    tenant: Arc<Tenant>,
    started: Instant,
    _slots: [Slot; 2],
}

/// A token bucket whose level may become negative, because the cost of a call is known only at its end.
struct Bucket {
    per_second: f64,
    level: f64,
    at: Instant,
}

impl Tenant {
    pub(super) fn new(limits: &TenantLimits) -> Self {
        let rates = Rates {
            calls: Bucket::new(limits.calls_per_second),
            bytes: Bucket::new(limits.bytes_per_second),
            milliseconds: Bucket::new(limits.call_ms_per_second),
        };
        let slots = [limits.concurrent_calls, limits.concurrent_calls, limits.streams, limits.sessions];
        let [calls, bodies, streams, sessions] = slots.map(Slots::new);
        Self { calls, bodies, streams, sessions, rates: Mutex::new(rates), polls: Polls::default() }
    }

    /// Starts a call, if the workspace and the server have capacity for it.
    pub(super) fn begin(self: &Arc<Self>, server: &Slots) -> Result<Running, Busy> {
        let slots = [self.calls.take().ok_or_else(|| busy("concurrent_calls"))?, server.take().ok_or(Busy::CALLS)?];
        self.message()?;
        Ok(Running { tenant: Arc::clone(self), started: Instant::now(), _slots: slots })
    }

    /// Accounts for a message that takes no time of its own, if the rates permit one.
    pub(super) fn message(&self) -> Result<(), Busy> {
        let mut rates = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        rates.check()?;
        rates.calls.spend(1);
        Ok(())
    }

    /// Fails if the rates permit no call now.
    pub(super) fn check(&self) -> Result<(), Busy> {
        self.rates.lock().unwrap_or_else(PoisonError::into_inner).check()
    }

    /// Starts to read a large body, if the workspace and the server have capacity for it. The message in the body may turn
    /// out to be no call, so that its bytes are limited here.
    pub(super) fn body(&self, server: &Slots) -> Result<[Slot; 2], Busy> {
        let slots = [self.bodies.take().ok_or_else(|| busy("concurrent_calls"))?, server.take().ok_or(Busy::CALLS)?];
        let wait = self.rates.lock().unwrap_or_else(PoisonError::into_inner).bytes.wait(Instant::now());
        wait.is_zero().then_some(slots).ok_or(Busy { limit: "bytes_per_second", retry_after: wait })
    }

    /// Starts a stream that may stay open.
    pub(super) fn stream(&self) -> Result<Slot, Busy> {
        self.streams.take().ok_or_else(|| busy("streams"))
    }

    /// Starts an MCP session.
    pub(super) fn session(&self) -> Result<Slot, Busy> {
        self.sessions.take().ok_or_else(|| busy("sessions"))
    }

    /// Accounts for bytes of a request or an answer.
    pub(super) fn spend_bytes(&self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.rates.lock().unwrap_or_else(PoisonError::into_inner).bytes.spend(bytes);
    }

    /// Returns whether the limits are as unused as those of a new value.
    pub(super) fn is_idle(&self) -> bool {
        let mut rates = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let Rates { calls, bytes, milliseconds } = &mut *rates;
        let slots = [&self.calls, &self.bodies, &self.streams, &self.sessions];
        slots.iter().all(|slots| slots.used() == 0)
            && [calls, bytes, milliseconds].into_iter().all(|bucket| bucket.is_full(now))
    }
}

impl Rates {
    fn check(&mut self) -> Result<(), Busy> {
        let now = Instant::now();
        let waits = [
            (self.calls.wait(now), "calls_per_second"),
            (self.bytes.wait(now), "bytes_per_second"),
            (self.milliseconds.wait(now), "call_ms_per_second"),
        ];
        let longest = waits.into_iter().max().filter(|(wait, _)| !wait.is_zero());
        longest.map_or(Ok(()), |(retry_after, limit)| Err(Busy { limit, retry_after }))
    }
}

/// Returns the refusal of a caller for whom no slot is free.
fn busy(limit: &'static str) -> Busy {
    Busy { limit, retry_after: BUSY }
}

impl Drop for Running {
    fn drop(&mut self) {
        let spent = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.tenant.rates.lock().unwrap_or_else(PoisonError::into_inner).milliseconds.spend(spent);
    }
}

impl Slots {
    pub(super) fn new(max: usize) -> Self {
        Self(Arc::new(Count { used: AtomicUsize::new(0), max }))
    }

    /// Takes a slot, if one is free.
    pub(super) fn take(&self) -> Option<Slot> {
        let next = |used: usize| (used < self.0.max).then_some(used + 1);
        self.0.used.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).ok()?;
        Some(Slot(Arc::clone(&self.0)))
    }

    /// Returns the number of used slots.
    pub(super) fn used(&self) -> usize {
        self.0.used.load(Ordering::Acquire)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.used.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Bucket {
    fn new(per_second: u64) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a rate needs no more than 53 bits")]
        let per_second = per_second as f64;
        Self { per_second, level: per_second * BURST_SECONDS, at: Instant::now() }
    }

    /// Returns the time after which the level is that of one call.
    fn wait(&mut self, now: Instant) -> Duration {
        self.fill(now);
        if self.level >= 1.0 {
            return Duration::ZERO;
        }
        let seconds = (1.0 - self.level) / self.per_second;
        // A rate of zero permits nothing.
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::from_secs(3600))
    }

    fn spend(&mut self, amount: u64) {
        #[expect(clippy::cast_precision_loss, reason = "a cost needs no more than 53 bits")]
        let amount = amount as f64;
        self.level -= amount;
    }

    fn is_full(&mut self, now: Instant) -> bool {
        self.fill(now);
        self.level >= self.per_second * BURST_SECONDS
    }

    fn fill(&mut self, now: Instant) {
        let elapsed = now.saturating_duration_since(self.at).as_secs_f64();
        self.level = (self.level + elapsed * self.per_second).min(self.per_second * BURST_SECONDS);
        self.at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> TenantLimits {
        TenantLimits { concurrent_calls: 2, calls_per_second: 1, streams: 1, sessions: 1, ..TenantLimits::default() }
    }

    #[test]
    fn concurrent_calls_and_streams_are_bounded() {
        let (tenant, server) = (Arc::new(Tenant::new(&limits())), Slots::new(10));
        let running = [tenant.begin(&server).ok().unwrap(), tenant.begin(&server).ok().unwrap()];
        assert_eq!(tenant.begin(&server).err(), Some(busy("concurrent_calls")));
        assert_eq!(server.used(), 2);
        drop(running);
        assert_eq!(server.used(), 0);
        assert_eq!(tenant.begin(&Slots::new(0)).err(), Some(Busy::CALLS));
        assert!(tenant.begin(&server).is_ok());
        let bodies = [tenant.body(&server).ok().unwrap(), tenant.body(&server).ok().unwrap()];
        assert!(tenant.body(&server).is_err() && tenant.begin(&server).is_ok());
        drop(bodies);
        assert_eq!(server.used(), 0);
        let stream = tenant.stream().ok().unwrap();
        assert!(tenant.stream().is_err());
        let session = tenant.session().ok().unwrap();
        assert!(tenant.session().is_err());
        drop(session);
        drop(stream);
        assert!(tenant.stream().is_ok());
    }

    #[test]
    fn a_rate_is_bounded_and_recovers() {
        let (tenant, server) = (Arc::new(Tenant::new(&limits())), Slots::new(10));
        assert!(tenant.is_idle());
        assert_eq!((0..20).take_while(|_| tenant.begin(&server).is_ok()).count(), 10);
        let busy = tenant.begin(&server).err().unwrap();
        assert!(
            busy.retry_after > Duration::from_millis(500) && busy.retry_after <= Duration::from_secs(1),
            "{busy:?}"
        );
        assert!(!tenant.is_idle());
    }

    #[test]
    fn a_workspace_with_an_open_session_or_stream_is_not_idle() {
        let tenant = Tenant::new(&limits());
        let session = tenant.session().ok().unwrap();
        assert!(!tenant.is_idle());
        drop(session);
        let stream = tenant.stream().ok().unwrap();
        assert!(!tenant.is_idle());
        drop(stream);
        assert!(tenant.is_idle());
    }

    #[test]
    fn the_cost_of_a_call_is_paid_afterwards() {
        let tenant = Arc::new(Tenant::new(&TenantLimits { bytes_per_second: 100, ..limits() }));
        let server = Slots::new(10);
        tenant.spend_bytes(999);
        assert!(tenant.begin(&server).is_ok());
        tenant.spend_bytes(501);
        assert!(tenant.body(&server).is_err() && server.used() == 0);
        let busy = tenant.begin(&server).err().unwrap();
        assert!(busy.retry_after > Duration::from_secs(4) && busy.retry_after < Duration::from_secs(6), "{busy:?}");
    }

    #[test]
    fn a_bucket_without_a_rate_permits_nothing() {
        let mut bucket = Bucket::new(0);
        assert_eq!(bucket.wait(Instant::now()), Duration::from_secs(3600));
    }
}
