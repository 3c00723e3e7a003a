//! Ends a command that has more processes or threads than it may.
//!
//! They are counted from time to time and not as they are forked: a signal that arrives while a call waits to be looked
//! at can make it fail with `EINTR`, which no program expects of `fork`.

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use paddock_supervisor::protocol::Limits;

use crate::tree::Tree;

/// How many threads there may be for each process.
pub(crate) const THREADS_EACH: u64 = 16;
/// A fork bomb makes some hundred processes in this time.
const PAUSE: Duration = Duration::from_millis(50);
const STACK_BYTES: usize = 64 << 10;

/// Counts in a thread of its own, which runs as the calling one does: before everything else, where that has the right
/// to, since thousands of processes leave nothing to one among them. The flag is set when the command is ended.
pub(crate) fn begin(tree: Arc<Tree>, over_limit: Arc<AtomicBool>, limits: &Limits) -> io::Result<()> {
    let mut counter = Counter {
        most_processes: limits.max_processes,
        most_threads: limits.max_processes.saturating_mul(THREADS_EACH),
        last: None,
    };
    thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
        loop {
            thread::sleep(PAUSE);
            if counter.is_over(&tree) {
                over_limit.store(true, Ordering::Relaxed);
                tree.kill();
            }
        }
    })?;
    Ok(())
}

struct Counter {
    most_processes: u64,
    most_threads: u64,
    last: Option<Count>,
}

/// What a count found.
struct Count {
    processes: u64,
    threads: u64,
    /// The system's newest process or thread then.
    newest: u64,
}

impl Counter {
    /// They are counted only if so many were started on the whole system since that there could be too many.
    fn is_over(&mut self, tree: &Tree) -> bool {
        let newest = newest_task();
        if let (Some(last), Some(newest)) = (&self.last, newest)
            // Numbers begin anew when all are used up.
            && let Some(started) = newest.checked_sub(last.newest)
            && last.processes.saturating_add(started) <= self.most_processes
            && last.threads.saturating_add(started) <= self.most_threads
        {
            return false;
        }
        let Some((processes, threads)) = tree.count(self.most_processes, self.most_threads) else { return true };
        self.last = newest.map(|newest| Count { processes, threads, newest });
        false
    }
}

/// The number that a process or thread was given last.
fn newest_task() -> Option<u64> {
    fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().last()?.parse().ok()
}
