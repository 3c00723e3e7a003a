//! Watch thread that kills a command with too many processes or threads.
//!
//! Processes are counted periodically, not at each fork: a signal that arrives while a call waits for the supervisor
//! can make the call fail with `EINTR`, which no program expects of `fork`.

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use paddock_supervisor::protocol::Limits;

use crate::tree::Tree;

/// Number of threads allowed per allowed process.
pub(crate) const THREADS_EACH: u64 = 16;
/// Time between two counts. A fork bomb creates some hundred processes in this time.
const PAUSE: Duration = Duration::from_millis(50);
const STACK_BYTES: usize = 64 << 10;

/// Starts the watch thread. It inherits the scheduling policy of the calling thread, which is ahead of all ordinary
/// threads if the supervisor has the right to set that: among thousands of processes, an ordinary thread would hardly
/// run. The thread sets `over_limit` when it kills the command.
pub(crate) fn begin(tree: Arc<Tree>, over_limit: Arc<AtomicBool>, limits: &Limits) -> io::Result<()> {
    let mut counter = Counter {
        max_processes: limits.max_processes,
        max_threads: limits.max_processes.saturating_mul(THREADS_EACH),
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
    max_processes: u64,
    max_threads: u64,
    last: Option<Count>,
}

/// Result of a count.
struct Count {
    processes: u64,
    threads: u64,
    /// Id of the system's newest process or thread at the time of the count.
    newest: u64,
}

impl Counter {
    /// Returns whether the command exceeds a limit. Its processes are counted only if the whole system has started
    /// enough of them since the last count to exceed the limit.
    fn is_over(&mut self, tree: &Tree) -> bool {
        let newest = newest_task();
        if let (Some(last), Some(newest)) = (&self.last, newest)
            // Ids wrap around when all are used.
            && let Some(started) = newest.checked_sub(last.newest)
            && last.processes.saturating_add(started) <= self.max_processes
            && last.threads.saturating_add(started) <= self.max_threads
        {
            return false;
        }
        let Some((processes, threads)) = tree.count(self.max_processes, self.max_threads) else { return true };
        self.last = newest.map(|newest| Count { processes, threads, newest });
        false
    }
}

/// Returns the id that the kernel assigned last to a process or thread.
fn newest_task() -> Option<u64> {
    fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().last()?.parse().ok()
}
