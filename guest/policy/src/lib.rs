//! The policy: the rights and limits of tools in a workspace. Hosts read it from files and pass it to the component in
//! `PADDOCK_POLICY`. Its JSON Schema and the table of the documentation are generated from these types.
//!
//! The names are those of the `dotnet-prompt` specification where it has one.

use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub mod check;
mod commands;
mod limits;
pub mod name;
mod narrow;
pub mod repeated_name;
pub mod windows_path;

pub use commands::Commands;
pub use limits::Limits;
pub use narrow::{Reason, Refusal};

/// Name of the member, next to the settings, whose settings can only narrow the policy.
pub const NARROWED: &str = "narrowed";

/// Rights and limits of tools in a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// Whether tools see only the given roots, or also the whole file system.
    pub mode: Mode,
    /// Further roots. In a policy's file, `${NAME}` and a leading `~` are replaced, and a relative path starts at the file.
    pub allowed_directories: Vec<AllowedDirectory>,
    /// Whether all roots are read-only.
    pub read_only: bool,
    /// Directories and files that no tool shows, reads or changes: a name at any depth (`node_modules`), a path from
    /// the top of every root (`./bin`, `src/generated`), or an absolute path. Letter case is ignored.
    pub blocked_directories: Vec<String>,
    /// If not empty, all tools refuse files with other extensions than these (`.md`). An empty entry stands for files
    /// without an extension.
    pub allowed_extensions: Vec<String>,
    /// Extensions of files that all tools refuse.
    pub blocked_extensions: Vec<String>,
    /// Whether protected paths, such as `.git/` and `.vscode/`, may be changed.
    pub allow_protected: bool,
    /// Treatment of changed files that have other hard links, which may be outside the workspace.
    pub hard_links: HardLinks,
    /// Calls that a person must approve.
    pub approval: Approval,
    /// Whether each call is recorded in the audit log, `audit.jsonl` in the state directory.
    pub enable_audit_logging: bool,
    /// Backups of changed content, in the state directory.
    pub backups: Backups,
    /// Search index, in the state directory.
    pub index: Index,
    /// Limits of a call. An argument of a tool can only lower them.
    pub limits: Limits,
    /// Commands that the host runs, confined to the roots.
    pub commands: Commands,
}

impl Policy {
    /// Creates a policy from the defaults of `dialect` and from `settings`, narrowed by the member [`NARROWED`].
    /// Unknown names and wrong types are errors.
    pub fn new(settings: Map<String, Value>, dialect: &str) -> Result<Self, serde_json::Error> {
        // Widening settings were refused when they were read; settings wider than the dialect's are ignored.
        Self::narrowed(settings, dialect).map(|(policy, _)| policy)
    }

    /// Creates a policy as `new` does, and returns the settings of [`NARROWED`] that would have widened it and were
    /// left out.
    pub fn narrowed(
        mut settings: Map<String, Value>,
        dialect: &str,
    ) -> Result<(Self, Vec<Refusal>), serde_json::Error> {
        let narrowing = settings.remove(NARROWED);
        if let Some(Value::Object(own)) = of_dialect(dialect) {
            for (name, value) in own {
                settings.entry(name).or_insert(value);
            }
        }
        match narrowing {
            None => Ok((serde_json::from_value(Value::Object(settings))?, Vec::new())),
            Some(Value::Object(by)) => narrow::narrow(settings, &by),
            Some(_) => Err(serde_json::Error::custom("`narrowed` holds settings")),
        }
    }

    /// Returns the settings that differ from the built-in policy.
    pub fn settings(&self) -> Map<String, Value> {
        let built_in = serde_json::to_value(Self::default()).unwrap_or_default();
        match serde_json::to_value(self) {
            Ok(Value::Object(own)) => difference(own, &built_in),
            _ => Map::new(),
        }
    }
}

/// Returns the members of `own` that differ from `other`.
fn difference(own: Map<String, Value>, other: &Value) -> Map<String, Value> {
    let changed = own.into_iter().filter_map(|(name, value)| match (value, other.get(&name)) {
        (value, Some(same)) if value == *same => None,
        (Value::Object(inner), Some(other)) => Some((name, Value::Object(difference(inner, other)))),
        (value, _) => Some((name, value)),
    });
    changed.collect()
}

/// Returns the defaults of a dialect, from its specification. The defaults of one dialect in a list are in force for
/// all tools of the list.
pub fn of_dialect(dialect: &str) -> Option<Value> {
    includes(dialect, "dotnet-prompt").then(|| {
        serde_json::json!({
            "blocked_directories": ["bin", "obj", ".git", "node_modules"],
            "blocked_extensions": [".exe", ".dll", ".so", ".dylib"],
            "approval": "on-delete",
            "enable_audit_logging": true,
        })
    })
}

/// Returns whether `list`, the name of a dialect or a list of several such as `anthropic,paddock:grep,glob`, includes
/// tools of `dialect`.
pub fn includes(list: &str, dialect: &str) -> bool {
    let is_of = |item: &str| item.strip_prefix(dialect).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'));
    list.split(',').any(is_of)
}

/// Returns the JSON Schema of a policy.
#[cfg(feature = "schema")]
pub fn schema() -> Value {
    schemars::schema_for!(Policy).to_value()
}

/// Directories that tools see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The roots.
    #[default]
    Restricted,
    /// The whole file system, by absolute paths.
    Unrestricted,
}

/// A further root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum AllowedDirectory {
    /// Path of a directory with write access.
    Path(String),
    /// Path of a directory and the access to it.
    WithAccess(Directory),
}

/// A directory and the access to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Directory {
    /// Path of the directory.
    pub path: String,
    /// Access to the directory.
    #[serde(default)]
    pub access: Access,
}

impl AllowedDirectory {
    /// Returns the path and the access.
    pub fn parts(&self) -> (&str, Access) {
        match self {
            Self::Path(path) => (path, Access::default()),
            Self::WithAccess(Directory { path, access }) => (path, *access),
        }
    }
}

/// Access to a root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Reading only.
    ReadOnly,
    /// Reading and changing.
    #[default]
    ReadWrite,
}

/// Treatment of changed files that have other hard links, which may be outside the workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum HardLinks {
    /// A change replaces the file of this name; the other names keep the old content.
    #[default]
    Break,
    /// A change writes to the file, so that every name has the new content.
    Keep,
    /// A change fails.
    Refuse,
}

/// Calls that a person must approve. Each value includes the calls of the previous one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Approval {
    /// No call.
    #[default]
    Never,
    /// Calls that delete a file or directory, or replace a file as a whole by another file.
    OnDelete,
    /// Calls that change anything.
    OnChange,
}

/// Backups of changed content in the state directory. The oldest backups are removed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Backups {
    /// Whether changed content is stored, so that changes can be undone.
    pub enabled: bool,
    /// Maximum number of calls with a backup.
    pub max_count: u64,
    /// Age in days at which a backup is removed.
    pub max_days: u64,
    /// Maximum total size of the backups, in bytes. If the content that one call replaces exceeds it, that content is
    /// not stored, and the result says so.
    pub max_bytes: u64,
}

impl Default for Backups {
    fn default() -> Self {
        Self { enabled: true, max_count: 100, max_days: 30, max_bytes: 64 * 1024 * 1024 }
    }
}

/// Search index in the state directory. A search does not read files that cannot match according to the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Index {
    /// Whether searches use an index. Results are the same without it.
    pub enabled: bool,
    /// Maximum size of the index in bytes. Source code takes about 3 % of its size, and each file some 40 bytes. Files
    /// beyond it are not indexed.
    pub max_bytes: u64,
    /// Seconds since the last change of a file after which the file is indexed, at least 2. With a smaller number than
    /// the default, a search can miss a change by a program that wrote to the file, through a memory map or slowly, while
    /// it was indexed.
    pub min_age_seconds: u64,
}

impl Default for Index {
    fn default() -> Self {
        Self { enabled: true, max_bytes: 256 * 1024 * 1024, min_age_seconds: 60 }
    }
}
