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

use crate::error::{Code, Result, Term};
use crate::fs::Dir;
use crate::fs::place::Place;
use crate::phrase;
use crate::workspace::Workspace;

/// The directory that a call is to look through.
pub fn directory(workspace: &Workspace<'_>, path: &str, verb: &str) -> Result<(Place, Dir)> {
    workspace.resolve_dir(path, verb).map_err(|error| match error.code {
        Code::NotADirectory => error
            .hint(phrase![Term::DescribeTool, " describes a file, and ", Term::ReadTool, " reads it"])
            .or_hint("it is a file: read it"),
        _ => error,
    })
}
