//! The `lincona` dialect: `list_dir`, `read_file`, `grep_files`, two patch tools, and commands. Offsets start at 0. A
//! result is `{status, message, truncated}`, with the changes of a call that makes any, or a typed error.

use paddock_text::indent;
use paddock_text::page::CUT_SUFFIX;
use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result, Term, printable};
use paddock_types::rendered::Rendered;
use paddock_types::request::{ListSort, Matching, Request};
use paddock_types::response::{PatchAction, Response};
use paddock_types::{phrase, request, response};
use serde_json::{Value, json};

use crate::args::Args;
use crate::dialect::Dialect;
use crate::dialect::answer::{CallContext, take, words};
use crate::dialect::failed_call::FailedCall;
use crate::dialect::spec::{Output, ResultSchema, ToolSpec, ToolTraits};
use crate::param::{DefaultValue, MAX, choice, required, text, texts, whole};

mod commands;

/// Definition of the dialect.
pub const DIALECT: Dialect =
    Dialect { name: "lincona", tools: TOOLS, commands: &[], failure, names: NAMES, confined: &[] };

/// Names of arguments and tools in this dialect.
const NAMES: &[(Term, &str)] = &[
    (Term::Glob, "include"),
    (Term::DiffTool, "apply_patch_json"),
    (Term::EnvelopeTool, "apply_patch_freeform"),
    (Term::ListTool, "list_dir"),
    (Term::PartTool, "read_file` with `offset` and `limit"),
    (Term::SearchTool, "grep_files"),
];

/// Maximum size of a result in bytes and in lines; the first limit reached applies.
const MAX_BYTES: usize = 8 * 1024;
const MAX_LINES: usize = 200;
/// Last line of a truncated result.
const CUT: &str = "[truncated]";
/// Maximum number of characters of a line.
const LINE_CHARS: usize = 400;
/// Maximum number of entries that one call visits.
const MAX_ENTRIES: u64 = 10_000;
/// Maximum size in bytes of a file whose head is examined to detect a program.
const PROGRAM_BYTES: u64 = 1024 * 1024;

const RESULT: Output = Output::ResultSchema(&ResultSchema::Object(&[
    ("status", ResultSchema::Text),
    ("message", ResultSchema::Text),
    ("truncated", ResultSchema::Flag),
]));

const PATCHED: Output = Output::ResultSchema(&ResultSchema::Object(&[
    ("status", ResultSchema::Text),
    ("message", ResultSchema::Text),
    ("truncated", ResultSchema::Flag),
    ("files_touched", ResultSchema::Whole),
    ("bytes_written", ResultSchema::Whole),
    (
        "changes",
        ResultSchema::List(&ResultSchema::Object(&[
            ("path", ResultSchema::Text),
            ("action", ResultSchema::Words(&["add", "update", "move", "delete"])),
            ("lines_added", ResultSchema::Whole),
            ("lines_removed", ResultSchema::Whole),
            ("bytes_written", ResultSchema::Whole),
        ])),
    ),
]));

const TOOLS: &[ToolSpec] = &[
    ToolSpec {
        name: "list_dir",
        title: "List directory",
        description: "List a directory, upper levels first: one entry a line, directories with /, programs with *, links with @.",
        params: &[
            text("path", ".", "Directory"),
            whole("depth", 1, 1_000, DefaultValue::Whole(2), "Levels to descend"),
            whole("offset", 0, MAX, DefaultValue::Whole(0), "Entries to skip"),
            whole("limit", 1, MAX_ENTRIES, DefaultValue::Whole(200), "Most entries"),
        ],
        traits: ToolTraits::Reads,
        request: list_dir,
        answer: list_answer,
        output: RESULT,
    },
    ToolSpec {
        name: "read_file",
        title: "Read file",
        description: "Read lines of a text file. Lines over 400 characters are cut.",
        params: &[
            required("path", "File"),
            whole("offset", 0, MAX - 1, DefaultValue::Whole(0), "Lines to skip"),
            whole("limit", 1, MAX, DefaultValue::Whole(400), "Most lines"),
            choice("mode", &["slice", "indentation"], "slice", "indentation: each line after its indent in columns"),
        ],
        traits: ToolTraits::Reads,
        request: read_file,
        answer: read_answer,
        output: RESULT,
    },
    ToolSpec {
        name: "grep_files",
        title: "Search in files",
        description: "Search files by regular expression; each match as file:line:text.",
        params: &[
            required("pattern", "Regular expression"),
            text("path", ".", "Directory or file"),
            texts("include", DefaultValue::None, "Only files that match one of these globs"),
            whole("limit", 1, 10_000, DefaultValue::Whole(200), "Most matches"),
        ],
        traits: ToolTraits::Reads,
        request: grep_files,
        answer: grep_answer,
        output: RESULT,
    },
    ToolSpec {
        name: "apply_patch_json",
        title: "Apply unified diff",
        description: "Apply a unified diff, all of it or nothing. Every hunk has to fit its line exactly.",
        params: &[required("patch", "The unified diff")],
        traits: ToolTraits::Replaces { idempotent: false },
        request: |args| patch(args, false),
        answer: patch_answer,
        output: PATCHED,
    },
    ToolSpec {
        name: "apply_patch_freeform",
        title: "Apply patch envelope",
        description: "Apply `*** Begin Patch` … `*** End Patch`, all of it or nothing.",
        params: &[required("patch", "The envelope")],
        traits: ToolTraits::Replaces { idempotent: false },
        request: |args| patch(args, true),
        answer: patch_answer,
        output: PATCHED,
    },
    commands::SHELL,
    commands::EXEC_COMMAND,
    commands::WRITE_STDIN,
];

fn reported(message: String, truncated: bool) -> Rendered {
    let value = json!({ "status": "success", "message": message, "truncated": truncated });
    Rendered::new(&value, message).truncated(truncated)
}

fn failure(failed: &FailedCall<'_>) -> Rendered {
    let tool = failed.tool.map_or("", |tool| tool.name);
    let class = match failed.error.code {
        _ if failed.tool.is_some_and(|tool| tool.traits.runs()) => commands::error_type(failed.error),
        Code::OutsideWorkspace | Code::InvalidPath | Code::Denied | Code::ReadOnly => "FsViolationError",
        Code::PatchInvalid => "PatchParseError",
        Code::InvalidArgument | Code::UnknownTool => "ToolValidationError",
        _ if tool.starts_with("apply_patch") => "PatchApplyError",
        _ => "ToolValidationError",
    };
    let message = words(failed.error);
    let value = json!({ "status": "error", "error": class, "message": message, "truncated": false });
    Rendered::new(&value, format!("{class}: {message}"))
}

/// Joins the lines up to the limits of a result, and returns whether any are missing.
fn capped(lines: impl IntoIterator<Item = String>, more: bool) -> (String, bool) {
    let mut out = String::new();
    let (mut count, mut truncated) = (0, more);
    for line in lines {
        if count == MAX_LINES || out.len() + line.len() + 1 > MAX_BYTES {
            truncated = true;
            break;
        }
        if count > 0 {
            out.push('\n');
        }
        out.push_str(&line);
        count += 1;
    }
    if truncated {
        out.push_str(if count > 0 { "\n" } else { "" });
        out.push_str(CUT);
    }
    (out, truncated)
}

fn list_dir(args: &Args) -> Result<Request> {
    Ok(Request::List(request::List {
        depth: args.whole32("depth"),
        sort: ListSort::Breadth,
        skip: args.whole("offset"),
        limit: args.whole32("limit"),
        details: request::Details { heads: Some((2, PROGRAM_BYTES)), ..request::Details::default() },
        unlimited: true,
        ..request::List::of(args.text("path"))
    }))
}

fn list_answer(context: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let list = take!(List, response);
    let offset = context.args.whole("offset");
    if offset > 0 && list.entries.is_empty() {
        let cause = format!("{offset} is past the end: there are {} entries", list.passed);
        return Err(Error::argument("offset", cause).hint("use a smaller one, or a larger `depth`"));
    }
    let line = |entry: &response::Entry| format!("{}{}", printable(&entry.path), marker(entry));
    let lines: Vec<_> = list.entries.iter().map(line).collect();
    let (message, truncated) = capped(lines, list.truncated);
    Ok(reported(message, truncated))
}

/// Returns the suffix of an entry. WASI reports no mode bits, so a program is detected by its first bytes.
fn marker(entry: &response::Entry) -> &'static str {
    match entry.kind {
        Kind::Directory => "/",
        Kind::Link => "@",
        Kind::File if is_program(&entry.details.head) => "*",
        Kind::File | Kind::Other => "",
    }
}

/// Returns whether a file starts like a script or an ELF program.
fn is_program(head: &[u8]) -> bool {
    head.starts_with(b"#!") || head == b"\x7fEL"
}

fn read_file(args: &Args) -> Result<Request> {
    Ok(Request::Read(request::Read {
        first_line: 0,
        line_chars: Some(LINE_CHARS),
        ..request::Read::lines(args.text("path"), args.whole("offset") + 1, Some(args.whole("limit")))
    }))
}

fn read_answer(context: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let read = take!(Read, response);
    let mut message = read.content;
    if context.args.text("mode") == "indentation" && read.end_line > 0 {
        let line = |line: &str| format!("{:>3}| {line}", indent::Indentation::of(line).columns());
        message = message.split('\n').map(line).collect::<Vec<_>>().join("\n");
    }
    let more = read.next_offset.is_some();
    if more {
        message.push('\n');
        message.push_str(CUT);
    }
    let cut = more || message.contains(CUT_SUFFIX);
    Ok(reported(message, cut && read.truncated))
}

fn grep_files(args: &Args) -> Result<Request> {
    Ok(Request::Grep(request::Grep {
        path: args.text("path"),
        glob: included(&args.texts("include")),
        limit: args.whole32("limit"),
        unlimited: true,
        ..request::Grep::of(args.text("pattern"))
    }))
}

/// Returns the glob that matches what one of `globs` matches. A single one may be a list separated by commas.
fn included(globs: &[String]) -> Option<String> {
    let list = globs.join(",");
    match list.trim() {
        "" => None,
        _ if globs.len() == 1 && list.contains('{') => Some(list),
        _ if list.contains(',') => Some(format!("{{{}}}", list.replace(", ", ","))),
        list => Some(list.to_owned()),
    }
}

fn grep_answer(_: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let grep = take!(Grep, response);
    let line = |hit: &response::GrepMatch| {
        let text = match hit.text.char_indices().nth(LINE_CHARS) {
            Some((end, _)) => format!("{}{CUT_SUFFIX}", hit.text.get(..end).unwrap_or_default()),
            None => hit.text.clone(),
        };
        format!("{}:{}:{text}", printable(&hit.path), hit.line)
    };
    if grep.matches.is_empty() && !grep.truncated {
        return Ok(reported(crate::text::with_notes("No matches found.".to_owned(), &grep.notes), false));
    }
    let (message, truncated) = capped(grep.matches.iter().map(line).collect::<Vec<_>>(), grep.truncated);
    Ok(reported(message, truncated))
}

fn patch(args: &Args, is_envelope: bool) -> Result<Request> {
    let patch = args.text("patch");
    let begins = patch.lines().any(|line| line.trim() == "*** Begin Patch");
    if begins != is_envelope {
        let (cause, other, takes) = match is_envelope {
            true => ("it has no line `*** Begin Patch`", Term::DiffTool, " takes a unified diff"),
            false => ("it is an envelope, not a unified diff", Term::EnvelopeTool, " takes the envelope"),
        };
        let message = format!("cannot read the patch: {cause}");
        return Err(Error::new(Code::PatchInvalid, message).hint(phrase![other, takes]));
    }
    // An envelope may have a unified diff in it.
    let inner = patch.split_once("*** Begin Patch\n").map(|(_, inner)| inner).filter(|inner| inner.starts_with("--- "));
    let inner = inner.and_then(|inner| inner.trim_end().strip_suffix("*** End Patch"));
    let patch = inner.map(str::to_owned).unwrap_or(patch);
    Ok(Request::ApplyPatch(request::ApplyPatch { patch, dry_run: false, matching: Matching::Strict }))
}

fn patch_answer(context: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let patch = take!(ApplyPatch, response);
    let change = |file: &response::PatchedFile| {
        json!({
            "path": file.path,
            "action": action(file.action),
            "lines_added": file.lines_added,
            "lines_removed": file.lines_removed,
            "bytes_written": file.size,
        })
    };
    let changes: Vec<Value> = patch.files.iter().map(change).collect();
    let files_touched = patch.files.len();
    let bytes_written: u64 = patch.files.iter().map(|file| file.size).sum();
    let text = crate::text::render(&Response::ApplyPatch(patch), &context.names);
    let (message, truncated) = capped(text.lines().map(str::to_owned), false);
    let value = json!({
        "status": "success",
        "message": message,
        "truncated": truncated,
        "files_touched": files_touched,
        "bytes_written": bytes_written,
        "changes": changes,
    });
    Ok(Rendered::new(&value, message).truncated(truncated))
}

fn action(action: PatchAction) -> &'static str {
    match action {
        PatchAction::Add => "add",
        PatchAction::Update => "update",
        PatchAction::Move => "move",
        PatchAction::Delete => "delete",
    }
}
