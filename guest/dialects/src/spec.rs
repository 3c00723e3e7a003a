//! What a row of a dialect's table says: decoding, JSON Schema and help are all
//! made from it.

use paddock_types::error::Result;
use paddock_types::rendered::Rendered;
use paddock_types::request::Request;
use paddock_types::response::Response;

use crate::answer::CallContext;
use crate::args::Args;

/// One tool.
pub struct ToolSpec {
    /// Its name.
    pub name: &'static str,
    /// A title for people.
    pub title: &'static str,
    /// Description for the model.
    pub description: &'static str,
    /// Its arguments.
    pub params: &'static [Param],
    /// Traits of the tool.
    pub effect: ToolTraits,
    /// Decodes the arguments of a call into a request.
    pub request: fn(&Args) -> Result<Request>,
    /// Renders the response, or the failure of the operation. The dialect's `failure` renders an `Err`.
    pub answer: fn(&CallContext<'_>, Result<Response>) -> Result<Rendered>,
    /// Schema of the result.
    pub output: Output,
}

/// The schema of a tool's result.
pub enum Output {
    /// The schema of a type of `paddock_types::response`, as JSON text.
    Generated(&'static str),
    /// The schema that a row of the dialect's table describes.
    ResultSchema(&'static ResultSchema),
}

/// JSON of a result.
pub enum ResultSchema {
    /// A string.
    Text,
    /// A whole number.
    Whole,
    /// A number.
    Number,
    /// True or false.
    Flag,
    /// One of these words.
    Words(&'static [&'static str]),
    /// That, or null.
    Nullable(&'static ResultSchema),
    /// That, or not there.
    Optional(&'static ResultSchema),
    /// A list.
    List(&'static ResultSchema),
    /// An object with these members.
    Object(&'static [(&'static str, ResultSchema)]),
}

/// Traits of a tool: the annotations of the Model Context Protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolTraits {
    /// Changes nothing.
    Reads,
    /// Changes nothing either, and keeps a note of what it saw in the state directory.
    Notes,
    /// Adds, and replaces nothing.
    Adds {
        /// A second call changes nothing more.
        idempotent: bool,
    },
    /// Can replace or remove what is there.
    Replaces {
        /// A second call changes nothing more.
        idempotent: bool,
    },
    /// Asks the host for a command: none of it is done here.
    Runs {
        /// It can change something.
        changes: bool,
    },
}

impl ToolTraits {
    /// Whether the host does it.
    pub fn runs(self) -> bool {
        matches!(self, Self::Runs { .. })
    }

    /// Whether something can be changed, the state directory included.
    pub fn changes(self) -> bool {
        !matches!(self, Self::Reads | Self::Runs { changes: false })
    }
}

/// One argument.
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// Other names that are taken for it, and not shown.
    pub aliases: &'static [&'static str],
    /// Type of the value.
    pub kind: ParamKind,
    /// Value in force if the argument is absent.
    pub default: DefaultValue,
    /// Description for the model, with the unit.
    pub doc: &'static str,
}

/// Type of an argument.
pub enum ParamKind {
    /// Text.
    Text,
    /// A whole number in a range.
    Whole {
        /// The least.
        min: u64,
        /// The most.
        max: u64,
    },
    /// A whole number; -1 and less too.
    Signed,
    /// A number of at least 0.
    Number,
    /// True or false.
    Flag,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of texts.
    Texts,
    /// Texts by names of the caller's.
    Named,
    /// Two whole numbers.
    Pair,
    /// An object with these members.
    Object(&'static [Param]),
    /// A list of objects with these members.
    Objects(&'static [Param]),
}

/// Value of an absent argument.
#[derive(Clone, Copy)]
pub enum DefaultValue {
    /// It has to be given.
    Required,
    /// Nothing holds.
    None,
    /// A text or word.
    Text(&'static str),
    /// A number.
    Whole(u64),
    /// A number below zero.
    Below(i64),
    /// True or false.
    Flag(bool),
}

/// Other names that the field uses, for telling a caller which one is meant here.
const OTHER_NAMES: &[(&str, &[&str])] = &[
    ("path", &["file_path", "filePath", "filename", "file", "dir_path", "directory_path", "target_file", "directory"]),
    ("old_text", &["oldText", "find", "old_string", "oldString", "old_str", "search", "old"]),
    ("new_text", &["newText", "replace", "new_string", "newString", "new_str", "insert_text", "replacement", "new"]),
    ("offset", &["start_line", "startLine", "skip_lines", "view_range", "line", "start"]),
    ("limit", &["max_lines", "length", "max_results", "max_matches", "maxResults", "max_count", "head_limit", "count"]),
    ("replace_all", &["replaceAll", "allow_multiple", "expected_replacements"]),
    ("pattern", &["query", "regex", "queries"]),
    ("glob", &["include", "include_pattern", "filePattern", "glob_filter", "file_pattern", "type"]),
    ("content", &["contents", "text", "file_text", "data"]),
    ("destination", &["dest", "to", "target", "new_path", "destination_path"]),
    ("source", &["src", "from", "old_path", "source_path"]),
    ("case", &["case_sensitive", "ignore_case", "case_insensitive"]),
    ("fixed", &["literal", "is_regex", "fixed_strings"]),
    ("before", &["-B", "before_context"]),
    ("after", &["-A", "after_context"]),
    ("context", &["-C", "context_lines", "contextLines"]),
    ("patch", &["input", "diff"]),
    ("create_only", &["overwrite", "exclusive"]),
    ("if_match", &["etag", "expected_etag"]),
    ("dry_run", &["dryRun", "preview"]),
    ("paths", &["files"]),
    ("replacement", &["replace", "new_text", "new_string", "new", "with", "substitution"]),
    ("command", &["cmd", "script", "command_line", "commands"]),
    ("cmd", &["command"]),
    ("workdir", &["cwd", "working_directory", "directory", "dir"]),
    ("timeout_ms", &["timeout", "timeoutMs", "timeout_seconds"]),
    ("session_id", &["session", "id", "pid", "process_id"]),
    ("chars", &["input", "text", "data"]),
    ("since", &["token", "cursor", "after", "from"]),
];

/// The one of `names` that `given` most likely means.
pub fn nearest<'n>(given: &str, names: &[&'n str]) -> Option<&'n str> {
    let meant = OTHER_NAMES.iter().find(|(name, others)| others.contains(&given) && names.contains(name));
    if let Some((meant, _)) = meant {
        return names.iter().find(|name| *name == meant).copied();
    }
    let given = given.to_lowercase();
    let score = |name: &&&str| paddock_text::similarity(&given, &name.to_lowercase());
    let best = names.iter().max_by(|a, b| score(a).total_cmp(&score(b)))?;
    (score(&best) >= 0.5).then_some(*best)
}
