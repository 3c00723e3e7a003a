//! Arguments that models write in another form than the row asks for. A form is accepted only if it has one reading: a
//! number or a boolean as a string, a list of one as its entry, JSON in a string, or the name that other tools have for
//! an argument.

use serde_json::{Map, Value};

use crate::argument_names::same_argument;
use crate::param::{Param, ParamKind};

/// Renames members that have another tool's name for an argument of this tool, and moves members of a list's entries
/// that stand beside the list into a list of one.
pub fn adopt(params: &[Param], given: &mut Map<String, Value>) {
    for name in unknown(params, given) {
        let meant = params.iter().find(|param| same_argument(param.name, &name) && !is_given(param, given));
        if let Some(param) = meant
            && let Some(value) = given.remove(&name)
        {
            given.insert(param.name.to_owned(), value);
        }
    }
    let names = unknown(params, given);
    let list = params.iter().find(|param| match &param.kind {
        ParamKind::Objects(members) => !is_given(param, given) && names.iter().all(|name| is_member(members, name)),
        _ => false,
    });
    if let Some(list) = list.filter(|_| !names.is_empty()) {
        let mut entry = Map::new();
        for name in names {
            if let Some(value) = given.remove(&name) {
                entry.insert(name, value);
            }
        }
        given.insert(list.name.to_owned(), Value::Array(vec![Value::Object(entry)]));
    }
}

/// Returns the names that no row has.
pub fn unknown(params: &[Param], given: &Map<String, Value>) -> Vec<String> {
    given.keys().filter(|name| !params.iter().any(|param| names(param).any(|known| known == *name))).cloned().collect()
}

/// Returns the name of a row and its aliases.
fn names(param: &Param) -> impl Iterator<Item = &'static str> {
    std::iter::once(param.name).chain(param.aliases.iter().copied())
}

fn is_given(param: &Param, given: &Map<String, Value>) -> bool {
    names(param).any(|name| given.get(name).is_some_and(|value| !value.is_null()))
}

fn is_member(members: &[Param], name: &str) -> bool {
    members.iter().any(|member| member.name == name || same_argument(member.name, name))
}

/// Returns the value in the form that its row asks for, if it has one reading there; otherwise the value itself.
pub fn fitted(param: &Param, mut value: Value) -> Value {
    if let Value::String(text) = &value
        && !matches!(param.kind, ParamKind::Text | ParamKind::Choice(_))
        && let Ok(parsed) = serde_json::from_str::<Value>(text)
        && (parsed.is_array() || !(parsed.is_string() || matches!(param.kind, ParamKind::Texts)))
    {
        value = parsed;
    }
    match (&param.kind, value) {
        // A command as one string may be a line for a shell, or the name of a program.
        (ParamKind::Texts, Value::String(text)) if param.name != "command" => Value::Array(vec![text.into()]),
        (ParamKind::Objects(_), Value::Object(entry)) => Value::Array(vec![Value::Object(entry)]),
        (_, value) => value,
    }
}
