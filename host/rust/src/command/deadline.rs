//! Waiting until a deadline.

use std::time::Instant;

use rustix::event::Timespec;

/// Returns the remaining time in the form that a wait takes.
pub(super) fn left(until: Instant) -> Timespec {
    let left = until.saturating_duration_since(Instant::now());
    Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() }
}
