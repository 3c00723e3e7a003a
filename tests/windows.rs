//! Tests of the differences on Windows: names, paths, open files and locks. `.ci/platforms windows` runs these tests
//! under Wine; what Wine cannot do is skipped with a message.

use std::fs::{self, File};
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use paddock::{Outcome, Workspace};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Content that no tool may return.
const CANARY: &str = "canary-5b1c";

struct Fixture {
    home: TempDir,
    workspace: Workspace,
}

impl Fixture {
    /// Creates a workspace with a few files, next to a file that no tool may read or change.
    fn new() -> Self {
        Self::under(json!({}))
    }

    fn under(policy: Value) -> Self {
        let home = TempDir::new().unwrap();
        let root = home.path().join("ws");
        fs::create_dir_all(root.join(".git/hooks")).unwrap();
        fs::create_dir_all(root.join("src")).unwrap();
        for (path, text) in [
            (".git/config", "[core]\n"),
            ("a.txt", "one\r\ntwo\r\n"),
            ("src/b.txt", "b\n"),
            (".agentignore", "secret-long-name.yaml\n"),
            ("secret-long-name.yaml", CANARY),
            ("../outside.txt", CANARY),
        ] {
            fs::write(root.join(path), text).unwrap();
        }
        let builder = Workspace::builder().root(&root).state_dir(home.path().join("state"));
        let workspace = builder.policy_json(&policy.to_string()).unwrap().build().unwrap();
        Self { home, workspace }
    }

    fn root(&self) -> PathBuf {
        self.home.path().join("ws")
    }

    fn call(&self, tool: &str, arguments: Value) -> Outcome {
        self.workspace.call(tool, &arguments.to_string())
    }

    #[track_caller]
    fn ok(&self, tool: &str, arguments: Value) -> Value {
        let outcome = self.call(tool, arguments);
        assert!(outcome.ok, "{}", outcome.text);
        outcome.value()
    }

    /// Makes a call that must fail with this code, and returns its message.
    #[track_caller]
    fn fails(&self, tool: &str, arguments: Value, code: &str) -> String {
        let outcome = self.call(tool, arguments.clone());
        let value = outcome.value();
        assert_eq!(value["code"], code, "{tool} {arguments}: {}", outcome.text);
        assert!(!outcome.text.contains(CANARY), "{tool} {arguments}: {}", outcome.text);
        value["message"].as_str().unwrap().to_owned()
    }

    /// Returns all files below the directory that holds the workspace, with their contents.
    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        below(self.home.path(), &mut files);
        files.retain(|(path, _)| !path.starts_with(self.home.path().join("state")));
        files.sort();
        files
    }
}

fn below(directory: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => below(&entry.path(), files),
            false => files.push((entry.path(), fs::read(entry.path()).unwrap_or_default())),
        }
    }
}

/// Calls of each tool that takes a path, on `path`.
fn calls(path: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("read_file", json!({"path": path})),
        ("stat", json!({"path": path})),
        ("write_file", json!({"path": path, "content": "x"})),
        ("edit_file", json!({"path": path, "edits": [{"old_text": "core", "new_text": "x"}]})),
        ("make_dir", json!({"path": path})),
        ("copy", json!({"source": "a.txt", "destination": path, "overwrite": true})),
        ("move", json!({"source": "a.txt", "destination": path, "overwrite": true})),
        ("delete", json!({"path": path})),
        ("apply_patch", json!({"patch": format!("*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch\n")})),
    ]
}

#[test]
fn names_that_windows_does_not_take_literally_are_refused() {
    let fixture = Fixture::new();
    let before = fixture.files();
    for name in [
        "CON",
        "con.txt",
        "nul.txt",
        "COM1",
        "COM¹",
        "LPT9.log",
        "CONIN$",
        "aux",
        "a.txt.",
        "a.txt ",
        "a.txt. .",
        "a.txt:s",
        "a.txt::$DATA",
        "C:a.txt",
        "src/NUL",
        "src:x/b.txt",
        "a<b",
        "a|b",
        "a?b",
        "a*b",
        "a\"b",
        "src./b.txt",
        "src /b.txt",
    ] {
        // The header of a patch ends before spaces at the end of its line.
        let differs = |tool| tool == "apply_patch" && name.ends_with(' ');
        for (tool, arguments) in calls(name).into_iter().filter(|(tool, _)| !differs(*tool)) {
            let message = fixture.fails(tool, arguments, "invalid-path");
            assert!(message.contains("the file system takes no such name"), "{tool} {name}: {message}");
        }
    }
    assert_eq!(fixture.files(), before);
}

#[test]
fn paths_may_be_written_as_windows_writes_them() {
    let fixture = Fixture::new();
    let root = fixture.root().canonicalize().unwrap().to_str().unwrap().to_owned();
    let root = root.strip_prefix(r"\\?\").unwrap_or(&root);
    assert!(root.as_bytes().get(1) == Some(&b':'), "{root}");
    for path in [
        r"src\b.txt".to_owned(),
        r".\src\..\src\b.txt".to_owned(),
        format!(r"{root}\src\b.txt"),
        format!("{}/src/b.txt", root.replace('\\', "/")),
        format!(r"{}\src\b.txt", root.to_lowercase()),
        format!(r"{}\SRC\B.TXT", root.to_uppercase()),
    ] {
        assert_eq!(fixture.ok("read_file", json!({"path": path}))["content"], "b", "{path}");
    }
    fixture.ok("write_file", json!({"path": r"new\deep\c.txt", "content": "c\n"}));
    assert_eq!(fs::read(fixture.root().join("new/deep/c.txt")).unwrap(), b"c\n");
    let result = fixture.ok("grep", json!({"pattern": "^c", "path": r"new\deep"}));
    assert_eq!(result["matches"][0]["path"], "new/deep/c.txt", "results have `/`: {result}");
}

#[test]
fn no_path_of_windows_leads_out() {
    let fixture = Fixture::new();
    let before = fixture.files();
    let outside = fixture.home.path().join("outside.txt");
    let outside = outside.to_str().unwrap();
    let drive = outside.get(..2).unwrap();
    for path in [
        r"..\outside.txt".to_owned(),
        r"src\..\..\outside.txt".to_owned(),
        outside.to_owned(),
        format!(r"\\?\{outside}"),
        format!(r"\\?\{}", fixture.root().join("a.txt").display()),
        format!(r"\\.\{outside}"),
        format!(r"\\localhost\{}$\outside.txt", drive.trim_end_matches(':')),
        format!(r"\\?\UNC\localhost\{}$\outside.txt", drive.trim_end_matches(':')),
        r"\outside.txt".to_owned(),
        r"\\.\PhysicalDrive0".to_owned(),
        r"\\.\pipe\paddock".to_owned(),
        r"\\?\GLOBALROOT\??\C:\Windows\win.ini".to_owned(),
        r"C:\Windows\win.ini".to_owned(),
    ] {
        for (tool, arguments) in calls(&path) {
            fixture.fails(tool, arguments, "outside-workspace");
        }
    }
    assert_eq!(fixture.files(), before);
}

/// Returns the short name that Windows gives to an entry, if there is one.
fn short_name(directory: &Path, name: &str) -> Option<String> {
    let listed = Command::new("cmd").args(["/d", "/c", "dir", "/x", "/a"]).current_dir(directory).output().unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let line = listed.lines().find(|line| line.trim_end().ends_with(&format!(" {name}")))?;
    let short = line.trim_end().strip_suffix(name)?.split_whitespace().next_back()?.to_owned();
    if short.contains('~') { Some(short) } else { None }
}

#[test]
fn protected_and_hidden_files_have_no_second_name() {
    let fixture = Fixture::new();
    let before = fixture.files();
    for path in [".git/config", ".GIT/config", r".Git\Config", "GIT~1/config", ".AgentIgnore", ".git/hooks/pre-commit"]
    {
        for (tool, arguments) in calls(path).into_iter().filter(|(tool, _)| !matches!(*tool, "read_file" | "stat")) {
            let outcome = fixture.call(tool, arguments);
            assert!(!outcome.ok, "{tool} {path}: {}", outcome.text);
        }
    }
    for path in ["secret-long-name.yaml", "SECRET-LONG-NAME.YAML", r".\Secret-Long-Name.yaml"] {
        for (tool, arguments) in calls(path) {
            fixture.fails(tool, arguments, "denied");
        }
    }
    for path in [
        ".git::$INDEX_ALLOCATION/config",
        ".git./config",
        ".git /config",
        "secret-long-name.yaml.",
        "secret-long-name.yaml::$DATA",
        "secret-long-name.yaml:s",
    ] {
        for (tool, arguments) in calls(path) {
            let outcome = fixture.call(tool, arguments);
            assert!(!outcome.ok && !outcome.text.contains(CANARY), "{tool} {path}: {}", outcome.text);
        }
    }
    match short_name(&fixture.root(), "secret-long-name.yaml") {
        None => eprintln!("skipped: the file system gives no short names"),
        Some(short) => {
            assert_eq!(fs::read(fixture.root().join(&short)).unwrap(), CANARY.as_bytes(), "it is a name of the file");
            for path in [short.clone(), short.to_lowercase()] {
                for (tool, arguments) in calls(&path) {
                    fixture.fails(tool, arguments, "invalid-path");
                }
            }
        }
    }
    assert_eq!(fixture.files(), before);
    // A regular file may have a name of this form.
    fixture.ok("write_file", json!({"path": "a~1.txt", "content": "x"}));
    fixture.ok("write_file", json!({"path": "A~1.TXT", "content": "y"}));
    assert_eq!(fs::read(fixture.root().join("a~1.txt")).unwrap(), b"y");
}

#[test]
fn a_file_that_is_open_elsewhere_is_an_error_and_stays() {
    let fixture = Fixture::new();
    let before = fixture.files();
    for (shared, tools) in [(0, &["read_file", "edit_file", "write_file", "move", "delete", "apply_patch"][..])] {
        let held = File::options().read(true).share_mode(shared).open(fixture.root().join("src/b.txt")).unwrap();
        for tool in tools {
            let arguments = match *tool {
                "read_file" | "delete" => json!({"path": "src/b.txt"}),
                "edit_file" => json!({"path": "src/b.txt", "edits": [{"old_text": "b", "new_text": "c"}]}),
                "write_file" => json!({"path": "src/b.txt", "content": "c"}),
                "move" => json!({"source": "src/b.txt", "destination": "c.txt"}),
                _ => {
                    json!({"patch": "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** Update File: src/b.txt\n@@\n-b\n+c\n*** End Patch\n"})
                }
            };
            let message = fixture.fails(tool, arguments, "io");
            assert!(message.contains("it is in use by another program"), "{tool}: {message}");
        }
        drop(held);
        assert_eq!(fixture.files(), before);
    }
    fixture.ok("edit_file", json!({"path": "src/b.txt", "edits": [{"old_text": "b", "new_text": "c"}]}));
    assert_eq!(fs::read(fixture.root().join("src/b.txt")).unwrap(), b"c\n");
}

#[test]
fn a_checkout_with_crlf_keeps_it() {
    let fixture = Fixture::new();
    fixture.ok("edit_file", json!({"path": "a.txt", "edits": [{"old_text": "one\ntwo", "new_text": "1\n2\n3"}]}));
    assert_eq!(fs::read(fixture.root().join("a.txt")).unwrap(), b"1\r\n2\r\n3\r\n");
    let patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n";
    fixture.ok("apply_patch", json!({"patch": patch}));
    assert_eq!(fs::read(fixture.root().join("a.txt")).unwrap(), b"1\r\ntwo\r\n3\r\n");
    fs::write(fixture.root().join(".agentignore"), "src\r\n").unwrap();
    fixture.fails("read_file", json!({"path": "src/b.txt"}), "denied");
}

#[test]
fn names_that_differ_in_case_are_one_file() {
    let fixture = Fixture::new();
    fixture.fails("write_file", json!({"path": "A.TXT", "content": "x", "create_only": true}), "already-exists");
    fixture.fails("copy", json!({"source": "a.txt", "destination": "A.TXT"}), "already-exists");
    let _ = fixture.call("copy", json!({"source": "a.txt", "destination": "A.TXT", "overwrite": true}));
    assert_eq!(fs::read(fixture.root().join("a.txt")).unwrap(), b"one\r\ntwo\r\n", "nothing is lost");
    let _ = fixture.call("move", json!({"source": "a.txt", "destination": "A.TXT"}));
    let _ = fixture.call("move", json!({"source": "a.txt", "destination": "A.TXT", "overwrite": true}));
    assert_eq!(fs::read(fixture.root().join("a.txt")).unwrap(), b"one\r\ntwo\r\n", "nothing is lost");
}

#[test]
fn paths_longer_than_260_characters_work() {
    let fixture = Fixture::new();
    let deep = ["a-directory-with-a-rather-long-name-0123456789"; 8].join("/");
    let file = format!("{deep}/file.txt");
    assert!(file.len() > 300);
    fs::create_dir_all(fixture.root().join(&deep)).unwrap();
    if fixture.root().join(&deep).canonicalize().is_err() {
        return eprintln!("skipped: this system does not tell the long path of an open directory, as Wine 8");
    }
    fixture.ok("write_file", json!({"path": file, "content": "x\n"}));
    fixture.ok("edit_file", json!({"path": file, "edits": [{"old_text": "x", "new_text": "y"}]}));
    assert_eq!(fixture.ok("read_file", json!({"path": file}))["content"], "y");
    assert_eq!(fixture.ok("grep", json!({"pattern": "^y$"}))["matches"][0]["path"], file.as_str());
    fixture.ok("move", json!({"source": file, "destination": format!("{deep}/other.txt")}));
    fixture.ok("delete", json!({"path": deep.split('/').next().unwrap(), "recursive": true}));
    assert!(!fixture.root().join(deep.split('/').next().unwrap()).exists());
}

/// Returns a command of the program on the workspace. The tests of the library show that it is the same workspace.
fn program(fixture: &Fixture, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_paddock"));
    command.args(arguments).current_dir(fixture.root());
    for name in ["PADDOCK_STATE_DIR", "PADDOCK_POLICY", "XDG_STATE_HOME", "XDG_CONFIG_HOME"] {
        command.env_remove(name);
    }
    command.env("LOCALAPPDATA", fixture.home.path().join("local")).env("APPDATA", fixture.home.path().join("roaming"));
    command
}

#[test]
fn processes_change_a_file_one_after_the_other() {
    const EACH: usize = 3;
    let fixture = Fixture::new();
    let change = |process: usize| {
        for number in 0..EACH {
            let line = json!({"path": "log.txt", "content": format!("{process} {number}\n"), "append": true});
            let ran = program(&fixture, &["call", "write_file", &line.to_string()]).output().unwrap();
            assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
        }
    };
    thread::scope(|scope| (0..4).for_each(|process| drop(scope.spawn(move || change(process)))));
    let log = fs::read_to_string(fixture.root().join("log.txt")).unwrap();
    let mut lines: Vec<_> = log.lines().collect();
    lines.sort_unstable();
    let expected: Vec<_> =
        (0..4).flat_map(|process| (0..EACH).map(move |number| format!("{process} {number}"))).collect();
    assert_eq!(lines, expected);
}

#[test]
fn the_state_the_cache_and_the_policy_are_in_the_user_s_directories() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.home.path().join("roaming/paddock")).unwrap();
    fs::write(fixture.home.path().join("roaming/paddock/policy.json"), r#"{"blocked_extensions": [".log"]}"#).unwrap();
    let write = |path: &str| {
        let arguments = json!({"path": path, "content": "x\n"}).to_string();
        program(&fixture, &["call", "write_file", &arguments]).output().unwrap()
    };
    let ran = write("c.txt");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    let state = fs::read_dir(fixture.home.path().join("local/paddock/state")).unwrap();
    let names: Vec<_> = state.map(|entry| entry.unwrap().file_name()).filter(|name| name != "locks").collect();
    assert_eq!(names.len(), 1, "{names:?}");
    let refused: Value = serde_json::from_slice(&write("c.log").stdout).unwrap();
    assert_eq!(refused["error"]["code"], "denied", "{refused}");
    if std::env::var_os("PADDOCK_CACHE_DIR").is_none() {
        assert!(fs::read_dir(fixture.home.path().join("local/paddock/cache")).unwrap().count() > 0);
    }
}

#[test]
fn commands_are_refused_with_a_reason() {
    let fixture = Fixture::under(json!({"commands": {"enabled": true}}));
    let message = fixture.fails("shell", json!({"command": "dir"}), "denied");
    assert!(message.contains("commands can be confined only on Linux"), "{message}");
    let message = fixture.fails("run_program", json!({"name": "cmd", "args": []}), "not-found");
    assert!(message.contains("the policy names no program `cmd`"), "{message}");
}

#[test]
fn a_junction_leads_nowhere() {
    let fixture = Fixture::new();
    let outside = fixture.home.path().join("elsewhere");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("s.txt"), CANARY).unwrap();
    let link = fixture.root().join("junction");
    let _ = Command::new("cmd").args(["/d", "/c", "mklink", "/J"]).args([&link, &outside]).output();
    if !link.join("s.txt").exists() {
        return eprintln!("skipped: this system makes no junctions");
    }
    for (tool, arguments) in calls("junction/s.txt") {
        fixture.fails(tool, arguments, "outside-workspace");
    }
    let result = fixture.ok("grep", json!({"pattern": CANARY}));
    assert_eq!(result["matches"], json!([]), "{result}");
    fixture.ok("delete", json!({"path": "junction"}));
    assert_eq!(fs::read(outside.join("s.txt")).unwrap(), CANARY.as_bytes());
}
