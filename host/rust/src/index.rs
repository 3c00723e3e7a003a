//! A thread that updates the search index of a workspace between calls.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Share of the time that passes take: the next pass begins after this multiple of the time of the last one.
const PAUSE_FACTOR: u32 = 10;
/// Time between two parts of a pass, in which a call that waits for the lock of the workspace takes it.
pub(crate) const PART_PAUSE: Duration = Duration::from_millis(20);
/// Minimum time between two passes.
const MIN_PAUSE: Duration = Duration::from_secs(3);

/// Makes one part of a pass over all files, from its start. Returns the start of the next part; `None` at the end of the
/// pass, or if it cannot go on.
pub(crate) type Part = dyn Fn(Option<&str>) -> Option<String> + Send;

/// A thread that updates the index after long searches.
pub(crate) struct BackgroundIndex(Arc<Requests>);

#[derive(Default)]
struct Requests {
    state: Mutex<RequestState>,
    changed: Condvar,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum RequestState {
    #[default]
    Idle,
    Requested,
    Closed,
}

impl BackgroundIndex {
    /// Starts the thread. Returns `None` if the system starts none; the index is then not updated.
    pub(crate) fn start(part: Box<Part>) -> Option<Self> {
        let requests = Arc::new(Requests::default());
        let own = Arc::clone(&requests);
        let thread = thread::Builder::new().name("paddock-index".to_owned());
        thread.spawn(move || run(&own, &part)).ok()?;
        Some(Self(requests))
    }

    /// Requests a pass. Requests during a pass, and in the pause after it, become one pass.
    pub(crate) fn request(&self) {
        let mut state = self.0.state();
        if *state == RequestState::Idle {
            *state = RequestState::Requested;
            self.0.changed.notify_all();
        }
    }
}

impl Drop for BackgroundIndex {
    fn drop(&mut self) {
        *self.0.state() = RequestState::Closed;
        self.0.changed.notify_all();
    }
}

impl Requests {
    fn state(&self) -> MutexGuard<'_, RequestState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a request. Returns false if the workspace is closed.
    fn next(&self) -> bool {
        let idle = |state: &mut RequestState| *state == RequestState::Idle;
        let mut state = self.changed.wait_while(self.state(), idle).unwrap_or_else(PoisonError::into_inner);
        let is_open = *state != RequestState::Closed;
        if is_open {
            *state = RequestState::Idle;
        }
        is_open
    }

    /// Waits for a time, or until the workspace is closed.
    fn pause(&self, time: Duration) {
        let is_open = |state: &mut RequestState| *state != RequestState::Closed;
        drop(self.changed.wait_timeout_while(self.state(), time, is_open));
    }
}

fn run(requests: &Requests, part: &Part) {
    while requests.next() {
        let started = Instant::now();
        let mut next = part(None);
        while let Some(start) = next {
            requests.pause(PART_PAUSE);
            next = part(Some(&start));
        }
        requests.pause((started.elapsed() * PAUSE_FACTOR).max(MIN_PAUSE));
    }
}
