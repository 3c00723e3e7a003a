//! Zip archives: names, reading of untrusted archives, and writing. The functions access no files.
//!
//! `rawzip` parses the records and `miniz_oxide` compresses. This module adds the checks (shared bytes, contradicting
//! headers, sizes), which are the purpose of this module: the crate `zip` would save little and enlarge the component.

#[cfg(any(test, feature = "fixtures"))]
pub mod fixture;
pub mod name;
pub mod read;
pub mod write;

/// Maximum total size of the files of an archive, in bytes. All of them are in memory at the same time when it is
/// unpacked.
pub const MAX_TOTAL_BYTES: u64 = 64 * 1024 * 1024;
