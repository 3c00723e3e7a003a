//! The search index in the state directory. [`update`] adds files to it, and [`exclusions`] exclude files from a search.

pub mod exclusions;
mod segments;
mod tidy;
pub mod update;
