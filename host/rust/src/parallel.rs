//! One search by several guests in parallel, each on a thread of its own. One guest is the coordinator: it hands out
//! partitions and joins their results in order. Every thread may drive the coordinator.
//!
//! A search runs in parallel only if it did not end in its first part, and only with the threads that the process has
//! free: no search waits for another.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::bindings::exports::paddock::files::partitions::{PartitionResult, SearchJob};
use crate::budget::CallBudget;
use crate::options::CancelToken;
use crate::sandbox::Sandbox;
use crate::types::ToolError;

/// Default maximum number of threads of one search. With more threads, handing out partitions takes most of the time.
const MAX_THREADS: usize = 8;
/// Maximum size of the results that wait for an earlier partition, in bytes of text, and maximum number of partitions
/// that are handed out and not joined. No further partition is handed out above either.
const MAX_WAITING_BYTES: u64 = 64 * 1024 * 1024;
const MAX_OUT: u64 = 1_024;

/// Returns the default number of threads of one search.
pub(crate) fn default_threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS)
}

/// Searches until the answer is complete, with at most `threads` threads, and returns the coordinator. `guest` creates a
/// worker.
pub(crate) fn search(
    coordinator: Sandbox,
    budget: &CallBudget,
    threads: usize,
    guest: impl Fn(CallBudget) -> Result<Sandbox, ToolError> + Sync,
) -> Result<Sandbox, ToolError> {
    let permits: Vec<ThreadPermit> =
        std::iter::repeat_with(ThreadPermit::take).take(threads.saturating_sub(1)).flatten().collect();
    if permits.is_empty() {
        // The coordinator searches the rest when it finishes the call.
        return Ok(coordinator);
    }
    let mut coordinator = coordinator;
    let job = coordinator
        .run(budget.clone(), async |guest, store| guest.partitions(&mut *store)?.call_job(store).await)??;
    let cancel = budget.cancel.child();
    let own = CallBudget { cancel: cancel.clone(), ..budget.clone() };
    let state = Mutex::new(JoinState::new(coordinator, budget.clone()));
    let search = ParallelSearch { state, changed: Condvar::new(), job, cancel, budget: own };
    thread::scope(|scope| {
        for permit in permits {
            let (search, guest) = (&search, &guest);
            let worker = thread::Builder::new().name("paddock-search".to_owned());
            // If no thread can be started, this thread searches alone.
            let _ = worker.spawn_scoped(scope, move || {
                search.run_worker(guest);
                drop(permit);
            });
        }
        search.run_worker(&guest);
    });
    search.state.into_inner().unwrap_or_else(PoisonError::into_inner).end()
}

/// State that the threads of one search share.
struct ParallelSearch {
    state: Mutex<JoinState>,
    /// Signalled when a result was joined or the search is over.
    changed: Condvar,
    job: SearchJob,
    /// Cancels the workers when the answer is complete.
    cancel: CancelToken,
    budget: CallBudget,
}

/// The coordinator, and the results that it cannot join yet.
struct JoinState {
    coordinator: Sandbox,
    budget: CallBudget,
    /// Number of partitions that were handed out, and of those that were joined.
    handed_out: u64,
    joined: u64,
    /// Results of partitions that follow one without a result, by the number of the partition.
    waiting: BTreeMap<u64, Option<PartitionResult>>,
    is_over: bool,
    failure: Option<ToolError>,
}

impl ParallelSearch {
    /// Searches partitions until none is left.
    fn run_worker(&self, guest: &impl Fn(CallBudget) -> Result<Sandbox, ToolError>) {
        let result = self.search_partitions(guest);
        let mut state = self.state();
        if let Err(error) = result
            && !state.is_over
        {
            state.failure = Some(error);
            state.is_over = true;
        }
        if state.is_over {
            self.cancel.cancel();
        }
        self.changed.notify_all();
    }

    fn search_partitions(&self, guest: &impl Fn(CallBudget) -> Result<Sandbox, ToolError>) -> Result<(), ToolError> {
        let Some((mut number, mut partition)) = self.next()? else { return Ok(()) };
        let mut worker = self.worker(guest);
        loop {
            let result =
                worker.as_mut().map_err(|error| error.clone()).and_then(|worker| self.search(worker, &partition));
            let is_lost = result.is_err();
            self.state().take(number, result.ok())?;
            if is_lost {
                // `take` had the coordinator search the partition, or returned its error.
                return Ok(());
            }
            self.changed.notify_all();
            match self.next()? {
                Some(next) => (number, partition) = next,
                None => return Ok(()),
            }
        }
    }

    fn worker(&self, guest: &impl Fn(CallBudget) -> Result<Sandbox, ToolError>) -> Result<Sandbox, ToolError> {
        let mut worker = guest(self.budget.clone())?;
        worker.run(self.budget.clone(), async |guest, store| {
            guest.partitions(&mut *store)?.call_prepare_worker(store, &self.job).await
        })??;
        Ok(worker)
    }

    fn search(&self, worker: &mut Sandbox, partition: &str) -> Result<PartitionResult, ToolError> {
        worker.run(self.budget.clone(), async |guest, store| {
            guest.partitions(&mut *store)?.call_search_partition(store, partition).await
        })?
    }

    /// Returns the next partition with its number, as soon as there is one and its result can wait. None if the search
    /// needs no more.
    fn next(&self) -> Result<Option<(u64, String)>, ToolError> {
        let full = |state: &mut JoinState| !state.is_over && state.is_full();
        let mut state = self.state();
        loop {
            state = self.changed.wait_while(state, full).unwrap_or_else(PoisonError::into_inner);
            let (joined, next) = (state.joined, state.next()?);
            if next.is_some() || state.is_over || state.joined == state.handed_out {
                return Ok(next);
            }
            // The rest of a partition that another thread searches can be divided.
            let same = |state: &mut JoinState| !state.is_over && state.joined == joined;
            state = self.changed.wait_while(state, same).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn state(&self) -> MutexGuard<'_, JoinState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl JoinState {
    fn new(coordinator: Sandbox, budget: CallBudget) -> Self {
        Self { coordinator, budget, handed_out: 0, joined: 0, waiting: BTreeMap::new(), is_over: false, failure: None }
    }

    /// Returns the next partition with its number. None if the search needs no more.
    fn next(&mut self) -> Result<Option<(u64, String)>, ToolError> {
        if self.is_over {
            return Ok(None);
        }
        let partition = self.coordinator.run(self.budget.clone(), async |guest, store| {
            guest.partitions(&mut *store)?.call_next_partition(store).await
        })??;
        self.handed_out += u64::from(partition.is_some());
        Ok(partition.map(|partition| (self.handed_out - 1, partition)))
    }

    /// Returns whether the waiting results have reached a limit. While a result waits, a thread searches an earlier
    /// partition, so the state changes again.
    fn is_full(&self) -> bool {
        let bytes = self.waiting.values().flatten().map(|result| result.text_bytes).fold(0, u64::saturating_add);
        !self.waiting.is_empty() && (bytes > MAX_WAITING_BYTES || self.handed_out - self.joined >= MAX_OUT)
    }

    /// Joins the result of a partition, and the results that waited for it. `None` if no worker searched it.
    fn take(&mut self, number: u64, result: Option<PartitionResult>) -> Result<(), ToolError> {
        self.waiting.insert(number, result);
        while !self.is_over
            && let Some(result) = self.waiting.remove(&self.joined)
        {
            self.joined += 1;
            self.is_over = self.coordinator.run(self.budget.clone(), async |guest, store| {
                guest.partitions(&mut *store)?.call_join(store, result.as_ref()).await
            })??;
        }
        Ok(())
    }

    fn end(self) -> Result<Sandbox, ToolError> {
        self.failure.map_or(Ok(self.coordinator), Err)
    }
}

/// Permission for one thread in addition to those that make calls.
struct ThreadPermit;

/// Number of worker threads in the whole process.
static WORKERS: AtomicUsize = AtomicUsize::new(0);

/// Returns the number of worker threads in the whole process.
#[cfg(all(target_os = "linux", feature = "serve"))]
pub(crate) fn running_workers() -> usize {
    WORKERS.load(Ordering::Acquire)
}

impl ThreadPermit {
    /// Takes a permit. None if every processor has a worker.
    fn take() -> Option<Self> {
        let max = default_threads();
        let taken = WORKERS.fetch_update(Ordering::AcqRel, Ordering::Acquire, |n| (n < max).then_some(n + 1));
        taken.ok().map(|_| Self)
    }
}

impl Drop for ThreadPermit {
    fn drop(&mut self) {
        WORKERS.fetch_sub(1, Ordering::AcqRel);
    }
}
