//! Patches: the Codex envelope and the unified diff, parsed into one model and applied to texts. This crate accesses no
//! files.
//!
//! A unified hunk applies at the line that it states. Strict matching refuses any other place; by default, a hunk with a
//! wrong line number or wrong counts applies at the only place of its old lines. A chunk of an envelope applies where its
//! old lines occur exactly once. Line endings are the exception: a patch with LF applies to a
//! CRLF file, and the added lines get the line ending of the file. The dialects of Codex and V4A match leniently.

mod apply;
mod codex;
mod final_newline;
mod header;
mod lenient;
pub mod lines;
pub mod locate;
mod nearest;
pub mod plan;
#[cfg(test)]
mod properties;
mod stated;
mod unified;

use paddock_types::error::{Code, Error, Result, printable};
use paddock_types::request::Matching;

pub use apply::MAX_REJECTS;

/// The part of a patch for one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePatch<'p> {
    /// The file as the patch names it.
    pub path: String,
    /// Line of the patch at which the part begins.
    pub line: usize,
    /// The action on the file.
    pub action: Action<'p>,
    /// File mode that the patch requests, if it is not that of a regular file without execute permission.
    pub mode: Option<String>,
}

/// Action of a patch on a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action<'p> {
    /// Creates the file, by hunks on an empty text.
    Add(Vec<Hunk<'p>>),
    /// Deletes the file: with any content, or only with the content that the hunks remove.
    Delete(Option<Vec<Hunk<'p>>>),
    /// Changes the content.
    Update(Vec<Hunk<'p>>),
    /// Moves the file, and may change its content.
    Move {
        /// The new path.
        to: String,
        /// The changes.
        hunks: Vec<Hunk<'p>>,
    },
}

/// A changed range of a file, with context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk<'p> {
    /// Location of the hunk.
    pub position: Where<'p>,
    /// Line of the patch at which the hunk begins.
    pub line: usize,
    /// Lines of the hunk, in order.
    pub rows: Vec<Row<'p>>,
    /// Mistake of the header in spite of which the hunk applies, as a clause.
    pub mistake: Option<&'static str>,
}

impl<'p> Hunk<'p> {
    /// Returns the old lines: context lines and removed lines.
    pub fn old(&self) -> impl Iterator<Item = &Row<'p>> {
        self.rows.iter().filter(|row| row.kind != RowKind::Add)
    }

    /// Returns the texts of the old lines.
    fn old_texts(&self) -> Vec<&'p str> {
        self.old().map(|row| row.text).collect()
    }

    /// Returns the hunk without its last old line and its last new line, each if it is blank; `None` if the last old line
    /// is not blank.
    ///
    /// Callers often write a blank context line for the final newline of the file, and Codex tries such a chunk again
    /// without it.
    pub fn without_last_blank(&self) -> Option<Self> {
        let mut rows = self.rows.clone();
        let last = rows.iter().rposition(|row| row.kind != RowKind::Add)?;
        let row = rows.get_mut(last).filter(|row| row.text.is_empty())?;
        if row.kind == RowKind::Keep {
            row.kind = RowKind::Add;
        } else {
            rows.remove(last);
        }
        if let Some(new) = rows.iter().rposition(|row| row.kind != RowKind::Remove)
            && let Some(row) = rows.get_mut(new).filter(|row| row.text.is_empty())
        {
            match row.kind {
                RowKind::Keep => row.kind = RowKind::Remove,
                RowKind::Add | RowKind::Remove => drop(rows.remove(new)),
            }
        }
        Some(Self { rows, ..self.clone() })
    }
}

/// Location at which a hunk applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Where<'p> {
    /// At this line, from 1, and nowhere else; after this line if the hunk has no old lines. The hunk also states whether
    /// the file ends with a newline.
    Line(usize),
    /// At the location of the old lines. A final newline is kept unless a row states the end of the file.
    Search {
        /// Lines above the location, in order.
        anchors: Vec<&'p str>,
        /// Whether the old lines are the last lines of the file.
        at_end: bool,
    },
}

/// One line of a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<'p> {
    /// Action on the line.
    pub kind: RowKind,
    /// The line without its ending.
    pub text: &'p str,
    /// Line of the patch.
    pub number: usize,
    /// Whether the line ends in CRLF in a patch that has other line endings as well.
    pub crlf: bool,
    /// Whether the line has no newline because the file ends with it.
    pub open: bool,
}

/// Action of a hunk on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// A context line: it stays.
    Keep,
    /// The line is removed.
    Remove,
    /// The line is added.
    Add,
}

/// Parses a patch of either format. With [`Matching::Corrected`], headers of unified hunks may have wrong counts, or no
/// line numbers.
pub fn parse(patch: &str, matching: Matching) -> Result<Vec<FilePatch<'_>>> {
    if patch.trim().is_empty() {
        return Err(formats(Error::new(Code::PatchInvalid, "the patch is empty")));
    }
    match codex::body(patch)? {
        // The caller of V4A gives only the chunks: their first line is line 1.
        Some(body) if matching == Matching::V4a => codex::parse(Cursor { number: 0, ..body }, matching),
        Some(body) => codex::parse(body, matching),
        None => unified::parse(Cursor::new(patch), matching),
    }
}

#[cfg(test)]
fn parse_strictly(patch: &str) -> Result<Vec<FilePatch<'_>>> {
    parse(patch, Matching::Strict)
}

/// Returns the error of a patch that does not parse, with the line of the patch; 0 for the patch as a whole.
fn invalid(line: usize, cause: impl std::fmt::Display) -> Error {
    let line = if line > 0 { format!("line {line}: ") } else { String::new() };
    Error::new(Code::PatchInvalid, format!("cannot read the patch: {line}{cause}"))
}

/// Adds a description of both formats to the hint.
fn formats(error: Error) -> Error {
    error.hint(
        "begin with `*** Begin Patch`, then `*** Update File: path`, `@@` and lines that start with ` `, `-` or `+`, \
         and end with `*** End Patch`; or give a unified diff: `--- a/path`, `+++ b/path`, `@@ -1,2 +1,3 @@` and such lines",
    )
}

/// Formats a line in backticks, shortened and without control characters.
fn quoted(line: &str) -> String {
    const MAX_QUOTED: usize = 120;
    match line.char_indices().nth(MAX_QUOTED) {
        Some((end, _)) => format!("`{}…`", printable(line.get(..end).unwrap_or_default())),
        None => format!("`{}`", printable(line)),
    }
}

/// A position in a patch, advanced line by line.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'p> {
    rest: &'p str,
    number: usize,
    /// Whether every line of the patch ends in CRLF. Such endings come from the caller and say nothing about the files.
    crlf: bool,
}

/// A line of a patch, without its ending.
#[derive(Clone, Copy, Debug)]
pub struct PatchLine<'p> {
    text: &'p str,
    number: usize,
    crlf: bool,
}

impl<'p> Cursor<'p> {
    /// Returns a cursor at the first line of `patch`.
    pub fn new(patch: &'p str) -> Self {
        let whole = patch.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let crlf = !whole.is_empty() && whole.split('\n').all(|line| line.ends_with('\r'));
        Self { rest: patch, number: 1, crlf }
    }

    fn peek(mut self) -> Option<PatchLine<'p>> {
        self.next()
    }

    fn next(&mut self) -> Option<PatchLine<'p>> {
        if self.rest.is_empty() {
            return None;
        }
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        let (text, crlf) = line.strip_suffix('\r').map_or((line, false), |text| (text, !self.crlf));
        let number = self.number;
        self.rest = rest;
        self.number += 1;
        Some(PatchLine { text, number, crlf })
    }

    /// Returns the line after the next line.
    fn second(mut self) -> Option<PatchLine<'p>> {
        self.next();
        self.next()
    }

    fn skip_blank(&mut self) {
        while self.peek().is_some_and(|line| line.text.trim().is_empty()) {
            self.next();
        }
    }
}

impl<'p> PatchLine<'p> {
    /// Returns the line as a line of a hunk, by its first character.
    fn row(&self) -> Option<Row<'p>> {
        let mut chars = self.text.chars();
        let kind = match chars.next() {
            None | Some(' ') => RowKind::Keep,
            Some('-') => RowKind::Remove,
            Some('+') => RowKind::Add,
            Some(_) => return None,
        };
        Some(Row { kind, text: chars.as_str(), number: self.number, crlf: self.crlf, open: false })
    }
}
