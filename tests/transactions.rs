//! Overlays as transactions: changes in an overlay are shown as a patch, and committed completely, partly or not at
//! all, by the library and the command line.

#![cfg(target_os = "linux")]

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

use paddock::types::ErrorCode;
use paddock::{Builder, Workspace};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::serve::parts::kill_replace;
use crate::tree::{Tree, tree_of};

struct Fixture {
    home: TempDir,
}

impl Fixture {
    fn new() -> Self {
        let fixture = Self { home: TempDir::new().unwrap() };
        for (path, content) in [
            ("main.rs", "fn main() {\n    one();\n    two();\n    three();\n    four();\n}\n"),
            ("lib/a b.txt", "with a space\n"),
            ("lib/q\"uote.txt", "odd\n"),
            ("lib/ümlaut.txt", "ä\n"),
            ("bin/run.sh", "#!/bin/sh\necho one\n"),
            ("data.bin", "\0\u{1}\u{2}binary"),
            ("no-end.txt", "no newline"),
            ("gone/deep/x.txt", "x\n"),
            ("empty.txt", ""),
            ("crlf.txt", "a\r\nb\r\n"),
        ] {
            let path = fixture.base(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        fs::set_permissions(fixture.base("bin/run.sh"), Permissions::from_mode(0o755)).unwrap();
        symlink("main.rs", fixture.base("link")).unwrap();
        fixture
    }

    fn base(&self, path: &str) -> PathBuf {
        self.home.path().join("base").join(path)
    }

    fn builder(&self) -> Builder {
        Workspace::builder().root(self.base("")).state_dir(self.home.path().join("state"))
    }

    fn overlay(&self, name: &str) -> Workspace {
        self.builder().overlay(name).build().unwrap()
    }

    /// Runs `paddock overlay ACT …`.
    fn run(&self, arguments: &[&str]) -> Output {
        let (act, rest) = arguments.split_first().unwrap();
        Command::new(env!("CARGO_BIN_EXE_paddock"))
            .args(["overlay", act, "--root"])
            .arg(self.base(""))
            .arg("--state-dir")
            .arg(self.home.path().join("state"))
            .args(rest)
            .output()
            .unwrap()
    }

    /// Runs `paddock overlay ACT …` and asserts that it finds no such overlay.
    #[track_caller]
    fn is_unknown(&self, act: &str, name: &str) {
        let output = self.run(&[act, name]);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(3), 0), "{stderr}");
        assert!(stderr.contains(&format!("there is no overlay `{name}`")), "{stderr}");
    }

    /// Runs `paddock overlay ACT …` and returns its success and output.
    fn paddock(&self, arguments: &[&str]) -> (bool, String) {
        let output = self.run(arguments);
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    }
}

#[track_caller]
fn ok(workspace: &Workspace, tool: &str, arguments: Value) {
    let outcome = workspace.call(tool, &arguments.to_string());
    assert!(outcome.ok, "{tool} {arguments}: {}", outcome.text);
}

/// Makes every kind of change.
fn refactor(overlay: &Workspace) {
    ok(overlay, "edit_file", json!({"path": "main.rs", "edits": [{"old_text": "one()", "new_text": "ONE()"}]}));
    ok(overlay, "edit_file", json!({"path": "bin/run.sh", "edits": [{"old_text": "one", "new_text": "two"}]}));
    ok(overlay, "copy", json!({"source": "bin/run.sh", "destination": "bin/new.sh"}));
    ok(overlay, "write_file", json!({"path": "lib/a b.txt", "content": "another\n"}));
    ok(overlay, "write_file", json!({"path": "lib/q\"uote.txt", "content": "odder\n"}));
    ok(overlay, "write_file", json!({"path": "lib/ümlaut.txt", "content": "ö\n"}));
    ok(overlay, "write_file", json!({"path": "deep/er/new file.txt", "content": "new\nwithout an end"}));
    ok(overlay, "write_file", json!({"path": "void.txt", "content": ""}));
    ok(overlay, "write_file", json!({"path": "no-end.txt", "content": "an end\n"}));
    ok(overlay, "write_file", json!({"path": "crlf.txt", "content": "a\r\nB\r\n"}));
    ok(overlay, "copy", json!({"source": "data.bin", "destination": "copy.bin"}));
    ok(overlay, "copy", json!({"source": "main.rs", "destination": "data.bin", "overwrite": true}));
    ok(overlay, "copy", json!({"source": "copy.bin", "destination": "empty.txt", "overwrite": true}));
    ok(overlay, "delete", json!({"path": "gone", "recursive": true}));
    ok(overlay, "move", json!({"source": "link", "destination": "link2"}));
}

/// Returns the tree as the tools see it in the overlay.
fn visible_tree(overlay: &Workspace) -> Tree {
    let archive =
        overlay.call("glob", r#"{"pattern": "**", "include_hidden": true, "include_ignored": true, "limit": 10000}"#);
    let mut tree = Tree::new();
    for path in archive.value()["paths"].as_array().unwrap() {
        let path = path.as_str().unwrap();
        let read = overlay.call("read_file", &json!({"path": path, "mode": "base64"}).to_string());
        assert!(read.ok, "{}", read.text);
        tree.insert(path.into(), Some(read.value()["content"].as_str().unwrap().into()));
    }
    tree
}

fn git(directory: &Path, arguments: &[&str], input: &str) -> Output {
    let patch = directory.with_extension("patch");
    fs::write(&patch, input).unwrap();
    let arguments = arguments.iter().map(|argument| (*argument).to_owned()).chain([patch.display().to_string()]);
    Command::new("git")
        .current_dir(directory)
        .env("GIT_CEILING_DIRECTORIES", directory.parent().unwrap())
        .args(arguments)
        .output()
        .unwrap()
}

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().permissions().mode() & 0o777
}

/// Returns only files and links, because git does not store directories.
fn without_directories(tree: Tree) -> Tree {
    tree.into_iter().filter(|(_, content)| content.is_some()).collect()
}

#[test]
fn git_applies_the_patch() {
    let fixture = Fixture::new();
    let copy = fixture.home.path().join("copy");
    assert!(Command::new("cp").args(["-a"]).arg(fixture.base("")).arg(&copy).status().unwrap().success());
    let before = tree_of(&fixture.base(""));
    refactor(&fixture.overlay("o"));
    let (good, patch) = fixture.paddock(&["diff", "o"]);
    assert!(good);
    assert_eq!(tree_of(&fixture.base("")), before, "the base is as it was");
    let applied = git(&copy, &["apply", "--verbose"], &patch);
    assert!(applied.status.success(), "{}\n{patch}", String::from_utf8_lossy(&applied.stderr));
    assert_eq!(mode(&copy.join("bin/new.sh")), 0o755);
    let (good, output) = fixture.paddock(&["commit", "o"]);
    assert!(good, "{output}");
    assert_eq!(without_directories(tree_of(&copy)), without_directories(tree_of(&fixture.base(""))));
    assert_eq!((mode(&fixture.base("bin/run.sh")), mode(&fixture.base("bin/new.sh"))), (0o755, 0o755));
    assert!(!fixture.base("gone").exists());
    // The reverse patch restores the old tree.
    let reverted = git(&copy, &["apply", "--reverse"], &patch);
    assert!(reverted.status.success(), "{}", String::from_utf8_lossy(&reverted.stderr));
    assert_eq!(without_directories(tree_of(&copy)), without_directories(before.clone()));
    // A commit of an overlay can be undone like any other change.
    let base = fixture.builder().build().unwrap();
    let backup = base.history(&paddock::types::HistoryArgs { limit: 1 }).unwrap().entries[0].backup.clone();
    ok(&base, "restore", json!({ "backup": backup }));
    assert_eq!(tree_of(&fixture.base("")), before);
}

#[test]
fn a_move_is_a_rename_that_git_applies() {
    let fixture = Fixture::new();
    let copy = fixture.home.path().join("copy");
    assert!(Command::new("cp").args(["-a"]).arg(fixture.base("")).arg(&copy).status().unwrap().success());
    let before = tree_of(&fixture.base(""));
    let overlay = fixture.overlay("o");
    for (source, destination) in [
        ("main.rs", "src/main.rs"),
        ("bin/run.sh", "bin/run it.sh"),
        ("data.bin", "q\"uote ü.bin"),
        ("link", "link2"),
        ("gone", "went"),
    ] {
        ok(&overlay, "move", json!({"source": source, "destination": destination}));
    }
    let (_, status) = fixture.paddock(&["status", "o"]);
    for line in
        ["R main.rs -> src/main.rs", "R bin/run.sh -> bin/run it.sh", "R link -> link2", "A src/", "D gone/", "A went/"]
    {
        assert!(status.lines().any(|status_line| status_line == line), "{line}\n{status}");
    }
    let (_, patch) = fixture.paddock(&["diff", "o"]);
    let renames = patch.lines().filter(|line| *line == "similarity index 100%").count();
    assert!(renames >= 5 && !patch.contains("@@") && !patch.contains("file mode"), "{patch}");
    assert!(patch.contains("rename from data.bin\nrename to \"q\\\"uote ü.bin\"\n"), "{patch}");
    let diff = overlay.diff(&[], false).unwrap();
    let moved = diff.differences.iter().find(|difference| difference.path == "src/main.rs").unwrap();
    assert_eq!(moved.moved_from.as_deref(), Some("main.rs"));

    let applied = git(&copy, &["apply", "--verbose"], &patch);
    assert!(applied.status.success(), "{}\n{patch}", String::from_utf8_lossy(&applied.stderr));
    assert_eq!(mode(&copy.join("bin/run it.sh")), 0o755);
    assert!(fixture.paddock(&["commit", "o"]).0);
    assert_eq!(without_directories(tree_of(&copy)), without_directories(tree_of(&fixture.base(""))));
    let reverted = git(&copy, &["apply", "--reverse"], &patch);
    assert!(reverted.status.success(), "{}", String::from_utf8_lossy(&reverted.stderr));
    assert_eq!(without_directories(tree_of(&copy)), without_directories(before));
}

#[test]
fn a_discarded_overlay_is_not_listed() {
    let fixture = Fixture::new();
    let list = || fixture.paddock(&["list"]).1;
    let write = |name: &str| ok(&fixture.overlay(name), "write_file", json!({"path": "x/new.txt", "content": name}));
    for name in ["all", "some", "committed", "kept"] {
        write(name);
    }
    assert_eq!(list(), "all\ncommitted\nkept\nsome\n");
    let open = fixture.overlay("all");
    assert!(fixture.paddock(&["discard", "all"]).0);
    assert!(fixture.paddock(&["discard", "some", "x"]).0);
    assert!(fixture.paddock(&["commit", "committed"]).0);
    assert!(fixture.paddock(&["checkpoint", "kept", "first"]).0 && fixture.paddock(&["discard", "kept"]).0);
    assert_eq!(list(), "kept\n", "it can be rolled back");
    for (act, name) in [("status", "all"), ("diff", "committed"), ("discard", "some"), ("diff", "never")] {
        fixture.is_unknown(act, name);
    }
    // The overlay's directory remains, for a process that has it open and for further calls.
    ok(&open, "write_file", json!({"path": "again.txt", "content": "n"}));
    write("some");
    assert_eq!(list(), "all\nkept\nsome\n");

    // A crash can leave layers that are not current, before and after the replacement.
    let directory = fixture.home.path().join("state/overlays/all");
    assert!(fixture.paddock(&["discard", "all"]).0);
    for stale in ["layers-0", "layers-9"] {
        fs::create_dir_all(directory.join(stale).join("upper/workspace")).unwrap();
        fs::write(directory.join(stale).join("upper/workspace/left.txt"), "left").unwrap();
    }
    assert_eq!(list(), "kept\nsome\n");
    // A damaged overlay is listed.
    fs::write(directory.join("current"), "damaged").unwrap();
    assert_eq!(list(), "all\nkept\nsome\n");
}

#[test]
fn a_part_is_committed_and_the_rest_discarded() {
    let fixture = Fixture::new();
    let before = tree_of(&fixture.base(""));
    let overlay = fixture.overlay("o");
    refactor(&overlay);
    let wanted = visible_tree(&overlay);
    let (good, status) = fixture.paddock(&["status", "o"]);
    assert!(good);
    for line in ["M main.rs", "A bin/new.sh", "D gone/", "D gone/deep/x.txt", "A deep/", "R link -> link2"] {
        assert!(status.lines().any(|status_line| status_line == line), "{line}\n{status}");
    }
    let (good, output) = fixture.paddock(&["commit", "o", "main.rs", "deep", "gone"]);
    assert!(good && output.contains("paddock restore --backup"), "{output}");
    assert!(fs::read_to_string(fixture.base("main.rs")).unwrap().contains("ONE()"));
    assert!(fixture.base("deep/er/new file.txt").exists() && !fixture.base("gone").exists());
    assert!(!fixture.base("bin/new.sh").exists());
    assert_eq!(visible_tree(&overlay), wanted, "the overlay looks as before");
    let (_, status) = fixture.paddock(&["status", "o"]);
    assert!(!status.contains("main.rs") && status.contains("A bin/new.sh"), "{status}");
    assert!(fixture.paddock(&["discard", "o", "lib", "bin/new.sh"]).0);
    let (_, patch) = fixture.paddock(&["diff", "o"]);
    assert!(!patch.contains("lib/") && patch.contains("no-end.txt"), "{patch}");
    assert!(fixture.paddock(&["discard", "o"]).0);
    fixture.is_unknown("status", "o");
    fixture.is_unknown("diff", "o");
    for path in ["bin/run.sh", "no-end.txt", "link", "data.bin"] {
        assert_eq!(tree_of(&fixture.base("")).get(Path::new(path)), before.get(Path::new(path)), "{path}");
    }
}

#[test]
fn a_second_overlay_conflicts_with_the_commit_of_the_first() {
    let fixture = Fixture::new();
    let edit = |overlay: &Workspace, old: &str, new: &str| {
        ok(overlay, "edit_file", json!({"path": "main.rs", "edits": [{"old_text": old, "new_text": new}]}));
    };
    for (name, old, new) in [("first", "one()", "first()"), ("same", "one()", "same()"), ("apart", "four()", "apart()")]
    {
        edit(&fixture.overlay(name), old, new);
    }
    assert_eq!(fixture.paddock(&["list"]).1, "apart\nfirst\nsame\n");
    assert!(fixture.paddock(&["commit", "first"]).0);
    assert!(fixture.paddock(&["status", "same"]).1.contains("changed in the base too"));
    for (name, arguments) in [("same", &["commit", "same", "--merge"][..]), ("apart", &["commit", "apart"][..])] {
        let before = tree_of(&fixture.base(""));
        let (good, output) = fixture.paddock(arguments);
        assert!(!good && output.contains("nothing was committed"), "{output}");
        assert!(output.contains("+    first();") && output.contains(&format!("+    {name}();")), "{output}");
        assert_eq!(tree_of(&fixture.base("")), before);
    }
    let (good, output) = fixture.paddock(&["commit", "apart", "--merge"]);
    assert!(good && output.contains("merged: main.rs"), "{output}");
    let merged = fs::read_to_string(fixture.base("main.rs")).unwrap();
    assert!(merged.contains("first()") && merged.contains("apart()") && !merged.contains("one()"), "{merged}");
    fixture.is_unknown("status", "apart");
}

#[test]
fn it_is_set_back_to_a_checkpoint_by_any_process() {
    let fixture = Fixture::new();
    let overlay = fixture.overlay("o");
    ok(&overlay, "write_file", json!({"path": "main.rs", "content": "half\n"}));
    ok(&overlay, "copy", json!({"source": "bin/run.sh", "destination": "bin/more.sh"}));
    assert!(fixture.paddock(&["checkpoint", "o", "half"]).0);
    let half = visible_tree(&overlay);
    refactor_more(&overlay);
    assert_ne!(visible_tree(&overlay), half);
    assert!(fixture.paddock(&["status", "o"]).1.ends_with("checkpoints: half\n"));
    let (good, output) = fixture.paddock(&["rollback", "o", "nothing"]);
    assert!(!good && output.contains("there are: half"), "{output}");
    assert!(fixture.paddock(&["rollback", "o", "half"]).0);
    assert_eq!(visible_tree(&overlay), half);
    assert!(fixture.paddock(&["commit", "o"]).0);
    assert_eq!(mode(&fixture.base("bin/more.sh")), 0o755, "modes come through checkpoints");
    assert_eq!(fs::read_to_string(fixture.base("main.rs")).unwrap(), "half\n");
}

fn refactor_more(overlay: &Workspace) {
    ok(overlay, "delete", json!({"path": "bin", "recursive": true}));
    ok(overlay, "write_file", json!({"path": "bin", "content": "a file\n"}));
    ok(overlay, "delete", json!({"path": "main.rs"}));
}

/// A commit changes the real files, so listeners and the audit log get a record.
#[test]
fn a_commit_is_reported_to_listeners_and_the_audit() {
    let fixture = Fixture::new();
    ok(&fixture.overlay("o"), "write_file", json!({"path": "main.rs", "content": "new\n"}));
    let reported = Arc::new(Mutex::new(Vec::new()));
    let to = Arc::clone(&reported);
    let audit = fixture.home.path().join("audit.jsonl");
    let overlay = fixture.builder().overlay("o").on_event(move |event| to.lock().unwrap().push(format!("{event:?}")));
    overlay.audit(&audit).build().unwrap().commit(&[], false).unwrap();
    let reported = reported.lock().unwrap().join("\n");
    assert!(reported.contains("commit") && reported.contains("main.rs"), "{reported}");
    let record = fs::read_to_string(&audit).unwrap();
    assert!(record.contains("\"commit\"") && record.contains("main.rs") && !record.contains("new\\n"), "{record}");
}

#[test]
fn unknown_overlays_are_reported() {
    let fixture = Fixture::new();
    let plain = fixture.builder().build().unwrap();
    assert_eq!(plain.diff(&[], true).unwrap_err().code, ErrorCode::Io);
    assert_eq!(plain.commit(&[], false).unwrap_err().code, ErrorCode::Io);
    assert_eq!(plain.discard(&[]).unwrap_err().code, ErrorCode::Io);
    assert_eq!(plain.checkpoint("a").unwrap_err().code, ErrorCode::Io);
    // An overlay without changes is valid too.
    let overlay = fixture.overlay("new");
    assert_eq!(overlay.diff(&[], true).unwrap().differences.len(), 0);
    assert_eq!(overlay.commit(&[], false).unwrap().changes.len(), 0);
    assert_eq!(overlay.diff(&["main.rs".to_owned()], true).unwrap_err().code, ErrorCode::NotFound);
}

/// After a process is killed during a commit, the next call finds all changes or none.
#[test]
fn a_killed_commit_is_all_or_nothing() {
    let next = [None, Some("commit"), Some("discard"), Some("commit"), Some("discard"), None];
    for (after_ms, next) in
        [5, 15, 25, 40, 60, 90].into_iter().zip(next).chain([(30, Some("discard")), (50, Some("commit"))])
    {
        let fixture = Fixture::new();
        let overlay = fixture.overlay("o");
        refactor(&overlay);
        refactor_more(&overlay);
        let (old, wanted) = (tree_of(&fixture.base("")), visible_tree(&overlay));
        let mut child = Command::new(env!("CARGO_BIN_EXE_paddock"))
            .args(["overlay", "commit", "--root"])
            .arg(fixture.base(""))
            .arg("--state-dir")
            .arg(fixture.home.path().join("state"))
            .arg("o")
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(after_ms));
        child.kill().unwrap();
        child.wait().unwrap();
        let base = fixture.builder().build().unwrap();
        match next {
            None => ok(&base, "stat", json!({"path": "."})),
            // It fails if the commit was complete, and nothing is left.
            Some(next) => drop(fixture.run(&[next, "o"])),
        }
        let is_old = tree_of(&fixture.base("")) == old;
        assert!(is_old || visible_tree(&base) == wanted, "after {after_ms} ms");
        if next != Some("discard") {
            drop(fixture.run(&["commit", "o"]));
            assert_eq!(visible_tree(&base), wanted, "after {after_ms} ms");
        }
    }
}

/// A commit, a diff or a checkpoint after a call in the overlay that was killed takes all of it or nothing.
#[test]
fn a_killed_call_in_the_overlay_is_completed_before_a_commit() {
    const FILES: usize = 100;
    let mut killed = 0;
    for operation in ["commit", "status", "checkpoint"] {
        let fixture = Fixture::new();
        let docs = fixture.base("docs");
        fs::create_dir(&docs).unwrap();
        ok(&fixture.overlay("o"), "write_file", json!({"path": "other.txt", "content": "other\n"}));
        (0..FILES).for_each(|number| fs::write(docs.join(format!("{number}.txt")), "text 0\n").unwrap());
        let state = fixture.home.path().join("state");
        let journals = || {
            let names = fs::read_dir(state.join("overlays/o/state")).into_iter().flatten();
            let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            names.filter(|name| name.starts_with("journal") && !name.ends_with(".new")).count()
        };
        for attempt in 0..10 {
            let (old, new) = (format!("text {attempt}"), format!("text {}", attempt + 1));
            let arguments = json!({"pattern": old, "replacement": new, "path": "docs"});
            kill_replace(&["--overlay", "o"], &fixture.base(""), &state, arguments, || journals() > 0);
            if journals() > 0 {
                killed += 1;
                break;
            }
        }
        let arguments: &[&str] = if operation == "checkpoint" { &[operation, "o", "c"] } else { &[operation, "o"] };
        let (good, output) = fixture.paddock(arguments);
        assert!(good && !output.contains(".paddock-"), "{output}");
        assert_eq!(journals(), 0, "{operation}");
        if operation == "commit" {
            let texts = (0..FILES).map(|number| fs::read_to_string(docs.join(format!("{number}.txt"))).unwrap());
            let texts: std::collections::BTreeSet<_> = texts.collect();
            assert_eq!((texts.len(), fs::read_dir(&docs).unwrap().count()), (1, FILES), "{texts:?}");
        }
    }
    assert!(killed > 0, "no kill came in time");
}
