//! Arguments that models write in another form than the row requires. A form is accepted only if it has one meaning: a
//! number or a boolean as a string, a list of one as its entry, JSON in a string, the name that other tools have for an
//! argument, or a first and a last line where lines count from 1.

use paddock_policy::repeated_name::repeated_name;
use serde_json::{Map, Value};

use crate::argument_names::same_argument;
use crate::param::{DefaultValue, Param, ParamKind};

/// Names that other tools have for the first and the last line to read.
const LINES: &[&str] = &["start_line", "startLine", "end_line", "endLine"];

/// Renames members that have another tool's name for an argument of this tool. If a call passes the members of a single
/// list entry without the list, moves them into a list with one entry.
pub fn adopt(params: &[Param], arguments: &mut Map<String, Value>) {
    adopt_lines(params, arguments);
    for name in unknown(params, arguments) {
        let meant = params.iter().find(|param| same_argument(param.name, &name) && !is_present(param, arguments));
        if let Some(param) = meant
            && let Some(value) = arguments.remove(&name)
        {
            arguments.insert(param.name.to_owned(), value);
        }
    }
    let names = unknown(params, arguments);
    let list = params.iter().find(|param| match &param.kind {
        ParamKind::Objects(members) => {
            !is_present(param, arguments) && names.iter().all(|name| is_member(members, name))
        }
        _ => false,
    });
    if let Some(list) = list.filter(|_| !names.is_empty()) {
        let mut entry = Map::new();
        for name in names {
            if let Some(value) = arguments.remove(&name) {
                entry.insert(name, value);
            }
        }
        arguments.insert(list.name.to_owned(), Value::Array(vec![Value::Object(entry)]));
    }
}

/// First line, from 1, and number of lines, of a call that states a first or a last line.
struct Lines {
    first: u64,
    count: Option<u64>,
    /// Whether the `offset` of the tool is the number of a line, and not of lines to skip.
    is_number: bool,
}

/// Replaces a first and a last line by `offset` and `limit`, if `offset` is the number of a line.
fn adopt_lines(params: &[Param], arguments: &mut Map<String, Value>) {
    let is_bytes = arguments.get("mode").and_then(Value::as_str) == Some("base64");
    let Some(lines) = lines(params, arguments).filter(|lines| lines.is_number && !is_bytes) else { return };
    for name in LINES {
        arguments.remove(*name);
    }
    arguments.insert("offset".to_owned(), lines.first.into());
    if let Some(count) = lines.count {
        arguments.insert("limit".to_owned(), count.into());
    }
}

/// Returns the lines that a caller asks for by a first or a last line, of a tool that reads a file by `offset` and
/// `limit`.
#[inline(never)]
fn lines(params: &[Param], arguments: &Map<String, Value>) -> Option<Lines> {
    let (mut has_path, mut has_limit, mut is_number) = (false, false, None);
    for param in params {
        match param.name {
            "path" | "file_path" => has_path = true,
            "limit" => has_limit = true,
            "offset" => {
                let is_from_one = matches!(param.kind, ParamKind::Whole { min: 1, .. });
                is_number = Some(is_from_one || matches!(param.default, DefaultValue::Whole(1)));
            }
            _ => {}
        }
    }
    let is_number = is_number.filter(|_| has_path && has_limit)?;
    let (mut start, mut end, mut offset) = (None, None, None);
    for (name, value) in arguments {
        let line = match name.as_str() {
            "start_line" | "startLine" => &mut start,
            "end_line" | "endLine" => &mut end,
            "offset" => &mut offset,
            _ => continue,
        };
        *line = Some(value.as_u64().or_else(|| value.as_str()?.parse().ok())?);
    }
    let is_twice = start.is_some() && offset.is_some() || end.is_some() && arguments.contains_key("limit");
    if is_twice || start.or(end).is_none() {
        return None;
    }
    let at_offset = offset.map(|offset| offset.saturating_add(u64::from(!is_number)));
    let first = start.or(at_offset).unwrap_or(1);
    let count = match end {
        Some(end) => Some(end.checked_sub(first)?.checked_add(1)?),
        None => None,
    };
    (first > 0).then_some(Lines { first, count, is_number })
}

/// Returns the hint on a first or last line of a tool whose `offset` is the number of lines to skip.
pub fn lines_hint(params: &[Param], arguments: &Map<String, Value>, name: &str) -> Option<String> {
    let lines = lines(params, arguments).filter(|lines| !lines.is_number && LINES.contains(&name))?;
    let limit = lines.count.map_or_else(String::new, |count| format!(" and `limit` {count}"));
    Some(format!("counted from 1, that is `offset` {}{limit};", lines.first - 1))
}

/// Returns the names that no row has.
pub fn unknown(params: &[Param], arguments: &Map<String, Value>) -> Vec<String> {
    arguments
        .keys()
        .filter(|name| !params.iter().any(|param| names(param).any(|known| known == *name)))
        .cloned()
        .collect()
}

/// Returns the name of a row and its aliases.
fn names(param: &Param) -> impl Iterator<Item = &'static str> {
    std::iter::once(param.name).chain(param.aliases.iter().copied())
}

fn is_present(param: &Param, arguments: &Map<String, Value>) -> bool {
    names(param).any(|name| arguments.get(name).is_some_and(|value| !value.is_null()))
}

fn is_member(members: &[Param], name: &str) -> bool {
    members.iter().any(|member| member.name == name || same_argument(member.name, name))
}

fn is_command(param: &Param) -> bool {
    matches!(param.name, "command" | "cmd")
}

/// Returns the value in the form that its row requires, if it has only one meaning in that form; otherwise returns the
/// value unchanged.
pub fn fitted(param: &Param, mut value: Value) -> Value {
    if let Value::String(text) = &value
        && !matches!(param.kind, ParamKind::Text | ParamKind::Choice(_))
        && let Ok(parsed) = serde_json::from_str::<Value>(text)
        && (parsed.is_array() || !(parsed.is_string() || matches!(param.kind, ParamKind::Texts)))
        && repeated_name(text).is_none()
    {
        value = parsed;
    }
    match (&param.kind, value) {
        // A command as one string may be a line for a shell, or the name of a program.
        (ParamKind::Texts, Value::String(text)) if param.name != "command" => Value::Array(vec![text.into()]),
        (ParamKind::Text, Value::Array(words)) if is_command(param) && words.len() == 1 => {
            words.into_iter().next().unwrap_or_default()
        }
        (ParamKind::Pair, Value::Array(mut numbers)) => {
            for number in &mut numbers {
                if let Value::String(text) = number
                    && let Ok(parsed) = serde_json::from_str::<Value>(text)
                {
                    *number = parsed;
                }
            }
            Value::Array(numbers)
        }
        (ParamKind::Objects(_), Value::Object(entry)) => Value::Array(vec![Value::Object(entry)]),
        (_, value) => value,
    }
}
