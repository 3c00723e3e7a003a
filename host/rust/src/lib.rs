//! File tools for AI agents that cannot leave the workspace.

mod bindings;
mod engine;
mod error;
mod limits;
mod mount;
mod operations;
mod options;
mod outcome;
mod policy;
mod sandbox;
mod state;
pub mod types;
mod wasi;
mod workspace;

pub use error::Error;
pub use limits::Limits;
pub use mount::Access;
pub use options::{CallOptions, CancelToken, Progress};
pub use outcome::Outcome;
pub use policy::{HardLinks, Policy};
pub use workspace::{Builder, Workspace, component, dialects, tools};
