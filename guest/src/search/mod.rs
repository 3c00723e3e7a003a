//! What the searching operations share: cursors, globs, pages in an order, and
//! the search in one file.

pub mod cursor;
pub mod glob;
mod literals;
pub mod matcher;
pub mod page;
pub mod render;
pub mod replacer;
pub mod scan;
pub mod smart_case;
pub mod source;

use crate::error::{Code, Result};
use crate::fs::Dir;
use crate::fs::place::Place;
use crate::workspace::Workspace;

/// The directory that a call is to look through.
pub fn directory(workspace: &Workspace<'_>, path: &str, verb: &str) -> Result<(Place, Dir)> {
    workspace.resolve_dir(path, verb).map_err(|error| match error.code {
        Code::NotADirectory => error.hint("`stat` describes a file, and `read_file` reads it"),
        _ => error,
    })
}
