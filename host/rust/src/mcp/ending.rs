//! When the server stops waiting for answers after the end of its input.

use std::time::Duration;

use tokio::time::Instant;

use super::load::Progress;

/// Interval at which the server looks for progress after the end of the input, and the numbers of intervals without any
/// request ending, and without the client reading, after which the remaining answers are given up. Intervals are
/// counted, and not the time, because a busy machine may run neither the server nor the client for some seconds.
const TICK: Duration = Duration::from_millis(100);
const UNANSWERED: u32 = 100;
const STALLED: u32 = 50;

/// State after the end of the input: the progress at the last tick, and the numbers of ticks without progress.
pub(super) struct Ending {
    pub(super) next_tick: Instant,
    progress: Progress,
    unanswered: u32,
    stalled: u32,
}

impl Ending {
    pub(super) fn new(progress: Progress) -> Self {
        Self { next_tick: Instant::now() + TICK, progress, unanswered: 0, stalled: 0 }
    }

    pub(super) fn tick(&mut self, progress: Progress) {
        self.unanswered = if progress.ended == self.progress.ended { self.unanswered + 1 } else { 0 };
        let is_stalled = progress.is_queued && progress.written == self.progress.written;
        self.stalled = if is_stalled { self.stalled + 1 } else { 0 };
        self.next_tick = Instant::now() + TICK;
        self.progress = progress;
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.unanswered >= UNANSWERED || self.stalled >= STALLED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_given_up_after_ticks_without_progress() {
        let progress = |ended, written, is_queued| Progress { ended, written, is_queued };
        let mut ending = Ending::new(progress(0, 0, true));
        for tick in 1..=u64::from(UNANSWERED) {
            assert!(!ending.is_abandoned());
            // The client reads, but no request ends.
            ending.tick(progress(0, tick, true));
        }
        assert!(ending.is_abandoned());
        ending.tick(progress(1, 0, true));
        assert!(!ending.is_abandoned(), "a request has ended");
        (1..STALLED).for_each(|tick| ending.tick(progress(1 + u64::from(tick), 0, true)));
        assert!(!ending.is_abandoned());
        ending.tick(progress(99, 0, true));
        assert!(ending.is_abandoned(), "the client does not read");
        ending.tick(progress(99, 0, false));
        assert!(!ending.is_abandoned(), "nothing waits for the client");
    }
}
