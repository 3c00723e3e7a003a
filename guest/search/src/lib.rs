//! Parts of the search operations: cursors, globs, sorted pages, and the search in one file.

pub mod cursor;
pub mod glob;
pub mod globs;
pub mod hidden;
pub mod line_buffer;
mod literals;
pub mod matcher;
pub mod page;
pub mod render;
pub mod replacer;
pub mod searcher;
pub mod smart_case;
