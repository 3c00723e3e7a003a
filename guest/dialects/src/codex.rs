//! The `codex` dialect: `apply_patch`, `list_dir`, `read_file` and `grep_files` with the interface and texts of Codex;
//! lines start at 1. Patches match as leniently as in Codex, and the result says so; unlike in Codex, a patch applies
//! entirely or not at all.

use paddock_types::entry::Kind;
use paddock_types::error::{Code, Detail, EnvelopeFault, Error, ErrorText, Result, Term, Vocabulary, cut, excerpt};
use paddock_types::match_pass::Pass;
use paddock_types::rendered::Rendered;
use paddock_types::request::{GrepOutput, ListSort, Matching, PathSort, ReadMode, Request};
use paddock_types::response::{PatchAction, Response};
use paddock_types::{request, response};
use serde_json::json;

use crate::args::Args;
use crate::dialect::Dialect;
use crate::dialect::answer::{CallContext, take, words};
use crate::dialect::failed_call::FailedCall;
use crate::dialect::spec::{Output, ResultSchema, ToolSpec, ToolTraits};
use crate::line_numbers;
use crate::param::{DefaultValue, MAX, Param, ParamKind, choice, flag, optional, required, whole};
use crate::text::{continuation, with_notes};

mod commands;

/// Definition of the dialect.
pub const DIALECT: Dialect =
    Dialect { name: "codex", tools: TOOLS, commands: commands::TOOLS, failure, names: NAMES, confined: &[] };

/// Names of arguments and tools in this dialect.
const NAMES: &[(Term, &str)] = &[
    (Term::Glob, "include"),
    (Term::Patch, "input"),
    (Term::Path, "file_path"),
    (Term::Path, "dir_path"),
    (Term::ListTool, "list_dir"),
    (Term::PartTool, "read_file` with `offset` and `limit"),
    (Term::SearchTool, "grep_files"),
];

/// Maximum number of characters of a rendered line or entry.
const LINE_CHARS: usize = 500;
/// Maximum number of characters of the lines that a patch expects and a file does not have.
const MAX_EXPECTED: usize = 2_000;
/// Number of lines of a read without `limit`.
const DEFAULT_LINES: u64 = 2_000;
/// Maximum number of files that a search sorts.
const MAX_ENTRIES: u64 = 10_000;
/// Maximum number of files in a search result.
const MAX_FILES: u64 = 2_000;

const RESULT: Output = Output::ResultSchema(&ResultSchema::Object(&[("output", ResultSchema::Text)]));

const INDENTATION: &[Param] = &[
    whole("anchor_line", 0, MAX, DefaultValue::None, "The line whose block to show (offset)"),
    whole("max_levels", 0, 1_000, DefaultValue::Whole(0), "Levels outwards, 0 for all"),
    flag("include_siblings", false, "Blocks of the same level too"),
    flag("include_header", true, "Comment lines above the block too"),
    whole("max_lines", 0, MAX, DefaultValue::None, "Most lines (limit)"),
];

const TOOLS: &[ToolSpec] = &[
    ToolSpec {
        name: "apply_patch",
        title: "Apply patch",
        description: "Apply a patch, all of it or nothing: `*** Begin Patch`, then for each file `*** Add File: p` with + lines, `*** Delete File: p`, or `*** Update File: p` (`*** Move to: p`) with chunks of ` `, - and + lines after @@, then `*** End Patch`. Paths are relative.",
        params: &[required("input", "The patch").or(&["patch"])],
        traits: ToolTraits::Replaces { idempotent: false },
        request: |args| {
            let patch = args.text("input");
            if !patch.lines().any(|line| line.trim() == "*** Begin Patch") {
                let message = "invalid patch: The first line of the patch must be '*** Begin Patch'";
                return Err(Error::new(Code::InvalidArgument, message));
            }
            Ok(Request::ApplyPatch(request::ApplyPatch { patch, dry_run: false, matching: Matching::Codex }))
        },
        answer: patch_answer,
        output: RESULT,
    },
    ToolSpec {
        name: "list_dir",
        title: "List directory",
        description: "List a directory and its descendants, indented, upper levels read first: / marks directories, @ links, ? anything else.",
        params: &[
            required("dir_path", "The directory"),
            whole("offset", 0, u64::MAX, DefaultValue::Whole(1), "First entry, from 1"),
            whole("limit", 0, u64::MAX, DefaultValue::Whole(25), "Most entries"),
            whole("depth", 0, u64::MAX, DefaultValue::Whole(2), "Levels to descend"),
        ],
        traits: ToolTraits::Reads,
        request: list_dir,
        answer: list_answer,
        output: RESULT,
    },
    ToolSpec {
        name: "read_file",
        title: "Read file",
        description: "Read lines of a text file, each as `L12: text`: a slice, or the block around a line.",
        params: &[
            required("file_path", "The file"),
            whole("offset", 0, MAX, DefaultValue::Whole(1), "First line, from 1"),
            whole("limit", 0, MAX, DefaultValue::Whole(DEFAULT_LINES), "Most lines"),
            choice("mode", &["slice", "indentation"], "slice", "indentation: the block around a line"),
            Param {
                name: "indentation",
                aliases: &[],
                kind: ParamKind::Object(INDENTATION),
                default: DefaultValue::None,
                doc: "How to find the block",
            },
        ],
        traits: ToolTraits::Reads,
        request: read_file,
        answer: read_answer,
        output: RESULT,
    },
    ToolSpec {
        name: "grep_files",
        title: "Search in files",
        description: "The files whose content matches a regular expression, last modified first.",
        params: &[
            required("pattern", "Regular expression"),
            optional("include", "Only files that match this glob"),
            optional("path", "Directory or file (the workspace)"),
            whole("limit", 0, u64::MAX, DefaultValue::Whole(100), "Most files, up to 2000"),
        ],
        traits: ToolTraits::Reads,
        request: grep_files,
        answer: grep_answer,
        output: RESULT,
    },
];

fn reported(output: String) -> Rendered {
    Rendered::new(&json!({ "output": output }), output)
}

fn failure(failed: &FailedCall<'_>) -> Rendered {
    let error = failed.error;
    let message = match error.detail.as_deref() {
        Some(Detail::PastEnd { argument, .. }) if error.code == Code::InvalidArgument => {
            let names = DIALECT.names(failed.tool);
            format!("{} exceeds file length", names.name(*argument).unwrap_or_else(|| argument.name()))
        }
        Some(Detail::Envelope { line, fault }) => unreadable(*line, fault),
        Some(Detail::Failures(failures)) => rejected(error, failures),
        _ => words(error),
    };
    let tool = failed.tool.map(|tool| tool.name).filter(|_| error.code != Code::InvalidArgument);
    let message = match (tool, &error.path) {
        (Some("read_file"), _) => format!("failed to read file: {message}"),
        (Some("list_dir"), _) => format!("failed to read directory: {message}"),
        (Some("grep_files"), Some(path)) => format!("unable to access `{path}`: {message}"),
        _ => message,
    };
    Rendered::new(&json!({ "error": { "code": error.code, "message": message } }), message)
}

/// Renders the error of a patch that cannot be parsed, in Codex's wording.
fn unreadable(line: usize, fault: &EnvelopeFault) -> String {
    const HEADERS: &str =
        "Valid hunk headers: '*** Add File: {path}', '*** Delete File: {path}', '*** Update File: {path}'";
    let at = format!("invalid hunk at line {line},");
    match fault {
        EnvelopeFault::NoEnd => "invalid patch: The last line of the patch must be '*** End Patch'".to_owned(),
        EnvelopeFault::NoSection => "No files were modified.".to_owned(),
        EnvelopeFault::Header(header) => format!("{at} '{}' is not a valid hunk header. {HEADERS}", excerpt(header)),
        EnvelopeFault::NoChunk(path) => format!("{at} Update file hunk for path '{}' is empty", excerpt(path)),
        EnvelopeFault::NoLines => format!("{at} Update hunk does not contain any lines"),
        EnvelopeFault::Line(row) => format!(
            "{at} Unexpected line found in update hunk: '{}'. Every line should start with ' ' (context line), '+' (added line), or '-' (removed line)",
            excerpt(row)
        ),
    }
}

/// Renders the error of a patch that does not apply: each failure in Codex's wording, if it has one, and our hint.
fn rejected(error: &ErrorText, failures: &[(String, Detail)]) -> String {
    let mut text = String::new();
    for (path, detail) in failures {
        text.push_str(&match detail {
            Detail::NoContext(context) => format!("Failed to find context '{}' in {path}\n", excerpt(context)),
            Detail::NoOldLines(lines) => {
                format!("Failed to find expected lines in {path}:\n{}\n", cut(lines, MAX_EXPECTED))
            }
            Detail::NoFileToPatch => format!("Failed to read file to update {path}\n"),
            Detail::Message(message) => format!("{message}\n"),
            _ => return words(error),
        });
    }
    match &error.hint {
        Some(hint) => text + "(" + hint + ")",
        None => text,
    }
}

/// Lists the sections of the patch by their letters, as Codex does: each section, with the path as the patch spells it.
fn patch_answer(_: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let patch = take!(ApplyPatch, response);
    let mut lines = vec!["Success. Updated the following files:".to_owned()];
    for wanted in ["A", "M", "D"] {
        for (action, path) in &patch.sections {
            let letter = match action {
                PatchAction::Add => "A",
                PatchAction::Update | PatchAction::Move => "M",
                PatchAction::Delete => "D",
            };
            if letter == wanted {
                lines.push(format!("{letter} {path}"));
            }
        }
    }
    let lenient_matches = patch.files.iter().filter(|file| file.pass != Pass::Exact);
    lines.extend(lenient_matches.map(|file| format!("[{} matched {}]", file.path, file.pass.name())));
    lines.extend(patch.notes.iter().map(|note| format!("[{note}]")));
    Ok(reported(lines.join("\n")))
}

fn positive(args: &Args, name: &str, message: &str) -> Result<()> {
    match args.opt_whole(name) {
        Some(0) => Err(Error::new(Code::InvalidArgument, message)),
        _ => Ok(()),
    }
}

fn list_dir(args: &Args) -> Result<Request> {
    positive(args, "offset", "offset must be a 1-indexed entry number")?;
    positive(args, "limit", "limit must be greater than zero")?;
    positive(args, "depth", "depth must be greater than zero")?;
    let path = args.text("dir_path");
    Ok(Request::List(request::List {
        depth: args.whole32("depth"),
        sort: ListSort::Name,
        include_hidden: true,
        include_ignored: true,
        skip: args.whole("offset") - 1,
        limit: args.whole32("limit"),
        unlimited: true,
        ..request::List::of(path)
    }))
}

fn list_answer(context: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let list = take!(List, response);
    if list.entries.is_empty() && list.passed > 0 {
        let cause = match list.truncated {
            true => format!("the listing ends after {} entries, the maximum that one call visits", list.passed),
            false => "offset exceeds directory entry count".to_owned(),
        };
        return Err(Error::new(Code::InvalidArgument, cause));
    }
    let line = |entry: &response::Entry| {
        let below = list.below(entry);
        let (depth, name) = below.rsplit_once('/').map_or((0, below), |(above, name)| (above.split('/').count(), name));
        let suffix = match entry.kind {
            Kind::Directory => "/",
            Kind::Link => "@",
            Kind::Other => "?",
            Kind::File => "",
        };
        let name = name.get(..name.floor_char_boundary(LINE_CHARS)).unwrap_or(name);
        format!("{}{name}{suffix}", "  ".repeat(depth))
    };
    let mut lines = vec![format!("Absolute path: {}", context.absolute(&list.path))];
    lines.extend(list.entries.iter().map(line));
    if list.truncated {
        lines.push(format!("More than {} entries found", list.entries.len()));
    }
    Ok(reported(lines.join("\n")).truncated(list.truncated))
}

fn read_file(args: &Args) -> Result<Request> {
    positive(args, "offset", "offset must be a 1-indexed line number")?;
    positive(args, "limit", "limit must be greater than zero")?;
    let path = args.text("file_path");
    let (offset, limit) = (args.whole("offset"), args.whole("limit"));
    let any_limit = limit != DEFAULT_LINES;
    let read =
        request::Read { line_chars: Some(LINE_CHARS), any_limit, ..request::Read::lines(path, offset, Some(limit)) };
    if args.text("mode") != "indentation" {
        return Ok(Request::Read(read));
    }
    let block = args.opt_object("indentation").unwrap_or_else(Args::empty);
    positive(&block, "anchor_line", "anchor_line must be a 1-indexed line number")?;
    positive(&block, "max_lines", "max_lines must be greater than zero")?;
    let limit = block.opt_whole("max_lines").map_or(limit, |lines| lines.min(limit));
    Ok(Request::Read(request::Read {
        mode: ReadMode::Indentation,
        any_limit: false,
        limit: Some(limit),
        anchor_line: block.opt_whole("anchor_line").or(Some(offset)),
        max_levels: block.whole32("max_levels"),
        include_siblings: block.flag("include_siblings"),
        include_header: !block.has("include_header") || block.flag("include_header"),
        whole_signatures: false,
        ..read
    }))
}

fn grep_files(args: &Args) -> Result<Request> {
    positive(args, "limit", "limit must be greater than zero")?;
    let pattern = args.text("pattern").trim().to_owned();
    if pattern.is_empty() {
        return Err(Error::new(Code::InvalidArgument, "pattern must not be empty"));
    }
    Ok(Request::Grep(request::Grep {
        path: args.opt_text("path").unwrap_or_else(|| ".".to_owned()),
        glob: args.opt_text("include").map(|include| include.trim().to_owned()).filter(|include| !include.is_empty()),
        output: GrepOutput::Files,
        limit: u32::try_from(MAX_ENTRIES).unwrap_or(u32::MAX),
        sort: PathSort::Modified,
        unlimited: true,
        ..request::Grep::of(pattern)
    }))
}

/// Renders the lines. Codex returns as many lines as were requested; if a limit leaves out more, the text says so.
fn read_answer(context: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let read = take!(Read, response);
    if read.total_lines == Some(0) {
        return Err(Error::new(Code::InvalidArgument, "offset exceeds file length"));
    }
    let lines = line_numbers::numbered(&read.content, read.line_count(), read.start_line, ": ");
    let mut lines: Vec<_> = lines.lines().map(|line| format!("L{line}")).collect();
    let limit = context.args.whole("limit");
    let is_short = (lines.len() as u64) < limit || limit == DEFAULT_LINES;
    match read.next_offset {
        Some(next) if context.args.text("mode") != "indentation" && is_short => {
            lines.push(continuation(&read, "offset", next))
        }
        _ if context.args.text("mode") == "indentation" && read.truncated => {
            lines.push(
                "[the block has more lines or longer ones: `limit`, `max_lines` or another `anchor_line` shows them]"
                    .to_owned(),
            );
        }
        _ => {}
    }
    Ok(reported(lines.join("\n")).truncated(read.truncated))
}

fn grep_answer(context: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let grep = take!(Grep, response);
    if grep.files.is_empty() {
        let text = with_notes("No matches found.".to_owned(), &grep.notes);
        return Ok(reported(text).truncated(grep.truncated));
    }
    let max = usize::try_from(context.args.whole("limit").min(MAX_FILES)).unwrap_or(usize::MAX);
    let truncated = grep.truncated || grep.files.len() > max;
    let mut paths: Vec<_> = grep.files.iter().take(max).map(|file| context.absolute(&file.path)).collect();
    if truncated {
        let more = if context.args.whole("limit") < MAX_FILES { "a larger `limit`, " } else { "a narrower " };
        paths.push(format!("[there are more files that match: {more}`include` or `path` shows others]"));
    }
    Ok(reported(paths.join("\n")).truncated(truncated))
}
