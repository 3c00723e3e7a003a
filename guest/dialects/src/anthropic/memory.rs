//! The memory tool: the editor's commands plus `delete` and `rename`, restricted to `/memories`, which maps to the
//! directory `memories` of the workspace.

use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result, printable};
use paddock_types::rendered::Rendered;
use paddock_types::request::Request;
use paddock_types::response::Response;
use paddock_types::{request, response};

use crate::anthropic::render::{lines, more_lines, reported};
use crate::anthropic::{MEMORY, MEMORY_ROOT, missing, range};
use crate::args::Args;
use crate::dialect::answer::CallContext;
use crate::text::with_notes;

pub fn request(args: &Args) -> Result<Request> {
    match args.text("command").as_str() {
        "delete" => {
            let path = below(args, "path")?;
            Ok(Request::Delete(request::Delete { path, recursive: true, files_only: false }))
        }
        "rename" => {
            let (source, destination) = (below(args, "old_path")?, inside(args, "new_path")?);
            let transfer = request::Transfer { source, destination, overwrite: false, recursive: true };
            Ok(Request::Move(request::Move(transfer)))
        }
        "view" => crate::anthropic::request(args, MEMORY, &inside(args, "path")?),
        _ => crate::anthropic::request(args, MEMORY, &below(args, "path")?),
    }
}

/// Returns the workspace path of the argument `name`.
#[inline(never)]
fn inside(args: &Args, name: &str) -> Result<String> {
    let path = args.opt_text(name).ok_or_else(|| missing(name, &args.text("command")))?;
    let outside = |message: String| Err(Error::new(Code::OutsideWorkspace, message));
    let below = path.strip_prefix(MEMORY_ROOT).filter(|below| below.is_empty() || below.starts_with('/'));
    let Some(below) = below else { return outside(format!("Path must start with {MEMORY_ROOT}, got: {path}")) };
    let mut names = vec!["memories"];
    for name in below.split('/').filter(|name| !matches!(*name, "" | ".")) {
        if name != ".." {
            names.push(name);
        } else if names.pop().is_none() {
            break;
        }
    }
    match names.first() {
        Some(&"memories") => Ok(names.join("/")),
        _ => outside(format!("Path {path} would escape {MEMORY_ROOT} directory")),
    }
}

/// Returns the workspace path of the argument `name`, which is not the memory itself.
#[inline(never)]
fn below(args: &Args, name: &str) -> Result<String> {
    let path = inside(args, name)?;
    if path == "memories" {
        return Err(Error::at(Code::InvalidPath, "change", MEMORY_ROOT, "it is the memory itself"));
    }
    Ok(path)
}

pub fn answer(context: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let path = context.args.text("path");
    let response = match response {
        // The directory does not exist until the first file is written; an empty memory is not an error.
        Err(error) if error.code == Code::NotFound && is_view(context) && path.trim_end_matches('/') == MEMORY_ROOT => {
            return Ok(reported(head(&path) + "\n0B\t/memories"));
        }
        response => response?,
    };
    let message = match &response {
        Response::Read(read) => return file(context.args, &path, read),
        Response::List(list) => return Ok(directory(&path, list)),
        Response::Write(_) => format!("File created successfully at: {path}"),
        Response::Edit(_) if context.args.text("command") == "insert" => format!("The file {path} has been edited."),
        Response::Edit(edit) => format!(
            "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{}",
            snippet(edit)
        ),
        Response::Delete(_) => format!("Successfully deleted {path}"),
        Response::Move(_) => {
            let (old, new) = (context.args.text("old_path"), context.args.text("new_path"));
            format!("Successfully renamed {old} to {new}")
        }
        _ => return Err(CallContext::mixed_up()),
    };
    Ok(reported(with_notes(message, response.notes())))
}

fn is_view(context: &CallContext<'_>) -> bool {
    context.args.text("command") == "view"
}

fn head(path: &str) -> String {
    format!("Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:")
}

/// Renders the lines around the first change: two on each side of its first line.
fn snippet(edit: &response::Edit) -> String {
    let changed = edit.lines.first().map_or(1, |range| range.start);
    let start = edit.snippet.as_ref().map_or(1, |snippet| snippet.start_line.max(changed.saturating_sub(2)));
    let text = edit.snippet.as_ref().map_or("", |snippet| &snippet.text);
    let skipped = edit.snippet.as_ref().map_or(0, |snippet| start - snippet.start_line);
    first_lines(text, start, skipped, changed + 3 - start)
}

/// Renders `count` lines of `text` after the first `skipped`; the first one has the number `start`.
#[inline(never)]
fn first_lines(text: &str, start: u64, skipped: u64, count: u64) -> String {
    let number = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let lines_of_page: Vec<_> = text.split('\n').skip(number(skipped)).take(number(count)).collect();
    if lines_of_page.is_empty() { String::new() } else { lines(&lines_of_page.join("\n"), start) }
}

fn file(args: &Args, path: &str, read: &response::Read) -> Result<Rendered> {
    if read.total_lines.is_some_and(|lines| lines > 999_999) {
        let message = format!("File {path} exceeds maximum line limit of 999,999 lines.");
        return Err(Error::new(Code::LimitExceeded, message));
    }
    let (first, last) = range(args);
    let start = u64::try_from(first).unwrap_or(1).max(1);
    let count = u64::try_from(last).map_or(u64::MAX, |last| (last + 1).saturating_sub(start));
    // Only the empty line after a final newline is left to show.
    let text = if read.next_offset.is_some() {
        read.content.strip_suffix('\n').unwrap_or(&read.content)
    } else {
        &read.content
    };
    let is_past_end = read.end_line == 0 && start > 1;
    let lines = first_lines(text, start, 0, if is_past_end { 0 } else { count });
    let rest = more_lines(args, read);
    let is_cut = !rest.is_empty() || (read.truncated && read.next_offset.is_none());
    Ok(reported(format!("Here's the content of {path} with line numbers:\n{lines}{rest}")).truncated(is_cut))
}

fn directory(path: &str, list: &response::List) -> Rendered {
    let top = path.trim_end_matches('/');
    let entries = &list.entries;
    // The size of a directory is the sum of the listed files below it.
    let size = |entry: &response::Entry| match entry.kind {
        Kind::Directory => {
            let below = format!("{}/", entry.path);
            entries.iter().filter(|other| other.path.starts_with(&below)).filter_map(|other| other.size).sum()
        }
        _ => entry.size.unwrap_or_default(),
    };
    let total: u64 = entries.iter().filter_map(|entry| entry.size).sum();
    let mut lines = vec![head(path), format!("{}\t{top}", human(total))];
    for entry in entries {
        let slash = if entry.kind == Kind::Directory { "/" } else { "" };
        lines.push(format!("{}\t{top}/{}{slash}", human(size(entry)), printable(list.below(entry))));
    }
    if list.truncated {
        lines.push(format!(
            "[only the first {} entries are listed, and sizes count only these: view a directory below this one]",
            list.entries.len()
        ));
    }
    reported(lines.join("\n")).truncated(list.truncated)
}

/// Formats a size, such as `812B`, `4K`, `1.5M`.
fn human(bytes: u64) -> String {
    let mut units = ["K", "M", "G"].iter();
    #[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
    let mut size = bytes as f64;
    let mut unit = "B";
    while size >= 1024.0
        && let Some(next) = units.next()
    {
        size /= 1024.0;
        unit = next;
    }
    if size.fract() == 0.0 { format!("{size:.0}{unit}") } else { format!("{size:.1}{unit}") }
}
