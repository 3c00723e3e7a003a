//! Control of the races in `tests/alone/races.rs`: with its check disabled, the provider loses a race.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::Workspace;
use crate::fault_injection::{Check, without};

#[allow(dead_code, reason = "the races look at what is outside too")]
#[path = "../../../../../tests/alone/races/arena.rs"]
mod arena;
#[allow(dead_code, reason = "the races count attempts too")]
#[path = "../../../../../tests/alone/races/calls.rs"]
mod calls;
#[allow(dead_code, reason = "the races swap in a process of its own")]
#[path = "../../../../../tests/alone/races/swap.rs"]
mod swap;

use arena::{Arena, CANARY, ONLY_OUTSIDE};

/// Maximum time until a race is lost. An idle machine needs about 1 second.
const PATIENCE: Duration = Duration::from_secs(120);

#[test]
fn races_find_out_that_links_are_followed() {
    let arena = Arena::new();
    let is_over = AtomicBool::new(false);
    let lost = thread::scope(|scope| {
        scope.spawn(|| swap::until(&arena.top, || is_over.load(Ordering::Relaxed)));
        let lost = without(Check::Link, || is_lost(&arena));
        is_over.store(true, Ordering::Relaxed);
        lost
    });
    assert!(lost, "no call was redirected in {PATIENCE:?}");
}

/// Makes calls during the race, until one returns a content from outside.
fn is_lost(arena: &Arena) -> bool {
    // The check is disabled on this thread only, so a parallel search would still have it.
    let workspace = Workspace::builder().root(arena.top.join("ws")).no_state_dir().threads(1).build().unwrap();
    let started = Instant::now();
    (0..).take_while(|_| started.elapsed() < PATIENCE).any(|number| {
        let raced = calls::call(number);
        let output = format!("{:?}", workspace.call(raced.tool, &raced.arguments.to_string()));
        output.contains(CANARY) || output.contains(ONLY_OUTSIDE)
    })
}
