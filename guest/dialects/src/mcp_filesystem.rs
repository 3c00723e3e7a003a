//! The `mcp-filesystem` dialect: the tools of the Model Context Protocol's reference file system server, as a drop-in
//! replacement. Unsafe behavior of the reference is not copied; `host/guide/src/dialects.md` lists each difference.

use paddock_types::error::{Code, Error, Result, Term};
use paddock_types::rendered::Rendered;
use paddock_types::request::{ReadMode, Request};
use paddock_types::response::{ReadOutcome, Response};
use paddock_types::{request, response};
use serde_json::{Value, json};

use crate::dialect::Dialect;
use crate::dialect::answer::{CallContext, take, words};
use crate::dialect::failed_call::FailedCall;
use crate::dialect::spec::{Output, ResultSchema, ToolSpec, ToolTraits};
use crate::param::{DefaultValue, choice, flag, objects, required, texts, whole};
use crate::text::with_notes;

mod render;
mod requests;

use requests::{MAX_ENTRIES, edit, excluded, list, new_path, read_text, search, whole_text};

/// Definition of the dialect.
pub const DIALECT: Dialect =
    Dialect { name: "mcp-filesystem", tools: TOOLS, commands: &[], failure, names: NAMES, confined: &[] };

/// Names of arguments and tools in this dialect.
const NAMES: &[(Term, &str)] = &[
    (Term::Exclude, "excludePatterns"),
    (Term::Limit, "head"),
    (Term::NewText, "newText"),
    (Term::OldText, "oldText"),
    (Term::BytesTool, "read_media_file"),
    (Term::FindTool, "search_files"),
    (Term::ListTool, "list_directory"),
    (Term::PartTool, "read_text_file` with `head` or `tail"),
    (Term::WriteTool, "write_file"),
];

/// Error of a file that a call for several files did not read.
const NOT_READ: &str = "not read, since this call reached its limit of files, bytes or time; read it in another call";

const CONTENT: Output = Output::ResultSchema(&ResultSchema::Object(&[("content", ResultSchema::Text)]));

/// An image or sound, or a file of any other type.
const MEDIA: ResultSchema = ResultSchema::Either(&[
    ResultSchema::Object(&[
        ("type", ResultSchema::Words(&["image", "audio"])),
        ("data", ResultSchema::Text),
        ("mimeType", ResultSchema::Text),
    ]),
    ResultSchema::Object(&[
        ("type", ResultSchema::Words(&["resource"])),
        (
            "resource",
            ResultSchema::Object(&[
                ("uri", ResultSchema::Text),
                ("mimeType", ResultSchema::Optional(&ResultSchema::Text)),
                ("blob", ResultSchema::Text),
            ]),
        ),
    ]),
]);

const READ_PARAMS: &[crate::param::Param] = &[
    required("path", "The file"),
    whole("tail", 0, 1_000_000_000, DefaultValue::None, "Only the last N lines"),
    whole("head", 0, 1_000_000_000, DefaultValue::None, "Only the first N lines"),
];

const TOOLS: &[ToolSpec] = &[
    ToolSpec {
        name: "read_file",
        title: "Read File (Deprecated)",
        description: "Read a whole text file. Deprecated: use read_text_file.",
        params: READ_PARAMS,
        traits: ToolTraits::Reads,
        request: read_text,
        answer: read_answer,
        output: CONTENT,
    },
    ToolSpec {
        name: "read_text_file",
        title: "Read Text File",
        description: "Read a text file in any encoding: all of it, its first lines (`head`) or its last (`tail`).",
        params: READ_PARAMS,
        traits: ToolTraits::Reads,
        request: read_text,
        answer: read_answer,
        output: CONTENT,
    },
    ToolSpec {
        name: "read_media_file",
        title: "Read Media File",
        description: "Read a file as Base64 with its media type: an image or sound as such, anything else as an embedded resource.",
        params: &[required("path", "The file")],
        traits: ToolTraits::Reads,
        request: |args| {
            let read = request::Read::lines(args.text("path"), 1, Some(u64::MAX));
            Ok(Request::Read(request::Read { mode: ReadMode::Base64, unlimited: true, ..read }))
        },
        answer: media_answer,
        output: Output::ResultSchema(&ResultSchema::Object(&[("content", ResultSchema::List(&MEDIA))])),
    },
    ToolSpec {
        name: "read_multiple_files",
        title: "Read Multiple Files",
        description: "Read several text files. A file that cannot be read is reported as an error; the others are still read.",
        params: &[texts("paths", DefaultValue::Required, "The files, at least one")],
        traits: ToolTraits::Reads,
        request: |args| {
            let files: Vec<_> = args.texts("paths").into_iter().map(|path| whole_text(path, None, None)).collect();
            if files.is_empty() {
                return Err(Error::argument("paths", "at least one file path must be provided"));
            }
            Ok(Request::ReadMany(request::ReadMany { files, glob: None }))
        },
        answer: many_answer,
        output: CONTENT,
    },
    ToolSpec {
        name: "write_file",
        title: "Write File",
        description: "Write a whole file, replacing an existing one.",
        params: &[required("path", "The file"), required("content", "The whole text")],
        traits: ToolTraits::Replaces { idempotent: true },
        request: |args| {
            let (path, content) = (new_path(args, "path")?, args.text("content"));
            Ok(Request::Write(request::Write { path, content, ..request::Write::default() }))
        },
        answer: |context, response| changed(response, format!("Successfully wrote to {}", context.args.text("path"))),
        output: CONTENT,
    },
    ToolSpec {
        name: "edit_file",
        title: "Edit File",
        description: "Replace text in a file and show the change as a diff. Each oldText must occur once; white space around its lines may differ.",
        params: &[
            required("path", "The file"),
            objects(
                "edits",
                &[required("oldText", "Text in the file"), required("newText", "Text in its place")],
                "Made in order, all or none",
            ),
            flag("dryRun", false, "Only show the diff"),
        ],
        traits: ToolTraits::Replaces { idempotent: false },
        request: edit,
        answer: edit_answer,
        output: CONTENT,
    },
    ToolSpec {
        name: "create_directory",
        title: "Create Directory",
        description: "Create a directory and those above it. An existing directory is no error.",
        params: &[required("path", "The directory")],
        traits: ToolTraits::Adds { idempotent: true },
        request: |args| Ok(Request::MakeDir(request::MakeDir { path: new_path(args, "path")?, parents: true })),
        answer: |context, response| {
            changed(response, format!("Successfully created directory {}", context.args.text("path")))
        },
        output: CONTENT,
    },
    ToolSpec {
        name: "list_directory",
        title: "List Directory",
        description: "List a directory: each name after [DIR] or [FILE].",
        params: &[required("path", "The directory")],
        traits: ToolTraits::Reads,
        request: |args| Ok(list(args.text("path"))),
        answer: |context, response| {
            let list = take!(List, response);
            Ok(content(render::with_rest(context, render::names(&list), list.truncated)).truncated(list.truncated))
        },
        output: CONTENT,
    },
    ToolSpec {
        name: "list_directory_with_sizes",
        title: "List Directory with Sizes",
        description: "List a directory with the sizes of its files, and their sum.",
        params: &[
            required("path", "The directory"),
            choice("sortBy", &["name", "size"], "name", "Largest first by size"),
        ],
        traits: ToolTraits::Reads,
        request: |args| Ok(list(args.text("path"))),
        answer: |context, response| {
            let list = take!(List, response);
            let sizes = render::sizes(&list, context.args.text("sortBy") == "size");
            Ok(content(render::with_rest(context, sizes, list.truncated)).truncated(list.truncated))
        },
        output: CONTENT,
    },
    ToolSpec {
        name: "directory_tree",
        title: "Directory Tree",
        description: "Show everything below a directory as JSON: name, type, and the children of directories.",
        params: &[required("path", "The directory"), EXCLUDE],
        traits: ToolTraits::Reads,
        request: |args| {
            Ok(Request::Tree(request::Tree {
                depth: u32::MAX,
                limit: MAX_ENTRIES,
                exclude: excluded(args, true),
                include_hidden: true,
                include_ignored: true,
                unlimited: true,
                ..request::Tree::of(args.text("path"))
            }))
        },
        answer: tree_answer,
        output: CONTENT,
    },
    ToolSpec {
        name: "move_file",
        title: "Move File",
        description: "Move or rename a file or directory. Fails if the destination exists.",
        params: &[required("source", "What"), required("destination", "Its new path")],
        traits: ToolTraits::Replaces { idempotent: false },
        request: |args| {
            let (source, destination) = (args.text("source"), new_path(args, "destination")?);
            let transfer = request::Transfer { source, destination, overwrite: false, recursive: true };
            Ok(Request::Move(request::Move(transfer)))
        },
        answer: |context, response| {
            let (source, destination) = (context.args.text("source"), context.args.text("destination"));
            changed(response, format!("Successfully moved {source} to {destination}"))
        },
        output: CONTENT,
    },
    ToolSpec {
        name: "search_files",
        title: "Search Files",
        description: "Find files and directories by a glob on their paths below `path`: *.ext there, **/*.ext at any depth.",
        params: &[required("path", "Where to search"), required("pattern", "The glob"), EXCLUDE],
        traits: ToolTraits::Reads,
        request: search,
        answer: search_answer,
        output: CONTENT,
    },
    ToolSpec {
        name: "get_file_info",
        title: "Get File Info",
        description: "Size, times and kind of a file or directory.",
        params: &[required("path", "What to describe")],
        traits: ToolTraits::Reads,
        request: |args| {
            let stat = request::Stat::of(args.text("path"));
            Ok(Request::Stat(request::Stat { brief: true, through: true, ..stat }))
        },
        answer: |_, response| {
            let stat = take!(Stat, response);
            Ok(content(render::info(&stat)))
        },
        output: CONTENT,
    },
    ToolSpec {
        name: "list_allowed_directories",
        title: "List Allowed Directories",
        description: "The directories that these tools may use.",
        params: &[],
        traits: ToolTraits::Reads,
        request: |_| Ok(Request::Stat(request::Stat::of(".".to_owned()))),
        answer: |context, response| {
            response?;
            let names = render::roots(context);
            Ok(content(format!("Allowed directories:\n{}", names.join("\n"))))
        },
        output: CONTENT,
    },
];

const EXCLUDE: crate::param::Param = texts("excludePatterns", DefaultValue::None, "Excluded globs, relative to `path`");

fn content(text: String) -> Rendered {
    Rendered::new(&json!({ "content": text }), text)
}

/// Renders a successful change by `text` and the notes of the change.
fn changed(response: Result<Response>, text: String) -> Result<Rendered> {
    Ok(content(with_notes(text, response?.notes())))
}

fn failure(failed: &FailedCall<'_>) -> Rendered {
    let message = match failed.error.code {
        Code::OutsideWorkspace => {
            format!("Access denied - path outside allowed directories: {}", words(failed.error))
        }
        Code::NoMatch => format!("Could not find exact match for edit:\n{}", words(failed.error)),
        _ => words(failed.error),
    };
    Rendered::new(&json!({ "content": message }), message)
}

fn read_answer(context: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let read = take!(Read, response);
    let mut text = read.content;
    // The reference returns the first lines as they are, joined by line feeds, and the last lines without CR.
    if context.args.whole("head") > 0 {
        let end = text.trim_end_matches('\n').len().max(text.len().saturating_sub(1));
        text.truncate(end);
    } else if context.args.whole("tail") > 0 {
        text = text.replace("\r\n", "\n");
    }
    Ok(content(text))
}

fn media_answer(context: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let read = take!(Read, response);
    let mime = render::media_type(&read.path);
    let block = match mime.split_once('/') {
        Some((kind @ ("image" | "audio"), _)) => json!({ "type": kind, "data": read.content, "mimeType": mime }),
        _ => {
            let uri = render::uri(&context.absolute(&read.path));
            json!({ "type": "resource", "resource": { "uri": uri, "mimeType": mime, "blob": read.content } })
        }
    };
    // Without a text, the host displays the block by its type.
    Ok(Rendered::new(&json!({ "content": [block] }), String::new()))
}

fn many_answer(_: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let many = take!(ReadMany, response);
    let part = |entry: &response::ReadManyEntry| match &entry.outcome {
        ReadOutcome::Result(read) => format!("{}:\n{}\n", entry.path, read.content),
        ReadOutcome::Error(error) => {
            format!("{}: Error - {}", entry.path, words(&error.clone().into()))
        }
    };
    // The reference server has no limits, so it has no field for files that a limit left out.
    let left = many.remaining.iter().map(|path| format!("{path}: Error - {NOT_READ}"));
    let parts: Vec<_> = many.entries.iter().map(part).chain(left).collect();
    Ok(content(parts.join("\n---\n")).truncated(many.truncated))
}

fn edit_answer(context: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let edit = take!(Edit, response);
    Ok(content(with_notes(render::diff(&context.absolute(&edit.path), &edit.diff), &edit.notes)))
}

fn tree_answer(_: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let tree = take!(Tree, response);
    // The text is JSON, in which an incomplete tree would look like a complete one.
    if tree.truncated {
        let cause = format!("the directory has more than {MAX_ENTRIES} entries below it");
        return Err(Error::new(Code::LimitExceeded, cause)
            .hint("use `excludePatterns`, or show the directories in it one by one"));
    }
    let children: Vec<Value> = tree.tree.children.iter().flatten().map(render::node).collect();
    let text = serde_json::to_string_pretty(&children).unwrap_or_default();
    Ok(content(text).truncated(tree.truncated))
}

fn search_answer(context: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let glob = take!(Glob, response);
    if glob.paths.is_empty() {
        return Ok(content(with_notes("No matches found".to_owned(), &glob.notes)));
    }
    let paths: Vec<_> = glob.paths.iter().map(|path| context.absolute(path)).collect();
    Ok(content(render::with_rest(context, paths.join("\n"), glob.truncated)).truncated(glob.truncated))
}
