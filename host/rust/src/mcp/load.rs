//! Accounting of one connection: requests in flight, and messages queued for the client, with the bounds on both.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;
use tokio::sync::Notify;

/// Maximum number of requests in flight. A request is in flight from its start until its answer has been written, so
/// this is also the maximum number of answers in memory.
pub(super) const MAX_REQUESTS: usize = 32;
/// Maximum total weight in bytes of the requests in flight. A request that is alone may exceed it.
pub(super) const MAX_REQUESTS_WEIGHT: usize = 16 << 20;
/// Maximum number of `subscriptions/listen` requests, which stay in flight until the client cancels them.
pub(super) const MAX_LISTENERS: usize = 16;
/// Maximum weight in bytes of one `subscriptions/listen` request.
pub(super) const MAX_LISTENER_WEIGHT: usize = 256 << 10;
/// Maximum number of `ping` requests that start before other requests that wait.
pub(super) const MAX_PINGS: usize = 64;
/// Number and total length in bytes of the messages queued for the client at which the server stops reading and starts
/// no further request.
pub(super) const MAX_QUEUED: usize = 1024;
pub(super) const MAX_QUEUED_BYTES: usize = 16 << 20;

#[derive(Default)]
pub(super) struct Load {
    state: Mutex<State>,
    /// Notified whenever a request ends or a message has been written.
    pub(super) changed: Notify,
}

#[derive(Default)]
struct State {
    /// Requests in flight.
    requests: HashMap<RequestId, Request>,
    listeners: usize,
    pings: usize,
    requests_weight: usize,
    queued: usize,
    queued_bytes: usize,
    /// Number of requests that have ended.
    ended: u64,
    /// Number of parts of messages that have been written.
    written: u64,
}

/// Progress of a connection, which is stuck while it does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Progress {
    /// Number of requests that have ended so far.
    pub(super) ended: u64,
    /// Number of parts of messages that have been written so far.
    pub(super) written: u64,
    /// Whether a message waits to be written.
    pub(super) is_queued: bool,
}

struct Request {
    kind: Kind,
    weight: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A `subscriptions/listen` request.
    Listener,
    Ping,
    Other,
}

/// A message in the queue for the client. Dropping the value removes the message from the queue.
pub(super) struct Queued {
    load: Arc<Load>,
    bytes: usize,
}

impl Load {
    /// Returns whether a request may start now. If the client reuses an id, the second request waits for the first.
    pub(super) fn has_capacity(&self, id: &RequestId, weight: usize) -> bool {
        let state = self.lock();
        let running = state.running();
        let fits = running < MAX_REQUESTS && state.requests_weight.saturating_add(weight) <= MAX_REQUESTS_WEIGHT;
        (running == 0 || fits) && state.can_queue() && !state.requests.contains_key(id)
    }

    pub(super) fn begin(&self, id: RequestId, weight: usize) {
        self.lock().insert(id, Kind::Other, weight);
    }

    /// Starts a `ping` at once. Returns false if the `ping` must wait like other requests.
    pub(super) fn begin_ping(&self, id: &RequestId) -> bool {
        let mut state = self.lock();
        let may_begin = state.pings < MAX_PINGS && !state.requests.contains_key(id);
        if may_begin {
            state.insert(id.clone(), Kind::Ping, 0);
        }
        may_begin
    }

    /// Starts a `subscriptions/listen` request at once. Fails with the reason why it cannot start.
    pub(super) fn begin_listener(&self, id: RequestId, weight: usize) -> Result<(), String> {
        let mut state = self.lock();
        if weight > MAX_LISTENER_WEIGHT {
            return Err(format!(
                "the request is too large: the weight of its bytes and values is at most {MAX_LISTENER_WEIGHT}"
            ));
        }
        if state.listeners >= MAX_LISTENERS {
            return Err(format!("there are {MAX_LISTENERS} `subscriptions/listen` requests already; cancel one first"));
        }
        if state.requests.contains_key(&id) {
            return Err("the id is in use by another request".to_owned());
        }
        state.insert(id, Kind::Listener, 0);
        Ok(())
    }

    /// Returns whether this is the id of a `subscriptions/listen` request, which lasts until the client cancels it.
    pub(super) fn is_listener(&self, id: &RequestId) -> bool {
        self.lock().requests.get(id).is_some_and(|request| request.kind == Kind::Listener)
    }

    /// Ends a request: its answer has been written, or the client has cancelled it.
    pub(super) fn end(&self, id: &RequestId) {
        let mut state = self.lock();
        let Some(request) = state.requests.remove(id) else { return };
        if let Some(count) = state.count(request.kind) {
            *count = count.saturating_sub(1);
        }
        state.requests_weight = state.requests_weight.saturating_sub(request.weight);
        state.ended += 1;
        drop(state);
        self.changed.notify_one();
    }

    /// Adds a message to the queue.
    pub(super) fn queue(self: &Arc<Self>, bytes: usize) -> Queued {
        let mut state = self.lock();
        state.queued += 1;
        state.queued_bytes = state.queued_bytes.saturating_add(bytes);
        drop(state);
        Queued { load: Arc::clone(self), bytes }
    }

    /// Returns whether the client reads fast enough for the server to read more from it.
    pub(super) fn can_queue(&self) -> bool {
        self.lock().can_queue()
    }

    /// Returns whether every request has its answer, apart from `subscriptions/listen` requests.
    pub(super) fn is_idle(&self) -> bool {
        let state = self.lock();
        state.requests.len() == state.listeners && state.queued == 0
    }

    pub(super) fn progress(&self) -> Progress {
        let state = self.lock();
        Progress { ended: state.ended, written: state.written, is_queued: state.queued > 0 }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn can_queue(&self) -> bool {
        self.queued < MAX_QUEUED && self.queued_bytes < MAX_QUEUED_BYTES
    }

    fn running(&self) -> usize {
        self.requests.len().saturating_sub(self.listeners + self.pings)
    }

    fn insert(&mut self, id: RequestId, kind: Kind, weight: usize) {
        if let Some(count) = self.count(kind) {
            *count += 1;
        }
        self.requests_weight = self.requests_weight.saturating_add(weight);
        self.requests.insert(id, Request { kind, weight });
    }

    fn count(&mut self, kind: Kind) -> Option<&mut usize> {
        match kind {
            Kind::Listener => Some(&mut self.listeners),
            Kind::Ping => Some(&mut self.pings),
            Kind::Other => None,
        }
    }
}

impl Queued {
    /// Records that a part of the message has been written.
    pub(super) fn progress(&self) {
        self.load.lock().written += 1;
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        let mut state = self.load.lock();
        state.queued = state.queued.saturating_sub(1);
        state.queued_bytes = state.queued_bytes.saturating_sub(self.bytes);
        drop(state);
        self.load.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: usize) -> RequestId {
        RequestId::Number(i64::try_from(number).unwrap())
    }

    #[test]
    fn requests_in_flight_and_their_weight_are_bounded() {
        let load = Load::default();
        assert!(load.has_capacity(&id(0), usize::MAX), "a request that is alone");
        for number in 0..MAX_REQUESTS {
            assert!(load.has_capacity(&id(number), 1));
            load.begin(id(number), 1);
        }
        assert!(!load.has_capacity(&id(MAX_REQUESTS), 1));
        load.end(&id(0));
        load.end(&id(0));
        assert!(load.has_capacity(&id(0), 1) && !load.has_capacity(&id(0), MAX_REQUESTS_WEIGHT));
    }

    #[test]
    fn the_second_request_of_an_id_waits_for_the_first() {
        let load = Load::default();
        load.begin(id(1), 5);
        assert!(!load.has_capacity(&id(1), 1) && load.has_capacity(&id(2), 1));
        load.end(&id(1));
        assert!(load.has_capacity(&id(1), 1) && load.is_idle() && load.progress().ended == 1);
    }

    #[test]
    fn listeners_are_bounded_and_take_no_capacity_from_other_requests() {
        let load = Load::default();
        for number in 0..MAX_LISTENERS {
            load.begin_listener(id(number), 1).unwrap();
        }
        assert!(load.begin_listener(id(99), 1).unwrap_err().contains("16 `subscriptions/listen`"));
        assert!(load.is_idle() && load.has_capacity(&id(99), MAX_REQUESTS_WEIGHT) && load.is_listener(&id(0)));
        load.end(&id(0));
        assert!(load.begin_listener(id(1), 1).is_err() && load.begin_listener(id(0), MAX_LISTENER_WEIGHT + 1).is_err());
        load.begin_listener(id(0), MAX_LISTENER_WEIGHT).unwrap();
    }

    #[test]
    fn pings_are_bounded_and_take_no_capacity_from_other_requests() {
        let load = Load::default();
        load.begin(id(0), 1);
        assert!(!load.begin_ping(&id(0)), "the id is in use");
        assert!((1..=MAX_PINGS).all(|number| load.begin_ping(&id(number))) && !load.begin_ping(&id(99)));
        assert!(!load.has_capacity(&id(1), 1) && load.has_capacity(&id(99), 1));
        load.end(&id(0));
        assert!(!load.is_idle(), "the pings have no answer yet");
        load.end(&id(1));
        assert!(load.begin_ping(&id(1)));
    }

    #[test]
    fn nothing_starts_while_too_much_is_queued() {
        let load = Arc::new(Load::default());
        let large = load.queue(MAX_QUEUED_BYTES);
        assert!(!load.has_capacity(&id(0), 0) && !load.can_queue() && !load.is_idle() && load.progress().is_queued);
        large.progress();
        assert_eq!(load.progress(), Progress { ended: 0, written: 1, is_queued: true });
        drop(large);
        assert!(load.has_capacity(&id(0), 0) && load.is_idle() && !load.progress().is_queued);
        let all: Vec<Queued> = std::iter::repeat_with(|| load.queue(1)).take(MAX_QUEUED).collect();
        assert!(!load.can_queue());
        drop(all);
        assert!(load.can_queue());
    }
}
