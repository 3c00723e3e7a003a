//! The search index of a workspace, which is filled between calls.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use crate::call::Call;
use crate::guests::Guests;
use crate::types::ToolError;
use crate::workspace::Workspace;

/// Time of one part of a pass. A call that changes something waits for at most this time.
const PART: Duration = Duration::from_millis(100);
/// Share of the time that passes take: the next pass begins after this multiple of the time of the last one.
const PAUSE_FACTOR: u32 = 10;
/// Minimum time between two passes. A file can be added two seconds after its last change.
const MIN_PAUSE: Duration = Duration::from_secs(3);

/// Result of [`Workspace::update_index`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexUpdate {
    /// Number of files that were added.
    pub added: u64,
    /// Number of files that were not added because they were changed less than 2 seconds ago.
    pub unsettled: u64,
    /// Whether all files were visited.
    pub is_complete: bool,
}

impl Workspace {
    /// Adds the files that a search reads to the search index in the state directory, for about the time `time`. Other
    /// calls run in between. Results of searches are the same with and without the index.
    ///
    /// Does nothing for a workspace without a state directory, in memory or with an overlay, if the policy disables the
    /// index, and on file systems that do not record every change of a file.
    ///
    /// # Errors
    ///
    /// `limit-exceeded` if another process changes the workspace all the time, and the errors of a search.
    pub fn update_index(&self, time: Duration) -> Result<IndexUpdate, ToolError> {
        let deadline = Instant::now().checked_add(time);
        let has_time = || deadline.is_none_or(|deadline| Instant::now() < deadline);
        update(self.guests(), has_time)
    }
}

fn update(guests: &Guests, has_time: impl Fn() -> bool) -> Result<IndexUpdate, ToolError> {
    let (mut update, mut start) = (IndexUpdate::default(), None);
    while !update.is_complete && has_time() {
        let part = update_part(guests, start.as_deref())?;
        update.added += part.added;
        update.unsettled += part.unsettled;
        update.is_complete = part.next.is_none();
        start = part.next;
    }
    Ok(update)
}

fn update_part(guests: &Guests, start: Option<&str>) -> Result<crate::types::IndexPart, ToolError> {
    let time_ms = u64::try_from(PART.as_millis()).unwrap_or(u64::MAX);
    guests.run(&Call::unwatched(true), async |guest, store| {
        guest.index(&mut *store)?.call_update(store, start, time_ms).await
    })?
}

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
    pub(crate) fn start(guests: Weak<Guests>) -> Option<Self> {
        let requests = Arc::new(Requests::default());
        let own = Arc::clone(&requests);
        let thread = thread::Builder::new().name("paddock-index".to_owned());
        thread.spawn(move || run(&own, &guests)).ok()?;
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

fn run(requests: &Requests, guests: &Weak<Guests>) {
    while requests.next() {
        let started = Instant::now();
        let mut start = None;
        loop {
            let Some(guests) = guests.upgrade() else { return };
            match update_part(&guests, start.as_deref()) {
                Ok(part) if part.next.is_some() => start = part.next,
                // The next search requests another pass.
                Ok(_) | Err(_) => break,
            }
        }
        requests.pause((started.elapsed() * PAUSE_FACTOR).max(MIN_PAUSE));
    }
}
