//! One layer of a policy: the settings of one source, with the line of each.

use std::collections::HashMap;
use std::path::Path;

use paddock_policy::{Approval, Policy};
use serde_json::{Map, Value};
use serde_path_to_error::Segment;

use super::document::Format;
use super::names::{self, Meaning};
use super::node::{Content, Fault, Member, Node};
use super::paths;
use super::source::Source;
use crate::error::Error;

/// Maximum number of items in a list. Each item is compared with each name of a directory walk.
const MAX_ITEMS: usize = 1_000;

/// Settings that contain paths, and whether a relative path starts at the directory of the policy's file.
const PATHS: &[(&str, bool)] = &[
    ("allowed_directories", true),
    ("blocked_directories", false),
    ("commands.readable", true),
    ("commands.path", true),
    ("commands.executables", true),
    ("commands.programs", true),
];

/// The settings of one source.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    pub(super) source: Source,
    /// Settings by name, in the form that the guest reads.
    pub(super) settings: Map<String, Value>,
    /// Line of each setting and of each item of a list, by full name: `limits.max_lines`, `allowed_directories.1`.
    lines: HashMap<String, usize>,
    /// Whether `approval` applies only if the layers below are less strict, as for
    /// `require_confirmation_for_delete`.
    pub(super) approval_at_least: bool,
    /// Whether the layer may only narrow the policy of the layers below.
    pub(super) narrows: bool,
}

/// Trust in a source, which decides how its paths are interpreted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust<'a> {
    /// A source of the user. Relative paths start at this directory, and variables are expanded.
    Own(&'a Path),
    /// A source that an agent can have written.
    Project,
}

impl Layer {
    /// Parses `text`. Fails if a setting is unknown, has a wrong type or contradicts another one.
    pub(super) fn read(source: Source, text: &str, format: Format, trust: Trust<'_>) -> Result<Self, Error> {
        let members = format.parse(text).map_err(|fault| source.fail(fault))?;
        Self::new(source, members, trust)
    }

    /// Creates a layer from the members of a table.
    pub(super) fn new(source: Source, members: Vec<Member>, trust: Trust<'_>) -> Result<Self, Error> {
        let mut reading = Reading::default();
        reading.outermost(members).map_err(|wrong| wrong.at(&source))?;
        let policy = reading.check_types().map_err(|wrong| wrong.at(&source))?;
        let approval_at_least = reading.settle_approval(&policy).map_err(|wrong| wrong.at(&source))?;
        reading.replace_paths(trust).map_err(|wrong| wrong.at(&source))?;
        let policy = reading.check_types().map_err(|wrong| wrong.at(&source))?;
        if let Err(wrong) = policy.check() {
            return Err(Wrong::new(reading.line(wrong.setting), wrong.setting, wrong.cause).at(&source));
        }
        let Reading { settings, lines, .. } = reading;
        Ok(Self { source, settings, lines, approval_at_least, narrows: trust == Trust::Project })
    }

    /// Returns the line of a setting.
    pub(super) fn line(&self, setting: &str) -> usize {
        line(&self.lines, setting)
    }

    /// Returns every setting of the layer, by its full name.
    pub(super) fn flat(&self) -> Vec<(String, &Value)> {
        let each = self.settings.iter().flat_map(|(name, value)| match value {
            Value::Object(inner) => inner.iter().map(|(inner, value)| (format!("{name}.{inner}"), value)).collect(),
            value => vec![(name.clone(), value)],
        });
        each.collect()
    }
}

/// Error in a setting, or in the text itself if `setting` is empty.
#[derive(Debug)]
struct Wrong {
    line: usize,
    setting: String,
    cause: String,
}

impl Wrong {
    fn new(line: usize, setting: impl Into<String>, cause: impl Into<String>) -> Self {
        Self { line, setting: setting.into(), cause: cause.into() }
    }

    fn at(self, source: &Source) -> Error {
        source.wrong(self.line, &self.setting, self.cause)
    }
}

/// A layer under construction.
#[derive(Default)]
struct Reading {
    settings: Map<String, Value>,
    lines: HashMap<String, usize>,
    /// The spelling under which each setting was given.
    spellings: HashMap<String, String>,
    /// Value of `require_confirmation_for_delete`, and its line.
    confirm: Option<(bool, usize)>,
}

impl Reading {
    /// Reads the outermost table: settings, or the configuration of another program that contains them.
    fn outermost(&mut self, members: Vec<Member>) -> Result<(), Wrong> {
        let named = |member: &Member, name: &str| names::snake_case(&member.name) == name;
        let Some(at) = members.iter().position(|member| named(member, "tool_configuration")) else {
            return self.table("", members);
        };
        let Some(tools) = members.into_iter().nth(at) else { return Ok(()) };
        let Content::Table(tools_members) = tools.value.content else {
            return Err(Wrong::new(tools.line, tools.name, "it is a table of tools"));
        };
        let Some(own) = tools_members.into_iter().find(|member| named(member, "file_system")) else { return Ok(()) };
        match own.value.content {
            Content::Table(members) => self.table("", members),
            _ => Err(Wrong::new(own.line, format!("{}.{}", tools.name, own.name), "it is a table of settings")),
        }
    }

    /// Reads the members of the table `within`, which is empty for the outermost one.
    fn table(&mut self, within: &str, members: Vec<Member>) -> Result<(), Wrong> {
        for member in members {
            match names::meaning(within, &member.name) {
                Some(Meaning::Table(name)) => match member.value.content {
                    Content::Table(inner) => {
                        self.lines.insert(name.clone(), member.line);
                        self.table(&name, inner)?;
                    }
                    _ => return Err(Wrong::new(member.line, name, "it is a table of settings")),
                },
                Some(Meaning::Setting(name)) => self.set(&name, member)?,
                Some(Meaning::Confirm) => self.confirm(member)?,
                None => return Err(unknown(within, &member)),
            }
        }
        Ok(())
    }

    fn set(&mut self, name: &str, member: Member) -> Result<(), Wrong> {
        self.once(name, &member)?;
        if let Content::List(items) = &member.value.content
            && items.len() > MAX_ITEMS
        {
            return Err(Wrong::new(member.line, name, format!("it has more than {MAX_ITEMS} items")));
        }
        note_lines(&mut self.lines, name, &member.value);
        self.lines.insert(name.to_owned(), member.line);
        put(&mut self.settings, name, member.value.value());
        Ok(())
    }

    fn confirm(&mut self, member: Member) -> Result<(), Wrong> {
        self.once(&names::snake_case(&member.name), &member)?;
        match member.value.content {
            Content::Scalar(Value::Bool(on)) => self.confirm = Some((on, member.line)),
            _ => return Err(Wrong::new(member.line, member.name, "it is `true` or `false`")),
        }
        Ok(())
    }

    /// Fails if a setting is given twice, under the same or different names.
    fn once(&mut self, name: &str, member: &Member) -> Result<(), Wrong> {
        let previous = self.spellings.insert(name.to_owned(), member.name.clone());
        let Some(other) = previous else {
            self.lines.insert(name.to_owned(), member.line);
            return Ok(());
        };
        let cause = format!("line {} sets it already, as `{other}`", self.line(name));
        Err(Wrong::new(member.line, name, cause))
    }

    /// Deserializes the settings of this layer alone.
    fn check_types(&self) -> Result<Policy, Wrong> {
        serde_path_to_error::deserialize(Value::Object(self.settings.clone())).map_err(|error| {
            let parts = error.path().iter().filter_map(|segment| match segment {
                Segment::Seq { index } => Some(index.to_string()),
                Segment::Map { key } => Some(key.clone()),
                Segment::Enum { .. } | Segment::Unknown => None,
            });
            let name = parts.collect::<Vec<_>>().join(".");
            let is_directory = name.starts_with("allowed_directories.");
            let cause = match is_directory {
                true => {
                    "it is a path, or a table of `path` and `access`, which is `read-only` or `read-write`".to_owned()
                }
                false => error.inner().to_string(),
            };
            Wrong::new(self.line(&name), name, cause)
        })
    }

    /// Combines `approval` with `require_confirmation_for_delete`. Returns whether the result is only a lower
    /// bound.
    fn settle_approval(&mut self, policy: &Policy) -> Result<bool, Wrong> {
        let Some((on, line)) = self.confirm else { return Ok(false) };
        let Some(approval) = self.settings.get("approval") else {
            let approval = if on { Approval::OnDelete } else { Approval::Never };
            self.settings.insert("approval".to_owned(), serde_json::to_value(approval).unwrap_or_default());
            self.lines.insert("approval".to_owned(), line);
            return Ok(on);
        };
        if on == (policy.approval >= Approval::OnDelete) {
            return Ok(false);
        }
        let cause = format!("`{on}` contradicts `approval: {}` in line {}", text(approval), self.line("approval"));
        Err(Wrong::new(line, "require_confirmation_for_delete", cause))
    }

    /// Expands variables and `~` in paths, and makes the paths absolute that start at the policy's file.
    fn replace_paths(&mut self, trust: Trust<'_>) -> Result<(), Wrong> {
        for (setting, is_from_file) in PATHS {
            let value = match setting.split_once('.') {
                Some((table, name)) => self.settings.get_mut(table).and_then(|table| table.get_mut(name)),
                None => self.settings.get_mut(*setting),
            };
            for (part, path) in value.map(paths_in).unwrap_or_default() {
                let line = line(&self.lines, &format!("{setting}.{part}"));
                let wrong = |cause: String| Wrong::new(line, *setting, cause);
                *path = replaced(path, trust, *is_from_file).map_err(wrong)?;
            }
        }
        Ok(())
    }

    fn line(&self, setting: &str) -> usize {
        line(&self.lines, setting)
    }
}

/// Returns the paths of a setting, each with the last part of its full name.
fn paths_in(value: &mut Value) -> Vec<(String, &mut String)> {
    match value {
        Value::Array(items) => {
            let items = items.iter_mut().enumerate().filter_map(|(index, item)| {
                let path = match item {
                    Value::Object(directory) => directory.get_mut("path")?,
                    path => path,
                };
                text_in(path).map(|path| (index.to_string(), path))
            });
            items.collect()
        }
        Value::Object(named) => {
            named.iter_mut().filter_map(|(name, path)| Some((name.clone(), text_in(path)?))).collect()
        }
        _ => Vec::new(),
    }
}

fn text_in(value: &mut Value) -> Option<&mut String> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// Returns the path with its variables and `~` expanded.
fn replaced(path: &str, trust: Trust<'_>, is_from_file: bool) -> Result<String, String> {
    match trust {
        Trust::Project if paths::stands_for_other(path) => {
            Err(format!("`{path}`: neither `${{NAME}}` nor `~` is replaced in a file of the workspace"))
        }
        Trust::Project => Ok(path.to_owned()),
        Trust::Own(base) => {
            let path = paths::expand(path).map_err(|cause| format!("`{path}`: {cause}"))?;
            if is_from_file { paths::absolute(base, &path) } else { Ok(path) }
        }
    }
}

fn unknown(within: &str, member: &Member) -> Wrong {
    let full = if within.is_empty() { member.name.clone() } else { format!("{within}.{}", member.name) };
    let near = names::nearest(within, &member.name).map(|near| format!("; did you mean `{near}`?"));
    Wrong::new(member.line, full, format!("there is no such setting{}", near.unwrap_or_default()))
}

/// Records the line of each part of a value, by its full name.
pub(super) fn note_lines(lines: &mut HashMap<String, usize>, name: &str, node: &Node) {
    lines.insert(name.to_owned(), node.line);
    match &node.content {
        Content::Scalar(_) => {}
        Content::List(items) => {
            items.iter().enumerate().for_each(|(index, item)| note_lines(lines, &format!("{name}.{index}"), item));
        }
        Content::Table(members) => {
            members.iter().for_each(|member| note_lines(lines, &format!("{name}.{}", member.name), &member.value));
        }
    }
}

/// Returns the line of a setting or of a part of it. Falls back to the line of the enclosing part.
pub(super) fn line(lines: &HashMap<String, usize>, name: &str) -> usize {
    let around = std::iter::successors(Some(name), |name| name.rsplit_once('.').map(|(around, _)| around));
    around.filter_map(|name| lines.get(name)).next().copied().unwrap_or(1)
}

/// Sets a setting by its full name.
pub(super) fn put(settings: &mut Map<String, Value>, name: &str, value: Value) {
    let Some((table, inner)) = name.split_once('.') else {
        settings.insert(name.to_owned(), value);
        return;
    };
    if let Value::Object(members) = settings.entry(table).or_insert_with(|| Value::Object(Map::new())) {
        members.insert(inner.to_owned(), value);
    }
}

/// Returns a scalar as a policy's file contains it.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Creates a table with one setting, for an argument of the command line.
pub(super) fn argument(name: &str, value: &str) -> Result<Vec<Member>, Fault> {
    let node = super::yaml::parse(value)?;
    let value = node.unwrap_or(Node { line: 1, content: Content::Scalar(Value::Null) });
    Ok(vec![Member { name: name.to_owned(), line: 1, value }])
}
