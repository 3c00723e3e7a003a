//! Overlays through the component: the base directories stay unchanged, whatever they contain and whatever a tool does.

#![cfg(target_os = "linux")]

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use paddock::types::ErrorCode;
use paddock::{Access, Builder, CallOptions, Error, Outcome, Workspace};
use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A base directory, with the state directory next to it.
struct Fixture {
    directory: TempDir,
}

impl Fixture {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        fs::create_dir_all(directory.path().join("base/dir/inner")).unwrap();
        let fixture = Self { directory };
        for (path, content) in [("a.txt", "one\n"), ("dir/b.txt", "two\n"), ("dir/inner/c.txt", "three\n")] {
            fs::write(fixture.base(path), content).unwrap();
        }
        fixture
    }

    fn base(&self, path: &str) -> PathBuf {
        self.directory.path().join("base").join(path)
    }

    fn of(&self, overlay: &str, path: &str) -> PathBuf {
        self.directory.path().join("state/overlays").join(overlay).join(path)
    }

    fn builder(&self) -> Builder {
        Workspace::builder().root(self.base("")).state_dir(self.directory.path().join("state"))
    }

    fn overlay(&self, name: &str) -> Workspace {
        self.builder().overlay(name).build().unwrap()
    }
}

fn call(workspace: &Workspace, tool: &str, arguments: Value) -> Outcome {
    workspace.call(tool, &arguments.to_string())
}

fn call_ok(workspace: &Workspace, tool: &str, arguments: Value) -> Value {
    let outcome = call(workspace, tool, arguments);
    assert!(outcome.ok, "{:?}", outcome.error);
    outcome.value()
}

fn content(workspace: &Workspace, path: &str) -> Option<String> {
    let outcome = call(workspace, "read_file", json!({"path": path, "mode": "raw"}));
    outcome.ok.then(|| outcome.value()["content"].as_str().unwrap().to_owned())
}

/// Returns all entries below a directory, with the data by which a change would be detected.
fn status(top: &Path) -> Vec<(PathBuf, u64, u32, i64, i64)> {
    let (mut status, mut ahead) = (Vec::new(), vec![top.to_owned()]);
    while let Some(path) = ahead.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        if metadata.is_dir() {
            ahead.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        status.push((path, metadata.ino(), metadata.mode(), metadata.ctime(), metadata.ctime_nsec()));
    }
    status.sort();
    status
}

#[test]
fn several_overlays_over_one_base_last_and_leave_it_alone() {
    let fixture = Fixture::new();
    let before = status(&fixture.base(""));
    let (one, two) = (fixture.overlay("one"), fixture.overlay("two"));
    call_ok(&one, "write_file", json!({"path": "a.txt", "content": "ONE\n"}));
    call_ok(&one, "move", json!({"source": "dir", "destination": "moved"}));
    call_ok(&two, "delete", json!({"path": "a.txt"}));
    call_ok(&two, "write_file", json!({"path": "dir/new.txt", "content": "new\n"}));
    drop((one, two));

    let (one, two, plain) = (fixture.overlay("one"), fixture.overlay("two"), fixture.builder().build().unwrap());
    assert_eq!(content(&one, "a.txt").as_deref(), Some("ONE\n"));
    assert_eq!(content(&one, "moved/inner/c.txt").as_deref(), Some("three\n"));
    assert_eq!(content(&one, "dir/b.txt"), None);
    assert_eq!(content(&two, "a.txt"), None);
    assert_eq!(content(&two, "dir/b.txt").as_deref(), Some("two\n"));
    assert_eq!(call_ok(&two, "glob", json!({"pattern": "**"}))["paths"].as_array().unwrap().len(), 3);
    assert_eq!(content(&plain, "a.txt").as_deref(), Some("one\n"));
    assert_eq!(status(&fixture.base("")), before);
}

#[test]
fn changes_in_an_overlay_can_be_undone_in_it() {
    let fixture = Fixture::new();
    let (overlay, plain) = (fixture.overlay("one"), fixture.builder().build().unwrap());
    call_ok(&overlay, "delete", json!({"path": "dir", "recursive": true}));
    assert_eq!(content(&overlay, "dir/b.txt"), None);
    assert!(!call(&plain, "restore", json!({"path": "dir"})).ok, "it has a history of its own");
    call_ok(&overlay, "restore", json!({"path": "dir"}));
    assert_eq!(content(&overlay, "dir/inner/c.txt").as_deref(), Some("three\n"));
}

#[test]
fn a_file_stays_executable_through_every_change() {
    let fixture = Fixture::new();
    let script = fixture.base("dir/run.sh");
    fs::write(&script, "#!/bin/sh\necho one\n").unwrap();
    fs::set_permissions(&script, Permissions::from_mode(0o4751)).unwrap();
    let before = status(&fixture.base(""));
    let overlay = fixture.overlay("one");
    let mode =
        |path: &str| fs::metadata(fixture.of("one", "layers-0/upper/workspace").join(path)).unwrap().mode() & 0o7777;
    let edit = json!({"path": "dir/run.sh", "edits": [{"old_text": "one", "new_text": "1"}]});
    call_ok(&overlay, "edit_file", edit);
    assert_eq!(mode("dir/run.sh"), 0o751, "all but the set-ID bit, as in a directory");

    let overlay = fixture.overlay("two");
    let mode =
        |path: &str| fs::metadata(fixture.of("two", "layers-0/upper/workspace").join(path)).unwrap().mode() & 0o7777;
    call_ok(&overlay, "copy", json!({"source": "dir/run.sh", "destination": "copied.sh"}));
    assert_eq!(mode("copied.sh"), 0o751);
    call_ok(&overlay, "move", json!({"source": "dir/run.sh", "destination": "moved.sh"}));
    assert_eq!(mode("moved.sh"), 0o751);

    let overlay = fixture.overlay("three");
    let mode =
        |path: &str| fs::metadata(fixture.of("three", "layers-0/upper/workspace").join(path)).unwrap().mode() & 0o7777;
    call_ok(&overlay, "move", json!({"source": "dir", "destination": "far"}));
    assert_eq!(mode("far/run.sh"), 0o751);
    assert_eq!(mode("far/b.txt"), fs::metadata(fixture.base("a.txt")).unwrap().mode() & 0o7777);
    call_ok(&overlay, "copy", json!({"source": "far/b.txt", "destination": "a.txt", "overwrite": true}));
    assert_eq!(status(&fixture.base("")), before);
}

#[test]
fn a_hostile_base_leads_nowhere_and_hangs_nothing() {
    let fixture = Fixture::new();
    fs::write(fixture.directory.path().join("secret"), "SECRET\n").unwrap();
    symlink(fixture.directory.path().join("secret"), fixture.base("out")).unwrap();
    symlink("../secret", fixture.base("up")).unwrap();
    symlink(fixture.directory.path(), fixture.base("dir/away")).unwrap();
    mkfifoat(CWD, fixture.base("pipe"), Mode::from_raw_mode(0o644)).unwrap();
    let before = status(&fixture.base(""));
    let overlay = fixture.overlay("one");
    let options = CallOptions::default().with_time(Duration::from_secs(5));
    for path in ["out", "up", "dir/away/secret", "pipe"] {
        for (tool, arguments) in [
            ("read_file", json!({"path": path})),
            ("write_file", json!({"path": path, "content": "x"})),
            ("edit_file", json!({"path": path, "edits": [{"old_text": "SECRET", "new_text": "x"}]})),
            ("write_file", json!({"path": format!("{path}/x"), "content": "x"})),
        ] {
            let outcome = overlay.call_with(tool, &arguments.to_string(), &options);
            let code = outcome.error.map(|error| error.code);
            let expected = [ErrorCode::OutsideWorkspace, ErrorCode::NotAFile, ErrorCode::NotADirectory];
            assert!(code.is_some_and(|code| expected.contains(&code)), "{tool} {path}: {code:?}");
        }
    }
    for path in ["out", "up", "pipe"] {
        call_ok(&overlay, "delete", json!({"path": path}));
    }
    call_ok(&overlay, "delete", json!({"path": "dir", "recursive": true}));
    assert_eq!(call_ok(&overlay, "glob", json!({"pattern": "**"}))["paths"], json!(["a.txt"]));
    assert_eq!(status(&fixture.base("")), before);
    assert_eq!(fs::read_to_string(fixture.directory.path().join("secret")).unwrap(), "SECRET\n");
}

#[test]
fn a_name_of_the_base_that_turns_into_something_else_does_no_harm() {
    let fixture = Fixture::new();
    let overlay = fixture.overlay("one");
    call_ok(&overlay, "write_file", json!({"path": "dir/inner/c.txt", "content": "THREE\n"}));
    fs::remove_dir_all(fixture.base("dir")).unwrap();
    symlink("/etc", fixture.base("dir")).unwrap();
    fs::remove_file(fixture.base("a.txt")).unwrap();
    fs::create_dir(fixture.base("a.txt")).unwrap();
    assert_eq!(content(&overlay, "dir/inner/c.txt").as_deref(), Some("THREE\n"));
    assert_eq!(content(&overlay, "dir/hostname"), None);
    call_ok(&overlay, "write_file", json!({"path": "dir/hostname", "content": "mine\n"}));
    assert_eq!(content(&overlay, "dir/hostname").as_deref(), Some("mine\n"));
    call_ok(&overlay, "write_file", json!({"path": "a.txt/in", "content": "x"}));
}

#[test]
fn links_in_place_of_the_layers_are_not_followed() {
    let fixture = Fixture::new();
    let overlay = fixture.overlay("one");
    call_ok(&overlay, "write_file", json!({"path": "a.txt", "content": "ONE\n"}));
    let elsewhere = fixture.directory.path().join("elsewhere");
    fs::create_dir_all(elsewhere.join("workspace")).unwrap();
    for layer in ["layers-0", "layers-0/upper", "layers-0/gone"] {
        let path = fixture.of("one", layer);
        fs::rename(&path, fixture.of("one", "kept")).unwrap();
        symlink(&elsewhere, &path).unwrap();
        let outcome = call(&overlay, "write_file", json!({"path": "new.txt", "content": "x"}));
        let error = outcome.error.unwrap();
        assert_eq!(error.code, ErrorCode::Io, "{error:?}");
        assert!(error.message.contains("the overlay"), "{error:?}");
        fs::remove_file(&path).unwrap();
        fs::rename(fixture.of("one", "kept"), &path).unwrap();
    }
    assert_eq!(fs::read_dir(elsewhere.join("workspace")).unwrap().count(), 0);
    assert_eq!(content(&overlay, "a.txt").as_deref(), Some("ONE\n"));
}

#[test]
fn read_only_roots_stay_so_and_others_are_overlaid_too() {
    let fixture = Fixture::new();
    let (lib, fixed) = (fixture.directory.path().join("lib"), fixture.directory.path().join("fixed"));
    for root in [&lib, &fixed] {
        fs::create_dir(root).unwrap();
        fs::write(root.join("x.txt"), "x\n").unwrap();
    }
    let roots =
        |builder: Builder| builder.mount(&lib, "/lib", Access::ReadWrite).mount(&fixed, "/fixed", Access::ReadOnly);
    let overlay = roots(fixture.builder()).overlay("one").build().unwrap();
    call_ok(&overlay, "write_file", json!({"path": "/lib/x.txt", "content": "y\n"}));
    assert_eq!(content(&overlay, "/lib/x.txt").as_deref(), Some("y\n"));
    assert_eq!(fs::read_to_string(lib.join("x.txt")).unwrap(), "x\n");
    let refused = call(&overlay, "write_file", json!({"path": "/fixed/x.txt", "content": "y\n"}));
    assert_eq!(refused.error.unwrap().code, ErrorCode::ReadOnly);

    // Another directory is at the path of a directory that the overlay changed.
    let other = fixture.builder().mount(&fixed, "/lib", Access::ReadWrite).overlay("one").build();
    assert!(matches!(other.err(), Some(Error::Overlay { .. })));
    roots(fixture.builder()).overlay("one").build().unwrap();
}

#[test]
fn a_name_is_checked_and_has_to_be_kept_somewhere() {
    let fixture = Fixture::new();
    for name in ["", ".", "..", "../x", ".hidden", "a/b", "a b", &"x".repeat(65)] {
        let built = fixture.builder().overlay(name).build();
        assert!(matches!(built.err(), Some(Error::Overlay { .. })), "{name}");
    }
    let built = fixture.builder().no_state_dir().overlay("one").build();
    assert!(matches!(built.err(), Some(Error::Overlay { .. })));
}

#[test]
fn an_overlay_that_cannot_be_kept_is_an_error_and_changes_nothing() {
    let fixture = Fixture::new();
    let before = status(&fixture.base(""));
    let overlay = fixture.overlay("one");
    fs::create_dir_all(fixture.directory.path().join("state")).unwrap();
    fs::write(fixture.directory.path().join("state/overlays"), "in the way").unwrap();
    let outcome = call(&overlay, "write_file", json!({"path": "a.txt", "content": "ONE\n"}));
    assert_eq!(outcome.error.unwrap().code, ErrorCode::Io);
    assert_eq!(content(&overlay, "a.txt").as_deref(), Some("one\n"));
    assert_eq!(status(&fixture.base("")), before);
}

#[test]
fn overlays_do_not_wait_for_each_other() {
    let fixture = Fixture::new();
    let (one, two) = (fixture.overlay("one"), fixture.overlay("two"));
    call_ok(&one, "write_file", json!({"path": "a.txt", "content": "ONE\n"}));
    let lock = fs::File::options().write(true).open(fixture.of("one", "state/lock")).unwrap();
    lock.lock().unwrap();
    let options = CallOptions::default().with_time(Duration::from_millis(200));
    let write =
        |workspace: &Workspace| workspace.call_with("write_file", r#"{"path": "a.txt", "content": "x"}"#, &options);
    assert_eq!(write(&one).error.unwrap().code, ErrorCode::LimitExceeded);
    call_ok(&two, "write_file", json!({"path": "a.txt", "content": "TWO\n"}));
    assert_eq!(content(&one, "a.txt").as_deref(), Some("ONE\n"), "who reads does not wait");
}
