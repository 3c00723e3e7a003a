//! File tools for AI agents that cannot leave the workspace.
//!
//! The tools are a WebAssembly component, embedded in this library. A [`Workspace`] preopens directories for the
//! component, which can open nothing else. Each call runs in its own guest, with limits on time and memory, and returns
//! a value: the result of a tool, an exceeded limit and a defect of the component are all an [`Outcome`] or a
//! [`types::ToolError`]. Only opening a workspace can fail with an [`Error`].
//!
//! ```
//! use paddock::types::EditArgs;
//! use paddock::{Access, CallOptions, Workspace};
//!
//! # let directory = tempfile::tempdir()?;
//! # let (project, state) = (directory.path().join("project"), directory.path().join("state"));
//! # std::fs::create_dir(&project)?;
//! # std::fs::write(project.join("greeting.txt"), "hello\n")?;
//! let workspace = Workspace::builder()
//!     .root(&project)
//!     .mount(std::env::temp_dir(), "/scratch", Access::ReadOnly)
//!     .state_dir(&state)
//!     .build()?;
//!
//! // A model's tool call, as JSON.
//! let outcome = workspace.call("read_file", r#"{"path": "greeting.txt"}"#);
//! assert!(outcome.text.starts_with("1|hello\n"));
//!
//! // The same tools with types.
//! let edited = workspace.edit(&EditArgs::new("greeting.txt", "hello", "hello, world"))?;
//! assert_eq!(edited.edits_applied, 1);
//!
//! // A failure is a value, with a hint for the next call.
//! let outcome = workspace.call("read_file", r#"{"path": "../secret"}"#);
//! assert_eq!(outcome.value()["code"], "outside-workspace");
//!
//! // Cancelled from anywhere, a call ends within some 10 ms.
//! let options = CallOptions::default();
//! options.cancel.cancel();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Workspace::call`] blocks its thread, also in a tokio runtime; [`Workspace::call_async`] does not block.
//! [`Workspace::memory`] returns a workspace in memory that does not access the disk. The engine and the compiled
//! component are created at the first call and shared by the process, unless a workspace gets an [`Engine`] of its own.
//! The compiled code is stored in the user's cache directory, or in `PADDOCK_CACHE_DIR`.
//!
//! # Features
//!
//! Without features the library is the core. `policy-files` reads policies in YAML and TOML, `commands` runs commands,
//! `programs` runs WASI programs as commands, `containers` opens running containers as workspaces, `mcp` is an MCP
//! server over any stream, `serve` serves workspaces over HTTP on Linux, and `selftest` is the escape suite. A policy
//! that asks for an absent feature is an error.

#![deny(clippy::missing_errors_doc)]

mod approval;
pub mod audit;
mod bindings;
mod budget;
mod builder;
mod cache;
mod call;
mod catalog;
#[cfg(all(target_os = "linux", feature = "commands"))]
mod cgroup;
mod clock;
#[cfg(feature = "commands")]
mod command;
#[cfg(not(feature = "commands"))]
#[path = "no_commands.rs"]
mod command;
#[cfg(all(target_os = "linux", feature = "containers"))]
mod container;
#[cfg(all(target_os = "linux", not(feature = "containers")))]
#[path = "no_containers.rs"]
mod container;
mod directory;
mod engine;
mod error;
mod event_file;
mod events;
#[cfg(test)]
mod fault_injection;
mod fingerprint;
mod guarded;
mod guest;
mod guests;
mod hex;
mod host_mount;
mod host_path;
mod index;
#[cfg(target_os = "linux")]
mod kernel_files;
mod limits;
#[cfg(feature = "mcp")]
pub mod mcp;
mod memory;
mod mount;
#[cfg(feature = "commands")]
mod named_file;
mod operations;
mod options;
mod outcome;
mod overlay;
mod parallel;
mod policy;
mod registry;
mod regular;
#[cfg(feature = "commands")]
mod remove;
mod roots;
mod sandbox;
#[cfg(all(target_os = "linux", any(test, feature = "selftest")))]
pub mod selftest;
#[cfg(test)]
#[cfg(all(target_os = "linux", feature = "commands"))]
mod sequences;
#[cfg(all(target_os = "linux", feature = "serve"))]
pub mod serve;
mod settings;
#[cfg(feature = "snapshots")]
pub mod snapshots;
mod state;
mod store;
#[cfg(feature = "commands")]
mod temporary;
pub mod terminal;
mod tool_formats;
mod tool_traits;
mod transaction;
mod tree_locks;
pub mod types;
mod user_directories;
mod wasi;
mod watch;
mod workspace;

pub use approval::{Approver, Decision, Grant};
pub use builder::Builder;
pub use catalog::{component, dialects, tools};
#[cfg(all(target_os = "linux", feature = "containers"))]
pub use container::Container;
pub use engine::shared::{Engine, EngineBuilder};
pub use error::{Error, Failure};
pub use events::{Ended, Event, FileWritten, Output, Started};
pub use fingerprint::Fingerprint;
pub use host_mount::{HostMount, Mounted};
pub use options::{CallOptions, CancelToken, Progress};
pub use outcome::Outcome;
#[doc(inline)]
pub use paddock_protocol::formats::Format as ToolFormat;
pub use policy::{
    Access, AllowedDirectory, Approval, Backups, Commands, Directory, HardLinks, Index, Limits, Mode, Policy,
};
pub use policy::{Layers, Setting, schema as policy_schema, table as policy_table};
pub use registry::{RegisteredTool, Registry, register};
pub use workspace::{IndexUpdate, Workspace};

/// The programs of the guide are compiled, and run, with those of the documentation.
#[cfg(doctest)]
mod guide {
    #[doc = include_str!("../../../host/guide/src/approval.md")]
    struct Approval;

    #[doc = include_str!("../../../host/guide/src/memory.md")]
    struct Memory;

    #[doc = include_str!("../../../host/guide/src/overlays.md")]
    struct Overlays;

    #[doc = include_str!("../../../host/guide/src/policy.md")]
    struct Policy;

    #[cfg(feature = "mcp")]
    #[doc = include_str!("../../../host/guide/src/rust.md")]
    struct Rust;
}
