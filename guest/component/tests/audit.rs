//! Accessed paths of a call, as reported to a host with an audit log.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test fails by panicking")]

use paddock_guest::engine;
use paddock_types::accessed_paths::{AccessedPaths, WriteMode, Written};
use paddock_types::entry::Time;
use paddock_types::outcome::Outcome;
use paddock_types::policy::Policy;
use paddock_vfs::memory::MemoryFs;
use paddock_vfs::{Filesystem, Open};
use serde_json::{Value, json};

const PATCH: &str = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n@@\n-one\n+two\n*** Add File: c.txt\n+c\n*** Delete File: old.txt\n*** End Patch\n";

/// Makes calls in a workspace whose `.agentignore` hides `.env`, and returns the last outcome.
fn last(policy: &Policy, calls: &[(&str, &str, Value)]) -> Outcome {
    let fs = MemoryFs::new(&["/workspace"], || Time { seconds: 1_700_000_000, nanoseconds: 0 }, 7);
    let call =
        |dialect: &str, tool: &str, arguments: &Value| engine::call(&fs, policy, dialect, tool, &arguments.to_string());
    let top = fs.preopens()[0].dir.clone();
    for (name, bytes) in [("a.txt", "one\n"), ("old.txt", "x\ny\n"), (".agentignore", ".env\n")] {
        let file = fs.open_file(&top, name, Open::CreateNew).unwrap();
        fs.write(&file, 0, bytes.as_bytes()).unwrap();
    }
    let outcomes: Vec<_> = calls.iter().map(|(dialect, tool, arguments)| call(dialect, tool, arguments)).collect();
    outcomes.into_iter().next_back().unwrap()
}

fn recording() -> Policy {
    let mut policy = Policy::default();
    policy.host.records = true;
    policy
}

fn accessed_paths(tool: &str, arguments: Value) -> AccessedPaths {
    last(&recording(), &[("paddock", tool, arguments)]).accessed_paths.unwrap()
}

fn written(path: &str, bytes: u64, mode: WriteMode) -> Written {
    Written { path: path.to_owned(), bytes, mode }
}

#[test]
fn reads_are_recorded() {
    let read = accessed_paths("read_file", json!({"path": "./a.txt"}));
    assert_eq!((read.operation, read.paths.as_slice()), ("read", ["a.txt".to_owned()].as_slice()));
    assert_eq!((read.bytes, read.lines, read.redacted), (3, Some(1), 0));
    let bytes = accessed_paths("read_file", json!({"path": "old.txt", "mode": "base64", "limit": 3}));
    assert_eq!((bytes.bytes, bytes.lines, bytes.truncated), (3, None, true));
    let many = accessed_paths("read_files", json!({"paths": ["a.txt", ".env", "none", "old.txt"]}));
    assert_eq!((many.paths, many.redacted), (["a.txt", "none", "old.txt"].map(str::to_owned).to_vec(), 1));
    assert_eq!((many.bytes, many.lines), (6, Some(3)));
    let accessed = accessed_paths("grep", json!({"pattern": "one", "path": "."}));
    assert_eq!((accessed.paths.as_slice(), accessed.lines), (["."].map(str::to_owned).as_slice(), Some(1)));
}

#[test]
fn reads_of_other_dialects_are_recorded() {
    let read =
        |policy: &Policy, dialect: &str, tool: &str, arguments: Value| last(policy, &[(dialect, tool, arguments)]);
    let many = || json!({"paths": ["a.txt", ".env", "old.txt"]});
    let accessed_paths = read(&recording(), "mcp-filesystem", "read_multiple_files", many()).accessed_paths.unwrap();
    assert_eq!((accessed_paths.operation, accessed_paths.bytes, accessed_paths.redacted), ("read", 8, 1));
    assert_eq!(accessed_paths.paths, ["a.txt", "old.txt"]);
    let mut one = recording();
    one.limits.max_files = 1;
    let outcome = read(&one, "mcp-filesystem", "read_multiple_files", many());
    assert_eq!(outcome.accessed_paths.unwrap().paths, ["a.txt"]);
    assert!(outcome.truncated && outcome.text.contains("old.txt: Error - not read"), "{}", outcome.text);
    let view = |path: &str| {
        let arguments = json!({"command": "view", "path": path});
        read(&recording(), "anthropic", "str_replace_based_edit_tool", arguments).accessed_paths.unwrap()
    };
    assert_eq!((view("a.txt").operation, view("a.txt").bytes, view("a.txt").lines), ("read", 3, Some(1)));
    assert_eq!((view(".").operation, view(".").paths), ("list", vec![".".to_owned()]));
    let listed = read(&recording(), "weakincentives", "ls", json!({})).accessed_paths.unwrap();
    assert_eq!((listed.operation, listed.bytes), ("list", 13));
}

#[test]
fn writes_are_recorded() {
    let new = accessed_paths("write_file", json!({"path": "d/n", "content": "abc"}));
    assert_eq!(new.written, [written("d/n", 3, WriteMode::Create)]);
    let over = accessed_paths("write_file", json!({"path": "a.txt", "content": "abc"}));
    assert_eq!(over.written, [written("a.txt", 3, WriteMode::Overwrite)]);
    let more = accessed_paths("write_file", json!({"path": "a.txt", "content": "abc", "append": true}));
    assert_eq!((more.written, more.bytes), (vec![written("a.txt", 3, WriteMode::Append)], 3));
    let same = accessed_paths("write_file", json!({"path": "a.txt", "content": "one\n"}));
    assert_eq!((same.written, same.changes), (vec![], vec![]));
    let edit = json!({"path": "a.txt", "edits": [{"old_text": "one", "new_text": "three"}]});
    let edited = accessed_paths("edit_file", edit);
    assert_eq!((edited.written, edited.lines), (vec![written("a.txt", 6, WriteMode::Overwrite)], Some(1)));
}

#[test]
fn changes_of_a_patch_are_recorded() {
    let patched = accessed_paths("apply_patch", json!({ "patch": PATCH }));
    assert_eq!(patched.paths, ["a.txt", "b.txt", "c.txt", "old.txt"]);
    assert_eq!((patched.lines, patched.changes.len(), patched.bytes), (Some(5), 3, 6));
    let mut files = patched.written;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    assert_eq!(files, [written("b.txt", 4, WriteMode::Create), written("c.txt", 2, WriteMode::Create)]);
    let looked = accessed_paths("apply_patch", json!({ "patch": PATCH, "dry_run": true }));
    assert_eq!((looked.written, looked.changes, looked.paths.len()), (vec![], vec![], 4));
    let failed = accessed_paths("apply_patch", json!({ "patch": PATCH.replace("-one", "-nine") }));
    assert_eq!((failed.paths.len(), failed.redacted, failed.changes), (4, 0, vec![]));
    let redacted_patch = accessed_paths("apply_patch", json!({ "patch": PATCH.replace("c.txt", ".env") }));
    assert_eq!((redacted_patch.paths, redacted_patch.redacted), (vec![], 4));
}

#[test]
fn refused_calls_are_recorded() {
    let outside = accessed_paths("read_file", json!({"path": "../x"}));
    assert_eq!((outside.paths, outside.redacted), (vec!["../x".to_owned()], 0));
    let mut read_only = recording();
    read_only.read_only = true;
    let write = |path: &str| ("paddock", "write_file", json!({"path": path, "content": "x"}));
    let reported = |path: &str| last(&read_only, &[write(path)]).accessed_paths.unwrap();
    assert_eq!((reported("n").paths, reported("n").redacted), (vec!["n".to_owned()], 0));
    assert_eq!((reported(".env").paths, reported("d/.env").redacted), (vec![], 1));
    assert_eq!((reported(".env").operation, reported(".env").bytes), ("write", 0));
}

#[test]
fn as_many_paths_as_one_call_may_work_on() {
    let mut policy = recording();
    policy.limits.max_files = 2;
    let accessed_paths =
        last(&policy, &[("paddock", "apply_patch", json!({ "patch": PATCH }))]).accessed_paths.unwrap();
    assert_eq!((accessed_paths.paths.len(), accessed_paths.redacted), (2, 2));
}

#[test]
fn no_record_without_a_request_or_with_invalid_arguments() {
    let read = || ("paddock", "read_file", json!({"path": "a.txt"}));
    assert_eq!(last(&Policy::default(), &[read()]).accessed_paths, None);
    assert_eq!(last(&recording(), &[("paddock", "read_file", json!({"fyle": "a.txt"}))]).accessed_paths, None);
    assert_eq!(last(&recording(), &[("paddock", "none", json!({}))]).accessed_paths, None);
}

#[test]
fn in_any_dialect() {
    let write = ("weakincentives", "write_file", json!({"file_path": "n", "content": "abc"}));
    let accessed_paths = last(&recording(), &[write]).accessed_paths.unwrap();
    assert_eq!((accessed_paths.operation, accessed_paths.written), ("write", vec![written("n", 3, WriteMode::Create)]));
}
