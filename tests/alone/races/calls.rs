//! The tool calls of the race test.

use serde_json::{Value, json};

/// How often a call of `read_files` names each swapped file.
const TIMES: usize = 4;
/// Number of swapped names; a walk visits all of them.
const NAMES: u64 = 5;

/// A call, and the number of attempts that it counts for: one for each swapped name on its path.
pub struct Raced {
    pub operation: &'static str,
    pub tool: &'static str,
    pub arguments: Value,
    pub attempts: u64,
}

/// Returns the call with this number. A quarter of the calls change files and wait for the disk, and a quarter are
/// walks.
pub fn call(number: u64) -> Raced {
    match number % 4 {
        1 => return change(number / 4),
        2 => return walk(number / 4),
        _ => {}
    }
    let files = ["d/f", "l", "p", "x/f", "a"];
    let paths: Vec<_> = (0..TIMES).flat_map(|_| files).collect();
    Raced { operation: "read", tool: "read_files", attempts: paths.len() as u64, arguments: json!({ "paths": paths }) }
}

fn walk(number: u64) -> Raced {
    let one = |operation, tool, arguments| Raced { operation, tool, arguments, attempts: 1 };
    let all = |operation, tool, arguments| Raced { operation, tool, arguments, attempts: NAMES };
    match number % 8 {
        0 | 1 => all("search", "grep", json!({"pattern": "CANARY|inside"})),
        2 => all("search", "replace", json!({"pattern": "CANARY", "replacement": "x"})),
        3 => all("list", "list_dir", json!({"depth": 4})),
        4 => all("list", "glob", json!({"pattern": "**/only-*"})),
        5 => all("list", "tree", json!({})),
        6 => one("list", "list_dir", json!({"path": "d"})),
        // The error of a missing path would list similar names.
        _ => one("describe", "stat", json!({"path": "d/only-outside-2f9"})),
    }
}

fn change(number: u64) -> Raced {
    let one = |operation, tool, arguments| Raced { operation, tool, arguments, attempts: 1 };
    let edits = json!([{"old_text": "inside", "new_text": "inside"}]);
    let update = |path: &str| format!("*** Update File: {path}\n@@\n-inside\n+inside\n");
    let patch = format!("*** Begin Patch\n{}{}*** End Patch\n", update("d/g"), update("x/g"));
    match number % 16 {
        0 => one("write", "write_file", json!({"path": "d/w", "content": "inside\n"})),
        1 => one("write", "write_file", json!({"path": "x/w", "content": "inside\n"})),
        2 => one("write", "write_file", json!({"path": "l", "content": "inside\n"})),
        3 => one("write", "write_file", json!({"path": "d/f", "content": "inside\n", "append": true})),
        4 => one("write", "write_file", json!({"path": "p", "content": "inside\n"})),
        5 => one("write", "edit_file", json!({"path": "d/g", "edits": edits})),
        6 => Raced { operation: "patch", tool: "apply_patch", arguments: json!({ "patch": patch }), attempts: 2 },
        7 => one(
            "patch",
            "apply_patch",
            json!({"patch": "*** Begin Patch\n*** Add File: d/c\n+inside\n*** End Patch\n"}),
        ),
        8 => one("copy", "copy", json!({"source": "d/f", "destination": "copied", "overwrite": true})),
        9 => one("copy", "copy", json!({"source": "plain", "destination": "d/w", "overwrite": true})),
        10 => one("copy", "copy", json!({"source": "l", "destination": "copied-link"})),
        11 => one("move", "move", json!({"source": "d/m", "destination": "moved", "overwrite": true})),
        12 => one("move", "move", json!({"source": "moved", "destination": "x/m", "overwrite": true})),
        13 => one("move", "move", json!({"source": "x/m", "destination": "d/m", "overwrite": true})),
        14 => one("delete", "delete", json!({"path": "d/c"})),
        _ => one("delete", "delete", json!({"path": "d/t", "recursive": true})),
    }
}
