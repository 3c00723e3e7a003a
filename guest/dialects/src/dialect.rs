//! A dialect: its table of tools, the caller's names, and how answers are rendered.

use std::rc::Rc;

use paddock_types::error::{Term, Vocabulary};
use paddock_types::rendered::Rendered;

use crate::param::{Param, ParamKind};

pub mod answer;
pub mod failed_call;
pub mod spec;
pub mod toolset;

use failed_call::FailedCall;
use spec::ToolSpec;
use toolset::{Tool, Toolset};

/// Names, units and shapes of one set of tools.
pub struct Dialect {
    /// Name of the dialect.
    pub name: &'static str,
    /// Tools, in the order in which they are listed.
    pub tools: &'static [ToolSpec],
    /// Tools that run commands; listed after the others if commands are enabled. A dialect whose specification always
    /// lists them has them in `tools`.
    pub commands: &'static [ToolSpec],
    /// Renders an error in the shape and wording of the dialect.
    pub failure: fn(&FailedCall<'_>) -> Rendered,
    /// Names of tools, and of arguments that differ from the typed interface. If an argument has several names, a call
    /// uses the one that its tool accepts.
    pub names: &'static [(Term, &'static str)],
    /// Tools whose paths all lie in one directory of the workspace, each with the directory. A symbolic link in the
    /// directory that leads out of it is refused.
    pub confined: &'static [(&'static str, &'static str)],
}

/// Caller's names of the arguments and tools, for one tool.
pub struct Names {
    dialect: &'static Dialect,
    tool: Option<&'static ToolSpec>,
    /// All tools of the caller; `None` if these are the tools of the dialect.
    tools: Option<Rc<Toolset>>,
}

impl Names {
    /// Returns the names for a tool of `tools`.
    pub fn of(tools: &Rc<Toolset>, tool: Tool) -> Self {
        Self { dialect: tool.dialect, tool: Some(tool.spec), tools: Some(Rc::clone(tools)) }
    }
}

impl Vocabulary for Names {
    fn name(&self, term: Term) -> Option<&str> {
        let mut own = self.dialect.names.iter().filter(|(known, _)| *known == term).map(|(_, name)| *name);
        if term.is_tool() {
            return match &self.tools {
                Some(tools) => tools.name_of(term, self.dialect),
                None => own.next(),
            };
        }
        let params = self.tool?.params;
        own.chain([term.name()]).find(|name| takes(params, name))
    }
}

impl Names {
    /// Returns whether a tool of the dialect takes the argument.
    pub fn has_argument(&self, name: &str) -> bool {
        self.dialect.tools.iter().any(|tool| takes(tool.params, name))
    }
}

/// Returns whether one of the arguments has that name, or contains a member that does.
fn takes(params: &[Param], name: &str) -> bool {
    params.iter().any(|param| {
        param.name == name
            || match param.kind {
                ParamKind::Object(members) | ParamKind::Objects(members) => takes(members, name),
                _ => false,
            }
    })
}

impl Dialect {
    /// Returns the caller's names for a tool; `tool` is `None` if no tool has the requested name.
    pub fn names(&'static self, tool: Option<&'static ToolSpec>) -> Names {
        Names { dialect: self, tool, tools: None }
    }

    /// Returns all tools; those that run commands come last.
    pub fn all(&self) -> impl Iterator<Item = &'static ToolSpec> {
        self.tools.iter().chain(self.commands)
    }

    /// Returns the tool of that name. A `.` in the tool's name may be replaced by `_`, for clients that allow only
    /// letters, digits, `_` and `-`.
    pub fn tool(&self, name: &str) -> Option<&'static ToolSpec> {
        self.all().find(|tool| is_called(tool.name, name))
    }
}

/// Returns whether calls by this name are calls of the tool.
fn is_called(tool: &str, name: &str) -> bool {
    tool.len() == name.len() && tool.bytes().zip(name.bytes()).all(|(a, b)| a == b || (a, b) == (b'.', b'_'))
}
