//! Roots, Paddock's own directories and the directories above them are renamed, replaced, deleted and linked between
//! calls. A call works in the directory that the workspace was opened on, or reports that it is gone.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use paddock::types::ErrorCode;
use paddock::{Access, CallOptions, Outcome, Policy, Workspace};
use serde_json::json;
use tempfile::TempDir;

const CANARY: &str = "CANARY-of-outside";

/// Directories of a test: the root `top/work/a/b`, the state directory `top/state`, and `top/outside`, which no call
/// may reach. Below `top/outside`, each path of the root has a canary file.
struct Fixture {
    _home: TempDir,
    top: PathBuf,
    workspace: Workspace,
}

impl Fixture {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let top = home.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("work/a/b")).unwrap();
        for holder in ["", "b", "a/b", "work/a/b"] {
            let outside = top.join("outside").join(holder);
            fs::create_dir_all(&outside).unwrap();
            fs::write(outside.join("file.txt"), CANARY).unwrap();
        }
        fs::write(top.join("work/a/b/file.txt"), "inside\n").unwrap();
        let workspace =
            Workspace::builder().root(top.join("work/a/b")).state_dir(top.join("state/ws")).build().unwrap();
        Self { _home: home, top, workspace }
    }

    fn call(&self, tool: &str, arguments: serde_json::Value) -> Outcome {
        let outcome = self.workspace.call(tool, &arguments.to_string());
        assert!(!rendered(&outcome).contains(CANARY), "{tool} {arguments}: {}", rendered(&outcome));
        outcome
    }

    /// Reads, writes, changes and searches; no call may reach the directory outside.
    fn work(&self) -> Vec<Outcome> {
        let before = tree(&self.top.join("outside"));
        let edits = json!([{"old_text": "inside", "new_text": "INSIDE"}, ]);
        let calls = [
            ("read_file", json!({"path": "file.txt"})),
            ("grep", json!({"pattern": "CANARY|inside"})),
            ("list_dir", json!({})),
            ("edit_file", json!({"path": "file.txt", "edits": edits})),
            ("write_file", json!({"path": "new/file.txt", "content": "written\n"})),
            ("restore", json!({"path": "file.txt"})),
            ("delete", json!({"path": "new", "recursive": true})),
        ];
        let outcomes = calls.into_iter().map(|(tool, arguments)| self.call(tool, arguments)).collect();
        assert_eq!(tree(&self.top.join("outside")), before);
        outcomes
    }

    fn works_in(&self, root: &Path) {
        let outcomes = self.work();
        let failed: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.error.as_ref()).collect();
        assert!(failed.is_empty(), "{failed:?}");
        assert_eq!(fs::read_to_string(root.join("file.txt")).unwrap(), "inside\n");
    }

    fn is_gone(&self) {
        for outcome in self.work() {
            let error = outcome.error.unwrap();
            assert_eq!(error.code, ErrorCode::BackendGone, "{error:?}");
            assert!(error.hint.unwrap().contains("open the workspace again"));
        }
    }
}

/// Returns the complete outcome of a call as text.
fn rendered(outcome: &Outcome) -> String {
    format!("{} {} {:?} {:?}", outcome.text, outcome.result, outcome.error, outcome.changes)
}

/// Returns paths, sizes and change times of all entries below a directory.
fn tree(top: &Path) -> Vec<(PathBuf, u64, i64, i64)> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(top).unwrap().map(Result::unwrap) {
        let about = entry.path().symlink_metadata().unwrap();
        entries.push((entry.path(), about.size(), about.mtime(), about.mtime_nsec()));
        if about.is_dir() {
            entries.extend(tree(&entry.path()));
        }
    }
    entries.sort();
    entries
}

/// The root and each directory above it, with the rest of the root's path.
const HOLDERS: [(&str, &str); 3] = [("work/a/b", ""), ("work/a", "b"), ("work", "a/b")];

#[test]
fn a_root_that_is_renamed_stays_the_same_directory() {
    for (holder, below) in HOLDERS {
        let fixture = Fixture::new();
        fixture.works_in(&fixture.top.join("work/a/b"));
        fs::rename(fixture.top.join(holder), fixture.top.join("moved")).unwrap();
        fixture.works_in(&fixture.top.join("moved").join(below));
    }
}

#[test]
fn another_directory_at_the_roots_path_is_not_the_root() {
    for (holder, below) in HOLDERS {
        for is_link in [true, false] {
            let fixture = Fixture::new();
            fixture.works_in(&fixture.top.join("work/a/b"));
            let (path, moved) = (fixture.top.join(holder), fixture.top.join("moved"));
            fs::rename(&path, &moved).unwrap();
            match is_link {
                true => symlink(fixture.top.join("outside"), &path).unwrap(),
                false => fs::rename(fixture.top.join("outside"), &path).unwrap(),
            }
            if !is_link {
                fs::create_dir(fixture.top.join("outside")).unwrap();
            }
            fixture.works_in(&moved.join(below));
        }
    }
}

#[test]
fn a_link_below_a_directory_that_takes_the_path_is_not_followed() {
    let fixture = Fixture::new();
    fs::rename(fixture.top.join("work/a"), fixture.top.join("work/old")).unwrap();
    fs::create_dir(fixture.top.join("work/a")).unwrap();
    symlink(fixture.top.join("outside/b"), fixture.top.join("work/a/b")).unwrap();
    fixture.works_in(&fixture.top.join("work/old/b"));
}

#[test]
fn a_root_that_is_deleted_is_gone_whatever_has_its_name() {
    for (holder, _) in HOLDERS {
        let fixture = Fixture::new();
        fixture.works_in(&fixture.top.join("work/a/b"));
        fs::remove_dir_all(fixture.top.join(holder)).unwrap();
        fixture.is_gone();
        symlink(fixture.top.join("outside"), fixture.top.join(holder)).unwrap();
        fixture.is_gone();
        fs::remove_file(fixture.top.join(holder)).unwrap();
        fs::create_dir_all(fixture.top.join("work/a/b")).unwrap();
        fixture.is_gone();
        assert_eq!(fs::read_dir(fixture.top.join("work/a/b")).unwrap().count(), 0);
    }
}

#[test]
fn two_workspaces_one_in_the_other() {
    // Write access to a directory above a root does not redirect the root.
    let fixture = Fixture::new();
    let agent = Workspace::builder().root(fixture.top.join("work")).no_state_dir().build().unwrap();
    fs::create_dir(fixture.top.join("work/x")).unwrap();
    symlink(fixture.top.join("outside/b"), fixture.top.join("work/x/b")).unwrap();
    for (source, destination) in [("a", "old"), ("x", "a")] {
        let moved = agent.call("move", &json!({"source": source, "destination": destination}).to_string());
        assert!(moved.error.is_none(), "{:?}", moved.error);
    }
    fixture.works_in(&fixture.top.join("work/old/b"));
}

#[test]
fn the_state_directory_is_held_like_a_root() {
    for holder in ["state/ws", "state"] {
        for existed in [true, false] {
            let fixture = Fixture::new();
            if existed {
                fixture.works_in(&fixture.top.join("work/a/b"));
            } else {
                fs::create_dir_all(fixture.top.join(holder)).unwrap();
            }
            let outside = fixture.top.join("outside/state");
            fs::create_dir_all(outside.join("ws")).unwrap();
            if !existed {
                fs::remove_dir_all(fixture.top.join(holder)).unwrap();
            } else {
                fs::rename(fixture.top.join(holder), fixture.top.join("moved")).unwrap();
            }
            symlink(&outside, fixture.top.join(holder)).unwrap();
            fixture.work();
            assert_eq!(tree(&outside).len(), 1, "{holder} {existed}");
        }
    }
}

#[test]
fn a_state_directory_that_is_deleted_is_made_again() {
    let fixture = Fixture::new();
    fixture.works_in(&fixture.top.join("work/a/b"));
    fs::remove_dir_all(fixture.top.join("state/ws")).unwrap();
    let written = fixture.call("write_file", json!({"path": "file.txt", "content": "other\n"}));
    assert!(written.error.is_none(), "{:?}", written.error);
    assert!(fixture.call("restore", json!({"path": "file.txt"})).error.is_none());
    assert!(fixture.top.join("state/ws/history").is_dir());
}

#[test]
fn an_overlay_is_held_like_a_root() {
    let fixture = Fixture::new();
    let open = || {
        let builder = Workspace::builder().root(fixture.top.join("work/a/b")).state_dir(fixture.top.join("state/ws"));
        builder.overlay("draft").build().unwrap()
    };
    let write = |workspace: &Workspace, content: &str| {
        let written = workspace.call("write_file", &json!({"path": "file.txt", "content": content}).to_string());
        assert!(written.error.is_none(), "{:?}", written.error);
    };
    let overlay = open();
    write(&overlay, "in the overlay\n");
    let (overlays, moved) = (fixture.top.join("state/ws/overlays"), fixture.top.join("moved"));
    fs::rename(&overlays, &moved).unwrap();
    symlink(fixture.top.join("outside"), &overlays).unwrap();
    let before = tree(&fixture.top.join("outside"));
    write(&overlay, "still in the overlay\n");
    assert_eq!(tree(&fixture.top.join("outside")), before);
    let read = overlay.call("read_file", r#"{"path": "file.txt"}"#);
    assert!(read.text.contains("still in the overlay"), "{}", read.text);
    assert_eq!(fs::read_to_string(fixture.top.join("work/a/b/file.txt")).unwrap(), "inside\n");
}

#[test]
fn a_root_in_a_root_stays_where_it_is() {
    let fixture = Fixture::new();
    let top = fixture.top.join("work");
    fs::create_dir_all(top.join("sub/deep/inner")).unwrap();
    fs::write(top.join("sub/deep/inner/file.txt"), "inside\n").unwrap();
    let workspace = Workspace::builder()
        .root(&top)
        .mount(top.join("sub/deep/inner"), "/inner", Access::ReadWrite)
        .state_dir(fixture.top.join("state/nested"))
        .build()
        .unwrap();
    let call = |tool: &str, arguments: serde_json::Value| workspace.call(tool, &arguments.to_string());
    let patch = "*** Begin Patch\n*** Delete File: sub/deep/inner\n*** End Patch\n";
    for (tool, arguments) in [
        ("move", json!({"source": "sub/deep/inner", "destination": "x"})),
        ("move", json!({"source": "sub/deep", "destination": "x"})),
        ("move", json!({"source": "sub", "destination": "x"})),
        ("move", json!({"source": "/inner", "destination": "x"})),
        ("move", json!({"source": "a", "destination": "sub", "overwrite": true})),
        ("delete", json!({"path": "sub/deep/inner", "recursive": true})),
        ("delete", json!({"path": "sub/deep", "recursive": true})),
        ("delete", json!({"path": "sub", "recursive": true})),
        ("delete", json!({"path": "/inner", "recursive": true})),
        ("apply_patch", json!({"patch": patch})),
    ] {
        let error = call(tool, arguments.clone()).error.unwrap_or_else(|| panic!("{tool} {arguments}"));
        assert!(
            matches!(
                error.code,
                ErrorCode::Denied
                    | ErrorCode::NotAFile
                    | ErrorCode::InvalidArgument
                    | ErrorCode::InvalidPath
                    | ErrorCode::AlreadyExists
            ),
            "{tool} {arguments}: {error:?}"
        );
        let read = call("read_file", json!({"path": "/inner/file.txt"}));
        assert!(read.text.starts_with("1|inside\n"), "{tool} {arguments}: {:?}", read.error);
        assert!(top.join("sub/deep/inner/file.txt").exists(), "{tool} {arguments}");
    }
    // The entries of the inner root and their siblings can be changed by either path.
    assert!(call("delete", json!({"path": "sub/deep/inner/file.txt"})).error.is_none());
    assert!(call("write_file", json!({"path": "sub/deep/other.txt", "content": "x\n"})).error.is_none());
    assert!(call("move", json!({"source": "a", "destination": "sub/a"})).error.is_none());
}

#[test]
fn the_outer_root_s_agentignore_holds_in_an_inner_root() {
    let fixture = Fixture::new();
    let top = fixture.top.join("work");
    fs::create_dir_all(top.join("sub/inner")).unwrap();
    fs::write(top.join(".agentignore"), "*.key\n/sub/inner/private/\n").unwrap();
    fs::write(top.join("sub/.agentignore"), "inner/notes.txt\n").unwrap();
    fs::create_dir(top.join("sub/inner/private")).unwrap();
    for secret in ["a.key", "private/b.txt", "notes.txt"] {
        fs::write(top.join("sub/inner").join(secret), CANARY).unwrap();
    }
    fs::write(top.join("sub/inner/open.txt"), "inside\n").unwrap();
    let workspace = Workspace::builder()
        .root(top.join("sub/inner"))
        .mount(&top, "/outer", Access::ReadWrite)
        .state_dir(fixture.top.join("state/nested"))
        .build()
        .unwrap();
    let call = |tool: &str, arguments: serde_json::Value| {
        let outcome = workspace.call(tool, &arguments.to_string());
        assert!(!rendered(&outcome).contains(CANARY), "{tool} {arguments}: {}", rendered(&outcome));
        outcome
    };
    for secret in ["a.key", "private/b.txt", "notes.txt"] {
        for path in [secret.to_owned(), format!("/outer/sub/inner/{secret}"), format!("/workspace/{secret}")] {
            let error = call("read_file", json!({"path": path})).error.unwrap_or_else(|| panic!("{path}"));
            assert_eq!(error.code, ErrorCode::Denied, "{path}: {error:?}");
        }
    }
    for arguments in [json!({"pattern": "CANARY"}), json!({"pattern": "CANARY", "path": "/outer"})] {
        assert_eq!(call("grep", arguments).value()["matches"].as_array().map(Vec::len), Some(0));
    }
    let listed = call("list_dir", json!({"depth": 3, "include_hidden": true})).value();
    let paths: Vec<_> =
        listed["entries"].as_array().unwrap().iter().map(|entry| entry["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["open.txt"]);
    let options = CallOptions::dialect("mcp-filesystem");
    let outcome = workspace.call_with("directory_tree", r#"{"path": "."}"#, &options);
    assert!(!rendered(&outcome).contains("a.key"), "{}", rendered(&outcome));
}

#[test]
fn an_inner_root_that_was_moved_out_is_gone() {
    let fixture = Fixture::new();
    let top = fixture.top.join("work");
    fs::create_dir_all(top.join("inner")).unwrap();
    fs::write(top.join(".agentignore"), "*.key\n").unwrap();
    fs::write(top.join("inner/a.key"), CANARY).unwrap();
    let workspace = Workspace::builder()
        .root(&top)
        .mount(top.join("inner"), "/inner", Access::ReadWrite)
        .state_dir(fixture.top.join("state/nested"))
        .build()
        .unwrap();
    fs::rename(top.join("inner"), fixture.top.join("moved")).unwrap();
    let outcome = workspace.call("read_file", r#"{"path": "/inner/a.key"}"#);
    assert!(!rendered(&outcome).contains(CANARY), "{}", rendered(&outcome));
    assert_eq!(outcome.error.unwrap().code, ErrorCode::BackendGone);
}

#[test]
fn settings_that_name_a_directory_through_a_link_in_a_root_are_refused() {
    let fixture = Fixture::new();
    let root = fixture.top.join("work/a/b");
    let before = tree(&fixture.top.join("outside"));
    symlink(fixture.top.join("outside"), root.join("out")).unwrap();
    let out = root.join("out");
    let path = out.to_str().unwrap();
    let builder = || Workspace::builder().root(&root).state_dir(fixture.top.join("state/ws"));
    let policy = |settings: serde_json::Value| builder().policy_json(&settings.to_string()).unwrap().build();
    let enabled = |name: &str, value: serde_json::Value| json!({"commands": {"enabled": true, name: value}});
    let refused = [
        ("mount", builder().mount(&out, "/out", Access::ReadOnly).build()),
        ("state", builder().state_dir(out.join("state")).build()),
        ("audit", builder().audit(out.join("audit.jsonl")).build()),
        ("events", builder().event_file(out.join("events.jsonl")).build()),
        ("allowed_directories", policy(json!({"allowed_directories": [path]}))),
        ("commands.readable", policy(enabled("readable", json!([path])))),
        ("commands.path", policy(enabled("path", json!([path])))),
        (
            "commands.executables",
            policy(json!({"commands": {"enabled": true, "allow": ["ls"], "executables": [path]}})),
        ),
        ("commands.programs", policy(enabled("programs", json!({"tool": out.join("tool.wasm")})))),
    ];
    for (setting, opened) in refused {
        let error = error_text(opened.err().unwrap_or_else(|| panic!("{setting}")));
        assert!(error.contains("leads out of it"), "{setting}: {error}");
    }
    assert_eq!(tree(&fixture.top.join("outside")), before);
}

/// Returns the message of an error with its sources.
fn error_text(error: paddock::Error) -> String {
    format!("{:#}", anyhow::Error::from(error))
}

#[test]
fn an_audit_or_event_file_in_a_root_is_refused_and_nothing_is_made() {
    let fixture = Fixture::new();
    let root = fixture.top.join("work/a/b");
    for file in ["audit.jsonl", "sub/deep/audit.jsonl"] {
        let builder =
            || Workspace::builder().root(&root).policy(Policy::default()).state_dir(fixture.top.join("state/ws"));
        assert!(error_text(builder().audit(root.join(file)).build().err().unwrap()).contains("inside a root"));
        assert!(error_text(builder().event_file(root.join(file)).build().err().unwrap()).contains("inside a root"));
    }
    assert_eq!(tree(&root).len(), 1);
}

/// The path of the inner root hides that the destination is inside the source.
#[test]
fn a_directory_is_not_copied_into_itself_by_way_of_an_inner_root() {
    let fixture = Fixture::new();
    let top = fixture.top.join("work");
    fs::create_dir_all(top.join("sub/inner")).unwrap();
    fs::write(top.join("sub/inner/file.txt"), "inside\n").unwrap();
    let workspace = Workspace::builder()
        .root(&top)
        .mount(top.join("sub/inner"), "/inner", Access::ReadWrite)
        .state_dir(fixture.top.join("state/nested"))
        .build()
        .unwrap();
    let before = tree(&top);
    for (source, destination) in [
        ("sub", "/inner/copy"),
        ("sub/inner", "/inner/copy"),
        ("/inner", "sub/inner/copy"),
        ("sub/inner/file.txt", "/inner/file.txt"),
    ] {
        for tool in ["copy", "move"] {
            let arguments = json!({"source": source, "destination": destination, "recursive": true, "overwrite": true});
            let outcome = workspace.call(tool, &arguments.to_string());
            assert!(!outcome.ok, "{tool} {arguments}: {}", outcome.text);
            assert_eq!(tree(&top), before, "{tool} {arguments}");
        }
    }
    let outcome = workspace.call("copy", r#"{"source": "sub/inner", "destination": "copy", "recursive": true}"#);
    assert!(outcome.ok, "{}", outcome.text);
}

/// Rules also apply to names that are not valid UTF-8, and no approval can be requested for such names.
#[test]
fn a_directory_with_names_that_are_not_text_is_not_moved() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let fixture = Fixture::new();
    let root = fixture.top.join("work/a/b");
    fs::create_dir(root.join("d")).unwrap();
    fs::write(root.join(".agentignore"), "/d/*.key\n").unwrap();
    fs::write(root.join("d").join(OsStr::from_bytes(b"\xff.key")), "secret").unwrap();
    let refused = fixture.call("move", json!({"source": "d", "destination": "e"}));
    assert!(!refused.ok && root.join("d").exists(), "{}", refused.text);
}

#[test]
fn rules_in_utf_16_hold() {
    let fixture = Fixture::new();
    let root = fixture.top.join("work/a/b");
    fs::write(root.join("secret.env"), "secret").unwrap();
    for big in [false, true] {
        let bytes = "\u{feff}*.env\r\n".encode_utf16();
        let bytes = bytes.flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() });
        fs::write(root.join(".agentignore"), bytes.collect::<Vec<_>>()).unwrap();
        let refused = fixture.call("read_file", json!({"path": "secret.env"}));
        assert_eq!(refused.error.unwrap().code, ErrorCode::Denied, "{}", refused.text);
    }
}

/// The state directory is recognized by its identity, even if it was created after the workspace was opened.
#[test]
fn a_state_directory_that_was_moved_stays_closed() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().canonicalize().unwrap();
    let workspace = Workspace::builder().root(&root).state_dir(root.join("kept")).build().unwrap();
    let call = |tool: &str, arguments: serde_json::Value| workspace.call(tool, &arguments.to_string());
    assert!(call("write_file", json!({"path": "a.txt", "content": "a"})).ok);
    fs::rename(root.join("kept"), root.join("moved")).unwrap();
    for (tool, arguments) in [
        ("list_dir", json!({"path": "moved"})),
        ("write_file", json!({"path": "moved/history/x", "content": "x"})),
        ("delete", json!({"path": "moved", "recursive": true})),
        ("move", json!({"source": "moved", "destination": "again"})),
    ] {
        let refused = call(tool, arguments);
        assert!(!refused.ok, "{tool}: {}", refused.text);
    }
    assert!(root.join("moved/history").is_dir());
}

/// If the builder names a state directory, every change needs it.
#[test]
fn a_state_directory_that_cannot_be_made_ends_every_change() {
    let home = tempfile::tempdir().unwrap();
    let top = home.path().canonicalize().unwrap();
    fs::create_dir_all(top.join("work")).unwrap();
    fs::create_dir(top.join("full")).unwrap();
    let workspace = Workspace::builder().root(top.join("work")).state_dir(top.join("full/state")).build().unwrap();
    fs::remove_dir(top.join("full")).unwrap();
    let refused = workspace.call("write_file", r#"{"path": "a.txt", "content": "a"}"#);
    assert!(!refused.ok && !top.join("work/a.txt").exists(), "{}", refused.text);
    assert!(workspace.call("list_dir", "{}").ok);
}
