//! Another process swaps names while tools work: nothing outside is read, found or changed, and no call hangs.
//!
//! `PADDOCK_RACES` is how many attempts there are. Each part runs in a process of its own, so that a filter can take
//! `openat2` from it, and a crash or a hang of it is seen.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by a panic"
)]

#[cfg(target_os = "linux")]
#[path = "races/arena.rs"]
mod arena;
#[cfg(target_os = "linux")]
#[path = "races/calls.rs"]
mod calls;
#[cfg(target_os = "linux")]
#[path = "races/race.rs"]
mod race;
#[cfg(target_os = "linux")]
#[path = "races/swap.rs"]
mod swap;
#[cfg(target_os = "linux")]
#[path = "../without/mod.rs"]
mod without;

#[cfg(target_os = "linux")]
fn main() {
    use std::env;

    if let Some(directory) = env::var_os(swap::SWAPS) {
        swap::forever(directory.as_ref());
    }
    if let Ok(attempts) = env::var(race::RACES_NOW) {
        race::run(attempts.parse().unwrap());
        return;
    }
    let trials = vec![
        libtest_mimic::Trial::test("a_host_that_checks_and_then_opens_is_redirected", || {
            race::control();
            Ok(())
        }),
        libtest_mimic::Trial::test("nothing_gets_out_with_openat2", || race::in_child(false)),
        libtest_mimic::Trial::test("nothing_gets_out_without_openat2", || race::in_child(true)),
    ];
    let mut arguments = libtest_mimic::Arguments::from_args();
    // Each takes both processors.
    arguments.test_threads = Some(1);
    libtest_mimic::run(&arguments, trials).exit();
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("skipped: names are exchanged by a call of Linux");
}
