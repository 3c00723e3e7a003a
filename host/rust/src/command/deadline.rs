//! Waiting until a deadline.

use std::time::Instant;

use rustix::event::Timespec;

/// The time until then, as a wait takes it.
pub(super) fn left(until: Instant) -> Timespec {
    let left = until.saturating_duration_since(Instant::now());
    Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() }
}
