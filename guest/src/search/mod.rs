//! What the searching operations share: cursors, globs, pages in an order, and
//! the search in one file.

pub mod cursor;
pub mod glob;
pub mod hidden;
mod literals;
pub mod matcher;
pub mod page;
pub mod render;
pub mod replacer;
pub mod scan;
pub mod smart_case;
pub mod source;
