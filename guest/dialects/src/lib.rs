//! Dialects: the only place that knows the names, units and shapes of JSON. A
//! dialect is a table of tools over the same operations.

use paddock_types::error::{Code, Error, Term, Vocabulary};
use serde::Serialize;

pub mod answer;
pub mod anthropic;
pub mod args;
pub mod call;
pub mod chorus;
pub mod codex;
pub mod commands;
pub mod dispatch;
pub mod dotnet_prompt;
pub mod lincona;
pub mod line_numbers;
pub mod mcp_filesystem;
pub mod openai;
pub mod paddock;
pub mod param;
pub mod registry;
pub mod schema;
pub mod spec;
pub mod text;
pub mod weakincentives;

use paddock_types::rendered::Rendered;

use crate::answer::FailedCall;
use crate::spec::{Param, ParamKind, ToolSpec, nearest};

/// Names, units and shapes for one set of tools.
pub struct Dialect {
    /// Its name.
    pub name: &'static str,
    /// Its tools, in the order in which they are listed.
    pub tools: &'static [ToolSpec],
    /// Its tools that run commands, which are listed after the others where commands are enabled. A dialect whose
    /// specification always lists them has them among the others.
    pub commands: &'static [ToolSpec],
    /// A failure in the dialect's shape and words.
    pub failure: fn(&FailedCall<'_>) -> Rendered,
    /// What it calls arguments, where not as the typed interface does, and tools. Of several names for an argument a call
    /// has the one that its tool takes.
    pub names: &'static [(Term, &'static str)],
}

/// The names that the caller of a tool has.
pub struct Names {
    dialect: &'static Dialect,
    tool: Option<&'static ToolSpec>,
}

impl Vocabulary for Names {
    fn name(&self, term: Term) -> Option<&str> {
        let mut own = self.dialect.names.iter().filter(|(known, _)| *known == term).map(|(_, name)| *name);
        if term.is_tool() {
            return own.next();
        }
        let params = self.tool?.params;
        own.chain([term.name()]).find(|name| takes(params, name))
    }
}

/// Whether an argument of that name is among these, or in one of them.
fn takes(params: &[Param], name: &str) -> bool {
    params.iter().any(|param| {
        param.name == name
            || match param.kind {
                ParamKind::Object(members) | ParamKind::Objects(members) => takes(members, name),
                _ => false,
            }
    })
}

/// A value of ours as JSON. Nothing in one can fail to be written.
fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

impl Dialect {
    /// The names that the caller of a tool has; of no tool, where there is none of the name that was called.
    pub fn names(&'static self, tool: Option<&'static ToolSpec>) -> Names {
        Names { dialect: self, tool }
    }

    /// All its tools, those that run commands last.
    pub fn all(&self) -> impl Iterator<Item = &'static ToolSpec> {
        self.tools.iter().chain(self.commands)
    }

    /// The tools that are listed, be it with those that run commands.
    pub fn listed(&self, with_commands: bool) -> impl Iterator<Item = &'static ToolSpec> {
        self.tools.iter().chain(Some(self.commands).filter(|_| with_commands).into_iter().flatten())
    }

    /// The tool of that name, or of its name where only letters, digits, `_` and `-` are allowed.
    pub fn tool(&self, name: &str) -> Option<&'static ToolSpec> {
        self.all().find(|tool| tool.name == name || tool.name.replace('.', "_") == name)
    }

    fn unknown_tool(&self, name: &str) -> Error {
        let names: Vec<_> = self.tools.iter().map(|tool| tool.name).collect();
        let error = Error::new(Code::UnknownTool, format!("there is no tool `{name}`"));
        match nearest(name, &names) {
            Some(near) => error.hint(format!("did you mean `{near}`? The tools are {}", names.join(", "))),
            None => error.hint(format!("the tools are {}", names.join(", "))),
        }
    }
}
