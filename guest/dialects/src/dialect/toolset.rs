//! A list of tools, of one dialect or of several that the caller combines.

use paddock_types::error::{Code, Error, Result, Term, excerpt};

use super::spec::ToolSpec;
use super::{Dialect, is_called};
use crate::argument_names::nearest;

/// Tools of one dialect, or of several that the caller combines.
pub struct Toolset {
    /// Name by which the caller selects the tools.
    pub name: String,
    tools: Vec<Tool>,
}

/// A tool, and the dialect that decodes and answers its calls.
#[derive(Clone, Copy)]
pub struct Tool {
    /// The dialect.
    pub dialect: &'static Dialect,
    /// Row of the dialect's table.
    pub spec: &'static ToolSpec,
}

impl Toolset {
    /// Returns an empty list.
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), tools: Vec::new() }
    }

    /// Adds a tool. Fails if the list has a tool of the same name.
    pub(crate) fn add(&mut self, dialect: &'static Dialect, spec: &'static ToolSpec) -> Result<()> {
        let Some(other) = self.namesake(spec.name) else {
            self.tools.push(Tool { dialect, spec });
            return Ok(());
        };
        let message = format!(
            "the tool `{}` of the dialect `{}` and the tool `{}` of the dialect `{}` have the same name",
            other.spec.name, other.dialect.name, spec.name, dialect.name
        );
        Err(Error::new(Code::InvalidArgument, message)
            .hint(format!("name the tools that you need of one dialect, as in `{}:TOOL,TOOL`", dialect.name)))
    }

    /// Adds the tools of a dialect, whose names differ from each other.
    pub(crate) fn add_all(&mut self, dialect: &'static Dialect) -> Result<()> {
        // Nearly every call has one dialect, and needs no comparison of names.
        let is_first = self.tools.is_empty();
        for tools in [dialect.tools, dialect.commands] {
            for spec in tools {
                match is_first {
                    true => self.tools.push(Tool { dialect, spec }),
                    false => self.add(dialect, spec)?,
                }
            }
        }
        Ok(())
    }

    /// Returns the error of a name that no tool has. `commands` is whether the caller has the tools that run commands.
    pub fn unknown_tool(&self, name: &str, commands: bool) -> Error {
        let (name, mut candidates) = (&*excerpt(name), Vec::new());
        for tool in self.listed(commands) {
            candidates.push(tool.spec.name);
        }
        unknown(Code::UnknownTool, format!("there is no tool `{name}`"), name, "tools", candidates, 0)
    }

    /// Returns the first dialect, which renders errors of no tool.
    pub fn first(&self) -> Option<&'static Dialect> {
        self.tools.first().map(|tool| tool.dialect)
    }

    /// Returns whether the dialect's tool of this name is one of the tools.
    fn has(&self, dialect: &Dialect, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.dialect.name == dialect.name && tool.spec.name == name)
    }

    /// Returns the name of a tool that the list has. The names of `dialect` come first.
    pub fn name_of(&self, term: Term, dialect: &Dialect) -> Option<&'static str> {
        let own = self.name_in(term, dialect);
        if own.is_some() {
            return own;
        }
        self.tools.iter().find_map(|tool| self.name_in(term, tool.dialect))
    }

    fn name_in(&self, term: Term, dialect: &Dialect) -> Option<&'static str> {
        for (known, name) in dialect.names {
            // A name can contain arguments after the name of the tool.
            if *known == term && self.has(dialect, name.split('`').next().unwrap_or_default()) {
                return Some(name);
            }
        }
        None
    }

    /// Returns the tool that calls by this name. A `.` in the tool's name may be replaced by `_`, for clients that allow
    /// only letters, digits, `_` and `-`.
    pub fn entry(&self, name: &str) -> Option<Tool> {
        self.tools.iter().find(|tool| is_called(tool.spec.name, name)).copied()
    }

    /// Returns the tool of which a call would be one of the tool `name` too.
    fn namesake(&self, name: &str) -> Option<Tool> {
        self.tools.iter().find(|tool| is_called(tool.spec.name, name) || is_called(name, tool.spec.name)).copied()
    }

    /// Returns the row of the tool that calls by this name.
    pub fn tool(&self, name: &str) -> Option<&'static ToolSpec> {
        self.entry(name).map(|tool| tool.spec)
    }

    /// Returns the listed tools, with or without those that are listed only if commands are enabled.
    pub fn listed(&self, with_commands: bool) -> Vec<Tool> {
        let mut listed = Vec::new();
        for tool in &self.tools {
            if with_commands || !tool.dialect.commands.iter().any(|command| command.name == tool.spec.name) {
                listed.push(*tool);
            }
        }
        listed
    }

    /// Returns the description of a tool, without sentences that name a tool of its dialect that is not in the list.
    pub fn description(&self, tool: Tool) -> String {
        let Tool { dialect, spec } = tool;
        // Names without `_`, such as `read`, are words too.
        let is_absent = |other: &ToolSpec| other.name.contains('_') && !self.has(dialect, other.name);
        let mut description = String::new();
        for sentence in spec.description.split_inclusive('.') {
            if !dialect.tools.iter().any(|other| is_absent(other) && sentence.contains(other.name)) {
                description.push_str(sentence);
            }
        }
        description
    }
}

/// Returns the error of a name that is not in `candidates`, with the nearest one. The hint lists the candidates after
/// the first `unlisted` ones.
pub(crate) fn unknown(
    code: Code,
    message: String,
    name: &str,
    kind: &str,
    candidates: Vec<&str>,
    unlisted: usize,
) -> Error {
    let all = candidates.get(unlisted..).unwrap_or_default().join(", ");
    let hint = match nearest(name, &candidates) {
        Some(near) => format!("did you mean `{near}`? The {kind} are {all}"),
        None => format!("the {kind} are {all}"),
    };
    Error::new(code, message).hint(hint)
}
