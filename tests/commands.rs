//! Commands through the library, the command line and MCP. `host/supervisor/tests` tests the confinement in detail;
//! these tests cover its effects on callers.

#![cfg(target_os = "linux")]

mod allowed;
mod confined;
mod descriptors;
mod ends;
mod git;
mod history;
mod output;
mod policy;
mod run;
mod sessions;
mod without;
