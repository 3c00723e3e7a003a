//! One search by several guests, each on a thread of its own: the leader gives
//! out shares and joins what is found in their order, and any thread moves it on.
//!
//! A search asks for help only when it did not end at once, and gets it only
//! where the process has processors to spare: no search waits for another.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::bindings::exports::paddock::files::shares::{Findings, Found, Order};
use crate::budget::CallBudget;
use crate::options::CancelToken;
use crate::sandbox::Sandbox;
use crate::types::ToolError;

/// Threads of one search, where nothing else is said: with more, giving out shares is what takes the time.
const MAX_THREADS: usize = 8;
/// What may wait for an earlier share, in bytes of text and in shares, until no more is given out.
const MAX_WAITING_BYTES: u64 = 64 * 1024 * 1024;
const MAX_OUT: u64 = 1_024;

/// How many threads one search has by default.
pub(crate) fn default_threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS)
}

/// Searches until nothing more is needed, with `threads` at the most, and gives the leader back.
/// `guest` makes a guest that can help.
pub(crate) fn search(
    leader: Sandbox,
    budget: &CallBudget,
    threads: usize,
    guest: impl Fn(CallBudget) -> Result<Sandbox, ToolError> + Sync,
) -> Result<Sandbox, ToolError> {
    let places: Vec<ThreadPermit> =
        std::iter::repeat_with(ThreadPermit::take).take(threads.saturating_sub(1)).flatten().collect();
    if places.is_empty() {
        // The leader searches what is left when it is told to finish.
        return Ok(leader);
    }
    let mut leader = leader;
    let order =
        leader.run(budget.clone(), async |guest, store| guest.shares(&mut *store)?.call_orders(store).await)??;
    let stop = budget.cancel.child();
    let own = CallBudget { cancel: stop.clone(), ..budget.clone() };
    let joint = Mutex::new(Joint::new(leader, budget.clone()));
    let work = Work { joint, turn: Condvar::new(), order, stop, budget: own };
    thread::scope(|scope| {
        for permit in places {
            let (work, guest) = (&work, &guest);
            let helper = thread::Builder::new().name("paddock-search".to_owned());
            // Without another thread, this one does it all.
            let _ = helper.spawn_scoped(scope, move || {
                work.help(guest);
                drop(permit);
            });
        }
        work.help(&guest);
    });
    work.joint.into_inner().unwrap_or_else(PoisonError::into_inner).end()
}

/// What the threads of one search share.
struct Work {
    joint: Mutex<Joint>,
    /// Something was joined, or nothing more is needed.
    turn: Condvar,
    order: Order,
    /// Ends what is not needed any more.
    stop: CancelToken,
    budget: CallBudget,
}

/// The leader, and what it cannot take yet.
struct Joint {
    leader: Sandbox,
    budget: CallBudget,
    /// Shares given out, and shares joined.
    given: u64,
    joined: u64,
    /// What was found in shares of which an earlier one is still out.
    waiting: BTreeMap<u64, Option<Findings>>,
    is_over: bool,
    failure: Option<ToolError>,
}

impl Work {
    /// Searches share after share until there is none.
    fn help(&self, guest: &impl Fn(CallBudget) -> Result<Sandbox, ToolError>) {
        let result = self.shares(guest);
        let mut joint = self.joint();
        if let Err(error) = result
            && !joint.is_over
        {
            joint.failure = Some(error);
            joint.is_over = true;
        }
        if joint.is_over {
            self.stop.cancel();
        }
        self.turn.notify_all();
    }

    fn shares(&self, guest: &impl Fn(CallBudget) -> Result<Sandbox, ToolError>) -> Result<(), ToolError> {
        let Some((mut number, mut share)) = self.next()? else { return Ok(()) };
        let mut helper = self.helper(guest);
        loop {
            let found = helper.as_mut().map_err(|error| error.clone()).and_then(|helper| self.look(helper, &share));
            let is_lost = found.is_err();
            self.joint().take(number, found.ok())?;
            if is_lost {
                // The leader has searched it, or told why that cannot be done.
                return Ok(());
            }
            self.turn.notify_all();
            match self.next()? {
                Some(next) => (number, share) = next,
                None => return Ok(()),
            }
        }
    }

    fn helper(&self, guest: &impl Fn(CallBudget) -> Result<Sandbox, ToolError>) -> Result<Sandbox, ToolError> {
        let mut helper = guest(self.budget.clone())?;
        helper.run(self.budget.clone(), async |guest, store| {
            guest.shares(&mut *store)?.call_enlist(store, &self.order).await
        })??;
        Ok(helper)
    }

    fn look(&self, helper: &mut Sandbox, share: &str) -> Result<Findings, ToolError> {
        helper
            .run(self.budget.clone(), async |guest, store| guest.shares(&mut *store)?.call_look(store, share).await)?
    }

    /// The next share with its number, while one is needed, as soon as there is room for what is found in it.
    fn next(&self) -> Result<Option<(u64, String)>, ToolError> {
        let full = |joint: &mut Joint| !joint.is_over && joint.is_full();
        let joint = self.turn.wait_while(self.joint(), full);
        joint.unwrap_or_else(PoisonError::into_inner).next()
    }

    fn joint(&self) -> MutexGuard<'_, Joint> {
        self.joint.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Joint {
    fn new(leader: Sandbox, budget: CallBudget) -> Self {
        Self { leader, budget, given: 0, joined: 0, waiting: BTreeMap::new(), is_over: false, failure: None }
    }

    /// The next share with its number, while one is needed.
    fn next(&mut self) -> Result<Option<(u64, String)>, ToolError> {
        if self.is_over {
            return Ok(None);
        }
        let share = self
            .leader
            .run(self.budget.clone(), async |guest, store| guest.shares(&mut *store)?.call_next(store).await)??;
        self.given += u64::from(share.is_some());
        Ok(share.map(|share| (self.given - 1, share)))
    }

    /// Whether no room is left for what is found ahead of what can be joined. While anything waits, a thread has an
    /// earlier share, so this ends.
    fn is_full(&self) -> bool {
        let bytes = self.waiting.values().map(size).fold(0, u64::saturating_add);
        !self.waiting.is_empty() && (bytes > MAX_WAITING_BYTES || self.given - self.joined >= MAX_OUT)
    }

    /// Joins what was found in a share, and what waited for it.
    fn take(&mut self, number: u64, found: Option<Findings>) -> Result<(), ToolError> {
        self.waiting.insert(number, found);
        while !self.is_over
            && let Some(found) = self.waiting.remove(&self.joined)
        {
            self.joined += 1;
            self.is_over = self.leader.run(self.budget.clone(), async |guest, store| {
                guest.shares(&mut *store)?.call_join(store, found.as_ref()).await
            })??;
        }
        Ok(())
    }

    fn end(self) -> Result<Sandbox, ToolError> {
        self.failure.map_or(Ok(self.leader), Err)
    }
}

/// Bytes of text.
fn size(found: &Option<Findings>) -> u64 {
    match found {
        Some(Findings { found: Found::Glob(names), .. }) => names.paths.len() as u64,
        Some(Findings { found: Found::Grep(_), used, .. }) => *used,
        None => 0,
    }
}

/// The right to one more thread than those that made calls.
struct ThreadPermit;

/// Threads that help at this time, in the whole process.
static HELPING: AtomicUsize = AtomicUsize::new(0);

impl ThreadPermit {
    /// None where each processor has something to do.
    fn take() -> Option<Self> {
        let most = default_threads();
        let taken = HELPING.fetch_update(Ordering::AcqRel, Ordering::Acquire, |n| (n < most).then_some(n + 1));
        taken.ok().map(|_| Self)
    }
}

impl Drop for ThreadPermit {
    fn drop(&mut self) {
        HELPING.fetch_sub(1, Ordering::AcqRel);
    }
}
