//! The memory tool: the editor's commands plus `delete` and `rename`, restricted to `/memories`, which maps to the
//! directory `memories` of the workspace.

use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result, printable};
use paddock_types::rendered::Rendered;
use paddock_types::request::Request;
use paddock_types::response::Response;
use paddock_types::{request, response};

use crate::answer::CallContext;
use crate::anthropic::render::{more_lines, numbered, reported, snippet};
use crate::anthropic::{MEMORY, MEMORY_ROOT, missing, viewed};
use crate::args::Args;
use crate::text::with_notes;

pub fn request(args: &Args) -> Result<Request> {
    match args.text("command").as_str() {
        "delete" => {
            let path = inside(args, "path")?;
            if path == "memories" {
                return Err(Error::at(Code::InvalidPath, "delete", MEMORY_ROOT, "it is the memory itself"));
            }
            Ok(Request::Delete(request::Delete { path, recursive: true, files_only: false }))
        }
        "rename" => {
            let (source, destination) = (inside(args, "old_path")?, inside(args, "new_path")?);
            let transfer = request::Transfer { source, destination, overwrite: false, recursive: true };
            Ok(Request::Move(request::Move(transfer)))
        }
        _ => crate::anthropic::request(args, MEMORY, &inside(args, "path")?),
    }
}

/// Returns the workspace path of the argument `name`.
fn inside(args: &Args, name: &str) -> Result<String> {
    let path = args.opt_text(name).ok_or_else(|| missing(name, &args.text("command")))?;
    let below = path.strip_prefix(MEMORY_ROOT).filter(|below| below.is_empty() || below.starts_with('/'));
    match below {
        Some(below) if !below.split('/').any(|part| part == "..") => {
            Ok(format!("memories{}", below.trim_end_matches('/')))
        }
        _ => Err(Error::at(Code::OutsideWorkspace, "use", &path, "it is not below /memories")
            .hint("paths of the memory tool start with /memories")),
    }
}

pub fn answer(asked: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let path = asked.args.text("path");
    let response = match response {
        // The directory does not exist until the first file is written; an empty memory is not an error.
        Err(error) if error.code == Code::NotFound && is_view(asked) && path.trim_end_matches('/') == MEMORY_ROOT => {
            return Ok(reported(head(&path) + "\n0\t/memories"));
        }
        response => response,
    };
    let response = viewed(asked.args, response)?;
    let done = match &response {
        Response::Read(read) => return file(&path, read),
        Response::List(list) => return Ok(directory(&path, list)),
        Response::Write(_) => format!("File created successfully at: {path}"),
        Response::Edit(_) if asked.args.text("command") == "insert" => format!("The file {path} has been edited."),
        Response::Edit(edit) => format!("The memory file has been edited.\n{}", snippet(edit)),
        Response::Delete(_) => format!("Successfully deleted {path}"),
        Response::Move(_) => {
            let (old, new) = (asked.args.text("old_path"), asked.args.text("new_path"));
            format!("Successfully renamed {old} to {new}")
        }
        _ => return Err(CallContext::mixed_up()),
    };
    Ok(reported(with_notes(done, response.notes())))
}

fn is_view(asked: &CallContext<'_>) -> bool {
    asked.args.text("command") == "view"
}

fn head(path: &str) -> String {
    format!("Here're the files and directories up to 2 levels deep in {path}, excluding hidden items and node_modules:")
}

fn file(path: &str, read: &response::Read) -> Result<Rendered> {
    if read.total_lines.is_some_and(|lines| lines > 999_999) {
        let message = format!("File {path} exceeds maximum line limit of 999,999 lines.");
        return Err(Error::new(Code::LimitExceeded, message));
    }
    let lines = numbered(read);
    let rest = more_lines(read);
    Ok(reported(format!("Here's the content of {path} with line numbers:\n{lines}{rest}")).truncated(read.truncated))
}

fn directory(path: &str, list: &response::List) -> Rendered {
    let top = path.trim_end_matches('/');
    let shown: Vec<_> =
        list.entries.iter().filter(|entry| !entry.path.split('/').any(|part| part == "node_modules")).collect();
    // The size of a directory is the sum of the listed files below it.
    let size = |entry: &response::Entry| match entry.kind {
        Kind::Directory => {
            let below = format!("{}/", entry.path);
            shown.iter().filter(|other| other.path.starts_with(&below)).filter_map(|other| other.size).sum()
        }
        _ => entry.size.unwrap_or_default(),
    };
    let total: u64 = shown.iter().filter_map(|entry| entry.size).sum();
    let mut lines = vec![head(path), format!("{}\t{top}", human(total))];
    for entry in &shown {
        let slash = if entry.kind == Kind::Directory { "/" } else { "" };
        lines.push(format!("{}\t/{}{slash}", human(size(entry)), printable(&entry.path)));
    }
    if list.truncated {
        lines.push(format!(
            "[only the first {} entries are listed, and sizes count only these: view a directory below this one]",
            list.entries.len()
        ));
    }
    reported(lines.join("\n")).truncated(list.truncated)
}

/// Formats a size, such as `812`, `4.0K`, `1.5M`.
fn human(bytes: u64) -> String {
    let mut units = ["K", "M", "G", "T"].iter();
    if bytes < 1024 {
        return bytes.to_string();
    }
    #[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
    let mut size = bytes as f64 / 1024.0;
    let mut unit = units.next();
    while size >= 1024.0
        && let Some(next) = units.next()
    {
        size /= 1024.0;
        unit = Some(next);
    }
    format!("{size:.1}{}", unit.copied().unwrap_or_default())
}
