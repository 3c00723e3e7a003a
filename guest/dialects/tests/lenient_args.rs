//! Arguments in other forms than the rows ask for.

#![expect(clippy::unwrap_used, reason = "tests")]

use paddock_dialects::args::Args;
use paddock_dialects::{mcp_filesystem, paddock, weakincentives};
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
    let read = paddock::DIALECT.tool("read_file").unwrap();
    let args =
        Args::decode(read.name, read.params, r#"{"path": "7", "limit": "3", "include_header": "false"}"#).ok().unwrap();
    assert_eq!((args.text("path"), args.whole("limit"), args.flag("include_header")), ("7".to_owned(), 3, false));
    let many = mcp_filesystem::DIALECT.tool("read_multiple_files").unwrap();
    for (given, expected) in [(json!("a b"), ["a b"].as_slice()), (json!("[\"a\", \"b\"]"), &["a", "b"])] {
        let args = Args::decode(many.name, many.params, &json!({"paths": given}).to_string()).ok().unwrap();
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
