//! Commands, through the library, the command line and MCP. What confines them is tried one by one in `host/warden/tests`;
//! here is what a caller sees of it.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by a panic"
)]
#![cfg(target_os = "linux")]

mod without;

mod commands {
    mod allowed;
    mod confined;
    mod descriptors;
    #[path = "../desk.rs"]
    mod desk;
    mod ends;
    mod history;
    mod policy;
    mod run;
    mod sessions;
    mod without;
}
