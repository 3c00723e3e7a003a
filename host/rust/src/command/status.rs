//! The state of a command, shared by the command's thread and the threads that wait for the command.

use std::os::fd::OwnedFd;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};

use super::capture::Capture;
use super::{PROMPT_PAUSE, WAITING};
use crate::bindings::exports::paddock::files::commands::{Recorded, Refused};
use crate::options::CancelToken;
use crate::roots::Roots;
use crate::types::ToolError;

/// State that the command's thread shares with the threads that wait for the command.
pub(super) struct State {
    now: Mutex<Now>,
    pub(super) changed: Condvar,
    /// Cancelled when the command must be killed.
    pub(super) killed: CancelToken,
    /// Event descriptor that becomes readable when the command must be killed.
    pub(super) wake: OwnedFd,
}

/// State of a command.
pub(super) struct Now {
    pub(super) stdout: Capture,
    pub(super) stderr: Capture,
    /// Time of the last output.
    pub(super) spoke: Instant,
    pub(super) confinement: String,
    pub(super) end: Option<End>,
}

impl Now {
    /// Returns whether the command seems to wait for input: its new output ends like a prompt and pauses.
    pub(super) fn is_at_prompt(&self) -> bool {
        [&self.stdout, &self.stderr].into_iter().any(Capture::is_at_prompt) && self.spoke.elapsed() >= PROMPT_PAUSE
    }
}

/// End of a command.
#[derive(Default)]
pub(super) struct End {
    pub(super) after: Duration,
    pub(super) exit_code: Option<i32>,
    pub(super) signal: Option<String>,
    pub(super) timed_out: bool,
    pub(super) recorded: Option<Recorded>,
    pub(super) ignored: u64,
    pub(super) refused: Vec<Refused>,
    pub(super) notes: Vec<String>,
    /// Error if the command could not run or its supervisor was lost.
    pub(super) failed: Option<ToolError>,
}

impl State {
    pub(super) fn new(roots: &Roots) -> std::io::Result<Self> {
        let now = Now {
            stdout: Capture::new(WAITING),
            stderr: Capture::new(WAITING),
            spoke: Instant::now(),
            confinement: match &roots.container {
                Some(container) => format!("container {}", container.name()),
                // The supervisor reports the confinement later.
                None => "none: unconfined".to_owned(),
            },
            end: None,
        };
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { now: Mutex::new(now), changed: Condvar::new(), killed: CancelToken::default(), wake })
    }

    pub(super) fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state and wakes the waiting threads.
    pub(super) fn change(&self, change: impl FnOnce(&mut Now)) {
        change(&mut self.now());
        self.changed.notify_all();
    }

    /// Makes the command's thread kill the command next.
    pub(super) fn kill(&self) {
        self.killed.cancel();
        // The write fails if the counter is full; the descriptor is then readable already.
        let _full = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }
}
