//! Arguments that models write in another form than the row asks for. A form is accepted only if it has one reading: the
//! value of a number as a string, a list of one as its entry, JSON in a string, or the name that other tools have for an
//! argument.

use serde_json::{Map, Value};

use crate::spec::{Param, ParamKind, same_argument};

/// Renames members that have another tool's name for an argument of this tool, and moves members of a list's entries
/// that stand beside the list into a list of one.
pub fn adopt(params: &[Param], given: &mut Map<String, Value>) {
    rename(params, given);
    let unknown: Vec<String> = given.keys().filter(|name| !is_known(params, name)).cloned().collect();
    if unknown.is_empty() {
        return;
    }
    for param in params.iter().filter(|param| !is_given(param, given)) {
        let ParamKind::Objects(members) = &param.kind else { continue };
        let mut entry: Map<String, Value> =
            unknown.iter().filter_map(|name| Some((name.clone(), given.get(name)?.clone()))).collect();
        rename(members, &mut entry);
        if entry.keys().all(|name| is_known(members, name)) {
            unknown.iter().for_each(|name| drop(given.remove(name)));
            given.insert(param.name.to_owned(), Value::Array(vec![Value::Object(entry)]));
            return;
        }
    }
}

/// Renames members by the names that other tools have for the arguments, if the argument is not given already.
fn rename(params: &[Param], given: &mut Map<String, Value>) {
    let unknown: Vec<String> = given.keys().filter(|name| !is_known(params, name)).cloned().collect();
    for name in unknown {
        let meant = params.iter().find(|param| same_argument(param.name, &name) && !is_given(param, given));
        if let Some(param) = meant
            && let Some(value) = given.remove(&name)
        {
            given.insert(param.name.to_owned(), value);
        }
    }
}

/// Returns whether a row has this name or alias.
pub fn is_known(params: &[Param], name: &str) -> bool {
    params.iter().any(|param| param.name == name || param.aliases.contains(&name))
}

fn is_given(param: &Param, given: &Map<String, Value>) -> bool {
    std::iter::once(&param.name).chain(param.aliases).any(|name| given.get(*name).is_some_and(|value| !value.is_null()))
}

/// Returns the value in the form that its row asks for, if it has one reading there; otherwise the value itself.
pub fn fitted(param: &Param, value: Value) -> Value {
    match (&param.kind, value) {
        (ParamKind::Text, Value::Number(number)) if number.is_i64() || number.is_u64() => number.to_string().into(),
        (
            ParamKind::Flag | ParamKind::Whole { .. } | ParamKind::Signed | ParamKind::Number | ParamKind::Pair,
            Value::String(text),
        ) => json_of(&text, |value| !value.is_string()).unwrap_or(Value::String(text)),
        (ParamKind::Named | ParamKind::Object(_), Value::String(text)) => {
            json_of(&text, Value::is_object).unwrap_or(Value::String(text))
        }
        // A command as one string may be a line for a shell, or the name of a program.
        (ParamKind::Texts, Value::String(text)) if param.name != "command" => {
            let is_list = |value: &Value| value.as_array().is_some_and(|items| items.iter().all(Value::is_string));
            json_of(&text, is_list).unwrap_or_else(|| Value::Array(vec![text.into()]))
        }
        (ParamKind::Objects(_), Value::String(text)) => match json_of(&text, |_| true) {
            Some(Value::Object(entry)) => Value::Array(vec![Value::Object(entry)]),
            Some(Value::Array(entries)) => Value::Array(entries),
            _ => Value::String(text),
        },
        (ParamKind::Objects(_), Value::Object(entry)) => Value::Array(vec![Value::Object(entry)]),
        (_, value) => value,
    }
}

/// Returns the JSON value that a string holds, if it is an accepted one.
fn json_of(text: &str, is_accepted: impl Fn(&Value) -> bool) -> Option<Value> {
    serde_json::from_str(text.trim()).ok().filter(is_accepted)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::args::Args;
    use crate::{mcp_filesystem, paddock, weakincentives};

    fn edits(arguments: serde_json::Value) -> Result<Vec<(String, String)>, String> {
        let tool = paddock::DIALECT.tool("edit_file").unwrap();
        let args = Args::decode(tool, &arguments.to_string()).map_err(|error| error.message())?;
        let edits = args.replacements("edits", "old_text", "new_text");
        Ok(edits.into_iter().map(|edit| (edit.old_text, edit.new_text)).collect())
    }

    #[test]
    fn forms_with_one_reading_are_accepted() {
        let expected = Ok(vec![("a".to_owned(), "b".to_owned())]);
        let edit = json!({"old_text": "a", "new_text": "b"});
        for arguments in [
            json!({"path": "f", "edits": [edit]}),
            json!({"path": "f", "edits": edit}),
            json!({"path": "f", "edits": edit.to_string()}),
            json!({"path": "f", "edits": json!([edit]).to_string()}),
            json!({"file_path": "f", "old_string": "a", "new_string": "b"}),
            json!({"path": "f", "oldText": "a", "newText": "b", "edits": null}),
        ] {
            assert_eq!(edits(arguments.clone()), expected, "{arguments}");
        }
        let read = paddock::DIALECT.tool("read_file").unwrap();
        let args = Args::decode(read, r#"{"path": 7, "limit": "3", "include_header": "false"}"#).ok().unwrap();
        assert_eq!((args.text("path"), args.whole("limit"), args.flag("include_header")), ("7".to_owned(), 3, false));
        let many = mcp_filesystem::DIALECT.tool("read_multiple_files").unwrap();
        for (given, expected) in [(json!("a b"), ["a b"].as_slice()), (json!("[\"a\", \"b\"]"), &["a", "b"])] {
            let args = Args::decode(many, &json!({"paths": given}).to_string()).ok().unwrap();
            assert_eq!(args.texts("paths"), expected);
        }
    }

    #[test]
    fn forms_with_two_readings_are_refused() {
        for arguments in [
            json!({"path": "f", "file_path": "g", "edits": []}),
            json!({"path": "f", "edits": [], "old_text": "a", "new_text": "b"}),
            json!({"path": "f", "find": "a", "new_text": "b"}),
            json!({"path": "f", "edits": "a"}),
            json!({"path": ["f"], "edits": []}),
            json!({"path": 1.5, "edits": []}),
        ] {
            assert!(edits(arguments.clone()).is_err(), "{arguments}");
        }
        let shell = weakincentives::DIALECT.tool("shell_execute").unwrap();
        assert!(Args::decode(shell, r#"{"command": "ls -l"}"#).is_err());
        let read = paddock::DIALECT.tool("read_file").unwrap();
        for limit in [json!("3 lines"), json!("\"3\""), json!(true), json!("-1"), json!([3])] {
            assert!(Args::decode(read, &json!({"path": "f", "limit": limit}).to_string()).is_err(), "{limit}");
        }
    }

    #[test]
    fn every_mistake_is_reported_at_once() {
        let wrong = json!({"edits": [{"old_text": []}, {"new_text": "b", "all": 1}], "dry_run": "maybe", "then": 1});
        let message = edits(wrong).unwrap_err();
        for mistake in [
            "`then`",
            "`path` is missing",
            "`edits[0].old_text`",
            "`edits[0].new_text`",
            "`edits[1].all`",
            "`edits[1].old_text`",
            "`dry_run`",
        ] {
            assert!(message.contains(mistake), "{mistake}: {message}");
        }
    }
}
