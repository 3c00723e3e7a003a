//! The `paddock` dialect: the operations under their own names, with 1-based lines and unmodified results.

use paddock_types::error::{Result, Term};
use paddock_types::rendered::Rendered;
use paddock_types::request;
use paddock_types::request::Request;
use paddock_types::response::Response;

use crate::dialect::Dialect;
use crate::dialect::answer::CallContext;
use crate::dialect::answer::{self, to_json};
use crate::dialect::failed_call::FailedCall;
use crate::dialect::spec::{Output, ToolSpec, ToolTraits};
use crate::param::{DefaultValue, MAX, MAX_PAGE, Param, choice, flag, objects, optional, required, text, texts, whole};
use crate::schema::generated;
use crate::text as words;

mod commands;
mod requests;
mod result;

/// Definition of the dialect.
pub const DIALECT: Dialect =
    Dialect { name: "paddock", tools: TOOLS, commands: commands::TOOLS, failure, names: NAMES, confined: &[] };

/// Names of arguments and tools in this dialect.
const NAMES: &[(Term, &str)] = &[
    (Term::BytesTool, "read_file` with `mode: \"base64\""),
    (Term::CopyTool, "copy"),
    (Term::DeleteTool, "delete"),
    (Term::DescribeTool, "stat"),
    (Term::FindTool, "glob"),
    (Term::ListTool, "list_dir"),
    (Term::MakeDirectoryTool, "make_dir"),
    (Term::MoveTool, "move"),
    (Term::PartTool, "read_file` with `offset` and `limit"),
    (Term::ReadTool, "read_file"),
    (Term::RewriteTool, "write_file` with `encoding: \"utf-8\""),
    (Term::SearchTool, "grep"),
    (Term::OutputTool, "write_stdin"),
    (Term::UnpackTool, "unpack"),
    (Term::WriteTool, "write_file"),
];

fn answer(context: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let response = response?;
    let (truncated, text) = (response.truncated(), words::render(&response, &context.names));
    Ok(Rendered { json: result::to_json(response), text, truncated, error: None })
}

/// Renders the error unmodified.
pub(super) fn failure(failed: &FailedCall<'_>) -> Rendered {
    Rendered { json: to_json(failed.error), text: answer::words(failed.error), truncated: false, error: None }
}

const TOOLS: &[ToolSpec] = &[
    ToolSpec {
        name: "read_file",
        title: "Read file",
        description: "Read a text file, by lines (1-based). At most 2,000 lines or 50 KiB. Lines are shown as `12|text`.",
        params: &[
            path("File to read"),
            whole("offset", 1, MAX, DefaultValue::None, "First line (1); with base64, first byte"),
            whole("limit", 1, MAX, DefaultValue::None, "Most lines (2000), or bytes"),
            whole("tail", 1, MAX, DefaultValue::None, "Last lines, instead of offset"),
            choice(
                "mode",
                &["lines", "function", "indentation", "raw", "base64"],
                "lines",
                "function, indentation: the function or block around anchor_line; raw: line endings and long lines kept; base64: bytes",
            ),
            whole("anchor_line", 1, MAX, DefaultValue::None, "The line in the function or block (offset)"),
            whole("max_levels", 0, 1_000, DefaultValue::Whole(0), "indentation: levels outwards, 0 for all"),
            flag("include_siblings", false, "indentation: blocks of the same level too"),
            flag("include_header", true, "indentation: comment lines above the block too"),
            optional("encoding", "Label such as windows-1252 (detected)"),
            optional("if_none_match", "The etag of your version: returns only the changes since"),
        ],
        traits: ToolTraits::Reads,
        request: requests::read,
        answer,
        output: Output::Generated(generated!("Read")),
    },
    ToolSpec {
        name: "read_files",
        title: "Read files",
        description: "Read several files. Give `files`, `paths` or `glob`.",
        params: &[
            objects(
                "files",
                &[
                    path("File to read"),
                    whole("offset", 1, MAX, DefaultValue::Whole(1), "First line"),
                    whole("limit", 1, MAX, DefaultValue::None, "Most lines"),
                ],
                "Files with line ranges",
            )
            .may_be_absent(),
            texts("paths", DefaultValue::None, "Whole files"),
            optional("glob", "Such as src/**/*.rs"),
        ],
        traits: ToolTraits::Reads,
        request: requests::read_many,
        answer,
        output: Output::Generated(generated!("ReadMany")),
    },
    ToolSpec {
        name: "write_file",
        title: "Write file",
        description: "Write a whole file, or append to it. Makes missing directories. For a part of a file use edit_file.",
        params: &[
            path("File to write"),
            required("content", "The text, with its line endings"),
            flag("create_only", false, "Fail if the file exists"),
            flag("append", false, "Add to the end"),
            optional("encoding", "Encoding label (that of the file, else utf-8)"),
            optional("if_match", "Fail unless the file has this etag"),
        ],
        traits: ToolTraits::Replaces { idempotent: false },
        request: |args| {
            Ok(Request::Write(request::Write {
                path: args.text("path"),
                content: args.text("content"),
                create_only: args.flag("create_only"),
                append: args.flag("append"),
                encoding: args.opt_text("encoding"),
                if_match: args.opt_text("if_match"),
            }))
        },
        answer,
        output: Output::Generated(generated!("Write")),
    },
    ToolSpec {
        name: "edit_file",
        title: "Edit file",
        description: "Replace exact text in a file. Each old_text has to occur once, or set replace_all. All edits are made, or none.",
        params: &[
            path("File to edit"),
            objects(
                "edits",
                &[
                    required("old_text", "Text in the file, without line numbers"),
                    required("new_text", "Text in its place"),
                    flag("replace_all", false, "Every occurrence"),
                ],
                "Applied one after the other",
            ),
            optional("if_match", "Fail unless the file has this etag"),
            flag("dry_run", false, "Only show the diff"),
        ],
        traits: ToolTraits::Replaces { idempotent: false },
        request: requests::edit,
        answer,
        output: Output::Generated(generated!("Edit")),
    },
    ToolSpec {
        name: "apply_patch",
        title: "Apply patch",
        description: "Apply a patch, all of it or nothing: a unified diff, or an envelope of `*** Begin Patch`, `*** Add File: p`, `*** Update File: p` (`*** Move to: p`), `*** Delete File: p`, `*** End Patch`. Lines have to match exactly.",
        params: &[required("patch", "The patch"), flag("dry_run", false, "Only check it")],
        traits: ToolTraits::Replaces { idempotent: false },
        request: |args| {
            let (patch, dry_run) = (args.text("patch"), args.flag("dry_run"));
            Ok(Request::ApplyPatch(request::ApplyPatch { patch, dry_run, ..request::ApplyPatch::default() }))
        },
        answer,
        output: Output::Generated(generated!("ApplyPatch")),
    },
    ToolSpec {
        name: "list_dir",
        title: "List directory",
        description: "List a directory.",
        params: &[
            directory(),
            whole("depth", 1, 10_000, DefaultValue::Whole(1), "Levels to descend"),
            optional("pattern", "Only what matches this glob"),
            HIDDEN,
            IGNORED,
            choice("sort", &["name", "size", "modified"], "name", "Largest or newest first"),
            whole("limit", 1, MAX_PAGE, DefaultValue::Whole(200), "Most entries"),
            CURSOR,
        ],
        traits: ToolTraits::Reads,
        request: requests::list,
        answer,
        output: Output::Generated(generated!("List")),
    },
    ToolSpec {
        name: "tree",
        title: "Directory tree",
        description: "List a directory as a tree.",
        params: &[
            directory(),
            whole("depth", 1, 10_000, DefaultValue::Whole(3), "Levels to descend"),
            whole("limit", 1, MAX_PAGE, DefaultValue::Whole(500), "Most entries"),
            HIDDEN,
            IGNORED,
        ],
        traits: ToolTraits::Reads,
        request: |args| {
            Ok(Request::Tree(request::Tree {
                depth: args.whole32("depth"),
                limit: args.whole32("limit"),
                include_hidden: args.flag("include_hidden"),
                include_ignored: args.flag("include_ignored"),
                ..request::Tree::of(args.text("path"))
            }))
        },
        answer,
        output: Output::Generated(generated!("Tree")),
    },
    ToolSpec {
        name: "glob",
        title: "Find files by name",
        description: "Find files by a glob: *, ?, [a-z], {a,b}, ** for directories. Without a / it matches names at any depth.",
        params: &[
            required("pattern", "The glob, relative to path"),
            directory(),
            HIDDEN,
            IGNORED,
            choice("sort", &["path", "modified"], "path", "modified: newest first"),
            whole("limit", 1, MAX_PAGE, DefaultValue::Whole(100), "Most paths"),
            CURSOR,
        ],
        traits: ToolTraits::Reads,
        request: requests::glob,
        answer,
        output: Output::Generated(generated!("Glob")),
    },
    ToolSpec {
        name: "grep",
        title: "Search in files",
        description: "Search file contents by regular expression (no look-around, no back-references) or plain text.",
        params: &[
            required("pattern", "What to find"),
            text("path", ".", "Directory or file"),
            optional("glob", "Only files that match"),
            flag("fixed", false, "pattern is plain text"),
            CASE,
            flag("multiline", false, "Match across lines"),
            flag("word", false, "Whole words"),
            whole("before", 0, 1_000, DefaultValue::None, "Lines of context before"),
            whole("after", 0, 1_000, DefaultValue::None, "Lines of context after"),
            whole("context", 0, 1_000, DefaultValue::None, "Both"),
            choice("output", &["content", "files", "count"], "content", "Lines, files, or counts by file"),
            whole("limit", 1, MAX_PAGE, DefaultValue::Whole(100), "Most matches, or files"),
            whole("max_per_file", 1, MAX_PAGE, DefaultValue::None, "Most matches of one file"),
            HIDDEN,
            IGNORED,
            CURSOR,
        ],
        traits: ToolTraits::Reads,
        request: requests::grep,
        answer,
        output: Output::Generated(generated!("Grep")),
    },
    ToolSpec {
        name: "replace",
        title: "Replace in files",
        description: "Replace in many files, with the options of grep. Shows each line that would change, and a plan; the same call with the plan does it, all or nothing.",
        params: &[
            required("pattern", ""),
            required("replacement", "$1, ${name}: groups, unless fixed"),
            text("path", ".", ""),
            optional("glob", ""),
            flag("fixed", false, ""),
            Param { doc: "", ..CASE },
            flag("multiline", false, ""),
            flag("word", false, ""),
            flag("include_hidden", false, ""),
            flag("include_ignored", false, ""),
            texts("exclude_paths", DefaultValue::None, "Files to leave out"),
            optional("plan", "From the first result"),
            Param { doc: "", ..CURSOR },
        ],
        traits: ToolTraits::Replaces { idempotent: false },
        request: requests::replace,
        answer,
        output: Output::Generated(generated!("Replace")),
    },
    ToolSpec {
        name: "changes",
        title: "Changes since",
        description: "Files created, modified or deleted since a token, by anyone. Without one, only returns a token.",
        params: &[
            optional("since", "An earlier token"),
            directory(),
            HIDDEN,
            IGNORED,
            whole("limit", 1, MAX_PAGE, DefaultValue::Whole(200), "Most paths"),
        ],
        traits: ToolTraits::Notes,
        request: |args| {
            Ok(Request::Changes(request::Changes {
                path: args.text("path"),
                include_hidden: args.flag("include_hidden"),
                include_ignored: args.flag("include_ignored"),
                limit: args.whole32("limit"),
                ..request::Changes::of(args.opt_text("since"))
            }))
        },
        answer,
        output: Output::Generated(generated!("Changes")),
    },
    ToolSpec {
        name: "stat",
        title: "File information",
        description: "Kind, size, times, lines, encoding, media type, link target and etag of a path.",
        params: &[path("What to describe"), flag("checksum", false, "SHA-256 too")],
        traits: ToolTraits::Reads,
        request: |args| {
            Ok(Request::Stat(request::Stat { checksum: args.flag("checksum"), ..request::Stat::of(args.text("path")) }))
        },
        answer,
        output: Output::Generated(generated!("Stat")),
    },
    ToolSpec {
        name: "make_dir",
        title: "Make directory",
        description: "Make a directory.",
        params: &[path("Directory to make"), flag("parents", true, "Its parents too; succeed if it exists")],
        traits: ToolTraits::Adds { idempotent: true },
        request: |args| {
            Ok(Request::MakeDir(request::MakeDir { path: args.text("path"), parents: args.flag("parents") }))
        },
        answer,
        output: Output::Generated(generated!("MakeDir")),
    },
    ToolSpec {
        name: "copy",
        title: "Copy",
        description: "Copy a file, or a directory with recursive.",
        params: &[SOURCE, DESTINATION, OVERWRITE, flag("recursive", false, "A directory with all it holds")],
        traits: ToolTraits::Replaces { idempotent: false },
        request: |args| Ok(Request::Copy(requests::transfer(args))),
        answer,
        output: Output::Generated(generated!("Transfer")),
    },
    ToolSpec {
        name: "move",
        title: "Move",
        description: "Move or rename a file or directory.",
        params: &[SOURCE, DESTINATION, OVERWRITE, flag("recursive", true, "Allow a directory")],
        traits: ToolTraits::Replaces { idempotent: false },
        request: |args| Ok(Request::Move(request::Move(requests::transfer(args)))),
        answer,
        output: Output::Generated(generated!("Transfer")),
    },
    ToolSpec {
        name: "delete",
        title: "Delete",
        description: "Delete a file or an empty directory.",
        params: &[path("What to delete"), flag("recursive", false, "A directory with all it holds")],
        traits: ToolTraits::Replaces { idempotent: false },
        request: |args| {
            Ok(Request::Delete(request::Delete {
                path: args.text("path"),
                recursive: args.flag("recursive"),
                files_only: false,
            }))
        },
        answer,
        output: Output::Generated(generated!("Delete")),
    },
    ToolSpec {
        name: "restore",
        title: "Undo a change",
        description: "Undo the last change of a path, a call by its `backup`, or the last calls. Without arguments, list calls.",
        params: &[
            optional("path", "What to restore"),
            optional("backup", "Which call to undo"),
            whole("last", 1, 100, DefaultValue::None, "How many calls"),
            flag("overwrite", false, "Even if changed since"),
        ],
        traits: ToolTraits::Replaces { idempotent: false },
        request: requests::restore,
        answer,
        output: Output::Generated(generated!("Restore")),
    },
];

const CASE: Param =
    choice("case", &["sensitive", "insensitive", "smart"], "sensitive", "smart: insensitive unless upper case is used");
const HIDDEN: Param = flag("include_hidden", false, "Dotfiles too");
const IGNORED: Param = flag("include_ignored", false, "Gitignored ones too");
const CURSOR: Param = optional("cursor", "next_cursor, to continue");
const SOURCE: Param = required("source", "What");
const DESTINATION: Param = required("destination", "Its new path");
const OVERWRITE: Param = flag("overwrite", false, "Replace a file that is there");

const fn path(doc: &'static str) -> Param {
    required("path", doc)
}

const fn directory() -> Param {
    text("path", ".", "Directory")
}
