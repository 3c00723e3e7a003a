//! Rows of a dialect's table. Decoding, JSON Schema and help are derived from them.

use paddock_types::error::Result;
use paddock_types::rendered::Rendered;
use paddock_types::request::Request;
use paddock_types::response::Response;

use crate::answer::CallContext;
use crate::args::Args;

/// A tool.
pub struct ToolSpec {
    /// Name of the tool.
    pub name: &'static str,
    /// Title for people.
    pub title: &'static str,
    /// Description for the model.
    pub description: &'static str,
    /// Arguments.
    pub params: &'static [Param],
    /// Effects of the tool on files.
    pub effect: ToolTraits,
    /// Converts the arguments into a request.
    pub request: fn(&Args) -> Result<Request>,
    /// Renders the response or the error. The dialect's `failure` renders an `Err`.
    pub answer: fn(&CallContext<'_>, Result<Response>) -> Result<Rendered>,
    /// Schema of the result.
    pub output: Output,
}

/// Schema of a tool's result.
pub enum Output {
    /// Schema of a type of `paddock_types::response`, as JSON text.
    Generated(&'static str),
    /// Schema described by a row of the dialect's table.
    ResultSchema(&'static ResultSchema),
}

/// Description of a JSON value in a result.
pub enum ResultSchema {
    /// A string.
    Text,
    /// An integer.
    Whole,
    /// A number.
    Number,
    /// A boolean.
    Flag,
    /// One of these words.
    Words(&'static [&'static str]),
    /// The given schema, or null.
    Nullable(&'static ResultSchema),
    /// The given schema; the member may be absent.
    Optional(&'static ResultSchema),
    /// A list with items of the given schema.
    List(&'static ResultSchema),
    /// An object with these members.
    Object(&'static [(&'static str, ResultSchema)]),
}

/// Effects of a tool on files, which become the annotations of the Model Context Protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolTraits {
    /// The tool changes nothing.
    Reads,
    /// The tool changes no files, but stores a snapshot in the state directory.
    Notes,
    /// The tool creates entries and replaces none.
    Adds {
        /// Whether a repeated call has no further effect.
        idempotent: bool,
    },
    /// The tool can replace or remove existing entries.
    Replaces {
        /// Whether a repeated call has no further effect.
        idempotent: bool,
    },
    /// The tool makes the host run a command; the component itself does nothing.
    Runs {
        /// Whether the command can change files.
        changes: bool,
    },
}

impl ToolTraits {
    /// Returns whether the host executes the tool.
    pub fn runs(self) -> bool {
        matches!(self, Self::Runs { .. })
    }

    /// Returns whether the tool can change files or the state directory.
    pub fn changes(self) -> bool {
        !matches!(self, Self::Reads | Self::Runs { changes: false })
    }
}

/// An argument of a tool.
pub struct Param {
    /// Name of the argument.
    pub name: &'static str,
    /// Alternative names that are accepted but not listed.
    pub aliases: &'static [&'static str],
    /// Type and range of the value.
    pub kind: ParamKind,
    /// Value that applies if the argument is absent.
    pub default: DefaultValue,
    /// Description with the unit of the value.
    pub doc: &'static str,
}

/// Type and range of an argument.
pub enum ParamKind {
    /// A string.
    Text,
    /// An integer in a range.
    Whole {
        /// Minimum.
        min: u64,
        /// Maximum.
        max: u64,
    },
    /// An integer that may be negative.
    Signed,
    /// A non-negative number.
    Number,
    /// A boolean.
    Flag,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of strings.
    Texts,
    /// A map from names chosen by the caller to strings.
    Named,
    /// A pair of integers.
    Pair,
    /// An object with these members.
    Object(&'static [Param]),
    /// A list of objects with these members.
    Objects(&'static [Param]),
}

/// Value of an absent argument.
#[derive(Clone, Copy)]
pub enum DefaultValue {
    /// The argument is required.
    Required,
    /// The argument is optional and has no default.
    None,
    /// A string or word.
    Text(&'static str),
    /// An integer.
    Whole(u64),
    /// A negative integer.
    Below(i64),
    /// A boolean.
    Flag(bool),
}

/// Names that other tools use for these arguments: those with the same meaning and unit, which are accepted, and those
/// that may mean something else, which are suggested.
const OTHER_NAMES: &[(&str, &[&str], &[&str])] = &[
    (
        "path",
        &["file_path", "filePath", "filename", "file", "dir_path", "directory_path", "target_file", "directory"],
        &[],
    ),
    ("file_path", &["path", "filePath", "filename", "file", "target_file"], &[]),
    ("dir_path", &["path", "directory", "directory_path"], &[]),
    ("old_text", &["oldText", "old_string", "oldString", "old_str"], &["find", "search", "old"]),
    ("oldText", &["old_text", "old_string", "oldString", "old_str"], &["find", "search", "old"]),
    ("new_text", &["newText", "new_string", "newString", "new_str"], &["replace", "insert_text", "replacement", "new"]),
    ("newText", &["new_text", "new_string", "newString", "new_str"], &["replace", "replacement", "new"]),
    ("old_string", &["old_text", "oldText", "oldString", "old_str"], &["find", "search", "old"]),
    ("new_string", &["new_text", "newText", "newString", "new_str"], &["replace", "replacement", "new"]),
    ("offset", &[], &["start_line", "startLine", "skip_lines", "view_range", "line", "start"]),
    (
        "limit",
        &["max_lines", "max_results", "max_matches", "maxResults", "max_count", "head_limit"],
        &["length", "count", "end_line", "endLine"],
    ),
    ("replace_all", &["replaceAll"], &["allow_multiple", "expected_replacements"]),
    ("pattern", &["regex"], &["query", "queries"]),
    ("glob", &["include", "include_pattern", "filePattern", "glob_filter", "file_pattern"], &["type"]),
    ("content", &["contents", "file_text"], &["text", "data"]),
    ("destination", &["dest", "destination_path", "new_path", "to", "target"], &[]),
    ("source", &["src", "source_path", "old_path", "from"], &[]),
    ("case", &[], &["case_sensitive", "ignore_case", "case_insensitive"]),
    ("fixed", &["literal", "fixed_strings"], &["is_regex"]),
    ("before", &["-B", "before_context"], &[]),
    ("after", &["-A", "after_context"], &[]),
    ("context", &["-C", "context_lines", "contextLines"], &[]),
    ("patch", &["input", "diff"], &[]),
    ("create_only", &["exclusive"], &["overwrite"]),
    ("if_match", &["etag", "expected_etag"], &[]),
    ("dry_run", &["dryRun", "preview"], &[]),
    ("dryRun", &["dry_run", "preview"], &[]),
    ("paths", &["files"], &[]),
    ("replacement", &["new_text", "new_string"], &["replace", "new", "with", "substitution"]),
    ("command", &["cmd", "command_line"], &["script", "commands"]),
    ("cmd", &["command", "command_line"], &[]),
    ("workdir", &["cwd", "working_directory"], &["directory", "dir"]),
    ("timeout_ms", &["timeoutMs"], &["timeout", "timeout_seconds"]),
    ("session_id", &[], &["session", "id", "pid", "process_id"]),
    ("chars", &[], &["input", "text", "data"]),
    ("since", &["token"], &["cursor", "after", "from"]),
];

/// Returns whether other tools have the name `other` for the argument `name`, with the same meaning and unit.
pub fn same_argument(name: &str, other: &str) -> bool {
    OTHER_NAMES.iter().any(|(known, same, _)| *known == name && same.contains(&other))
}

/// Returns the name in `names` that `given` most likely stands for.
pub fn nearest<'n>(given: &str, names: &[&'n str]) -> Option<&'n str> {
    let is_other = |same: &[&str], similar: &[&str]| same.contains(&given) || similar.contains(&given);
    let meant = OTHER_NAMES.iter().find(|(name, same, similar)| names.contains(name) && is_other(same, similar));
    if let Some((meant, ..)) = meant {
        return names.iter().find(|name| *name == meant).copied();
    }
    let given = given.to_lowercase();
    let score = |name: &&&str| paddock_text::similarity(&given, &name.to_lowercase());
    let best = names.iter().max_by(|a, b| score(a).total_cmp(&score(b)))?;
    (score(&best) >= 0.5).then_some(*best)
}
