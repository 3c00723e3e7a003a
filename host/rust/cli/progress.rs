//! A progress line on the terminal for long calls.
//!
//! It has one number and no bar, which is too little for `indicatif`.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use paddock::Progress;

/// Duration of a call before its progress is printed.
const PATIENCE: Duration = Duration::from_millis(500);
const INTERVAL: Duration = Duration::from_millis(100);

/// Runs `work`, and prints its progress on the terminal meanwhile.
pub(super) fn with_progress<R>(progress: &Progress, work: impl FnOnce() -> R) -> R {
    if !std::io::stderr().is_terminal() {
        return work();
    }
    thread::scope(|scope| {
        let (finished, waiting) = channel::<()>();
        scope.spawn(move || {
            let mut is_visible = false;
            let mut wait = PATIENCE;
            while waiting.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                // The work continues if the terminal is closed.
                let _ = write!(std::io::stderr(), "\r{} files and directories opened", progress.opened());
                (is_visible, wait) = (true, INTERVAL);
            }
            if is_visible {
                let _ = write!(std::io::stderr(), "\r\x1b[K");
            }
        });
        let result = work();
        drop(finished);
        result
    })
}
