//! Paddock's guest: file tools for AI agents that cannot leave the workspace,
//! as a component for `wasm32-wasip2`.
//!
//! One call goes this way, and nothing points back:
//!
//! - `component`: WIT values to ours and back; the only room that sees the bindings.
//! - [`engine`]: decode, policy, run, encode.
//! - [`outcome`]: how a call ended.
//! - [`dialect`]: names, units and JSON; makes a [`request::Request`], shows a [`response::Response`].
//! - [`ops`]: one file an operation, over a [`workspace::Workspace`].
//! - [`commands`]: what the host runs: asked for, allowed, recorded, told.
//! - [`transaction`]: an overlay shown, taken over, thrown away.
//! - [`touched`]: what a host's record is told of a call.
//! - [`patch`], [`text`], [`zip`]: hunks, encodings, lines, archives; pure.
//! - [`fs`]: resolve, walk, commit, and [`fs::Filesystem`], the protocol that backends serve.
//!
//! The crate also builds natively, without `component` and the WASI backend, so
//! that all of it is tested over the memory backend at full speed.
//!
//! `guest/BACKENDS.md` says how to add a backend.

pub mod accessed_paths;
pub mod approval;
pub mod commands;
#[cfg(target_family = "wasm")]
mod component;
pub mod dialect;
pub mod digest;
pub mod engine;
pub mod entry;
pub mod error;
pub mod fs;
pub mod match_pass;
pub mod ops;
pub mod outcome;
pub mod patch;
pub mod path_order;
pub mod policy;
pub mod rendered;
pub mod request;
pub mod response;
pub mod search;
pub mod text;
pub mod time;
pub mod transaction;
pub mod workspace;
pub mod zip;
