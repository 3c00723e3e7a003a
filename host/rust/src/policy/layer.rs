//! One level of a policy: what one source says, with the line of each setting.

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

/// Items of a list: each is compared with each name that a walk meets.
const MAX_ITEMS: usize = 1_000;

/// Settings that hold paths, and whether a relative one starts at the policy's file.
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
    /// By the settings' own names, as the guest takes them.
    pub(super) settings: Map<String, Value>,
    /// Where each setting and each item of a list is, by its full name: `limits.max_lines`, `allowed_directories.1`.
    lines: HashMap<String, usize>,
    /// `approval` is only to be at least what it says.
    pub(super) approval_at_least: bool,
    /// Whether it may only narrow what is in force.
    pub(super) narrows: bool,
}

/// Trust in a source, which decides the form of its paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust<'a> {
    /// The person's own: relative paths start here, and variables are replaced.
    Own(&'a Path),
    /// An agent can have written it.
    Project,
}

impl Layer {
    /// What `text` says. Fails where a setting is unknown, has a wrong type or contradicts another.
    pub(super) fn read(source: Source, text: &str, format: Format, trust: Trust<'_>) -> Result<Self, Error> {
        let members = format.parse(text).map_err(|fault| source.fail(fault))?;
        Self::new(source, members, trust)
    }

    /// What the members of a table say.
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

    /// The line of a setting.
    pub(super) fn line(&self, setting: &str) -> usize {
        line(&self.lines, setting)
    }

    /// Every setting that it says something of, by its full name.
    pub(super) fn flat(&self) -> Vec<(String, &Value)> {
        let each = self.settings.iter().flat_map(|(name, value)| match value {
            Value::Object(inner) => inner.iter().map(|(inner, value)| (format!("{name}.{inner}"), value)).collect(),
            value => vec![(name.clone(), value)],
        });
        each.collect()
    }
}

/// What is wrong with a setting, or with the text itself where that is nameless.
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

/// A level while it is put together.
#[derive(Default)]
struct Reading {
    settings: Map<String, Value>,
    lines: HashMap<String, usize>,
    /// The name that each setting was given under.
    given: HashMap<String, String>,
    /// `require_confirmation_for_delete`, and its line.
    confirm: Option<(bool, usize)>,
}

impl Reading {
    /// Takes the outermost table: settings, or another program's configuration that holds them.
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

    /// Takes the members of the table of settings `within`, which is empty for the outermost.
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

    /// Refuses one setting under two names.
    fn once(&mut self, name: &str, member: &Member) -> Result<(), Wrong> {
        let given = self.given.insert(name.to_owned(), member.name.clone());
        let Some(other) = given else {
            self.lines.insert(name.to_owned(), member.line);
            return Ok(());
        };
        let cause = format!("line {} sets it already, as `{other}`", self.line(name));
        Err(Wrong::new(member.line, name, cause))
    }

    /// What the settings alone come to.
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

    /// Brings `approval` and the flag that sets a part of it together; whether it is only to be at least so.
    fn settle_approval(&mut self, policy: &Policy) -> Result<bool, Wrong> {
        let Some((on, line)) = self.confirm else { return Ok(false) };
        let Some(said) = self.settings.get("approval") else {
            let approval = if on { Approval::OnDelete } else { Approval::Never };
            self.settings.insert("approval".to_owned(), serde_json::to_value(approval).unwrap_or_default());
            self.lines.insert("approval".to_owned(), line);
            return Ok(on);
        };
        if on == (policy.approval >= Approval::OnDelete) {
            return Ok(false);
        }
        let cause = format!("`{on}` contradicts `approval: {}` in line {}", text(said), self.line("approval"));
        Err(Wrong::new(line, "require_confirmation_for_delete", cause))
    }

    /// Replaces what stands for something else in paths, and makes those absolute that start at the file.
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

/// The paths of a setting, each with the part of it that it is.
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

/// The path that `path` stands for.
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

/// Notes where each part of a value is, by the name that errors have for it.
fn note_lines(lines: &mut HashMap<String, usize>, name: &str, node: &Node) {
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

/// The line of a setting or a part of one, or of what it is in.
fn line(lines: &HashMap<String, usize>, name: &str) -> usize {
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

/// A value as it stands in a file, as far as that is one word.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A table of one setting, for an argument.
pub(super) fn argument(name: &str, value: &str) -> Result<Vec<Member>, Fault> {
    let node = super::yaml::parse(value)?;
    let value = node.unwrap_or(Node { line: 1, content: Content::Scalar(Value::Null) });
    Ok(vec![Member { name: name.to_owned(), line: 1, value }])
}
