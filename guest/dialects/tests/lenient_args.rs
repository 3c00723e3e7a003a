//! Arguments in other forms than their rows require.

#![expect(clippy::unwrap_used, reason = "tests")]

use paddock_dialects::args::Args;
use paddock_dialects::{anthropic, mcp_filesystem, paddock, weakincentives};
use serde_json::json;

fn edits(arguments: serde_json::Value) -> Result<Vec<(String, String)>, String> {
    let tool = paddock::DIALECT.tool("edit_file").unwrap();
    let args = Args::decode(tool.name, tool.params, &arguments.to_string()).map_err(|error| error.message())?;
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
    let twice = edits(json!({"path": "f", "edits": r#"[{"old_text": "a", "new_text": "b", "old_text": "c"}]"#}));
    let cause = "argument `edits`: it is JSON that has `old_text` twice in one object, and has to be a list of objects";
    assert!(twice.as_ref().unwrap_err().starts_with(cause), "{twice:?}");
    let read = paddock::DIALECT.tool("read_file").unwrap();
    let args =
        Args::decode(read.name, read.params, r#"{"path": "7", "limit": "3", "include_header": "false"}"#).ok().unwrap();
    assert_eq!((args.text("path"), args.whole("limit"), args.flag("include_header")), ("7".to_owned(), 3, false));
    let many = mcp_filesystem::DIALECT.tool("read_multiple_files").unwrap();
    for (value, expected) in [(json!("a b"), ["a b"].as_slice()), (json!("[\"a\", \"b\"]"), &["a", "b"])] {
        let args = Args::decode(many.name, many.params, &json!({"paths": value}).to_string()).ok().unwrap();
        assert_eq!(args.texts("paths"), expected);
    }
}

#[test]
fn lines_by_their_first_and_last_number() {
    let read = |dialect: &paddock_dialects::dialect::Dialect, arguments: serde_json::Value| {
        let tool = dialect.tool("read_file").unwrap();
        let mut arguments = arguments;
        arguments["path"] = json!("f");
        Args::decode(tool.name, tool.params, &arguments.to_string())
            .map(|args| (args.opt_whole("offset"), args.opt_whole("limit")))
            .map_err(|error| error.hint_text().unwrap_or_default())
    };
    for (arguments, expected) in [
        (json!({"start_line": 3, "end_line": 5}), (Some(3), Some(3))),
        (json!({"startLine": "3"}), (Some(3), None)),
        (json!({"end_line": 5}), (Some(1), Some(5))),
        (json!({"offset": 4, "end_line": 5}), (Some(4), Some(2))),
        (json!({"start_line": 4, "limit": 2}), (Some(4), Some(2))),
    ] {
        assert_eq!(read(&paddock::DIALECT, arguments.clone()), Ok(expected), "{arguments}");
    }
    for arguments in [
        json!({"start_line": 5, "end_line": 3}),
        json!({"start_line": 0}),
        json!({"start_line": 1, "offset": 1}),
        json!({"end_line": 5, "limit": 5}),
        json!({"start_line": 1, "mode": "base64"}),
    ] {
        let hint = read(&paddock::DIALECT, arguments.clone()).unwrap_err();
        assert_eq!(hint.matches("it takes").count(), 1, "{arguments}: {hint}");
    }
    // In these dialects, `offset` is the number of lines to skip.
    for (arguments, expected) in [
        (json!({"start_line": 3, "end_line": 5}), "counted from 1, that is `offset` 2 and `limit` 3;"),
        (json!({"end_line": 5}), "that is `offset` 0 and `limit` 5;"),
        (json!({"offset": 2, "end_line": 5}), "counted from 1, that is `offset` 2 and `limit` 3;"),
        (json!({"start_line": 3}), "that is `offset` 2;"),
    ] {
        let hint = read(&weakincentives::DIALECT, arguments.clone()).unwrap_err();
        assert!(hint.contains(expected) && hint.matches("it takes").count() == 1, "{arguments}: {hint}");
    }
}

#[test]
fn numbers_of_a_pair_and_a_command_of_one_word() {
    let editor = anthropic::DIALECT.tool("str_replace_based_edit_tool").unwrap();
    let view = json!({"command": "view", "path": "f", "view_range": ["1", "-1"]});
    let args = Args::decode(editor.name, editor.params, &view.to_string()).ok().unwrap();
    assert_eq!(args.opt_pair("view_range"), Some((1, -1)));
    let shell = paddock::DIALECT.tool("shell").unwrap();
    let command = |value: serde_json::Value| {
        Args::decode(shell.name, shell.params, &json!({"command": value}).to_string()).map(|args| args.text("command"))
    };
    assert_eq!(command(json!(["ls"])).ok().as_deref(), Some("ls"));
    for value in [json!(["ls", "-l"]), json!([]), json!([1])] {
        assert!(command(value.clone()).is_err(), "{value}");
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
        json!({"path": 7, "edits": []}),
    ] {
        assert!(edits(arguments.clone()).is_err(), "{arguments}");
    }
    let shell = weakincentives::DIALECT.tool("shell_execute").unwrap();
    assert!(Args::decode(shell.name, shell.params, r#"{"command": "ls -l"}"#).is_err());
    let read = paddock::DIALECT.tool("read_file").unwrap();
    for limit in [json!("3 lines"), json!("\"3\""), json!(true), json!("-1"), json!([3])] {
        assert!(
            Args::decode(read.name, read.params, &json!({"path": "f", "limit": limit}).to_string()).is_err(),
            "{limit}"
        );
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

#[test]
fn no_tool_takes_a_name_that_is_given_twice() {
    for dialect in paddock_dialects::registry::DIALECTS {
        for tool in dialect.tools.iter().chain(dialect.commands) {
            let Some(param) = tool.params.first() else { continue };
            let twice = format!(r#"{{"{0}": "a", "{0}": "b"}}"#, param.name);
            let error = Args::decode(tool.name, tool.params, &twice).err().unwrap();
            let message = error.message();
            assert!(
                message.contains(&format!("have `{}` twice", param.name)),
                "{} {}: {message}",
                dialect.name,
                tool.name
            );
        }
    }
    let within = r#"{"path": "f", "edits": [{"old_text": "a", "new_text": "b", "new_t\u0065xt": "c"}]}"#;
    let tool = paddock::DIALECT.tool("edit_file").unwrap();
    let error = Args::decode(tool.name, tool.params, within).err().unwrap().message();
    assert!(error.contains("`new_text` twice"), "{error}");
    // JSON in a string has no reading then.
    let edit = r#"{"old_text": "a", "old_text": "b", "new_text": "c"}"#;
    let error = edits(json!({"path": "f", "edits": edit})).unwrap_err();
    assert!(error.contains("has `old_text` twice"), "{error}");
}
