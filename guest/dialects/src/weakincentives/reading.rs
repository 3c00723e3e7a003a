//! Reads: the value has all requested lines, and the text as many as a model can be shown.

use std::fmt::Write;

use paddock_types::error::{Error, Result};
use paddock_types::rendered::Rendered;
use paddock_types::request;
use paddock_types::request::Request;
use paddock_types::response::Response;
use serde_json::json;

use crate::args::Args;
use crate::dialect::answer::{CallContext, take};
use crate::line_numbers::{cut_lines, numbered};
use crate::text::{endings, no_lines};
use crate::weakincentives::paths::named;
use crate::weakincentives::reported;

/// Number of lines of a read without `limit`.
const PAGE_LINES: u64 = 2_000;
/// Maximum number of bytes of file content in the message.
const MESSAGE_BYTES: usize = 50 * 1024;

/// Returns the request of a read.
pub fn read(args: &Args) -> Result<Request> {
    let limit = match args.opt_signed("limit").map(u64::try_from) {
        None => Some(PAGE_LINES),
        _ if args.opt_signed("limit") == Some(-1) => None,
        // An empty page must also report the number of lines of the file.
        Some(Ok(limit)) => Some(limit.max(1)),
        Some(_) => return Err(Error::argument("limit", "it has to be at least 0, or -1 for all lines")),
    };
    let read = request::Read::lines(named(args, "read")?, args.whole("offset") + 1, limit);
    Ok(Request::Read(request::Read { first_line: 0, unlimited: true, empty_past_end: true, ..read }))
}

/// Renders the lines. The value has all of them.
pub fn read_file(context: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let mut read = take!(Read, response);
    if context.args.opt_signed("limit") == Some(0) {
        read.content.clear();
        read.end_line = 0;
        read.next_offset = None;
    }
    // The window of `content` after it was limited to the lines of the file, as in the original.
    let offset = context.args.whole("offset").min(read.total_lines.unwrap_or(u64::MAX));
    let value = json!({
        "path": read.path,
        "content": read.content,
        "total_lines": read.total_lines,
        "offset": offset,
        "limit": read.line_count(),
    });
    let mut text = cut_lines(&read.content);
    let (mut lines, mut next) = (read.line_count(), read.next_offset);
    if let Some(end) = text.get(..text.floor_char_boundary(MESSAGE_BYTES)).and_then(|start| start.rfind('\n'))
        && text.len() > MESSAGE_BYTES
    {
        text.truncate(end);
        lines = 1 + text.bytes().filter(|byte| *byte == b'\n').count() as u64;
        next = Some(read.start_line + lines);
    }
    let mut message = numbered(&text, lines, read.start_line, "|");
    message.push_str(&no_lines(&read));
    if let Some(next) = next {
        let _ = write!(message, "\n[there are more lines: offset={} continues]", next - 1);
    }
    message.push_str(&endings(&read));
    Ok(reported(value, message).truncated(next.is_some()))
}
