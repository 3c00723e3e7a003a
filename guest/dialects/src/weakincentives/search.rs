//! Answers of searches.

use paddock_types::error::{Code, Error, Result};
use paddock_types::rendered::Rendered;
use paddock_types::response;
use paddock_types::response::Response;
use serde_json::json;

use crate::answer::{CallContext, take};
use crate::text::render;
use crate::weakincentives::{file_entry, reported};

/// Renders the files that a pattern matches.
pub fn glob(asked: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let response = match response {
        Err(error) if matches!(error.code, Code::NotFound | Code::NotADirectory) => return Ok(nowhere(asked, &error)),
        response => response,
    };
    let mut glob = take!(Glob, response);
    // They are about the pattern as it was rewritten.
    glob.notes.clear();
    let matches: Vec<_> = glob.entries.iter().filter_map(file_entry).collect();
    let value = json!({ "pattern": asked.args.text("pattern"), "matches": matches });
    let truncated = glob.truncated;
    Ok(reported(value, render(&Response::Glob(glob), &asked.names)).truncated(truncated))
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
        // They are about the filter as it was rewritten.
        grep.notes.clear();
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
    Ok(reported(value, render(&Response::Grep(grep), &asked.names)).truncated(truncated))
}
