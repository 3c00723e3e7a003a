//! An operation leaves the same bytes in every dialect that has it.

use serde_json::{Value, json};

use super::support::Fixture;
use crate::tree::{Tree, tree_of};

const FILES: &[(&str, &str)] =
    &[("a.txt", "\u{feff}one\r\ntwö\r\nthree"), ("d/b.txt", "b\n"), ("d/c/e.txt", "e\n"), ("run.sh", "#!/bin/sh\n")];

type Calls = Vec<(&'static str, &'static str, Value)>;

#[track_caller]
fn all_leave_the_same(calls: Calls) {
    let mut first: Option<(&str, Tree)> = None;
    for (dialect, tool, arguments) in calls {
        let fixture = Fixture::with(dialect, FILES);
        let before = tree_of(&fixture.root());
        fixture.ok(tool, arguments);
        let after = tree_of(&fixture.root());
        assert_ne!(before, after, "{dialect} {tool} changed nothing");
        match &first {
            None => first = Some((dialect, after)),
            Some((other, expected)) => assert_eq!(expected, &after, "{dialect} {tool} beside {other}"),
        }
    }
}

#[test]
fn writing_a_new_file() {
    let (path, content) = ("new/n.txt", "n\nm\r\n");
    all_leave_the_same(vec![
        ("paddock", "write_file", json!({"path": path, "content": content})),
        ("dispatch", "write_file", json!({"path": path, "content": content})),
        ("dispatch", "create_file", json!({"path": path, "content": content})),
        ("chorus", "file.write", json!({"path": path, "content": content})),
        ("weakincentives", "write_file", json!({"path": path, "content": content})),
        ("dotnet-prompt", "write_file", json!({"file_path": path, "content": content})),
        ("mcp-filesystem", "write_file", json!({"path": path, "content": content})),
        ("anthropic", "str_replace_based_edit_tool", json!({"command": "create", "path": path, "file_text": content})),
    ]);
}

#[test]
fn writing_over_a_file() {
    let (path, content) = ("run.sh", "#!/bin/bash\n");
    all_leave_the_same(vec![
        ("paddock", "write_file", json!({"path": path, "content": content})),
        ("dispatch", "write_file", json!({"path": path, "content": content})),
        ("chorus", "file.write", json!({"path": path, "content": content})),
        ("weakincentives", "write_file", json!({"path": path, "content": content})),
        ("dotnet-prompt", "write_file", json!({"file_path": path, "content": content})),
        ("mcp-filesystem", "write_file", json!({"path": path, "content": content})),
    ]);
}

/// Edits in every dialect keep a byte order mark, CRLF and a missing final newline.
#[test]
fn editing() {
    let (path, old, new) = ("a.txt", "one\ntwö", "1\n2");
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n-twö\n+1\n+2\n*** End Patch";
    let diff = "@@\n-one\n-twö\n+1\n+2\n three";
    all_leave_the_same(vec![
        ("paddock", "edit_file", json!({"path": path, "edits": [{"old_text": old, "new_text": new}]})),
        ("paddock", "apply_patch", json!({"patch": patch})),
        ("dispatch", "edit_file", json!({"path": path, "edits": [{"old_text": old, "new_text": new}]})),
        ("chorus", "file.patch", json!({"path": path, "patches": [{"find": old, "replace": new}]})),
        ("weakincentives", "edit_file", json!({"path": path, "old_string": old, "new_string": new})),
        ("lincona", "apply_patch_freeform", json!({"patch": patch})),
        ("mcp-filesystem", "edit_file", json!({"path": path, "edits": [{"oldText": old, "newText": new}]})),
        (
            "anthropic",
            "str_replace_based_edit_tool",
            json!({"command": "str_replace", "path": path, "old_str": old, "new_str": new}),
        ),
        ("codex", "apply_patch", json!({"input": patch})),
        ("openai", "apply_patch", json!({"operation": {"type": "update_file", "path": path, "diff": diff}})),
    ]);
}

#[test]
fn deleting_a_file() {
    let path = "d/b.txt";
    let patch = "*** Begin Patch\n*** Delete File: d/b.txt\n*** End Patch";
    let unified = "--- a/d/b.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n";
    all_leave_the_same(vec![
        ("paddock", "delete", json!({"path": path})),
        ("paddock", "apply_patch", json!({"patch": patch})),
        ("chorus", "file.delete", json!({"path": path})),
        ("dotnet-prompt", "delete_file", json!({"file_path": path})),
        ("weakincentives", "rm", json!({"path": path})),
        ("lincona", "apply_patch_freeform", json!({"patch": patch})),
        ("lincona", "apply_patch_json", json!({"patch": unified})),
        ("codex", "apply_patch", json!({"input": patch})),
        ("openai", "apply_patch", json!({"operation": {"type": "delete_file", "path": path}})),
    ]);
}

#[test]
fn deleting_a_tree_moving_and_making_directories() {
    all_leave_the_same(vec![
        ("paddock", "delete", json!({"path": "d", "recursive": true})),
        ("weakincentives", "rm", json!({"path": "d", "recursive": true})),
    ]);
    all_leave_the_same(vec![
        ("paddock", "move", json!({"source": "run.sh", "destination": "go.sh"})),
        ("dotnet-prompt", "move_file", json!({"source_path": "run.sh", "destination_path": "go.sh"})),
        ("mcp-filesystem", "move_file", json!({"source": "run.sh", "destination": "go.sh"})),
    ]);
    all_leave_the_same(vec![
        ("paddock", "copy", json!({"source": "run.sh", "destination": "go.sh"})),
        ("dotnet-prompt", "copy_file", json!({"source_path": "run.sh", "destination_path": "go.sh"})),
    ]);
    all_leave_the_same(vec![
        ("paddock", "move", json!({"source": "d/c", "destination": "m"})),
        ("mcp-filesystem", "move_file", json!({"source": "d/c", "destination": "m"})),
    ]);
    all_leave_the_same(vec![
        ("paddock", "make_dir", json!({"path": "x/y"})),
        ("dotnet-prompt", "create_directory", json!({"directory_path": "x/y"})),
        ("weakincentives", "mkdir", json!({"path": "x/y", "parents": true})),
        ("mcp-filesystem", "create_directory", json!({"path": "x/y"})),
    ]);
}
