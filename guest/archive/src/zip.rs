//! Zip archives: their names, what is in one that may have been made by anyone,
//! and writing one. Pure.

#[cfg(any(test, feature = "fixtures"))]
pub mod fixture;
pub mod name;
pub mod read;
pub mod write;

/// Bytes of all files of an archive together: they are in memory at the same time when it is unpacked.
pub const MAX_TOTAL_BYTES: u64 = 64 * 1024 * 1024;
