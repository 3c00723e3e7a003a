//! Answers of searches.

use paddock_types::error::{Code, Error, Result};
use paddock_types::rendered::Rendered;
use paddock_types::response;
use paddock_types::response::Response;
use serde_json::json;

use paddock_text::page::CUT_MARK;

use crate::answer::{CallContext, take};
use crate::text::render;
use crate::weakincentives::{file_entry, reported};

/// Maximum number of bytes of a line in the text for a model.
const MAX_LINE: usize = 2_000;

/// Renders the files that a pattern matches.
pub fn glob(asked: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let response = match response {
        Err(error) if matches!(error.code, Code::NotFound | Code::NotADirectory) => return Ok(nowhere(asked, &error)),
        response => response,
    };
    let mut glob = take!(Glob, response);
    let is_empty = glob.paths.is_empty() && !glob.truncated;
    glob.notes = if is_empty { notes(&asked.args.text("pattern")) } else { Vec::new() };
    let matches: Vec<_> = glob.entries.iter().filter_map(file_entry).collect();
    let value = json!({ "pattern": asked.args.text("pattern"), "matches": matches });
    let truncated = glob.truncated;
    Ok(reported(value, render(&Response::Glob(glob), &asked.names)).truncated(truncated))
}

/// Returns notes about a pattern of names that matches nothing. Those of the search are about the pattern as it was
/// rewritten.
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
    reported(value, format!("[nothing was searched: {}]", error.message()))
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

/// Cuts a long line around its match, for the text that a model reads. The value has the whole line.
fn shorten(found: &mut response::GrepMatch) {
    let at = |offset: u64| usize::try_from(offset.saturating_sub(found.text_start)).unwrap_or(usize::MAX);
    let start = if at(found.match_end) > MAX_LINE { at(found.match_start).saturating_sub(MAX_LINE / 4) } else { 0 };
    let start = found.text.floor_char_boundary(start);
    let end = found.text.floor_char_boundary(start + MAX_LINE);
    if end - start < found.text.len() {
        let mark = if end < found.text.len() { CUT_MARK } else { "" };
        found.text = format!("{}{mark}", found.text.get(start..end).unwrap_or_default());
        found.text_start += start as u64;
    }
}
