//! Calls on a file system like those of Windows: it ignores letter case, has short names, takes only literal names,
//! refuses files that another program has open, and cannot sync directories. Each danger of such a system has a row.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use folding_fs::Folding;
use paddock_guest::engine;
use paddock_types::entry::Time;
use paddock_types::error::Code;
use paddock_types::outcome::Outcome;
use paddock_types::policy::Policy;
use paddock_vfs::memory::MemoryFs;
use paddock_vfs::{Fault, Filesystem, FsResult, Open};
use serde_json::{Value, json};
use tree::tree_of;

mod folding_fs;
mod tree;

const POLICY: &str = r#"{
    "roots": [{"guest": "/workspace", "host": "/C:/Users/me/ws"}],
    "host": {"names": "windows"}
}"#;

/// Fails for a name that the host would not pass to Windows, and for the file that another program has open.
fn check(name: &str) -> FsResult<()> {
    let stem = name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let is_device = ["con", "nul", "aux", "prn", "com1", "lpt9", "conin$"].contains(&stem.as_str());
    match name {
        _ if is_device || name.ends_with(['.', ' ']) || name.contains([':', '<', '>', '"', '|', '?', '*', '\\']) => {
            Err(Fault::Name)
        }
        _ if name.eq_ignore_ascii_case("busy.txt") => Err(Fault::Busy),
        _ => Ok(()),
    }
}

/// Returns a workspace with a hidden file, and with a junction to a directory outside of it.
fn fresh() -> MemoryFs {
    let fs = MemoryFs::new(&["/workspace", "/paddock-state"], || Time { seconds: 1_700_000_000, nanoseconds: 0 }, 3);
    let top = fs.preopens().remove(0).dir;
    fs.make_dir(&top, ".git").unwrap();
    fs.make_dir(&top, "src").unwrap();
    fs.symlink(&top, "junction", "/C:/Users/me/elsewhere").unwrap();
    fs.symlink(&top, "inside", "/C:/users/ME/ws/src").unwrap();
    let (git, src) = (fs.open_dir(&top, ".git").unwrap(), fs.open_dir(&top, "src").unwrap());
    for (dir, name, text) in [
        (&top, ".agentignore", "secret-long-name.yaml\r\n"),
        (&top, "secret-long-name.yaml", "SECRET\n"),
        (&top, "a.txt", "one\r\ntwo\r\n"),
        (&top, "busy.txt", "one\n"),
        (&git, "config", "[core]\n"),
        (&src, "b.txt", "b\n"),
    ] {
        fs.write(&fs.open_file(dir, name, Open::CreateNew).unwrap(), 0, text.as_bytes()).unwrap();
    }
    fs
}

fn call(fs: &MemoryFs, tool: &str, arguments: &Value) -> Outcome {
    let policy = Policy::parse(POLICY, "paddock").unwrap();
    engine::call(&Folding::with(fs, check), &policy, "paddock", tool, &arguments.to_string())
}

/// Calls of each tool that takes a path, on `path`.
fn calls(path: &str) -> [(&'static str, Value); 9] {
    [
        ("read_file", json!({"path": path})),
        ("stat", json!({"path": path})),
        ("write_file", json!({"path": path, "content": "x"})),
        ("edit_file", json!({"path": path, "edits": [{"old_text": "o", "new_text": "x"}]})),
        ("make_dir", json!({"path": path})),
        ("copy", json!({"source": "a.txt", "destination": path, "overwrite": true})),
        ("move", json!({"source": "a.txt", "destination": path, "overwrite": true})),
        ("delete", json!({"path": path})),
        ("apply_patch", json!({"patch": format!("*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch\n")})),
    ]
}

/// Makes every call on each path, which must fail with this code, and leave all files as they were.
#[track_caller]
fn all_fail(paths: &[&str], expected: Code) {
    let fs = fresh();
    let before = tree_of(&fs);
    for path in paths {
        // The header of a patch ends before spaces at the end of its line.
        let differs = |tool| tool == "apply_patch" && path.ends_with(' ');
        for (tool, arguments) in calls(path).into_iter().filter(|(tool, _)| !differs(*tool)) {
            let outcome = call(&fs, tool, &arguments);
            assert!(!outcome.text.contains("SECRET\n"), "{tool} {path}: {}", outcome.text);
            assert_eq!(outcome.error.map(|error| error.code), Some(expected), "{tool} {path}: {}", outcome.text);
        }
    }
    assert!(tree_of(&fs) == before, "{paths:?}");
}

#[test]
fn devices_streams_and_trailing_dots_and_spaces_are_no_names() {
    all_fail(&["CON", "nul.txt", r"src\COM1", "LPT9.log", "CONIN$", "aux"], Code::InvalidPath);
    all_fail(&["a.txt:stream", "a.txt::$DATA", r"src:x\b.txt", ".git::$INDEX_ALLOCATION/config"], Code::InvalidPath);
    all_fail(&["a.txt.", "a.txt ", "a.txt. .", "src./b.txt", r"src \b.txt", ".git./config"], Code::InvalidPath);
}

#[test]
fn a_path_relative_to_a_drive_is_no_name() {
    all_fail(&["C:a.txt", "c:src/b.txt", r"D:..\a.txt", "C:"], Code::InvalidPath);
}

#[test]
fn absolute_paths_and_those_of_shares_and_devices_are_outside() {
    all_fail(
        &[
            r"..\a.txt",
            r"src\..\..\a.txt",
            r"C:\Users\me\other\a.txt",
            r"C:\Users\me\ws-evil\a.txt",
            r"D:\Users\me\ws\a.txt",
            r"\Users\me\ws\a.txt",
            r"\\server\share\a.txt",
            r"\\localhost\C$\Users\me\ws\a.txt",
            r"\\?\C:\Users\me\ws\a.txt",
            r"\\?\UNC\server\share\a.txt",
            r"\\.\PhysicalDrive0",
            r"\??\C:\Users\me\ws\a.txt",
        ],
        Code::OutsideWorkspace,
    );
}

#[test]
fn a_junction_that_leads_out_leads_nowhere() {
    all_fail(&["junction/s.txt", r"junction\s.txt", r"JUNCTION\deep\s.txt"], Code::OutsideWorkspace);
    let read = call(&fresh(), "read_file", &json!({"path": r"inside\b.txt"}));
    assert_eq!(read.error, None, "a link to a directory of the root is followed: {}", read.text);
}

#[test]
fn a_hidden_file_is_hidden_by_all_of_its_names() {
    all_fail(&["secret-long-name.yaml", "SECRET-LONG-NAME.YAML", r".\Secret-Long-Name.yaml"], Code::Denied);
    all_fail(&["SECRET~1", "secret~1"], Code::InvalidPath);
}

#[test]
fn a_protected_file_is_protected_by_all_of_its_names() {
    let fs = fresh();
    let before = tree_of(&fs);
    for path in [".git/config", r".GIT\config", r".Git\Config", "GIT~1/config", r"git~1\config", ".AGENTIGNORE"] {
        for (tool, arguments) in calls(path).into_iter().skip(2) {
            let outcome = call(&fs, tool, &arguments);
            assert!(outcome.error.is_some(), "{tool} {arguments}: {}", outcome.text);
        }
    }
    assert!(tree_of(&fs) == before);
}

#[test]
fn a_file_that_is_open_elsewhere_is_a_clear_error_and_nothing_changes() {
    let fs = fresh();
    let before = tree_of(&fs);
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** Update File: busy.txt\n@@\n-one\n+1\n*** End Patch\n";
    let edit = json!({"path": "busy.txt", "edits": [{"old_text": "one", "new_text": "1"}]});
    for (tool, arguments) in [
        ("read_file", json!({"path": "busy.txt"})),
        ("write_file", json!({"path": "busy.txt", "content": "x"})),
        ("edit_file", edit),
        ("move", json!({"source": "a.txt", "destination": "busy.txt", "overwrite": true})),
        ("delete", json!({"path": "busy.txt"})),
        ("apply_patch", json!({"patch": patch})),
    ] {
        let outcome = call(&fs, tool, &arguments);
        assert!(outcome.text.contains("it is in use by another program"), "{tool}: {}", outcome.text);
        assert_eq!(outcome.error.map(|error| error.code), Some(Code::Io), "{tool}");
        assert!(tree_of(&fs) == before, "{tool}");
    }
}

#[test]
fn a_checkout_with_crlf_keeps_it_and_its_rules_apply() {
    let fs = fresh();
    let edit = json!({"path": "a.txt", "edits": [{"old_text": "one\ntwo", "new_text": "1\n2\n3"}]});
    assert_eq!(call(&fs, "edit_file", &edit).error, None);
    let patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n";
    assert_eq!(call(&fs, "apply_patch", &json!({"patch": patch})).error, None);
    assert_eq!(tree_of(&fs).get("a.txt").unwrap().1, b"1\r\ntwo\r\n3\r\n");
}
