//! Arguments that models write in another form than the row asks for. A form is accepted only if it has one reading: a
//! number or a boolean as a string, a list of one as its entry, JSON in a string, the name that other tools have for an
//! argument, or a first and a last line where lines count from 1.

use serde_json::{Map, Value};

use crate::argument_names::same_argument;
use crate::param::{DefaultValue, Param, ParamKind};

/// Names of other tools for the first and the last line to read.
const FIRST_LINE: &[&str] = &["start_line", "startLine"];
const LAST_LINE: &[&str] = &["end_line", "endLine"];

/// Renames members that have another tool's name for an argument of this tool, and moves members of a list's entries
/// that stand beside the list into a list of one.
pub fn adopt(params: &[Param], given: &mut Map<String, Value>) {
    adopt_lines(params, given);
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

/// Replaces a first and a last line by `offset` and `limit`, if `offset` is the number of a line, from 1.
fn adopt_lines(params: &[Param], given: &mut Map<String, Value>) {
    let is_bytes = given.get("mode").and_then(Value::as_str) == Some("base64");
    let Some((first, count)) = lines(params, given, 1).filter(|_| counts_from_one(params) && !is_bytes) else { return };
    for name in FIRST_LINE.iter().chain(LAST_LINE) {
        given.remove(*name);
    }
    given.insert("offset".to_owned(), first.into());
    if let Some(count) = count {
        given.insert("limit".to_owned(), count.into());
    }
}

fn counts_from_one(params: &[Param]) -> bool {
    let offset = params.iter().find(|param| param.name == "offset");
    offset.is_some_and(|offset| {
        matches!(offset.kind, ParamKind::Whole { min: 1, .. }) || matches!(offset.default, DefaultValue::Whole(1))
    })
}

/// Returns the first line, from 1, and the number of lines that a caller asks for by a first or a last line, of a tool
/// that reads a file by `offset` and `limit`. `first` is the line at the smallest offset.
fn lines(params: &[Param], given: &Map<String, Value>, first: u64) -> Option<(u64, Option<u64>)> {
    let has = |name: &str| params.iter().any(|param| param.name == name);
    let value = |names: &[&str]| names.iter().find_map(|name| given.get(*name));
    let number = |value: &Value| value.as_u64().or_else(|| value.as_str()?.parse().ok());
    let (start, end) = (value(FIRST_LINE), value(LAST_LINE));
    let is_clear = has("offset") && has("limit") && (has("path") || has("file_path"));
    let is_twice = start.is_some() && given.contains_key("offset") || end.is_some() && given.contains_key("limit");
    if !is_clear || is_twice || start.or(end).is_none() || has("start_line") {
        return None;
    }
    let start = match (start, given.get("offset")) {
        (Some(start), _) => number(start)?,
        (None, Some(offset)) => number(offset)?.checked_add(1)?.checked_sub(first)?,
        (None, None) => 1,
    };
    let count = match end {
        Some(end) => Some(number(end)?.checked_sub(start)?.checked_add(1)?),
        None => None,
    };
    (start > 0).then_some((start, count))
}

/// Returns the hint on a first or last line that a tool with another count of lines does not take.
pub fn lines_hint(params: &[Param], given: &Map<String, Value>, name: &str) -> Option<String> {
    let is_line = FIRST_LINE.contains(&name) || LAST_LINE.contains(&name);
    let (start, count) = lines(params, given, 0).filter(|_| is_line && !counts_from_one(params))?;
    let offset = start - 1;
    Some(match count {
        Some(count) => format!(
            "counted from 1, lines {start} to {} are `offset` {offset} and `limit` {count};",
            offset.saturating_add(count)
        ),
        None => format!("counted from 1, line {start} is `offset` {offset};"),
    })
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

fn is_command(param: &Param) -> bool {
    matches!(param.name, "command" | "cmd")
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
        (ParamKind::Text, Value::Array(words)) if is_command(param) && words.len() == 1 => {
            words.into_iter().next().unwrap_or_default()
        }
        (ParamKind::Pair, Value::Array(mut numbers)) => {
            for number in &mut numbers {
                if let Some(parsed) = number.as_str().and_then(|text| text.parse::<i64>().ok()) {
                    *number = parsed.into();
                }
            }
            Value::Array(numbers)
        }
        (ParamKind::Objects(_), Value::Object(entry)) => Value::Array(vec![Value::Object(entry)]),
        (_, value) => value,
    }
}
