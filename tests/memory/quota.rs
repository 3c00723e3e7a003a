//! The limit on the size of a tree in memory, exact to the byte.

use paddock::types::ErrorCode;
use serde_json::json;

use super::{read, workspace_of, write};

#[test]
fn the_last_byte_fits_and_the_next_is_refused() {
    let workspace = workspace_of(1000);
    assert_eq!(write(&workspace, "a", &"x".repeat(600))["bytes_written"], 600);
    assert_eq!(write(&workspace, "b", &"x".repeat(400))["bytes_written"], 400);
    let before = workspace.snapshot().unwrap();
    let refused = write(&workspace, "c", "x");
    assert_eq!(refused["code"], "no-space", "{refused}");
    let edit = json!({"path": "b", "edits": [{"old_text": "x", "new_text": "yy", "replace_all": true}]});
    assert_eq!(workspace.call("edit_file", &edit.to_string()).value()["code"], "no-space");
    let copy = json!({"source": "a", "destination": "d/e"});
    assert_eq!(workspace.call("copy", &copy.to_string()).value()["code"], "no-space");
    assert_eq!(workspace.snapshot().unwrap(), before, "nothing was changed");
    assert!(workspace.call("delete", r#"{"path": "a"}"#).ok);
    assert_eq!(write(&workspace, "c", &"x".repeat(600))["bytes_written"], 600, "backups do not count");
    assert_eq!(workspace.call("restore", r#"{"path": "a"}"#).value()["code"], "no-space");
    assert!(workspace.call("delete", r#"{"path": "c"}"#).ok);
    assert!(workspace.call("restore", r#"{"path": "a"}"#).ok);
}

#[test]
fn an_archive_that_does_not_fit_is_refused_whole() {
    let full = workspace_of(1000);
    write(&full, "a", &"x".repeat(1000));
    let archive = full.snapshot().unwrap();
    workspace_of(1000).load(&archive).unwrap();
    full.load(&archive).expect("replaced content does not count");
    let small = workspace_of(999);
    write(&small, "kept", "kept");
    let error = small.load(&archive).unwrap_err();
    assert_eq!(error.code, ErrorCode::NoSpace);
    assert_eq!(error.message, "the workspace in memory would hold more than 999 bytes, its checkpoints included");
    assert!(error.hint.unwrap().contains("limits.max_tree_bytes"));
    assert_eq!(read(&small, "kept"), "kept");
    assert_eq!(read(&small, "a"), "not-found");
}

#[test]
fn checkpoints_count_only_changed_files() {
    let workspace = workspace_of(1000);
    write(&workspace, "a", &"x".repeat(500));
    (0..50).for_each(|number| workspace.checkpoint(&format!("at-{number}")).unwrap());
    assert_eq!(write(&workspace, "a", &"y".repeat(500))["bytes_written"], 500);
    assert_eq!(write(&workspace, "b", "y")["code"], "no-space");
    workspace.rollback("at-0").unwrap();
    assert_eq!(read(&workspace, "a"), "x".repeat(500));
    assert_eq!(write(&workspace, "b", &"y".repeat(500))["bytes_written"], 500);
}
