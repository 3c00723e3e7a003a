//! The `weakincentives` dialect: the seven tools of its virtual file system, and the other methods of its protocol.
//! Every result is `{success, message, value}`; lines start at 0 in arguments. `/` is the root of the workspace, unless
//! an absolute path names a directory of the host.

use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result, Term, printable};
use paddock_types::rendered::Rendered;
use paddock_types::request;
use paddock_types::request::Request;
use paddock_types::response::Response;
use serde_json::{Value, json};

use crate::args::Args;
use crate::dialect::Dialect;
use crate::dialect::answer::{CallContext, take, words};
use crate::dialect::failed_call::FailedCall;
use crate::dialect::spec::{Output, ResultSchema, ToolSpec, ToolTraits};
use crate::param::{DefaultValue, MAX, Param, flag, optional, required, signed, text, whole};
use crate::text::render;

mod commands;
mod paths;
mod reading;
mod search;

use crate::weakincentives::paths::{directory, fnmatch, named, writable_path};
use crate::weakincentives::reading::{read, read_file};
use crate::weakincentives::search::{glob, grep, ls};

/// Definition of the dialect.
pub const DIALECT: Dialect =
    Dialect { name: "weakincentives", tools: TOOLS, commands: commands::TOOLS, failure, names: NAMES, confined: &[] };

/// Names of arguments and tools in this dialect.
const NAMES: &[(Term, &str)] = &[
    (Term::Glob, "glob_filter"),
    (Term::Limit, "max_matches"),
    (Term::NewText, "new_string"),
    (Term::OldText, "old_string"),
    (Term::FindTool, "glob"),
    (Term::ListTool, "ls"),
    (Term::PartTool, "read_file` with `offset` and `limit"),
    (Term::SearchTool, "grep"),
    (Term::WriteTool, "write_file"),
];

/// Maximum number of entries in a listing.
const MAX_ENTRIES: u32 = 10_000;
/// Number of files in a listing whose content is hashed: each needs a read.
const DETAILS: request::Details = request::Details { etags: 100, link_targets: true, heads: None };

const PATH: Param = required("path", "Path, relative to the root").or(&["file_path"]);

const ENTRY: ResultSchema = ResultSchema::Object(&[
    ("path", ResultSchema::Text),
    ("kind", ResultSchema::Words(&["file", "directory"])),
    ("size_bytes", ResultSchema::Nullable(&ResultSchema::Whole)),
    ("content_hash", ResultSchema::Nullable(&ResultSchema::Text)),
]);

/// Builds the schema of a result with this value.
macro_rules! output {
    ($value:expr) => {
        Output::ResultSchema(&ResultSchema::Object(&[
            ("success", ResultSchema::Flag),
            ("message", ResultSchema::Text),
            ("value", $value),
        ]))
    };
}

const TOOLS: &[ToolSpec] = &[
    ToolSpec {
        name: "ls",
        title: "List directory",
        description: "List the entries of a directory.",
        params: &[text("path", ".", "Directory, relative to the root")],
        traits: ToolTraits::Reads,
        request: |args| {
            Ok(Request::List(request::List {
                limit: MAX_ENTRIES,
                include_hidden: true,
                include_ignored: true,
                details: DETAILS,
                unlimited: true,
                ..request::List::of(directory(args))
            }))
        },
        answer: ls,
        output: output!(ResultSchema::List(&ENTRY)),
    },
    ToolSpec {
        name: "read_file",
        title: "Read file",
        description: "Read a text file, by lines. `offset` is the number of lines to skip.",
        params: &[
            PATH,
            whole("offset", 0, MAX - 1, DefaultValue::Whole(0), "Lines to skip"),
            signed("limit", DefaultValue::None, "Most lines (2000); -1 for all"),
        ],
        traits: ToolTraits::Reads,
        request: read,
        answer: read_file,
        output: output!(ResultSchema::Object(&[
            ("path", ResultSchema::Text),
            ("content", ResultSchema::Text),
            ("total_lines", ResultSchema::Nullable(&ResultSchema::Whole)),
            ("offset", ResultSchema::Whole),
            ("limit", ResultSchema::Whole),
        ])),
    },
    ToolSpec {
        name: "write_file",
        title: "Write file",
        description: "Write a whole file. Makes missing directories.",
        params: &[
            PATH,
            required("content", "UTF-8 text"),
            flag("create_only", false, "Fail if the file exists").may_be_absent(),
        ],
        traits: ToolTraits::Replaces { idempotent: false },
        request: |args| {
            let (path, content) = (writable_path(args, "write")?, args.text("content"));
            // Only the original tool, which never overwrites a file, names its argument `file_path`.
            let create_only = args.opt_flag("create_only").unwrap_or_else(|| args.has("file_path"));
            Ok(Request::Write(request::Write { path, content, create_only, ..request::Write::default() }))
        },
        answer: write_file,
        output: output!(ResultSchema::Object(&[
            ("path", ResultSchema::Text),
            ("bytes_written", ResultSchema::Whole),
            ("created", ResultSchema::Flag)
        ])),
    },
    ToolSpec {
        name: "edit_file",
        title: "Edit file",
        description: "Replace text in a file. `old_string` has to occur exactly once, or set `replace_all`.",
        params: &[
            PATH,
            required("old_string", "Text in the file"),
            required("new_string", "Text in its place"),
            flag("replace_all", false, "Every occurrence"),
        ],
        traits: ToolTraits::Replaces { idempotent: false },
        request: |args| {
            let edit = request::Replacement {
                old_text: args.text("old_string"),
                new_text: args.text("new_string"),
                replace_all: args.flag("replace_all"),
            };
            let path = named(args, "edit")?;
            Ok(Request::Edit(request::Edit { path, edits: vec![edit], ..request::Edit::default() }))
        },
        answer: edit_file,
        output: output!(ResultSchema::Object(&[("path", ResultSchema::Text), ("replacements", ResultSchema::Whole)])),
    },
    ToolSpec {
        name: "glob",
        title: "Find by name",
        description: "Find files by a pattern such as **/*.py. `*` matches / too.",
        params: &[required("pattern", "The pattern, relative to path"), text("path", ".", "Directory to search")],
        traits: ToolTraits::Reads,
        request: |args| {
            let glob = request::Glob { unlimited: true, ..request::Glob::of(fnmatch(&args.text("pattern"))) };
            Ok(Request::Glob(request::Glob {
                path: directory(args),
                include_hidden: true,
                include_ignored: true,
                limit: MAX_ENTRIES,
                links: true,
                details: Some(DETAILS),
                ..glob
            }))
        },
        answer: glob,
        output: output!(ResultSchema::Object(&[
            ("pattern", ResultSchema::Text),
            ("matches", ResultSchema::List(&ENTRY))
        ])),
    },
    ToolSpec {
        name: "grep",
        title: "Search in files",
        description: "Search file contents by regular expression.",
        params: &[
            required("pattern", "Regular expression"),
            text("path", ".", "Directory or file"),
            optional("glob_filter", "Only files that match this pattern").or(&["glob"]),
            whole("max_matches", 1, 10_000, DefaultValue::Whole(100), "Most matches"),
        ],
        traits: ToolTraits::Reads,
        request: |args| {
            Ok(Request::Grep(request::Grep {
                path: directory(args),
                glob: args.opt_text("glob_filter").filter(|glob| !glob.trim().is_empty()).map(|glob| fnmatch(&glob)),
                include_hidden: true,
                include_ignored: true,
                limit: args.whole32("max_matches"),
                unlimited: true,
                whole_lines: true,
                ..request::Grep::of(args.text("pattern"))
            }))
        },
        answer: grep,
        output: output!(ResultSchema::Object(&[
            ("pattern", ResultSchema::Text),
            (
                "matches",
                ResultSchema::List(&ResultSchema::Object(&[
                    ("path", ResultSchema::Text),
                    ("line_number", ResultSchema::Whole),
                    ("line_content", ResultSchema::Text),
                    ("match_start", ResultSchema::Whole),
                    ("match_end", ResultSchema::Whole),
                ])),
            ),
        ])),
    },
    ToolSpec {
        name: "rm",
        title: "Delete",
        description: "Delete a file, or a directory with its content. The value is the number of entries.",
        params: &[PATH, flag("recursive", true, "If false, only an empty directory is deleted")],
        traits: ToolTraits::Replaces { idempotent: false },
        request: |args| {
            let (path, recursive) = (named(args, "delete")?, args.flag("recursive"));
            Ok(Request::Delete(request::Delete { path, recursive, files_only: false }))
        },
        answer: |context, response| {
            let delete = take!(Delete, response);
            Ok(reported(json!(delete.entries_deleted), render(&Response::Delete(delete), &context.names)))
        },
        output: output!(ResultSchema::Whole),
    },
    ToolSpec {
        name: "mkdir",
        title: "Make directory",
        description: "Make a directory. Fails if it exists, unless `parents` is set.",
        params: &[PATH, flag("parents", false, "Its parents too")],
        traits: ToolTraits::Adds { idempotent: true },
        request: |args| {
            let path = directory(args);
            // The root always exists.
            let is_root = matches!(path.as_str(), "." | "/");
            let path = if is_root { path } else { writable_path(args, "make")? };
            Ok(Request::MakeDir(request::MakeDir { path, parents: is_root || args.flag("parents") }))
        },
        answer: |context, response| {
            let writable_path = take!(MakeDir, response);
            Ok(reported(Value::Null, render(&Response::MakeDir(writable_path), &context.names)))
        },
        output: output!(ResultSchema::Nullable(&ResultSchema::Flag)),
    },
    ToolSpec {
        name: "exists",
        title: "Whether a path exists",
        description: "Whether a path exists.",
        params: &[PATH],
        traits: ToolTraits::Reads,
        request: stat,
        answer: |context, response| is(context, response, |_| true),
        output: output!(ResultSchema::Flag),
    },
    ToolSpec {
        name: "is_file",
        title: "Whether a path is a file",
        description: "Whether a path is a file.",
        params: &[PATH],
        traits: ToolTraits::Reads,
        request: stat,
        answer: |context, response| is(context, response, |kind| kind == Kind::File),
        output: output!(ResultSchema::Flag),
    },
    ToolSpec {
        name: "is_dir",
        title: "Whether a path is a directory",
        description: "Whether a path is a directory.",
        params: &[PATH],
        traits: ToolTraits::Reads,
        request: stat,
        answer: |context, response| is(context, response, |kind| kind == Kind::Directory),
        output: output!(ResultSchema::Flag),
    },
];

fn reported(value: Value, message: String) -> Rendered {
    Rendered::new(&json!({ "success": true, "message": message, "value": value }), message)
}

/// Renders an error as `{"success": false, "value": null}` with the exception that the protocol raises.
fn failure(failed: &FailedCall<'_>) -> Rendered {
    let exception = match failed.error.code {
        Code::NotFound => "FileNotFoundError",
        Code::AlreadyExists => "FileExistsError",
        Code::NotAFile | Code::DirectoryNotEmpty => "IsADirectoryError",
        Code::NotADirectory => "NotADirectoryError",
        Code::OutsideWorkspace | Code::Denied => "SecurityError",
        Code::PermissionDenied | Code::ReadOnly => "PermissionError",
        Code::InvalidArgument | Code::InvalidPath | Code::NoMatch | Code::AmbiguousMatch => "ValueError",
        Code::BinaryFile | Code::EncodingLoss | Code::TooLarge => "ValueError",
        _ => "OSError",
    };
    let message = words(failed.error);
    let value = json!({ "success": false, "message": message, "value": null, "error": exception });
    Rendered::new(&value, message)
}

fn write_file(context: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let write = take!(Write, response);
    let value = json!({ "path": write.path, "bytes_written": write.bytes_written, "created": write.created });
    Ok(reported(value, render(&Response::Write(write), &context.names)))
}

fn edit_file(context: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let edit = take!(Edit, response);
    let value = json!({ "path": edit.path, "replacements": edit.edits_applied });
    Ok(reported(value, render(&Response::Edit(edit), &context.names)))
}

fn stat(args: &Args) -> Result<Request> {
    Ok(Request::Stat(request::Stat { follow: true, brief: true, ..request::Stat::of(directory(args)) }))
}

/// Returns whether the entry is of the wanted kind, after following a link. A path that is missing or outside has no kind.
fn is(context: &CallContext<'_>, response: Result<Response>, wanted: fn(Kind) -> bool) -> Result<Rendered> {
    let path = context.args.text("path");
    let kind = match response {
        Ok(Response::Stat(stat)) if stat.kind == Kind::Link => stat.target_kind,
        Ok(Response::Stat(stat)) => Some(stat.kind),
        Ok(_) => return Err(CallContext::mixed_up()),
        Err(Error { code: Code::NotFound | Code::NotADirectory | Code::OutsideWorkspace, .. }) => None,
        Err(error) => return Err(error),
    };
    let answer = kind.is_some_and(wanted);
    Ok(reported(answer.into(), format!("{}: {answer}", printable(&path))))
}
