//! Arguments of every tool of every dialect: each call returns, and a call that only reads changes nothing.

use paddock_dialects::dialect::spec::ToolTraits;
use paddock_dialects::registry::DIALECTS;

use crate::fixture::Fixture;

/// Calls a tool, selected by the first two bytes, with the rest as its JSON.
pub fn fuzz(bytes: &[u8]) {
    let [dialect, tool, rest @ ..] = bytes else { return };
    let Ok(arguments) = std::str::from_utf8(rest) else { return };
    let dialect = &DIALECTS[usize::from(*dialect) % DIALECTS.len()];
    let tools: Vec<_> = dialect.all().collect();
    let tool = tools[usize::from(*tool) % tools.len()];
    let fixture = Fixture::furnished();
    let before = fixture.tree();
    let outcome = fixture.call_as(dialect.name, tool.name, arguments);
    let after = fixture.tree();
    if matches!(tool.traits, ToolTraits::Reads) || outcome.error.is_some() {
        assert_eq!(before, after, "{} {arguments}: {:?}", tool.name, outcome.error);
    }
}
