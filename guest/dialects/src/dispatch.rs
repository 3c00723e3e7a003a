//! The `dispatch` dialect: six tools on a worktree. Lines start at 0, every result is a success or a failure value, and
//! failures are named after the exception classes of the original tools.

use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result, Term, printable};
use paddock_types::rendered::Rendered;
use paddock_types::request;
use paddock_types::request::Request;
use paddock_types::response::Response;
use paddock_vfs::MAX_OFFSET;
use serde_json::json;

use crate::args::Args;
use crate::dialect::Dialect;
use crate::dialect::answer::{CallContext, take, words};
use crate::dialect::failed_call::FailedCall;
use crate::dialect::spec::{Output, ResultSchema, ToolSpec, ToolTraits};
use crate::line_numbers;
use crate::param::{DefaultValue, flag, objects, optional, required, signed, text, whole};
use crate::text::{endings, left_out, no_lines, with_notes};

/// Definition of the dialect.
pub const DIALECT: Dialect =
    Dialect { name: "dispatch", tools: TOOLS, commands: &[], failure, names: NAMES, confined: &[] };

/// Names of arguments and tools in this dialect.
const NAMES: &[(Term, &str)] = &[
    (Term::Glob, "pattern"),
    (Term::Offset, "start_line"),
    (Term::Pattern, "query"),
    (Term::PartTool, "read_file` with `start_line` and `end_line"),
    (Term::SearchTool, "search_files"),
    (Term::WriteTool, "write_file"),
];

/// Maximum number of matches in a search result.
const MAX_MATCHES: u32 = 100;
/// Maximum number of paths in a listing.
const MAX_PATHS: u32 = 1_000;

const RESULT: Output =
    Output::ResultSchema(&ResultSchema::Object(&[("success", ResultSchema::Flag), ("output", ResultSchema::Text)]));

const TOOLS: &[ToolSpec] = &[
    ToolSpec {
        name: "read_file",
        title: "Read file",
        description: "Read a text file. Each line is shown with its number; the first line is 0.",
        params: &[
            required("path", "File, relative to the worktree"),
            whole("start_line", 0, MAX_OFFSET - 1, DefaultValue::Whole(0), "First line, from 0"),
            signed("end_line", DefaultValue::Below(-1), "Last line, from 0 and included; -1 for the end of the file"),
        ],
        traits: ToolTraits::Reads,
        request: read,
        answer: read_answer,
        output: RESULT,
    },
    ToolSpec {
        name: "write_file",
        title: "Write file",
        description: "Write a whole file, replacing an existing one. Makes missing directories.",
        params: &[required("path", "File, relative to the worktree"), required("content", "The whole text")],
        traits: ToolTraits::Replaces { idempotent: true },
        request: |args| Ok(write(args, false)),
        answer: write_answer,
        output: RESULT,
    },
    ToolSpec {
        name: "edit_file",
        title: "Edit file",
        description: "Replace text in a file. Each old_text has to occur exactly once; the edits are made in order, all or none.",
        params: &[
            required("path", "File, relative to the worktree"),
            objects(
                "edits",
                &[required("old_text", "Text in the file"), required("new_text", "Text in its place")],
                "Each applied to the result of the one before",
            ),
        ],
        traits: ToolTraits::Replaces { idempotent: false },
        request: edit,
        answer: edit_answer,
        output: RESULT,
    },
    ToolSpec {
        name: "create_file",
        title: "Create file",
        description: "Create a new file. Fails if it exists; write_file overwrites. Makes missing directories.",
        params: &[required("path", "File, relative to the worktree"), required("content", "The whole text")],
        traits: ToolTraits::Adds { idempotent: false },
        request: |args| Ok(write(args, true)),
        answer: write_answer,
        output: RESULT,
    },
    ToolSpec {
        name: "list_files",
        title: "List files",
        description: "List files, one path a line, relative to the worktree. Hidden and ignored ones are left out.",
        params: &[
            text("path", ".", "Directory"),
            optional("pattern", "Only what matches this glob, such as *.rb or app/**/*.rb"),
            flag("recursive", true, "Directories below it too"),
        ],
        traits: ToolTraits::Reads,
        request: list,
        answer: list_answer,
        output: RESULT,
    },
    ToolSpec {
        name: "search_files",
        title: "Search in files",
        description: "Search file contents. At most 100 matches, each as path:line:text; the first line is 0.",
        params: &[
            required("query", "Text to find, or a regular expression"),
            text("path", ".", "Directory or file"),
            optional("pattern", "Only files that match this glob"),
            flag("is_regex", false, "query is a regular expression"),
        ],
        traits: ToolTraits::Reads,
        request: search,
        answer: search_answer,
        output: RESULT,
    },
];

fn success(output: String) -> Rendered {
    Rendered::new(&json!({ "success": true, "output": output }), output)
}

/// Renders an error as `{"success": false}` with the class name of the original tools.
fn failure(failed: &FailedCall<'_>) -> Rendered {
    let class = match failed.error.code {
        Code::OutsideWorkspace | Code::InvalidPath | Code::Denied => "SandboxError",
        Code::NotFound => "FileNotFoundError",
        Code::AlreadyExists => "FileExistsError",
        _ => "Error",
    };
    // The original's name of the failure.
    let cause = match failed.error.code {
        Code::NotFound => "file not found: ",
        Code::NoMatch => "not found: ",
        Code::AmbiguousMatch => "ambiguous: ",
        _ => "",
    };
    let message = format!("{cause}{}", words(failed.error));
    let value = json!({ "success": false, "error": class, "message": message, "path": failed.error.path });
    Rendered::new(&value, format!("{class}: {message}"))
}

fn read(args: &Args) -> Result<Request> {
    let start = args.whole("start_line");
    let limit = match args.opt_signed("end_line").map(u64::try_from) {
        None => None,
        _ if args.opt_signed("end_line") == Some(-1) => None,
        Some(Err(_)) => {
            return Err(Error::argument("end_line", "it has to be at least 0, or -1 for the end of the file"));
        }
        Some(Ok(end)) if end < start => {
            return Err(Error::argument("end_line", format!("{end} is before `start_line`, {start}"))
                .hint("lines count from 0, and `end_line` is included; -1 is the end of the file"));
        }
        Some(Ok(end)) => Some(end - start + 1),
    };
    let read = request::Read::lines(args.text("path"), start + 1, limit);
    Ok(Request::Read(request::Read { first_line: 0, empty_past_end: true, ..read }))
}

fn read_answer(context: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let read = take!(Read, response);
    let (first, last) = (read.start_line.saturating_sub(1), read.end_line.saturating_sub(1));
    let mut output = line_numbers::numbered(&read.content, read.line_count(), first, ": ");
    output.push_str(&no_lines(&read));
    // A range that ends before the end of the file is complete, not truncated.
    let requested_end = context.args.opt_signed("end_line").and_then(|end| u64::try_from(end).ok());
    let is_cut = read.truncated && requested_end.is_none_or(|end| end > last);
    if is_cut && let Some(next) = read.next_offset {
        let of = read.total_lines.map(|total| format!(" of {total}")).unwrap_or_default();
        output.push_str(&format!("\n[lines {first}-{last}{of}; start_line={} continues]", next - 1));
    }
    output.push_str(&endings(&read));
    Ok(success(output).truncated(is_cut))
}

fn write(args: &Args, create_only: bool) -> Request {
    Request::Write(request::Write {
        path: args.text("path"),
        content: args.text("content"),
        create_only,
        ..request::Write::default()
    })
}

fn write_answer(_: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let write = take!(Write, response);
    let action = if write.created { "Created" } else { "Wrote" };
    let message = format!("{action} {} ({} bytes)", printable(&write.path), write.bytes_written);
    Ok(success(with_notes(message, &write.notes)))
}

fn edit(args: &Args) -> Result<Request> {
    Ok(Request::Edit(request::Edit {
        path: args.text("path"),
        edits: args.replacements("edits", "old_text", "new_text"),
        ..request::Edit::default()
    }))
}

fn edit_answer(_: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let edit = take!(Edit, response);
    let edits = if edit.edits_applied == 1 { "edit" } else { "edits" };
    let message = format!("Applied {} {edits} to {}", edit.edits_applied, printable(&edit.path));
    Ok(success(with_notes(message, &edit.notes)))
}

/// Returns the argument `path` of a tool that lists or searches; an empty path is the worktree.
#[inline(never)]
fn directory(args: &Args) -> String {
    Some(args.text("path")).filter(|path| !path.is_empty()).unwrap_or_else(|| ".".to_owned())
}

fn list(args: &Args) -> Result<Request> {
    let (path, pattern) = (directory(args), args.opt_text("pattern"));
    if !args.flag("recursive") {
        return Ok(Request::List(request::List {
            pattern,
            limit: MAX_PATHS,
            unlimited: true,
            ..request::List::of(path)
        }));
    }
    let pattern = pattern.unwrap_or_else(|| "**".to_owned());
    Ok(Request::Glob(request::Glob { path, limit: MAX_PATHS, unlimited: true, ..request::Glob::of(pattern) }))
}

fn list_answer(context: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let mut notes = Vec::new();
    let (paths, skipped, truncated) = match response? {
        Response::Glob(glob) => {
            notes = glob.notes;
            (glob.paths, glob.skipped, glob.truncated)
        }
        Response::List(list) => {
            let files = list.entries.into_iter().filter(|entry| entry.kind == Kind::File);
            (files.map(|entry| entry.path).collect(), list.skipped, list.truncated)
        }
        _ => return Err(CallContext::mixed_up()),
    };
    let mut lines: Vec<_> = paths.iter().map(|path| printable(path)).collect();
    lines.extend(left_out(&skipped, &context.names).map(|skipped| format!("[left out: {skipped}]").into()));
    if truncated {
        lines.push(format!("[there are more than {}: narrow `path` or `pattern`]", paths.len()).into());
    }
    Ok(success(with_notes(lines.join("\n"), &notes)).truncated(truncated))
}

fn search(args: &Args) -> Result<Request> {
    Ok(Request::Grep(request::Grep {
        path: directory(args),
        glob: args.opt_text("pattern"),
        fixed: !args.flag("is_regex"),
        limit: MAX_MATCHES,
        unlimited: true,
        ..request::Grep::of(args.text("query"))
    }))
}

fn search_answer(context: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let grep = take!(Grep, response);
    let line = |hit: &paddock_types::response::GrepMatch| {
        let start = if hit.text_start > 0 { "…" } else { "" };
        format!("{}:{}:{start}{}", printable(&hit.path), hit.line.saturating_sub(1), hit.text)
    };
    let mut lines: Vec<_> = grep.matches.iter().map(line).collect();
    if lines.is_empty() {
        lines.push(format!("[no match in {} files]", grep.files_searched));
    }
    lines.extend(left_out(&grep.skipped, &context.names).map(|skipped| format!("[left out: {skipped}]")));
    if grep.truncated {
        lines
            .push(format!("[there are more than {} matches: narrow `path`, `pattern` or `query`]", grep.matches.len()));
    }
    Ok(success(with_notes(lines.join("\n"), &grep.notes)).truncated(grep.truncated))
}
