//! The `chorus` dialect: `file.read`, `file.write`, `file.patch`, `file.delete`, `file.list`, `file.search`. Input and
//! output are JSON; line numbers start at 0 in arguments and at 1 in results.

use paddock_types::entry::Kind;
use paddock_types::error::{Result, Term, printable};
use paddock_types::rendered::Rendered;
use paddock_types::request;
use paddock_types::request::{LetterCase, Request};
use paddock_types::response::Response;
use serde_json::{Value, json};

use crate::args::Args;
use crate::dialect::Dialect;
use crate::dialect::answer::{CallContext, take, words};
use crate::dialect::failed_call::FailedCall;
use crate::dialect::spec::{Output, ResultSchema, ToolSpec, ToolTraits};
use crate::line_numbers;
use crate::param::{DefaultValue, MAX, flag, objects, optional, required, text, whole};
use crate::text::{endings, left_out, no_lines, with_notes};

/// Definition of the dialect.
pub const DIALECT: Dialect =
    Dialect { name: "chorus", tools: TOOLS, commands: &[], failure, names: NAMES, confined: &[] };

/// Names of arguments and tools in this dialect.
const NAMES: &[(Term, &str)] = &[
    (Term::Edits, "patches"),
    (Term::Limit, "max_results"),
    (Term::NewText, "replace"),
    (Term::OldText, "find"),
    (Term::PartTool, "file.read` with `offset` and `limit"),
    (Term::ReadTool, "file.read"),
    (Term::SearchTool, "file.search"),
    (Term::WriteTool, "file.write"),
];

/// Maximum number of files in a listing, and in its text.
const MAX_FILES: u32 = 10_000;
const TEXT_FILES: usize = 1_000;

const TOOLS: &[ToolSpec] = &[
    ToolSpec {
        name: "file.read",
        title: "Read file",
        description: "Read a text file. `content` has the line numbers; where `truncated` is true, a larger `offset` continues.",
        params: &[
            required("path", "File, relative to the workspace"),
            whole("offset", 0, MAX - 1, DefaultValue::Whole(0), "Lines to skip"),
            whole("limit", 1, MAX, DefaultValue::None, "Most lines (2000)"),
        ],
        traits: ToolTraits::Reads,
        request: read,
        answer: read_answer,
        output: Output::ResultSchema(&ResultSchema::Object(&[
            ("content", ResultSchema::Text),
            ("total_lines", ResultSchema::Nullable(&ResultSchema::Whole)),
            ("truncated", ResultSchema::Flag),
        ])),
    },
    ToolSpec {
        name: "file.write",
        title: "Write file",
        description: "Write a whole file, replacing an existing one. Makes missing directories.",
        params: &[required("path", "File, relative to the workspace"), required("content", "The whole text")],
        traits: ToolTraits::Replaces { idempotent: true },
        request: |args| {
            let (path, content) = (path(args), args.text("content"));
            Ok(Request::Write(request::Write { path, content, ..request::Write::default() }))
        },
        answer: write_answer,
        output: Output::ResultSchema(&ResultSchema::Object(&[
            ("success", ResultSchema::Flag),
            ("bytes_written", ResultSchema::Whole),
        ])),
    },
    ToolSpec {
        name: "file.patch",
        title: "Patch file",
        description: "Replace text in a file. Each `find` has to occur exactly once; all patches are applied, in order, or none.",
        params: &[
            required("path", "File, relative to the workspace"),
            objects(
                "patches",
                &[required("find", "Text in the file"), required("replace", "Text in its place")],
                "Each applied to the result of the one before",
            ),
        ],
        traits: ToolTraits::Replaces { idempotent: false },
        request: patch,
        answer: patch_answer,
        output: Output::ResultSchema(&ResultSchema::Object(&[
            ("success", ResultSchema::Flag),
            ("patches_applied", ResultSchema::Whole),
        ])),
    },
    ToolSpec {
        name: "file.delete",
        title: "Delete file",
        description: "Delete a file. Directories are refused.",
        params: &[required("path", "File, relative to the workspace")],
        traits: ToolTraits::Replaces { idempotent: false },
        request: |args| Ok(Request::Delete(request::Delete { path: path(args), recursive: false, files_only: true })),
        answer: |_, response| {
            let delete = take!(Delete, response);
            let message = format!("Deleted {}", printable(&delete.path));
            Ok(Rendered::new(&json!({ "success": true }), with_notes(message, &delete.notes)))
        },
        output: Output::ResultSchema(&ResultSchema::Object(&[("success", ResultSchema::Flag)])),
    },
    ToolSpec {
        name: "file.list",
        title: "List files",
        description: "List a directory, or the files below it that match a pattern, with sizes and times. Hidden and ignored ones are left out.",
        params: &[
            text("path", ".", "Directory"),
            optional("pattern", "Only what matches this glob, such as src/**/*.ts"),
        ],
        traits: ToolTraits::Reads,
        request: list,
        answer: list_answer,
        output: Output::ResultSchema(&ResultSchema::Object(&[
            (
                "files",
                ResultSchema::List(&ResultSchema::Object(&[
                    ("path", ResultSchema::Text),
                    ("size", ResultSchema::Nullable(&ResultSchema::Whole)),
                    ("modified", ResultSchema::Nullable(&ResultSchema::Text)),
                    ("is_directory", ResultSchema::Flag),
                ])),
            ),
            ("truncated", ResultSchema::Flag),
        ])),
    },
    ToolSpec {
        name: "file.search",
        title: "Search in files",
        description: "Search file contents by regular expression.",
        params: &[
            required("pattern", "Regular expression"),
            text("path", ".", "Directory or file"),
            optional("glob", "Only files that match this glob"),
            flag("case_sensitive", true, "Tell upper case from lower case"),
            whole("context_lines", 0, 1_000, DefaultValue::Whole(0), "Lines to show before and after each match"),
            whole("max_results", 1, 10_000, DefaultValue::Whole(100), "Most matches"),
        ],
        traits: ToolTraits::Reads,
        request: search,
        answer: search_answer,
        output: Output::ResultSchema(&ResultSchema::Object(&[
            (
                "matches",
                ResultSchema::List(&ResultSchema::Object(&[
                    ("path", ResultSchema::Text),
                    ("line", ResultSchema::Whole),
                    ("content", ResultSchema::Text),
                ])),
            ),
            ("truncated", ResultSchema::Flag),
        ])),
    },
];

/// Renders an error as `{"error": {"code", "message", "path", "suggestion"}}`.
fn failure(failed: &FailedCall<'_>) -> Rendered {
    let error = failed.error;
    let value = json!({
        "success": false,
        "error": {
            "code": error.code,
            "message": error.message,
            "path": error.path,
            "suggestion": error.hint,
        },
    });
    Rendered::new(&value, words(error))
}

/// Returns the argument `path`. A blank one is refused as an empty one is.
#[inline(never)]
fn path(args: &Args) -> String {
    let path = args.text("path");
    if path.trim().is_empty() { String::new() } else { path }
}

fn read(args: &Args) -> Result<Request> {
    let read = request::Read::lines(path(args), args.whole("offset") + 1, args.opt_whole("limit"));
    Ok(Request::Read(request::Read { first_line: 0, empty_past_end: true, ..read }))
}

fn read_answer(_: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let read = take!(Read, response);
    let content = line_numbers::numbered(&read.content, read.line_count(), read.start_line, "|");
    let value = json!({ "content": content, "total_lines": read.total_lines, "truncated": read.truncated });
    let mut text = content;
    text.push_str(&no_lines(&read));
    if let Some(next) = read.next_offset {
        text.push_str(&format!("\n[there are more lines: offset={} continues]", next - 1));
    }
    text.push_str(&endings(&read));
    Ok(Rendered::new(&value, text).truncated(read.truncated))
}

fn write_answer(_: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let write = take!(Write, response);
    let message = format!("Wrote {} ({} bytes)", printable(&write.path), write.bytes_written);
    let value = json!({ "success": true, "bytes_written": write.bytes_written });
    Ok(Rendered::new(&value, with_notes(message, &write.notes)))
}

fn patch(args: &Args) -> Result<Request> {
    Ok(Request::Edit(request::Edit {
        path: path(args),
        edits: args.replacements("patches", "find", "replace"),
        ..request::Edit::default()
    }))
}

fn patch_answer(_: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let edit = take!(Edit, response);
    let value = json!({ "success": true, "patches_applied": edit.edits_applied });
    Ok(Rendered::new(&value, with_notes(format!("Patched {}\n{}", printable(&edit.path), edit.diff), &edit.notes)))
}

fn list(args: &Args) -> Result<Request> {
    let pattern = args.opt_text("pattern");
    Ok(Request::List(request::List {
        // Subdirectories are listed only if the call has a pattern.
        depth: if pattern.is_some() { u32::MAX } else { 1 },
        pattern,
        limit: MAX_FILES,
        unlimited: true,
        ..request::List::of(path(args))
    }))
}

fn list_answer(context: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let list = take!(List, response);
    let is_listed = |kind| kind == Kind::File || (kind == Kind::Directory && !context.args.has("pattern"));
    let (mut entries, mut lines) = (Vec::<Value>::new(), Vec::new());
    for entry in list.entries.iter().filter(|entry| is_listed(entry.kind)) {
        let is_directory = entry.kind == Kind::Directory;
        entries.push(json!({
            "path": entry.path, "size": entry.size, "modified": entry.modified, "is_directory": is_directory,
        }));
        lines.push(match entry.size {
            Some(size) => format!("{}  {size}", printable(&entry.path)),
            None => format!("{}/", printable(&entry.path)),
        });
    }
    let is_cut = list.truncated || lines.len() > TEXT_FILES;
    lines.truncate(TEXT_FILES);
    lines.extend(left_out(&list.skipped, &context.names).map(|skipped| format!("[left out: {skipped}]")));
    if is_cut {
        lines.push("[there are more: a narrower `pattern` shows others]".to_owned());
    }
    let value = json!({ "files": entries, "truncated": list.truncated });
    Ok(Rendered::new(&value, lines.join("\n")).truncated(is_cut))
}

fn search(args: &Args) -> Result<Request> {
    let context = args.whole32("context_lines");
    Ok(Request::Grep(request::Grep {
        path: path(args),
        glob: args.opt_text("glob"),
        letter_case: if args.flag("case_sensitive") { LetterCase::Sensitive } else { LetterCase::Insensitive },
        before: context,
        after: context,
        limit: args.whole32("max_results"),
        unlimited: true,
        ..request::Grep::of(args.text("pattern"))
    }))
}

fn search_answer(context: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let grep = take!(Grep, response);
    let content = |hit: &paddock_types::response::GrepMatch| {
        let before = hit.before.iter().map(|line| line.text.as_str());
        let after = hit.after.iter().map(|line| line.text.as_str());
        // A shortened line already has a mark at its end.
        let start = if hit.text_start > 0 { "…" } else { "" };
        let text = format!("{start}{}", hit.text);
        before.chain([text.as_str()]).chain(after).collect::<Vec<_>>().join("\n")
    };
    let matches: Vec<Value> =
        grep.matches.iter().map(|hit| json!({ "path": hit.path, "line": hit.line, "content": content(hit) })).collect();
    let value = json!({ "matches": matches, "truncated": grep.truncated });
    Ok(Rendered::new(&value, crate::text::render(&Response::Grep(grep.clone()), &context.names))
        .truncated(grep.truncated))
}
