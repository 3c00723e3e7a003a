//! Errors in the wording of Claude's tools.

use paddock_types::error::{Code, Detail, Term};
use paddock_types::rendered::Rendered;
use serde_json::json;

use crate::anthropic::{MEMORY, MEMORY_ROOT};
use crate::dialect::answer::words;
use crate::dialect::failed_call::FailedCall;

pub fn failure(failed: &FailedCall<'_>) -> Rendered {
    let message = message(failed);
    let message = match failed.tool {
        Some(tool) if tool.name == MEMORY && matches!(failed.error.code, Code::NotFound | Code::AlreadyExists) => {
            format!("Error: {message}")
        }
        _ => message,
    };
    Rendered::new(&json!({ "error": message }), message)
}

fn message(failed: &FailedCall<'_>) -> String {
    let error = failed.error;
    let (command, path) = (failed.text("command"), failed.text("path"));
    let is_memory = failed.tool.is_some_and(|tool| tool.name == MEMORY);
    let old_str = failed.text("old_str");
    match error.code {
        // A path below a file does not exist; only the error for a new path names the mistake.
        Code::NotFound | Code::NotADirectory
            if error.code == Code::NotFound || (is_memory && !matches!(command.as_str(), "create" | "rename")) =>
        {
            let path = if path.is_empty() { failed.text("old_path") } else { path };
            let has_near = !is_memory && error.detail.as_deref() == Some(&Detail::SimilarPaths);
            let near = error.hint.as_ref().filter(|_| has_near);
            let near = near.map(|hint| format!(" ({hint})")).unwrap_or_default();
            format!("The path {path} does not exist. Please provide a valid path.{near}")
        }
        Code::AlreadyExists if command == "rename" => {
            format!("The destination {} already exists", failed.text("new_path"))
        }
        Code::AlreadyExists if is_memory => format!("File {path} already exists"),
        Code::AlreadyExists => {
            format!("File already exists at: {path}. Cannot overwrite files using command `create`.")
        }
        // Only the error for a link that leads out contains a path, and it is the path in the workspace.
        Code::OutsideWorkspace if is_memory => match &error.path {
            Some(path) => format!("Path /{path} would escape {MEMORY_ROOT} directory"),
            None => error.message.clone(),
        },
        Code::InvalidPath if is_memory && error.path.as_deref() == Some(MEMORY_ROOT) => match command.as_str() {
            "create" => format!("File {path} already exists"),
            "delete" | "rename" => format!("Cannot {command} the {MEMORY_ROOT} directory itself"),
            _ => format!("The path {path} is not a file."),
        },
        Code::NotAFile if is_memory && command == "create" => format!("File {path} already exists"),
        Code::NotAFile if is_memory && command != "view" => format!("The path {path} is not a file."),
        Code::NotAFile if command != "view" && error.detail.as_deref() == Some(&Detail::IsDirectory) => {
            format!("The path {path} is a directory and only the `view` command can be used on directories")
        }
        Code::NoMatch => {
            let hint = error.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
            format!("No replacement was performed, old_str `{old_str}` did not appear verbatim in {path}.{hint}")
        }
        Code::AmbiguousMatch => {
            let lines = match error.detail.as_deref() {
                Some(Detail::Occurrences(lines)) => lines,
                _ => "",
            };
            let colon = if is_memory { ":" } else { "" };
            format!(
                "No replacement was performed. Multiple occurrences of old_str `{old_str}` in lines{colon} {lines}. Please ensure it is unique"
            )
        }
        _ => match error.detail.as_deref() {
            Some(Detail::PastEnd { argument: Term::InsertLine, total }) => {
                let line = failed.args.and_then(|args| args.opt_signed("insert_line")).unwrap_or_default();
                let (of_file, stop) = if is_memory { ("", ".") } else { (" of lines of the file:", "") };
                format!(
                    "Invalid `insert_line` parameter: {line}. It should be within the range{of_file} [0, {total}]{stop}"
                )
            }
            // The caller names paths of the memory from its root.
            _ if is_memory => words(error).replace("`memories", &format!("`{MEMORY_ROOT}")),
            _ => words(error),
        },
    }
}
