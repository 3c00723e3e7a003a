//! Answers of the text editor tool.

use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result, printable};
use paddock_types::rendered::Rendered;
use paddock_types::response;
use paddock_types::response::Response;
use serde_json::json;

use crate::anthropic::{range, viewed};
use crate::args::Args;
use crate::dialect::answer::CallContext;
use crate::text::{endings, with_notes};

const REVIEW: &str = "Review the changes and make sure they are as expected (correct indentation, no duplicate lines, etc). Edit the file again if necessary.";

pub fn reported(output: String) -> Rendered {
    Rendered::new(&json!({ "output": output }), output)
}

pub fn answer(context: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let path = context.args.text("path");
    match viewed(context.args, response)? {
        Response::Read(read) => Ok(file(context.args, &path, &read)),
        Response::List(list) => directory(context, &path, &list),
        Response::Write(write) => {
            Ok(reported(with_notes(format!("File created successfully at: {path}"), &write.notes)))
        }
        Response::Edit(edit) => {
            let snippet = snippet(&edit);
            let message = format!(
                "The file {path} has been edited. Here's the result of running `cat -n` on a snippet of {path}:\n{snippet}\n{REVIEW}"
            );
            Ok(reported(with_notes(message, &edit.notes)))
        }
        _ => Err(CallContext::mixed_up()),
    }
}

fn file(args: &Args, path: &str, read: &response::Read) -> Rendered {
    let lines = numbered(read);
    let more = more_lines(args, read) + &endings(read);
    reported(format!("Here's the result of running `cat -n` on {path}:\n{lines}{more}\n")).truncated(read.truncated)
}

/// Returns the line that says how to read on after a limit; empty if no requested line was left out.
pub fn more_lines(args: &Args, read: &response::Read) -> String {
    let last = u64::try_from(range(args).1).unwrap_or(u64::MAX);
    match read.next_offset.filter(|next| *next <= last) {
        Some(next) => format!("\n[there are more lines: `view_range` [{next}, -1] continues]"),
        None => String::new(),
    }
}

/// Renders lines with a number six characters wide and a tab before each.
fn numbered(read: &response::Read) -> String {
    if read.end_line == 0 {
        return String::new();
    }
    lines(&read.content, read.start_line)
}

/// Renders all lines of `text`; after a final newline, there is an empty one.
pub fn lines(text: &str, first: u64) -> String {
    let lines = text.split('\n').zip(first..);
    lines.map(|(line, number)| format!("{number:6}\t{line}")).collect::<Vec<_>>().join("\n")
}

/// Renders the lines around the first change; empty if no line remains.
fn snippet(edit: &response::Edit) -> String {
    let of = |snippet: &response::Snippet| {
        let text = snippet.text.replace("\r\n", "\n");
        lines(text.strip_suffix('\n').unwrap_or(&text), snippet.start_line)
    };
    edit.snippet.as_ref().map(of).unwrap_or_default()
}

fn directory(context: &CallContext<'_>, path: &str, list: &response::List) -> Result<Rendered> {
    if context.args.has("view_range") {
        return Err(Error::new(
            Code::InvalidArgument,
            "The `view_range` parameter is not allowed when `path` points to a directory.",
        ));
    }
    let base = path.trim_end_matches('/');
    let below = |entry: &response::Entry| {
        let slash = if entry.kind == Kind::Directory { "/" } else { "" };
        format!("{base}/{}{slash}", printable(list.below(entry)))
    };
    let mut lines = vec![
        format!("Here's the files and directories up to 2 levels deep in {path}, excluding hidden items:"),
        base.to_owned(),
    ];
    lines.extend(list.entries.iter().map(below));
    if list.truncated {
        lines.push("[there are more entries: view a directory below]".to_owned());
    }
    Ok(reported(format!("{}\n", lines.join("\n"))).truncated(list.truncated))
}
