//! Tries hostile text in every argument of every tool of every dialect, according to the tools' schemas.

use std::io;

use serde_json::{Map, Value, json};

use super::attempts::Attempts;
use super::report::Row;
use super::subject::Call;
use super::suite::Sweep;
use super::to_io_error;
use crate::catalog;

/// An existing file, for the other arguments of a call.
const BENIGN: &str = "inside.txt";
/// Names of arguments that contain a patch.
const PATCHES: [&str; 3] = ["patch", "diff", "input"];
/// Names of arguments that select what a tool does.
const CHOOSES: [&str; 2] = ["command", "type"];

/// Adds one row per dialect. The error code of a call is not asserted.
pub(super) fn run<T: FnMut(&Row)>(
    attempts: &mut Attempts<'_, T>,
    sweep: &Sweep,
    dialects: &[String],
) -> io::Result<()> {
    for dialect in dialects {
        attempts.begin(&format!("every argument of `{dialect}`"), &sweep.tree)?;
        for tool in catalog::tools(dialect).map_err(to_io_error)? {
            let schema: Value = serde_json::from_str(&tool.input_schema)?;
            for (arguments, slot) in variants(&schema) {
                for text in attempts.texts(sweep, slot.last().is_some_and(|name| PATCHES.contains(&name.as_str()))) {
                    let arguments = with(&arguments, &slot, &text);
                    let call = Call { dialect, tool: &tool.name, arguments: &arguments };
                    attempts.attempt(&sweep.tree, &format!("in `{}`", slot.join(".")), &call, None, None)?;
                }
            }
        }
        attempts.end(&sweep.tree)?;
    }
    Ok(())
}

impl<T: FnMut(&Row)> Attempts<'_, T> {
    fn texts(&self, sweep: &Sweep, is_patch: bool) -> Vec<String> {
        let paths = sweep.hostile.iter().map(|text| self.fill(&text.text()));
        match is_patch {
            true => {
                paths.flat_map(|path| sweep.patches.iter().map(move |patch| patch.replace("{path}", &path))).collect()
            }
            false => paths.collect(),
        }
    }
}

/// Returns every text argument, with the other arguments of the call. These are the required ones, or, if an
/// argument selects what the tool does, all of them for each of its values.
fn variants(schema: &Value) -> Vec<(Value, Vec<String>)> {
    let sets = match choice(schema) {
        Some((slot, words)) => words.iter().map(|word| with(&benign(schema, true), &slot, word)).collect(),
        None => vec![benign(schema, false)],
    };
    let slots = slots(schema);
    sets.iter().flat_map(|arguments| slots.iter().map(move |slot| (arguments.clone(), slot.clone()))).collect()
}

/// Returns the argument that selects what a tool does, and its values.
fn choice(schema: &Value) -> Option<(Vec<String>, Vec<&str>)> {
    properties(schema).find_map(|(name, property)| {
        let words = property.get("enum").and_then(Value::as_array).filter(|_| CHOOSES.contains(&name.as_str()));
        let (mut slot, words) = match words {
            Some(words) => (Vec::new(), words.iter().filter_map(Value::as_str).collect()),
            None => choice(property)?,
        };
        slot.insert(0, name.clone());
        Some((slot, words))
    })
}

/// Returns the location of every text in the arguments, as names and indices.
fn slots(schema: &Value) -> Vec<Vec<String>> {
    let within = |name: &str, schema: &Value| {
        let below = |mut slot: Vec<String>| {
            slot.insert(0, name.to_owned());
            slot
        };
        slots(schema).into_iter().map(below).collect::<Vec<_>>()
    };
    match schema.get("type").and_then(Value::as_str) {
        Some("string") if schema.get("enum").is_none() => vec![Vec::new()],
        Some("array") => schema.get("items").map(|items| within("0", items)).unwrap_or_default(),
        Some("object") => properties(schema).flat_map(|(name, property)| within(name, property)).collect(),
        _ => Vec::new(),
    }
}

/// Returns valid arguments: the required ones, and with `all` also the optional ones except lists.
fn benign(schema: &Value, all: bool) -> Value {
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => schema.pointer("/enum/0").cloned().unwrap_or_else(|| json!(BENIGN)),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or_else(|| json!(1)),
        Some("boolean") => json!(true),
        Some("array") => {
            let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(1);
            (0..least).filter_map(|_| Some(benign(schema.get("items")?, all))).collect()
        }
        Some("object") => {
            let is_single = |property: &Value| property.get("type").is_some_and(|kind| kind != "array");
            let wanted = properties(schema)
                .filter(|(name, property)| is_required(schema, name) || all && is_single(property))
                .map(|(name, property)| (name.clone(), benign(property, all)));
            Value::Object(wanted.collect::<Map<_, _>>())
        }
        _ => Value::Null,
    }
}

/// Returns the arguments with a text at one location, which is created if it is missing.
fn with(arguments: &Value, slot: &[String], text: &str) -> Value {
    let Some((name, rest)) = slot.split_first() else { return json!(text) };
    match arguments {
        Value::Array(items) => {
            let first = with(items.first().unwrap_or(&Value::Null), rest, text);
            std::iter::once(first).chain(items.iter().skip(1).cloned()).collect()
        }
        _ if name == "0" => json!([with(&Value::Null, rest, text)]),
        other => {
            let mut members = other.as_object().cloned().unwrap_or_default();
            let member = with(members.get(name).unwrap_or(&Value::Null), rest, text);
            members.insert(name.clone(), member);
            Value::Object(members)
        }
    }
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten()
}

fn is_required(schema: &Value, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|required| required == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_has_a_slot() {
        let text = json!({"type": "string"});
        let edits = json!({"type": "array", "items": {"type": "object", "required": ["old"], "properties": {"old": text, "new": text}}});
        let schema = json!({"type": "object", "required": ["path", "edits"], "properties": {
            "path": text, "edits": edits, "names": {"type": "array", "items": text}, "flag": {"type": "boolean"},
            "mode": {"type": "string", "enum": ["a", "b"]}}});
        let filled_arguments: Vec<_> =
            variants(&schema).iter().map(|(arguments, slot)| with(arguments, slot, "X")).collect();
        let expected = [
            json!({"path": "X", "edits": [{"old": BENIGN}]}),
            json!({"path": BENIGN, "edits": [{"old": "X"}]}),
            json!({"path": BENIGN, "edits": [{"old": BENIGN, "new": "X"}]}),
            json!({"path": BENIGN, "edits": [{"old": BENIGN}], "names": ["X"]}),
        ];
        assert_eq!(filled_arguments, expected);
    }

    #[test]
    fn a_tool_that_does_several_things_is_tried_with_each() {
        let schema = json!({"type": "object", "properties": {
            "command": {"type": "string", "enum": ["view", "create"]}, "path": {"type": "string"}, "text": {"type": "string"}}});
        let filled_arguments: Vec<_> =
            variants(&schema).iter().map(|(arguments, slot)| with(arguments, slot, "X")).collect();
        assert_eq!(filled_arguments.len(), 4);
        assert_eq!(filled_arguments.first(), Some(&json!({"command": "view", "path": "X", "text": BENIGN})));
        assert_eq!(filled_arguments.last(), Some(&json!({"command": "create", "path": BENIGN, "text": "X"})));
    }
}
