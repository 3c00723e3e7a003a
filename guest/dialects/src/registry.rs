//! Lookup of dialects by name, and lists of tools that combine several dialects.

use paddock_types::error::{Code, Error, Result};

use crate::argument_names::nearest;
use crate::spec::ToolSpec;
use crate::{
    Dialect, anthropic, chorus, codex, dispatch, dotnet_prompt, lincona, mcp_filesystem, openai, paddock, plain,
    weakincentives,
};

/// All dialects.
pub const DIALECTS: &[Dialect] = &[
    paddock::DIALECT,
    dispatch::DIALECT,
    dotnet_prompt::DIALECT,
    chorus::DIALECT,
    weakincentives::DIALECT,
    lincona::DIALECT,
    mcp_filesystem::DIALECT,
    anthropic::DIALECT,
    codex::DIALECT,
    openai::DIALECT,
];

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

/// Returns the tools that `list` names: items separated by commas. An item is the name of a dialect, which stands for
/// all its tools; `DIALECT:TOOL`; or, after such an item, the name of a further tool of the same dialect. A bare name
/// that is both a dialect and a tool is the dialect.
///
/// # Errors
///
/// `Code::UnknownDialect` or `Code::UnknownTool` for a name that nothing has, `Code::InvalidArgument` if two tools have
/// the same name.
pub fn find(list: &str) -> Result<Toolset> {
    let mut set = Toolset { name: list.to_owned(), tools: Vec::new() };
    let mut selected = None;
    for item in list.split(',') {
        let (name, tool) = item.split_once(':').map_or((item, None), |(name, tool)| (name, Some(tool)));
        let dialect = DIALECTS.iter().find(|dialect| dialect.name == name);
        let (dialect, tool) = match (dialect, selected, tool) {
            (Some(dialect), ..) => (dialect, tool),
            (None, Some(dialect), None) => (dialect, Some(item)),
            (None, ..) => return Err(unknown_dialect(name)),
        };
        selected = tool.map(|_| dialect);
        match tool {
            Some(tool) => set.add(dialect, dialect.tool(tool).ok_or_else(|| unknown_tool(dialect, tool))?)?,
            None => dialect.all().try_for_each(|spec| set.add(dialect, spec))?,
        }
    }
    Ok(set)
}

fn unknown_dialect(name: &str) -> Error {
    let error = unknown(Code::UnknownDialect, format!("there is no dialect `{name}`"), name, &[], "dialects", names());
    match DIALECTS.iter().find(|dialect| dialect.tool(name).is_some()) {
        Some(dialect) => error.hint(format!("to add the tool of a dialect, write `{}:{name}`", dialect.name)),
        None => error,
    }
}

fn unknown_tool(dialect: &Dialect, name: &str) -> Error {
    let tools = dialect.all().map(|tool| tool.name).collect();
    let message = format!("the dialect `{}` has no tool `{name}`", dialect.name);
    unknown(Code::UnknownTool, message, name, &names(), "tools", tools)
}

fn names() -> Vec<&'static str> {
    DIALECTS.iter().map(|dialect| dialect.name).collect()
}

/// Returns the error of a name that is not in `known`, with the nearest name there or in `others`.
pub fn unknown(code: Code, message: String, name: &str, others: &[&str], kind: &str, known: Vec<&str>) -> Error {
    let all = known.join(", ");
    let candidates = [&known, others].concat();
    let near = nearest(name, &candidates).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    let the = if near.is_empty() { "the" } else { "The" };
    Error::new(code, message).hint(format!("{near}{the} {kind} are {all}"))
}

impl Toolset {
    /// Adds a tool. Fails if there is one of the same name.
    fn add(&mut self, dialect: &'static Dialect, spec: &'static ToolSpec) -> Result<()> {
        let Some(other) = self.entry(&plain(spec.name)) else {
            self.tools.push(Tool { dialect, spec });
            return Ok(());
        };
        let message = format!(
            "the tool `{}` of the dialect `{}` and the tool `{}` of the dialect `{}` have the same name",
            other.spec.name, other.dialect.name, spec.name, dialect.name
        );
        let is_free =
            |name: &&str| self.entry(&plain(name)).is_none_or(|other| other.dialect.name == dialect.name);
        let free: Vec<_> = dialect.all().map(|spec| spec.name).filter(is_free).collect();
        Err(Error::new(Code::InvalidArgument, message)
            .hint(format!("name the tools that you need of one dialect, such as `{}:{}`", dialect.name, free.join(","))))
    }

    /// Returns the first dialect, which renders errors of no tool.
    pub fn first(&self) -> &'static Dialect {
        self.tools.first().map_or(&paddock::DIALECT, |tool| tool.dialect)
    }

    /// Returns whether the dialect's tool of this name is one of the tools.
    pub fn has(&self, dialect: &Dialect, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.dialect.name == dialect.name && tool.spec.name == name)
    }

    /// Returns the dialects of the tools; a dialect with several tools can be there several times.
    pub fn dialects(&self) -> impl Iterator<Item = &'static Dialect> {
        self.tools.iter().map(|tool| tool.dialect)
    }

    /// Returns the tool that calls by this name. A `.` in the tool's name may be replaced by `_`, for clients that allow
    /// only letters, digits, `_` and `-`.
    pub fn entry(&self, name: &str) -> Option<Tool> {
        self.tools.iter().find(|tool| tool.spec.name == name || plain(tool.spec.name) == name).copied()
    }

    /// Returns the row of the tool that calls by this name.
    pub fn tool(&self, name: &str) -> Option<&'static ToolSpec> {
        self.entry(name).map(|tool| tool.spec)
    }

    /// Returns the listed tools, with or without those that are listed only if commands are enabled.
    pub fn listed(&self, with_commands: bool) -> impl Iterator<Item = Tool> {
        let is_command = |tool: &Tool| tool.dialect.commands.iter().any(|command| command.name == tool.spec.name);
        self.tools.iter().filter(move |tool| with_commands || !is_command(tool)).copied()
    }

    /// Returns the description of a tool, without clauses that name a tool of its dialect that is not in the list.
    pub fn description(&self, tool: Tool) -> String {
        // Names without `_`, such as `read`, are words too.
        let is_absent =
            |word: &str| word.contains('_') && tool.dialect.tool(word).is_some() && !self.has(tool.dialect, word);
        let is_shown = |clause: &&str| !clause.split(|c: char| !c.is_alphanumeric() && c != '_').any(is_absent);
        tool.spec.description.split_inclusive(['.', ';']).filter(is_shown).collect()
    }
}
