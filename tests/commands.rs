//! Commands, through the library, the command line and MCP. What confines them is tried one by one in `host/supervisor/tests`;
//! here is what a caller sees of it.

#![cfg(target_os = "linux")]

mod allowed;
mod confined;
mod descriptors;
mod ends;
mod history;
mod policy;
mod run;
mod sessions;
mod without;
