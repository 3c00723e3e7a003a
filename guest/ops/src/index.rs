//! The search index in the state directory. [`update`] adds files to it, and [`exclusions`] exclude files from a search.

pub mod exclusions;
mod segments;
mod stamp_map;
pub mod update;
