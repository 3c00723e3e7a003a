//! WASI programs as commands: `tests/programs/tool`, which is built here, as a component and as a module of preview 1,
//! and one that nobody here wrote.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by a panic"
)]

#[path = "desk.rs"]
#[allow(dead_code, reason = "not every test of commands uses all of it")]
mod desk;

mod programs {
    mod build;
    mod confined;
    mod foreign;
    mod history;
    mod limits;
    mod run;
}
