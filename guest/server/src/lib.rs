//! The server component: it imports the tools (`paddock:files/tools`), and exports `wasi:http/incoming-handler` and
//! `wasi:cli/run`. Composed with the component of the tools, it is `paddock-mcp.wasm`, which imports WASI and nothing
//! else, and runs in any engine without code of a host.
//!
//! - [`lock`]: the lock of the state directory, by which calls in different instances and processes exclude each other.
//! - [`guarded`]: calls under this lock.
//! - [`command`]: the commands `call`, `batch`, `tools` and `mcp`.
//! - [`settings`]: the settings from environment variables.
//! - `wasi`: the imports and exports, which only the component has.
//!
//! The protocols are in the crate `paddock-files-protocol`.

pub mod command;
pub mod guarded;
pub mod lock;
pub mod settings;
#[cfg(target_family = "wasm")]
mod wasi;
