//! Changes of files: all or none, journaled and backed up.

pub mod backup;
pub mod commit;
pub mod directories;
pub mod file_change;
mod file_modes;
pub mod journal;
pub mod links;
pub mod step;
pub mod stored_location;
