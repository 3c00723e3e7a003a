//! Content-addressed, incremental snapshots of directories.
//!
//! A [`Store`] is a directory or a bucket with the interface of S3. [`create`] stores the files that the store lacks, and
//! the manifest of the snapshot last. [`stage()`] reads a snapshot into a temporary directory, compares each file with its
//! digest, and [`Staged::commit`] makes a tree visible by one rename.
//!
//! A snapshot has named trees, so that the state of a workspace can be stored beside its files.

mod cache;
mod collect;
mod content;
mod descent;
mod destination;
mod digest;
mod directory;
mod entry;
mod error;
mod limits;
mod location;
mod manifest;
mod markers;
mod object;
mod path;
mod snapshot;
mod stage;
mod stamp;
mod store;
#[cfg(all(test, unix))]
mod tests;
mod validate;
mod walk;
mod writer;

pub use cache::StatCache;
pub use collect::{Collected, Listed, collect, list, remove};
pub use destination::Destination;
pub use digest::Digest;
pub use error::{Error, Result, StoreError};
pub use limits::Limits;
pub use location::Location;
pub use snapshot::{Options, Report, create};
pub use stage::{Staged, stage};
pub use store::Store;
