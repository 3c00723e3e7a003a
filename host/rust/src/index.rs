//! The thread of the process that updates the search indexes of its workspaces between calls.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Share of the time that passes of a workspace take: the next pass begins after this multiple of the time of the last one.
const PAUSE_FACTOR: u32 = 10;
/// Time between two parts, in which a call that waits for a lock takes it. The parts of several workspaces can need the same
/// lock, that of a directory above them.
pub(crate) const PART_PAUSE: Duration = Duration::from_millis(20);
/// Time for which a part waits for the locks of its workspace.
pub(crate) const PATIENCE: Duration = Duration::from_millis(100);
/// Minimum time between two passes of a workspace.
const MIN_PAUSE: Duration = Duration::from_secs(10);

/// Makes one part of a pass over all files of a workspace, from its start. Returns the start of the next part; `None` at the
/// end of the pass, or if it cannot go on.
pub(crate) type Part = dyn Fn(Option<&str>) -> Option<String> + Send + Sync;

/// Updates of the index of one workspace, after long searches. Dropping the value ends them.
pub(crate) struct BackgroundIndex(Arc<Updates>);

struct Updates {
    part: Box<Part>,
    /// Whether a pass waits or has begun.
    is_requested: AtomicBool,
    /// Time before which no pass begins.
    earliest: Mutex<Instant>,
}

/// A pass that waits, or waits for its next part.
struct Pass {
    updates: Arc<Updates>,
    start: Option<String>,
    due: Instant,
    /// Time that its parts have taken.
    time: Duration,
}

struct Passes {
    waiting: Mutex<Vec<Pass>>,
    added: Condvar,
}

static PASSES: Passes = Passes { waiting: Mutex::new(Vec::new()), added: Condvar::new() };

/// Whether the thread runs. It is started by the first request.
static THREAD: LazyLock<bool> =
    LazyLock::new(|| thread::Builder::new().name("paddock-index".to_owned()).spawn(run).is_ok());

impl BackgroundIndex {
    pub(crate) fn new(part: Box<Part>) -> Self {
        let earliest = Mutex::new(Instant::now());
        Self(Arc::new(Updates { part, is_requested: AtomicBool::new(false), earliest }))
    }

    /// Requests a pass. A request during a pass has no effect.
    pub(crate) fn request(&self) {
        if self.0.is_requested.swap(true, Ordering::AcqRel) {
            return;
        }
        if *THREAD {
            let due = *lock(&self.0.earliest);
            PASSES.add(Pass { updates: self.0.clone(), start: None, due, time: Duration::ZERO });
        }
    }
}

impl Drop for BackgroundIndex {
    fn drop(&mut self) {
        lock(&PASSES.waiting).retain(|pass| !Arc::ptr_eq(&pass.updates, &self.0));
    }
}

impl Updates {
    fn end(&self, time: Duration) {
        *lock(&self.earliest) = Instant::now() + (time * PAUSE_FACTOR).max(MIN_PAUSE);
        self.is_requested.store(false, Ordering::Release);
    }
}

impl Passes {
    fn add(&self, pass: Pass) {
        lock(&self.waiting).push(pass);
        self.added.notify_all();
    }

    /// Waits until a pass is due, and removes it: the one that has been due for the longest time.
    fn next(&self) -> Pass {
        let mut waiting = lock(&self.waiting);
        loop {
            let first =
                waiting.iter().enumerate().min_by_key(|(_, pass)| pass.due).map(|(index, pass)| (index, pass.due));
            let rest = first.map(|(_, due)| due.saturating_duration_since(Instant::now()));
            waiting = match (first, rest) {
                (Some((index, _)), Some(Duration::ZERO)) => return waiting.swap_remove(index),
                (_, Some(rest)) => self
                    .added
                    .wait_timeout(waiting, rest)
                    .map_or_else(|poisoned| poisoned.into_inner().0, |(guard, _)| guard),
                (_, None) => self.added.wait(waiting).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

/// Makes one part of each pass in turns.
fn run() {
    loop {
        let mut pass = PASSES.next();
        let began = Instant::now();
        // A panic of one part must not end the updates of all workspaces.
        let part = AssertUnwindSafe(|| (pass.updates.part)(pass.start.as_deref()));
        let next = catch_unwind(part).unwrap_or_default();
        pass.time += began.elapsed();
        match next {
            None => pass.updates.end(pass.time),
            start => {
                (pass.start, pass.due) = (start, Instant::now());
                PASSES.add(pass);
            }
        }
        thread::sleep(PART_PAUSE);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn passes_of_workspaces_are_made_in_turns() {
        let (sender, parts) = mpsc::channel();
        let index = |name: &'static str| {
            let sender = sender.clone();
            BackgroundIndex::new(Box::new(move |start| {
                let number: u32 = start.map_or(0, |start| start.parse().unwrap());
                sender.send((name, number, Instant::now())).unwrap();
                (number < 9).then(|| (number + 1).to_string())
            }))
        };
        let (one, other) = (index("one"), index("other"));
        one.request();
        other.request();
        other.request();
        let made: Vec<_> = (0..20).map(|_| parts.recv_timeout(LONG).unwrap()).collect();
        for name in ["one", "other"] {
            let own = made.iter().filter(|part| part.0 == name).map(|part| part.1);
            assert!(own.eq(0..10), "{made:?}");
        }
        assert_ne!(made[10..].iter().filter(|part| part.0 == "one").count(), 0, "{made:?}");
        assert!(made.windows(2).all(|parts| parts[1].2 - parts[0].2 >= PART_PAUSE), "{made:?}");
        // After a pass, there is a pause.
        one.request();
        assert!(parts.recv_timeout(MIN_PAUSE / 2).is_err());
        assert!(matches!(parts.recv_timeout(LONG), Ok(("one", 0, _))));
    }

    #[test]
    fn a_workspace_that_is_closed_has_no_pass_that_waits() {
        let (sender, parts) = mpsc::channel();
        let index = BackgroundIndex::new(Box::new(move |_| {
            sender.send(()).unwrap();
            None
        }));
        index.request();
        parts.recv_timeout(LONG).unwrap();
        let own = index.0.clone();
        while own.is_requested.load(Ordering::Acquire) {
            thread::yield_now();
        }
        let is_waiting = || lock(&PASSES.waiting).iter().any(|pass| Arc::ptr_eq(&pass.updates, &own));
        index.request();
        assert!(is_waiting());
        drop(index);
        assert!(!is_waiting());
    }
}
