//! The `anthropic` dialect: Claude's text editor tool (`text_editor_20250728`) and memory tool (`memory_20250818`).
//! Each is one tool with a `command` argument, and answers with the texts that the model was trained on.

use paddock_types::error::{Code, Error, Result, Term};
use paddock_types::request;
use paddock_types::request::{ReadMode, Request};
use paddock_types::response::Response;

use crate::args::Args;
use crate::dialect::Dialect;
use crate::dialect::spec::{Output, ResultSchema, ToolSpec, ToolTraits};
use crate::param::{DefaultValue, Param, ParamKind, choice, optional, signed};

mod fail;
mod memory;
mod render;

/// Definition of the dialect.
pub const DIALECT: Dialect = Dialect {
    name: "anthropic",
    tools: TOOLS,
    commands: &[],
    failure: fail::failure,
    names: NAMES,
    confined: &[(MEMORY, "memories")],
};

/// Names of arguments and tools in this dialect.
const NAMES: &[(Term, &str)] = &[
    (Term::NewText, "new_str"),
    (Term::OldText, "old_str"),
    (Term::PartTool, "str_replace_based_edit_tool` with `view_range"),
];

const EDITOR: &str = "str_replace_based_edit_tool";
const MEMORY: &str = "memory";
/// Root of the memory tool's paths.
const MEMORY_ROOT: &str = "/memories";

/// Number of lines rendered on each side of a change.
const SNIPPET_LINES: u64 = 4;
/// Maximum depth and maximum number of entries of a rendered directory.
const VIEW_DEPTH: u32 = 2;
const MAX_ENTRIES: u32 = 1_000;

const RESULT: Output = Output::ResultSchema(&ResultSchema::Object(&[("output", ResultSchema::Text)]));

const VIEW_RANGE: Param = Param {
    name: "view_range",
    aliases: &[],
    kind: ParamKind::Pair,
    default: DefaultValue::None,
    doc: "view: first and last line, from 1; -1 for the end",
};
const FILE_TEXT: Param = optional("file_text", "create: the whole text");
const OLD_STR: Param = optional("old_str", "str_replace: text that is in the file once");
const NEW_STR: Param = optional("new_str", "str_replace: text in its place");
const INSERT_LINE: Param =
    signed("insert_line", DefaultValue::None, "insert: the line to put it after, 0 for the start");
const INSERT_TEXT: Param = optional("insert_text", "insert: the text");

const TOOLS: &[ToolSpec] = &[
    ToolSpec {
        name: EDITOR,
        title: "Text editor",
        description: "View, create and edit text files. `view` shows a file with line numbers, or a directory two levels deep.",
        params: &[
            choice("command", &["view", "create", "str_replace", "insert"], "view", "What to do"),
            optional("path", "File or directory"),
            VIEW_RANGE,
            FILE_TEXT,
            OLD_STR,
            NEW_STR,
            INSERT_LINE,
            INSERT_TEXT,
        ],
        traits: ToolTraits::Replaces { idempotent: false },
        request: |args| request(args, EDITOR, &args.text("path")),
        answer: render::answer,
        output: RESULT,
    },
    ToolSpec {
        name: MEMORY,
        title: "Memory",
        description: "Keep notes in files below /memories: view, create, str_replace, insert, delete, rename.",
        params: &[
            choice("command", &["view", "create", "str_replace", "insert", "delete", "rename"], "view", "What to do"),
            optional("path", "File or directory below /memories"),
            VIEW_RANGE,
            FILE_TEXT,
            OLD_STR,
            NEW_STR,
            INSERT_LINE,
            INSERT_TEXT,
            optional("old_path", "rename: what"),
            optional("new_path", "rename: its new path"),
        ],
        traits: ToolTraits::Replaces { idempotent: false },
        request: memory::request,
        answer: memory::answer,
        output: RESULT,
    },
];

/// Returns the request of a command on the workspace path `path`.
fn request(args: &Args, tool: &str, path: &str) -> Result<Request> {
    let command = args.text("command");
    if path.is_empty() {
        return Err(missing("path", &command));
    }
    let path = path.to_owned();
    match command.as_str() {
        "create" => {
            let content = needed(args, "file_text")?;
            Ok(Request::Write(request::Write { path, content, create_only: true, ..request::Write::default() }))
        }
        "str_replace" => {
            let edit = request::Replacement {
                old_text: needed(args, "old_str")?,
                new_text: args.text("new_str"),
                replace_all: false,
            };
            let snippet = Some(SNIPPET_LINES);
            Ok(Request::Edit(request::Edit { path, edits: vec![edit], snippet, ..request::Edit::default() }))
        }
        "insert" => {
            let line = args.opt_signed("insert_line").ok_or_else(|| missing("insert_line", "insert"))?;
            // No file has this line, so the error states the valid lines.
            let after_line = u64::try_from(line).unwrap_or(u64::MAX);
            // Older versions of the tool name this argument `new_str`.
            let text = args.opt_text("insert_text").or_else(|| args.opt_text("new_str"));
            let mut text = text.ok_or_else(|| missing("insert_text", "insert"))?;
            let ends_file = tool == MEMORY;
            if ends_file {
                text.truncate(text.trim_end_matches('\n').len());
            }
            let insert = Some(request::Insertion { after_line, text, ends_file });
            let snippet = Some(SNIPPET_LINES);
            Ok(Request::Edit(request::Edit { path, insert, snippet, ..request::Edit::default() }))
        }
        _ => Ok(view(args, tool, path)),
    }
}

fn needed(args: &Args, name: &str) -> Result<String> {
    args.opt_text(name).ok_or_else(|| missing(name, &args.text("command")))
}

fn missing(name: &str, command: &str) -> Error {
    Error::new(Code::InvalidArgument, format!("Parameter `{name}` is required for command: {command}"))
}

/// Returns the request that views `path`. An invalid range is refused later by `viewed`, because a missing path or a
/// directory is reported first.
fn view(args: &Args, tool: &str, path: String) -> Request {
    let (first, last) = range(args);
    let start = u64::try_from(first).unwrap_or(1).max(1);
    let limit = u64::try_from(last).ok().and_then(|end| (end + 1).checked_sub(start)).filter(|limit| *limit > 0);
    let list =
        request::List { depth: VIEW_DEPTH, limit: MAX_ENTRIES, unlimited: true, ..request::List::of(path.clone()) };
    let mut read = request::Read::lines(path, start, limit);
    if tool == MEMORY {
        // The memory tool returns lines unchanged, and limits a range to the lines of the file.
        (read.mode, read.empty_past_end) = (ReadMode::Raw, true);
    }
    Request::View(Box::new(request::View { read, list }))
}

/// Returns the first and last line of a `view`.
fn range(args: &Args) -> (i64, i64) {
    args.opt_pair("view_range").unwrap_or((1, -1))
}

/// Returns the response of a `view`, or the error of a range that the file does not have.
fn viewed(args: &Args, response: Result<Response>) -> Result<Response> {
    let (first, last) = range(args);
    let invalid =
        |why: String| Err(Error::new(Code::InvalidArgument, format!("Invalid `view_range`: [{first}, {last}]. {why}")));
    let outside = || invalid(format!("Its first element `{first}` should be within the range of lines of the file"));
    match response {
        Err(error) if error.code == Code::InvalidArgument && args.text("command") == "view" => outside(),
        Ok(Response::Read(_)) if first < 1 => outside(),
        Ok(Response::Read(_)) if last < first && last != -1 => {
            invalid(format!("Its second element `{last}` should be larger or equal than its first `{first}`"))
        }
        Ok(Response::Read(read)) => match (u64::try_from(last), read.total_lines) {
            (Ok(end), Some(total)) if end > total => invalid(format!(
                "Its second element `{last}` should be smaller than the number of lines in the file: `{total}`"
            )),
            _ => Ok(Response::Read(read)),
        },
        response => response,
    }
}
