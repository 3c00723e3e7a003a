//! Lookup of dialects by name, and lists of tools that combine several dialects.

use paddock_types::error::{Code, Error, Result, excerpt};

use crate::dialect::Dialect;
use crate::dialect::toolset::{Toolset, unknown};
use crate::{
    anthropic, chorus, codex, dispatch, dotnet_prompt, lincona, mcp_filesystem, openai, paddock, weakincentives,
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

/// Returns the tools that `list` names: items separated by commas. An item is the name of a dialect, which stands for
/// all its tools; `DIALECT:TOOL`; or, after such an item, the name of a further tool of the same dialect. A bare name
/// that is both a dialect and a tool is the dialect.
///
/// # Errors
///
/// `Code::UnknownDialect` or `Code::UnknownTool` for a name that nothing has, `Code::InvalidArgument` if two tools have
/// the same name.
pub fn find(list: &str) -> Result<Toolset> {
    let mut set = Toolset::new(list);
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
            Some(tool) => {
                let unlisted = if tool == item { names() } else { Vec::new() };
                set.add(dialect, dialect.tool(tool).ok_or_else(|| unknown_tool(dialect, tool, unlisted))?)?;
            }
            None => set.add_all(dialect)?,
        }
    }
    Ok(set)
}

fn unknown_dialect(name: &str) -> Error {
    let name = &*excerpt(name);
    let error = unknown(Code::UnknownDialect, format!("there is no dialect `{name}`"), name, "dialects", names(), 0);
    match DIALECTS.iter().find(|dialect| dialect.tool(name).is_some()) {
        Some(dialect) => error.hint(format!("to add the tool of a dialect, write `{}:{name}`", dialect.name)),
        None => error,
    }
}

/// Returns the error of a name that no tool of the dialect has. The name may stand for one of `candidates` too.
fn unknown_tool(dialect: &Dialect, name: &str, mut candidates: Vec<&'static str>) -> Error {
    let (name, dialects) = (&*excerpt(name), candidates.len());
    for tools in [dialect.tools, dialect.commands] {
        for tool in tools {
            candidates.push(tool.name);
        }
    }
    let message = format!("the dialect `{}` has no tool `{name}`", dialect.name);
    unknown(Code::UnknownTool, message, name, "tools", candidates, dialects)
}

fn names() -> Vec<&'static str> {
    let mut names = Vec::new();
    for dialect in DIALECTS {
        names.push(dialect.name);
    }
    names
}
