//! What a client has asked for and not got yet, within bounds: how many requests, and how many bytes of requests and of
//! messages to the client.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;
use tokio::sync::Notify;

/// Requests that may be under way at once.
pub(super) const MAX_REQUESTS: usize = 128;
/// Bytes of them all. One alone may have more.
pub(super) const MAX_REQUEST_BYTES: usize = 16 << 20;
/// Messages that wait to be written, and bytes of them all, beyond which nothing more is begun.
pub(super) const MAX_WAITING: usize = 1024;
pub(super) const MAX_WAITING_BYTES: usize = 16 << 20;

#[derive(Default)]
pub(super) struct Load {
    now: Mutex<Now>,
    /// Told where there may be room again.
    pub(super) changed: Notify,
}

#[derive(Default)]
struct Now {
    /// Bytes of the requests under way, by their ids. A client may use one twice.
    requests: HashMap<RequestId, Vec<usize>>,
    request_count: usize,
    request_bytes: usize,
    waiting_count: usize,
    waiting_bytes: usize,
    /// Messages that were written.
    written: u64,
}

impl Load {
    /// Whether another request may begin.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        let now = self.lock();
        let is_first = now.request_count == 0;
        let fits = now.request_count < MAX_REQUESTS && now.request_bytes.saturating_add(bytes) <= MAX_REQUEST_BYTES;
        (is_first || fits) && now.is_read()
    }

    /// Whether the client reads what it is told, as far as that is known.
    pub(super) fn is_read(&self) -> bool {
        self.lock().is_read()
    }

    /// Whether every request was answered.
    pub(super) fn is_idle(&self) -> bool {
        let now = self.lock();
        now.request_count == 0 && now.waiting_count == 0
    }

    /// How many messages were written so far.
    pub(super) fn written(&self) -> u64 {
        self.lock().written
    }

    pub(super) fn begin(&self, id: RequestId, bytes: usize) {
        let mut now = self.lock();
        now.requests.entry(id).or_default().push(bytes);
        now.request_count += 1;
        now.request_bytes = now.request_bytes.saturating_add(bytes);
    }

    /// A request was answered, or its client wants no answer any more.
    pub(super) fn end(&self, id: &RequestId) {
        let mut now = self.lock();
        let Some(all) = now.requests.get_mut(id) else { return };
        let bytes = all.pop().unwrap_or_default();
        if all.is_empty() {
            now.requests.remove(id);
        }
        now.request_count = now.request_count.saturating_sub(1);
        now.request_bytes = now.request_bytes.saturating_sub(bytes);
        drop(now);
        self.changed.notify_one();
    }

    pub(super) fn wait_to_write(&self, bytes: usize) {
        let mut now = self.lock();
        now.waiting_count += 1;
        now.waiting_bytes = now.waiting_bytes.saturating_add(bytes);
    }

    /// A message was written, or cannot be.
    pub(super) fn wrote(&self, bytes: usize) {
        let mut now = self.lock();
        now.waiting_count = now.waiting_count.saturating_sub(1);
        now.waiting_bytes = now.waiting_bytes.saturating_sub(bytes);
        now.written += 1;
        drop(now);
        self.changed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Now {
    fn is_read(&self) -> bool {
        self.waiting_count < MAX_WAITING && self.waiting_bytes < MAX_WAITING_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: i64) -> RequestId {
        RequestId::Number(number)
    }

    #[test]
    fn requests_and_their_bytes_are_bounded() {
        let load = Load::default();
        assert!(load.has_room(usize::MAX), "one alone may have more");
        for number in 0..MAX_REQUESTS {
            assert!(load.has_room(1));
            load.begin(id(i64::try_from(number).unwrap()), 1);
        }
        assert!(!load.has_room(1));
        load.end(&id(0));
        load.end(&id(0));
        assert!(load.has_room(1) && !load.has_room(MAX_REQUEST_BYTES));
    }

    #[test]
    fn an_id_that_is_used_twice_counts_twice() {
        let load = Load::default();
        load.begin(id(1), 5);
        load.begin(id(1), 7);
        load.end(&id(1));
        assert!(!load.is_idle());
        load.end(&id(1));
        assert!(load.is_idle() && load.lock().request_bytes == 0);
    }

    #[test]
    fn nothing_begins_while_the_client_does_not_read() {
        let load = Load::default();
        load.wait_to_write(MAX_WAITING_BYTES);
        assert!(!load.has_room(0) && !load.is_idle());
        load.wrote(MAX_WAITING_BYTES);
        assert!(load.has_room(0) && load.is_idle() && load.written() == 1);
    }
}
