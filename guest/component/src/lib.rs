//! The Paddock component: file tools for AI agents that cannot leave the workspace, for `wasm32-wasip2`.
//!
//! The crates below `guest/` form layers. Each uses only crates above it in this list; the manifests enforce this.
//!
//! - `policy`: the policy as a host writes it. `scan`: loops over the bytes of a text by 128-bit instructions. `index`: the
//!   trigrams, query plans and file format of the search index.
//! - `types`: requests, responses, errors and the policy of one call: data that every layer shares.
//! - `text`: encodings, lines, documents and diffs.
//! - `patch`, `archive`: patches are parsed, located and applied; zip archives are read and written. Both are pure.
//! - `vfs`: the [`Filesystem`](paddock_vfs::Filesystem) interface and its backends: WASI, memory, overlay.
//! - `search`: patterns, globs, and the search in one file.
//! - `workspace`: roots, resolved paths, access rules, walks, and changes that are atomic, journaled and backed up.
//! - `ops`: the operations, one file each; approval, audit, overlays and the changes of commands.
//! - `dialects`: tools as agent frameworks know them. A dialect decodes a request and renders a response.
//! - `component`: this crate. [`engine`] performs one call, [`commands`] serves a host before and after it runs a
//!   command, and `exports` converts between WIT values and these types.
//! - `protocol` and `server`: the component that serves the tools over HTTP and over standard input and output. It imports
//!   the exports of this component, and uses no other crate but `policy`.
//!
//! All crates also build natively, without `exports` and the WASI backend, so that their tests run over the memory
//! backend. `guest/BACKENDS.md` says how to add a backend.

pub mod commands;
pub mod engine;
#[cfg(target_family = "wasm")]
mod exports;
