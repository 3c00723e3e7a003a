//! The `openai` dialect: the operations of OpenAI's `apply_patch` tool, one file per call, with its headerless V4A
//! diff.

use paddock_types::error::{Code, Error, Result, Term};
use paddock_types::match_pass::Pass;
use paddock_types::rendered::Rendered;
use paddock_types::request;
use paddock_types::request::{Matching, Request};
use paddock_types::response::Response;
use serde_json::json;

use crate::args::Args;
use crate::dialect::Dialect;
use crate::dialect::answer::{CallContext, words};
use crate::dialect::failed_call::FailedCall;
use crate::dialect::spec::{Output, ResultSchema, ToolSpec, ToolTraits};
use crate::param::{DefaultValue, Param, ParamKind, choice, optional, required};
use crate::text::with_notes;

/// Definition of the dialect.
pub const DIALECT: Dialect =
    Dialect { name: "openai", tools: TOOLS, commands: &[], failure, names: NAMES, confined: &[] };

/// Names of arguments and tools in this dialect.
const NAMES: &[(Term, &str)] = &[(Term::Patch, "diff")];

const OPERATION: &[Param] = &[
    choice("type", &["create_file", "update_file", "delete_file"], "update_file", "What to do"),
    required("path", "The file"),
    optional("diff", "create_file: lines that start with +; update_file: chunks of ` `, - and + lines after @@"),
];

const TOOLS: &[ToolSpec] = &[ToolSpec {
    name: "apply_patch",
    title: "Apply patch",
    description: "Create, update or delete one file by a V4A diff.",
    params: &[Param {
        name: "operation",
        aliases: &[],
        kind: ParamKind::Object(OPERATION),
        default: DefaultValue::Required,
        doc: "The operation of an apply_patch_call",
    }],
    traits: ToolTraits::Replaces { idempotent: false },
    request,
    answer,
    output: Output::ResultSchema(&ResultSchema::Object(&[
        ("status", ResultSchema::Words(&["completed", "failed"])),
        ("output", ResultSchema::Text),
    ])),
}];

fn reported(status: &str, output: String) -> Rendered {
    Rendered::new(&json!({ "status": status, "output": output }), output)
}

fn failure(failed: &FailedCall<'_>) -> Rendered {
    reported("failed", words(failed.error))
}

fn request(args: &Args) -> Result<Request> {
    let operation = args.opt_object("operation").unwrap_or_else(Args::empty);
    let (path, diff) = (operation.text("path"), operation.opt_text("diff"));
    match operation.text("type").as_str() {
        "delete_file" => Ok(Request::Delete(request::Delete { path, recursive: false, files_only: true })),
        "create_file" => {
            let content = created(diff.as_deref().unwrap_or_default())?;
            Ok(Request::Write(request::Write { path, content, create_only: true, ..request::Write::default() }))
        }
        _ => {
            let diff = diff.ok_or_else(|| Error::argument("operation.diff", "it is missing"))?;
            // Models often end the diff like an envelope.
            let (diff, ending) = lines_of(&diff);
            let diff = diff.strip_suffix("*** End Patch").map_or(diff.as_str(), str::trim_end);
            if path.contains('\n') {
                return Err(Error::at(Code::InvalidPath, "patch", &path, "a path cannot contain a line feed"));
            }
            if diff.lines().any(|line| line.starts_with("*** ") && line.trim_end() != "*** End of File") {
                return Err(Error::argument("operation.diff", "it has a header line")
                    .hint("give chunks of lines alone: the file is `operation.path`"));
            }
            let ending = if diff.is_empty() { "" } else { ending };
            let patch = format!("*** Begin Patch\n*** Update File: {path}\n{diff}{ending}*** End Patch");
            Ok(Request::ApplyPatch(request::ApplyPatch { patch, dry_run: false, matching: Matching::V4a }))
        }
    }
}

/// Returns the lines of a diff without the last line ending, and the line ending: CRLF for all lines if one has it.
#[inline(never)]
fn lines_of(diff: &str) -> (String, &'static str) {
    let ending = if diff.contains("\r\n") { "\r\n" } else { "\n" };
    let diff = diff.strip_suffix('\n').unwrap_or(diff);
    let lines: Vec<_> = diff.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
    (lines.join(ending), ending)
}

/// Returns the content of a diff that consists of added lines. No final newline is added.
fn created(diff: &str) -> Result<String> {
    let line = |line: &str| match line.strip_prefix('+') {
        Some(text) => Ok(text.to_owned()),
        None => Err(Error::new(Code::PatchInvalid, format!("Invalid Add File Line: {line}"))
            .hint("in create_file every line of the diff starts with +")),
    };
    if diff.is_empty() {
        return Ok(String::new());
    }
    let (diff, ending) = lines_of(diff);
    let bare = |text: &str| line(text.strip_suffix('\r').unwrap_or(text));
    Ok(diff.split('\n').map(bare).collect::<Result<Vec<_>>>()?.join(ending))
}

fn answer(_: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let response = response?;
    let output = match &response {
        Response::Write(write) => format!("Created {}", write.path),
        Response::Delete(delete) => format!("Deleted {}", delete.path),
        Response::ApplyPatch(patch) => {
            let file = |file: &paddock_types::response::PatchedFile| match file.pass {
                Pass::Exact => format!("Updated {}", file.path),
                pass => format!("Updated {} (matched {})", file.path, pass.name()),
            };
            patch.files.iter().map(file).collect::<Vec<_>>().join("\n")
        }
        _ => return Err(CallContext::mixed_up()),
    };
    Ok(reported("completed", with_notes(output, response.notes())))
}
