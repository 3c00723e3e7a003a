//! Lookup of dialects by name.

use paddock_types::error::{Code, Error, Result};

use crate::{
    Dialect, anthropic, chorus, codex, dispatch, dotnet_prompt, lincona, mcp_filesystem, openai, paddock,
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

/// Returns the dialect of that name.
pub fn find(name: &str) -> Result<&'static Dialect> {
    DIALECTS.iter().find(|dialect| dialect.name == name).ok_or_else(|| {
        let names: Vec<_> = DIALECTS.iter().map(|dialect| format!("`{}`", dialect.name)).collect();
        Error::new(Code::UnknownDialect, format!("there is no dialect `{name}`"))
            .hint(format!("use one of {}", names.join(", ")))
    })
}
