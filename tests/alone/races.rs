//! Tools work while another process swaps names: nothing outside the workspace is read, found or changed, and no call
//! hangs.
//!
//! `PADDOCK_RACES` is the number of attempts. Each part runs in a separate process, so that a filter can disable
//! `openat2`, and a crash or hang is detected.

use std::env;

use super::alone;

mod arena;
mod calls;
mod race;
mod swap;

#[test]
fn a_host_that_checks_and_then_opens_is_redirected() {
    let _alone = alone();
    race::checking_then_opening_is_redirected();
}

#[test]
fn nothing_gets_out_with_openat2() {
    let _alone = alone();
    race::in_child(false);
}

#[test]
fn nothing_gets_out_without_openat2() {
    let _alone = alone();
    race::in_child(true);
}

#[test]
#[ignore = "it is the process that makes raced calls, and the tests of races start it"]
fn calls_in_child() {
    if let Ok(attempts) = env::var(race::RACES_NOW) {
        race::run(attempts.parse().unwrap());
    }
}

#[test]
#[ignore = "it is the process that swaps names, and the tests of races start it"]
fn swaps_in_child() {
    if let Some(directory) = env::var_os(swap::SWAPS) {
        swap::forever(directory.as_ref());
    }
}
