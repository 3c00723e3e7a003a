//! Answers of searches.

use std::fmt::Write;

use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result, Term, Vocabulary};
use paddock_types::rendered::Rendered;
use paddock_types::response::Response;
use paddock_types::{phrase, response};
use serde_json::{Value, json};

use paddock_text::page::CUT_SUFFIX;

use crate::dialect::answer::{CallContext, take};
use crate::text::render;
use crate::weakincentives::{MAX_ENTRIES, reported};

/// Maximum number of entries in a message. The value has all of them.
const MESSAGE_ENTRIES: usize = 1_000;

/// Renders the entries of a directory.
pub fn ls(context: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let mut list = take!(List, response);
    if list.truncated {
        return Err(too_many(context));
    }
    let mut entries = Vec::new();
    for entry in &list.entries {
        entries.push(file_entry(entry));
    }
    let rest = entries.len().saturating_sub(MESSAGE_ENTRIES);
    list.entries.truncate(MESSAGE_ENTRIES);
    Ok(listed(context, entries.into(), Response::List(list), rest))
}

/// Renders a complete value, with a message that leaves `rest` entries out.
#[inline(never)]
fn listed(context: &CallContext<'_>, value: Value, response: Response, rest: usize) -> Rendered {
    let mut message = render(&response, &context.names);
    if rest > 0 {
        let find = context.names.name(Term::FindTool).unwrap_or("a search");
        let _ = writeln!(message, "[there are {rest} more entries: {find} with a narrower pattern shows others]");
    }
    reported(value, message).truncated(rest > 0)
}

/// Returns the error of a listing that is too long for a value, which has no place for a mark.
#[inline(never)]
fn too_many(context: &CallContext<'_>) -> Error {
    let cause = format!("it has more entries than one call lists, {MAX_ENTRIES}");
    Error::at(Code::LimitExceeded, "list", &context.args.text("path"), cause)
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
pub fn glob(context: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let response = match response {
        Err(error) if matches!(error.code, Code::NotFound | Code::NotADirectory) => {
            return Ok(nowhere(context, &error));
        }
        response => response,
    };
    let mut glob = take!(Glob, response);
    if glob.truncated {
        return Err(too_many(context));
    }
    if glob.entries.is_empty() {
        adapt(&mut glob.notes, &context.args.text("pattern"));
    } else {
        glob.notes.clear();
    }
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
    let value = json!({ "pattern": context.args.text("pattern"), "matches": matches });
    Ok(listed(context, value, Response::Glob(glob), rest))
}

/// Adapts the notes about a name pattern without matches. Apart from the note that it names a directory, the notes of the
/// search itself describe the rewritten pattern.
#[inline(never)]
fn adapt(notes: &mut Vec<String>, pattern: &str) {
    notes.retain(|note| note.contains(" is a directory"));
    notes.extend(paddock_ops::advice::of_glob(pattern));
    if pattern.starts_with('!') {
        notes.push("`!` at the start of a pattern is literal text, and excludes nothing".to_owned());
    }
}

/// Renders a search in something that is no directory, which finds nothing in the original.
#[inline(never)]
fn nowhere(context: &CallContext<'_>, error: &Error) -> Rendered {
    let value = json!({ "pattern": context.args.text("pattern"), "matches": [] });
    reported(value, format!("[nothing was searched: {}]", error.message.full_text(&context.names)))
}

/// Renders matches. Offsets in a line count characters, as in Python.
pub fn grep(context: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let response = match response {
        Err(error) if matches!(error.code, Code::NotFound | Code::NotADirectory) => {
            return Ok(nowhere(context, &error));
        }
        response => response,
    };
    let mut grep = take!(Grep, response);
    if grep.files_searched == 0 {
        adapt(&mut grep.notes, &context.args.text("glob_filter"));
    }
    let rendered_match = |hit: &response::GrepMatch| {
        let characters = |at: u64| {
            let at = usize::try_from(at.saturating_sub(hit.text_start)).unwrap_or(usize::MAX);
            hit.text.char_indices().take_while(|(start, _)| *start < at).count()
        };
        json!({
            "path": hit.path,
            "line_number": hit.line,
            "line_content": hit.text,
            "match_start": characters(hit.match_start),
            "match_end": characters(hit.match_end),
        })
    };
    let matches: Vec<_> = grep.matches.iter().map(rendered_match).collect();
    let value = json!({ "pattern": context.args.text("pattern"), "matches": matches });
    let truncated = grep.truncated;
    grep.matches.iter_mut().for_each(shorten);
    Ok(reported(value, render(&Response::Grep(grep), &context.names)).truncated(truncated))
}

/// Shortens a long line around its match in the text for the model. The value has the whole line.
fn shorten(hit: &mut response::GrepMatch) {
    let at = |offset: u64| usize::try_from(offset.saturating_sub(hit.text_start)).unwrap_or(usize::MAX);
    let start = if at(hit.match_end) > MAX_LINE { at(hit.match_start).saturating_sub(MAX_LINE / 4) } else { 0 };
    let start = hit.text.floor_char_boundary(start);
    let end = hit.text.floor_char_boundary(start + MAX_LINE);
    if end - start < hit.text.len() {
        let is_cut = end < hit.text.len();
        hit.text = hit.text.get(start..end).unwrap_or_default().to_owned();
        if is_cut {
            hit.text.push_str(CUT_SUFFIX);
        }
        hit.text_start += start as u64;
    }
}
