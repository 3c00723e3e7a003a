//! The descriptions and schemas of all dialects are correct.

use serde_json::{Value, json};

use super::support::Fixture;

/// Fails if `value` does not match `schema`, as far as these schemas use JSON Schema.
fn fits(schema: &Value, value: &Value) -> Result<(), String> {
    if let Some(any) = schema["anyOf"].as_array() {
        return match any.iter().any(|schema| fits(schema, value).is_ok()) {
            true => Ok(()),
            false => Err(format!("{value} is none of {schema}")),
        };
    }
    let types = match &schema["type"] {
        Value::Array(types) => types.clone(),
        Value::Null => return Ok(()),
        one => vec![one.clone()],
    };
    let is = |name: &Value| match name.as_str().unwrap() {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        other => panic!("{other}"),
    };
    if !types.iter().any(is) {
        return Err(format!("{value} is no {types:?}"));
    }
    if let (Some(words), false) = (schema["enum"].as_array(), value.is_null()) {
        words.contains(value).then_some(()).ok_or(format!("{value} is none of {words:?}"))?;
    }
    for item in value.as_array().into_iter().flatten() {
        fits(&schema["items"], item)?;
    }
    if let (Some(members), Some(properties)) = (value.as_object(), schema["properties"].as_object()) {
        for name in schema["required"].as_array().into_iter().flatten() {
            members.contains_key(name.as_str().unwrap()).then_some(()).ok_or(format!("{name} is missing"))?;
        }
        for (name, value) in members {
            fits(properties.get(name).ok_or(format!("{name} is in no schema"))?, value)?;
        }
    }
    Ok(())
}

/// Returns a successful call of each tool of each dialect, on the tree below.
fn calls() -> Vec<(&'static str, Vec<(&'static str, Value)>)> {
    let envelope = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** End Patch";
    vec![
        (
            "dispatch",
            vec![
                ("read_file", json!({"path": "a.txt"})),
                ("write_file", json!({"path": "n.txt", "content": "n"})),
                ("edit_file", json!({"path": "a.txt", "edits": [{"old_text": "one", "new_text": "1"}]})),
                ("create_file", json!({"path": "m.txt", "content": "m"})),
                ("list_files", json!({})),
                ("search_files", json!({"query": "two"})),
            ],
        ),
        (
            "chorus",
            vec![
                ("file.read", json!({"path": "a.txt"})),
                ("file.write", json!({"path": "n.txt", "content": "n"})),
                ("file.patch", json!({"path": "a.txt", "patches": [{"find": "one", "replace": "1"}]})),
                ("file.delete", json!({"path": "d/b.txt"})),
                ("file.list", json!({})),
                ("file.search", json!({"pattern": "two"})),
            ],
        ),
        (
            "dotnet-prompt",
            vec![
                ("read_file", json!({"file_path": "a.txt"})),
                ("write_file", json!({"file_path": "a.txt", "content": "n"})),
                ("restore_file", json!({"file_path": "a.txt"})),
                ("list_directory", json!({"directory_path": ".", "recursive": true})),
                ("create_directory", json!({"directory_path": "x"})),
                ("copy_file", json!({"source_path": "a.txt", "destination_path": "c.txt"})),
                ("move_file", json!({"source_path": "c.txt", "destination_path": "m.txt"})),
                ("get_file_metadata", json!({"file_path": "m.txt"})),
                ("compress_files", json!({"source_paths": ["d"], "destination_path": "d.zip"})),
                ("extract_archive", json!({"archive_path": "d.zip", "destination_path": "u"})),
                ("delete_file", json!({"file_path": "m.txt"})),
            ],
        ),
        (
            "weakincentives",
            vec![
                ("ls", json!({})),
                ("read_file", json!({"path": "a.txt"})),
                ("write_file", json!({"path": "n.txt", "content": "n"})),
                ("edit_file", json!({"path": "a.txt", "old_string": "one", "new_string": "1"})),
                ("glob", json!({"pattern": "**"})),
                ("grep", json!({"pattern": "two"})),
                ("mkdir", json!({"path": "x"})),
                ("exists", json!({"path": "x"})),
                ("is_file", json!({"path": "x"})),
                ("is_dir", json!({"path": "x"})),
                ("rm", json!({"path": "d", "recursive": true})),
            ],
        ),
        (
            "lincona",
            vec![
                ("list_dir", json!({})),
                ("read_file", json!({"path": "a.txt"})),
                ("grep_files", json!({"pattern": "two"})),
                ("apply_patch_freeform", json!({"patch": envelope})),
                ("apply_patch_json", json!({"patch": "--- a.txt\n+++ a.txt\n@@ -2 +2 @@\n-two\n+2\n"})),
            ],
        ),
        (
            "mcp-filesystem",
            vec![
                ("read_file", json!({"path": "a.txt"})),
                ("read_text_file", json!({"path": "a.txt", "tail": 1})),
                ("read_multiple_files", json!({"paths": ["a.txt"]})),
                ("write_file", json!({"path": "n.txt", "content": "n"})),
                ("edit_file", json!({"path": "a.txt", "edits": [{"oldText": "one", "newText": "1"}]})),
                ("create_directory", json!({"path": "x"})),
                ("list_directory", json!({"path": "."})),
                ("list_directory_with_sizes", json!({"path": "."})),
                ("directory_tree", json!({"path": "."})),
                ("move_file", json!({"source": "n.txt", "destination": "m.txt"})),
                ("search_files", json!({"path": ".", "pattern": "**"})),
                ("get_file_info", json!({"path": "a.txt"})),
                ("list_allowed_directories", json!({})),
            ],
        ),
        (
            "anthropic",
            vec![
                ("str_replace_based_edit_tool", json!({"command": "view", "path": "a.txt"})),
                ("memory", json!({"command": "view", "path": "/memories"})),
            ],
        ),
        (
            "codex",
            vec![
                ("apply_patch", json!({"input": envelope})),
                ("list_dir", json!({"dir_path": "{root}"})),
                ("read_file", json!({"file_path": "{root}/a.txt"})),
                ("grep_files", json!({"pattern": "two"})),
            ],
        ),
        ("openai", vec![("apply_patch", json!({"operation": {"type": "delete_file", "path": "a.txt"}}))]),
    ]
}

#[test]
fn results_fit_their_schemas() {
    for (dialect, calls) in calls() {
        let fixture = Fixture::with(dialect, &[("a.txt", "one\ntwo\n"), ("d/b.txt", "b\n")]);
        let tools = paddock::tools(dialect).unwrap();
        for (name, arguments) in calls {
            let tool = tools.iter().find(|tool| tool.name == name).unwrap();
            let arguments = arguments.to_string().replace("{root}", fixture.root().to_str().unwrap());
            let result = fixture.ok(name, serde_json::from_str(&arguments).unwrap());
            let schema: Value = serde_json::from_str(&tool.output_schema).unwrap();
            fits(&schema, &result).unwrap_or_else(|why| panic!("{dialect} {name}: {why}\n{result}"));
        }
    }
}

#[test]
fn every_tool_has_a_case_here() {
    let media = ("mcp-filesystem", "read_media_file");
    let commands = ["shell", "exec_command", "write_stdin"].map(|name| ("lincona", name));
    let elsewhere: Vec<_> = std::iter::once(media).chain(commands).collect();
    let tested = calls();
    for dialect in paddock::dialects().unwrap().iter().filter(|dialect| *dialect != "paddock") {
        let (_, calls) = tested.iter().find(|(name, _)| name == dialect).unwrap_or_else(|| panic!("{dialect}"));
        for tool in paddock::tools(dialect).unwrap() {
            let is_tested = calls.iter().any(|(name, _)| *name == tool.name);
            assert!(is_tested || elsewhere.contains(&(dialect, &tool.name)), "{dialect} {}", tool.name);
        }
    }
}

/// Names are valid for every provider; `_` replaces a dot if a provider does not accept dots.
#[test]
fn names_are_unique_and_plain() {
    for dialect in paddock::dialects().unwrap() {
        let mut names: Vec<_> = paddock::tools(&dialect).unwrap().into_iter().map(|tool| tool.name).collect();
        for name in &names {
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c)), "{dialect} {name}");
        }
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
