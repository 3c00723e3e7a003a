//! Answers of searches.

use std::fmt::Write;

use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result, Term, Vocabulary};
use paddock_types::rendered::Rendered;
use paddock_types::response::Response;
use paddock_types::{phrase, response};
use serde_json::{Value, json};

use paddock_text::page::CUT_MARK;

use crate::answer::{CallContext, take};
use crate::text::render;
use crate::weakincentives::{MAX_ENTRIES, reported};

/// Maximum number of entries in a message. The value has all of them.
const MESSAGE_ENTRIES: usize = 1_000;

/// Renders the entries of a directory.
pub fn ls(asked: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let mut list = take!(List, response);
    if list.truncated {
        return Err(too_many(asked));
    }
    let mut entries = Vec::new();
    for entry in &list.entries {
        entries.push(file_entry(entry));
    }
    let rest = entries.len().saturating_sub(MESSAGE_ENTRIES);
    list.entries.truncate(MESSAGE_ENTRIES);
    Ok(listed(asked, entries.into(), Response::List(list), rest))
}

/// Renders a complete value, with a message that leaves `rest` entries out.
#[inline(never)]
fn listed(asked: &CallContext<'_>, value: Value, response: Response, rest: usize) -> Rendered {
    let mut message = render(&response, &asked.names);
    if rest > 0 {
        let find = asked.names.name(Term::FindTool).unwrap_or("a search");
        let _ = writeln!(message, "[there are {rest} more entries: {find} with a narrower pattern shows others]");
    }
    reported(value, message).truncated(rest > 0)
}

/// Returns the error of a listing that is too long for a value, which has no place for a mark.
#[inline(never)]
fn too_many(asked: &CallContext<'_>) -> Error {
    let cause = format!("it has more entries than one call lists, {MAX_ENTRIES}");
    Error::at(Code::LimitExceeded, "list", &asked.args.text("path"), cause)
        .hint(phrase![Term::FindTool, " with a narrower pattern finds a part of them"])
}

fn file_entry(entry: &response::Entry) -> Value {
    let response::Entry { path, size, details, .. } = entry;
    // As in the original, an entry that is no directory is a file, whatever a link leads to.
    let is_directory = details.target_kind.unwrap_or(entry.kind) == Kind::Directory;
    let kind = if is_directory { "directory" } else { "file" };
    json!({ "path": path, "kind": kind, "size_bytes": size, "content_hash": details.etag })
}

/// Maximum number of bytes of a line in the text for a model.
const MAX_LINE: usize = 2_000;

/// Renders the files that a pattern matches.
pub fn glob(asked: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let response = match response {
        Err(error) if matches!(error.code, Code::NotFound | Code::NotADirectory) => return Ok(nowhere(asked, &error)),
        response => response,
    };
    let mut glob = take!(Glob, response);
    if glob.truncated {
        return Err(too_many(asked));
    }
    glob.notes = if glob.entries.is_empty() { notes(&asked.args.text("pattern")) } else { Vec::new() };
    glob.paths.clear();
    let mut matches = Vec::new();
    // A link to a directory is found too.
    for entry in glob.entries.iter().filter(|entry| entry.kind == Kind::File) {
        matches.push(file_entry(entry));
        if matches.len() <= MESSAGE_ENTRIES {
            glob.paths.push(entry.path.clone());
        }
    }
    let rest = matches.len() - glob.paths.len();
    let value = json!({ "pattern": asked.args.text("pattern"), "matches": matches });
    Ok(listed(asked, value, Response::Glob(glob), rest))
}

/// Returns notes about a name pattern without matches. The notes of the search itself describe the rewritten pattern.
#[inline(never)]
fn notes(pattern: &str) -> Vec<String> {
    let mut notes = paddock_ops::advice::of_glob(pattern);
    if pattern.starts_with('!') {
        notes.push("`!` at the start of a pattern is literal text, and excludes nothing".to_owned());
    }
    notes
}

/// Renders a search in something that is no directory, which finds nothing in the original.
#[inline(never)]
fn nowhere(asked: &CallContext<'_>, error: &Error) -> Rendered {
    let value = json!({ "pattern": asked.args.text("pattern"), "matches": [] });
    reported(value, format!("[nothing was searched: {}]", error.message.full_text(&asked.names)))
}

/// Renders matches. Offsets in a line count characters, as in Python.
pub fn grep(asked: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let response = match response {
        Err(error) if matches!(error.code, Code::NotFound | Code::NotADirectory) => return Ok(nowhere(asked, &error)),
        response => response,
    };
    let mut grep = take!(Grep, response);
    if grep.files_searched == 0 {
        grep.notes = asked.args.opt_text("glob_filter").map_or_else(Vec::new, |filter| notes(&filter));
    }
    let shown = |found: &response::GrepMatch| {
        let characters = |at: u64| {
            let at = usize::try_from(at.saturating_sub(found.text_start)).unwrap_or(usize::MAX);
            found.text.char_indices().take_while(|(start, _)| *start < at).count()
        };
        json!({
            "path": found.path,
            "line_number": found.line,
            "line_content": found.text,
            "match_start": characters(found.match_start),
            "match_end": characters(found.match_end),
        })
    };
    let matches: Vec<_> = grep.matches.iter().map(shown).collect();
    let value = json!({ "pattern": asked.args.text("pattern"), "matches": matches });
    let truncated = grep.truncated;
    grep.matches.iter_mut().for_each(shorten);
    Ok(reported(value, render(&Response::Grep(grep), &asked.names)).truncated(truncated))
}

/// Shortens a long line around its match in the text for the model. The value has the whole line.
fn shorten(found: &mut response::GrepMatch) {
    let at = |offset: u64| usize::try_from(offset.saturating_sub(found.text_start)).unwrap_or(usize::MAX);
    let start = if at(found.match_end) > MAX_LINE { at(found.match_start).saturating_sub(MAX_LINE / 4) } else { 0 };
    let start = found.text.floor_char_boundary(start);
    let end = found.text.floor_char_boundary(start + MAX_LINE);
    if end - start < found.text.len() {
        let is_cut = end < found.text.len();
        found.text = found.text.get(start..end).unwrap_or_default().to_owned();
        if is_cut {
            found.text.push_str(CUT_MARK);
        }
        found.text_start += start as u64;
    }
}
