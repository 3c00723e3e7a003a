//! The `dotnet-prompt` dialect: files and directories with the interface of a workflow's file system tool, and its
//! three result types in camelCase. Its policy defaults are in `paddock_policy::of_dialect`.

use paddock_types::error::{Code, Error, Result, Term};
use paddock_types::rendered::Rendered;
use paddock_types::request;
use paddock_types::request::{ReadMode, Request};
use paddock_types::response::Response;
use serde_json::json;

use crate::args::Args;
use crate::dialect::Dialect;
use crate::dialect::answer::{CallContext, take, words};
use crate::dialect::failed_call::FailedCall;
use crate::dialect::spec::{Output, ResultSchema, ToolSpec, ToolTraits};
use crate::param::{DefaultValue, MAX, Param, flag, optional, required, text, texts, whole};
use crate::text::{continuation, endings, no_lines, render};

mod item;
mod operation_result;

use crate::dotnet_prompt::operation_result::{OperationResult, transfer, transferred};

/// Definition of the dialect.
pub const DIALECT: Dialect =
    Dialect { name: "dotnet-prompt", tools: TOOLS, commands: &[], failure, names: NAMES, confined: &[] };

/// Names of arguments and tools in this dialect.
const NAMES: &[(Term, &str)] = &[
    (Term::Backup, "backup_path"),
    (Term::Limit, "max_lines"),
    (Term::Offset, "skip_lines"),
    (Term::Parents, "recursive"),
    (Term::Path, "file_path"),
    (Term::Path, "directory_path"),
    (Term::Sources, "source_paths"),
    (Term::BytesTool, "read_file` with `encoding: \"base64\""),
    (Term::DescribeTool, "get_file_metadata"),
    (Term::ListTool, "list_directory"),
    (Term::MakeDirectoryTool, "create_directory"),
    (Term::ReadTool, "read_file"),
];

/// Maximum number of items in a listing: the policy's default `max_files`.
const MAX_ITEMS: u32 = 1_000;
const MEGABYTE: u64 = 1024 * 1024;
/// Largest file size that a policy can allow.
const MAX_MEGABYTES: u64 = 4_096;
/// Value of `encoding` that requests raw bytes.
const BASE64: &str = "base64";

const FILE: Param = required("file_path", "File, relative to the working directory").or(&["path"]);
const SOURCE: Param = required("source_path", "Source file");
const DESTINATION: Param = required("destination_path", "Destination file");
const OVERWRITE: Param = flag("overwrite", false, "Allow overwriting the destination");

const CONTENT: Output = Output::ResultSchema(&ResultSchema::Object(&[
    ("content", ResultSchema::Text),
    ("encoding", ResultSchema::Text),
    ("sizeBytes", ResultSchema::Whole),
    ("lineCount", ResultSchema::Whole),
    ("lastModified", ResultSchema::Nullable(&ResultSchema::Text)),
    ("checksum", ResultSchema::Text),
    ("mimeType", ResultSchema::Text),
]));

const LISTING: Output = Output::ResultSchema(&ResultSchema::Object(&[
    ("path", ResultSchema::Text),
    ("items", ResultSchema::List(&ResultSchema::Object(item::FIELDS))),
    ("totalFiles", ResultSchema::Nullable(&ResultSchema::Whole)),
    ("totalDirectories", ResultSchema::Nullable(&ResultSchema::Whole)),
    ("totalSizeBytes", ResultSchema::Nullable(&ResultSchema::Whole)),
    ("truncated", ResultSchema::Flag),
]));

const TOOLS: &[ToolSpec] = &[
    ToolSpec {
        name: "read_file",
        title: "Read file",
        description: "Read a file's content, with encoding detection. `encoding: \"base64\"` gives the bytes of any file.",
        params: &[
            FILE,
            text("encoding", "utf-8", "Text encoding, where the bytes do not say another; or base64"),
            whole("max_size_mb", 1, MAX_MEGABYTES, DefaultValue::Whole(10), "Largest file to read, in megabytes"),
            whole("max_lines", 0, MAX, DefaultValue::Whole(0), "Lines to read; 0 for all"),
            whole("skip_lines", 0, MAX - 1, DefaultValue::Whole(0), "Lines to skip from the beginning"),
        ],
        traits: ToolTraits::Reads,
        request: read,
        answer: read_answer,
        output: CONTENT,
    },
    ToolSpec {
        name: "write_file",
        title: "Write file",
        description: "Write a whole file. Makes missing directories. restore_file restores replaced content.",
        params: &[
            FILE,
            required("content", "Content to write"),
            text("encoding", "utf-8", "Text encoding"),
            flag("create_backup", true, "Create a backup before overwriting"),
            flag("overwrite", true, "Allow overwriting an existing file"),
        ],
        traits: ToolTraits::Replaces { idempotent: true },
        request: |args| {
            let (path, content) = (args.text("file_path"), args.text("content"));
            let (create_only, encoding) = (!args.flag("overwrite"), args.opt_text("encoding"));
            Ok(Request::Write(request::Write { path, content, create_only, encoding, ..request::Write::default() }))
        },
        answer: write_answer,
        output: operation_result::SCHEMA,
    },
    ToolSpec {
        name: "list_directory",
        title: "List directory",
        description: "List the files and directories in a directory that match a pattern.",
        params: &[
            required("directory_path", "Directory, relative to the working directory").or(&["path"]),
            text("pattern", "*", "Glob that names have to match, such as *.cs"),
            flag("recursive", false, "Include subdirectories"),
            flag("include_hidden", false, "Include hidden files"),
            whole("max_depth", 0, 256, DefaultValue::Whole(0), "Most levels, where recursive; 0 for all"),
        ],
        traits: ToolTraits::Reads,
        request: list,
        answer: list_answer,
        output: LISTING,
    },
    ToolSpec {
        name: "create_directory",
        title: "Create directory",
        description: "Create a directory. An existing one is no error.",
        params: &[
            required("directory_path", "Directory, relative to the working directory").or(&["path"]),
            flag("recursive", true, "Create parent directories"),
        ],
        traits: ToolTraits::Adds { idempotent: true },
        request: |args| {
            let (path, parents) = (args.text("directory_path"), args.flag("recursive"));
            Ok(Request::MakeDir(request::MakeDir { path, parents }))
        },
        answer: |context, response| {
            let make_dir = take!(MakeDir, response);
            Ok(OperationResult::new("create_directory", &make_dir.path).reported(context, &Response::MakeDir(make_dir)))
        },
        output: operation_result::SCHEMA,
    },
    ToolSpec {
        name: "copy_file",
        title: "Copy file",
        description: "Copy a file.",
        params: &[SOURCE, DESTINATION, OVERWRITE],
        traits: ToolTraits::Replaces { idempotent: true },
        request: |args| Ok(Request::Copy(transfer(args))),
        answer: |context, response| Ok(transferred("copy_file", context, Response::Copy(take!(Copy, response)))),
        output: operation_result::SCHEMA,
    },
    ToolSpec {
        name: "move_file",
        title: "Move file",
        description: "Move or rename a file.",
        params: &[SOURCE, DESTINATION, OVERWRITE],
        traits: ToolTraits::Replaces { idempotent: false },
        request: |args| Ok(Request::Move(request::Move(transfer(args)))),
        answer: |context, response| Ok(transferred("move_file", context, Response::Move(take!(Move, response)))),
        output: operation_result::SCHEMA,
    },
    ToolSpec {
        name: "delete_file",
        title: "Delete file",
        description: "Delete a file. restore_file restores it.",
        params: &[FILE],
        traits: ToolTraits::Replaces { idempotent: false },
        request: |args| {
            Ok(Request::Delete(request::Delete { path: args.text("file_path"), recursive: false, files_only: true }))
        },
        answer: |context, response| {
            let delete = take!(Delete, response);
            let result = OperationResult::new("delete_file", &delete.path).backup(delete.backup.clone());
            Ok(result.reported(context, &Response::Delete(delete)))
        },
        output: operation_result::SCHEMA,
    },
    ToolSpec {
        name: "get_file_metadata",
        title: "Get file metadata",
        description: "Size, times, type, encoding, lines and checksum of a file or directory.",
        params: &[FILE],
        traits: ToolTraits::Reads,
        request: |args| {
            Ok(Request::Stat(request::Stat {
                checksum: true,
                follow: true,
                ..request::Stat::of(args.text("file_path"))
            }))
        },
        answer: |context, response| {
            let stat = take!(Stat, response);
            Ok(Rendered::new(&item::metadata(&stat), render(&Response::Stat(stat), &context.names)))
        },
        output: Output::ResultSchema(&ResultSchema::Object(item::METADATA)),
    },
    ToolSpec {
        name: "compress_files",
        title: "Compress files",
        description: "Pack files and directories into a new zip archive.",
        params: &[
            texts("source_paths", DefaultValue::Required, "Files and directories"),
            required("destination_path", "The archive, such as out/src.zip"),
            OVERWRITE,
        ],
        traits: ToolTraits::Replaces { idempotent: true },
        request: |args| {
            let (sources, destination) = (args.texts("source_paths"), args.text("destination_path"));
            Ok(Request::Pack(request::Pack { sources, destination, overwrite: args.flag("overwrite") }))
        },
        answer: |context, response| {
            let pack = take!(Pack, response);
            let result = OperationResult::new("compress_files", &pack.path).size(pack.size);
            Ok(result.backup(pack.backup.clone()).reported(context, &Response::Pack(pack)))
        },
        output: operation_result::SCHEMA,
    },
    ToolSpec {
        name: "extract_archive",
        title: "Extract archive",
        description: "Unpack a zip archive into a directory: all of it, or nothing where any entry is unsafe or too large.",
        params: &[
            required("archive_path", "The archive"),
            required("destination_path", "Directory to unpack into; it is made if missing"),
            OVERWRITE,
        ],
        traits: ToolTraits::Replaces { idempotent: true },
        request: |args| {
            let (source, destination) = (args.text("archive_path"), args.text("destination_path"));
            Ok(Request::Unpack(request::Unpack { source, destination, overwrite: args.flag("overwrite") }))
        },
        answer: |context, response| {
            let unpack = take!(Unpack, response);
            let result = OperationResult::new("extract_archive", &unpack.destination).size(unpack.bytes);
            Ok(result.backup(unpack.backup.clone()).reported(context, &Response::Unpack(unpack)))
        },
        output: operation_result::SCHEMA,
    },
    ToolSpec {
        name: "restore_file",
        title: "Restore file",
        description: "Undo a change from the backup that its result named, or the last change of a file.",
        params: &[
            optional("backup_path", "backupPath of a result"),
            optional("file_path", "Or the file, for its last change"),
        ],
        traits: ToolTraits::Replaces { idempotent: false },
        request: |args| {
            args.not_both("backup_path", "file_path", "give one of them")?;
            let (path, backup) = (args.opt_text("file_path"), args.opt_text("backup_path"));
            Ok(Request::Restore(request::Restore { path, backup, ..request::Restore::default() }))
        },
        answer: |context, response| {
            let restore = take!(Restore, response);
            let path = restore.restored.first().cloned().unwrap_or_default();
            let result = OperationResult::new("restore_file", &path).backup(restore.backup.clone());
            Ok(result.reported(context, &Response::Restore(restore)))
        },
        output: operation_result::SCHEMA,
    },
];

/// Returns the category of an error code, and whether a retry of the same call can succeed.
fn category(code: Code) -> (&'static str, bool) {
    match code {
        Code::NotFound => ("not-found", false),
        Code::OutsideWorkspace | Code::Denied | Code::ReadOnly | Code::PermissionDenied => ("access-denied", false),
        Code::ApprovalRequired => ("confirmation-required", true),
        Code::AlreadyExists | Code::DirectoryNotEmpty | Code::ChangedSinceRead => ("conflict", false),
        Code::TooLarge | Code::LimitExceeded => ("limit", false),
        Code::BinaryFile | Code::EncodingLoss => ("encoding", false),
        Code::Io | Code::NoSpace | Code::BackendGone | Code::Cancelled => ("system", true),
        Code::InvalidPath | Code::InvalidArgument | Code::UnknownTool | Code::UnknownDialect => ("validation", false),
        Code::NotAFile | Code::NotADirectory | Code::NoMatch | Code::AmbiguousMatch => ("validation", false),
        Code::PatchInvalid | Code::PatchRejected => ("validation", false),
    }
}

fn failure(failed: &FailedCall<'_>) -> Rendered {
    let error = failed.error;
    let (category, retryable) = category(error.code);
    let value = json!({
        "success": false,
        "operation": failed.tool.map(|tool| tool.name),
        "path": error.path,
        "error": {
            "category": category,
            "code": error.code,
            "message": error.message,
            "suggestion": error.hint,
            "retryable": retryable,
        },
    });
    Rendered::new(&value, words(error))
}

fn read(args: &Args) -> Result<Request> {
    let lines = Some(args.whole("max_lines")).filter(|lines| *lines > 0);
    let encoding = args.text("encoding");
    let is_bytes = encoding == BASE64;
    if is_bytes && (lines.is_some() || args.whole("skip_lines") > 0) {
        return Err(Error::argument("encoding", "bytes have no lines").hint("leave `max_lines` and `skip_lines` out"));
    }
    Ok(Request::Read(request::Read {
        mode: if is_bytes { ReadMode::Base64 } else { ReadMode::Raw },
        limit: lines.or(is_bytes.then_some(u64::MAX)),
        first_line: 0,
        // Detection takes precedence over the default value.
        encoding: Some(encoding).filter(|name| !is_bytes && !name.eq_ignore_ascii_case("utf-8")),
        max_bytes: Some(args.whole("max_size_mb").saturating_mul(MEGABYTE)),
        checksum: true,
        unlimited: true,
        empty_past_end: true,
        ..request::Read::lines(args.text("file_path"), args.whole("skip_lines") + 1, None)
    }))
}

fn read_answer(context: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let read = take!(Read, response);
    let is_bytes = context.args.text("encoding") == BASE64;
    let value = json!({
        "content": read.content,
        "encoding": if is_bytes { BASE64.to_owned() } else { read.encoding.to_lowercase() },
        "sizeBytes": read.size,
        "lineCount": read.total_lines.unwrap_or(0),
        "lastModified": read.modified,
        "checksum": read.sha256,
        "mimeType": read.mime,
    });
    let (truncated, mut text) = (read.truncated, read.content.clone());
    if !is_bytes {
        text.push_str(&no_lines(&read));
    }
    if let Some(next) = read.next_offset.filter(|_| !is_bytes) {
        text.push_str(&format!("\n{}", continuation(&read, "skip_lines", next - 1)));
    }
    if !is_bytes {
        text.push_str(&endings(&read));
    }
    Ok(Rendered::new(&value, text).truncated(truncated))
}

fn write_answer(context: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let write = take!(Write, response);
    let backup = write.backup.clone().filter(|_| context.args.flag("create_backup") && !write.created);
    let result = OperationResult::new("write_file", &write.path).size(write.bytes_written).backup(backup);
    Ok(result.reported(context, &Response::Write(write)))
}

fn list(args: &Args) -> Result<Request> {
    let depth = match args.whole32("max_depth") {
        0 => u32::MAX,
        depth => depth,
    };
    Ok(Request::List(request::List {
        depth: if args.flag("recursive") { depth } else { 1 },
        // In .NET, `*.*` matches names without a dot too.
        pattern: Some(args.text("pattern")).filter(|pattern| !matches!(pattern.as_str(), "" | "*" | "*.*")),
        include_hidden: args.flag("include_hidden"),
        include_ignored: true,
        limit: MAX_ITEMS,
        details: request::Details { link_targets: true, ..request::Details::default() },
        unlimited: true,
        ..request::List::of(args.text("directory_path"))
    }))
}

fn list_answer(context: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let list = take!(List, response);
    let items: Vec<_> = list.entries.iter().filter_map(item::of_entry).collect();
    let value = json!({
        "path": list.path,
        "items": items,
        "totalFiles": list.total_files,
        "totalDirectories": list.total_directories,
        "totalSizeBytes": list.total_size,
        "truncated": list.truncated,
    });
    let truncated = list.truncated;
    Ok(Rendered::new(&value, render(&Response::List(list), &context.names)).truncated(truncated))
}
