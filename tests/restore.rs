//! Every change can be undone, and every undo too.

use std::fs;
use std::path::PathBuf;

use paddock::types::*;
use paddock::{Backups, Outcome, Policy, Workspace};
use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::tree::{Tree, tree_of};

mod last;

struct Fixture {
    home: TempDir,
    workspace: Workspace,
}

impl Fixture {
    fn new(policy: Policy) -> Self {
        let home = TempDir::new().unwrap();
        let root = home.path().join("work");
        for (path, content) in
            [("a.txt", "one\r\ntwo"), ("d/b.bin", "\0\u{1}b"), ("d/e/c.txt", "c\n"), ("x.txt", "x\n")]
        {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        fs::create_dir(root.join("d/empty")).unwrap();
        std::os::unix::fs::symlink("b.bin", root.join("d/link")).unwrap();
        let state = home.path().join("state");
        let workspace = Workspace::builder().root(&root).state_dir(state).policy(policy).build().unwrap();
        Self { home, workspace }
    }

    fn root(&self) -> PathBuf {
        self.home.path().join("work")
    }

    #[track_caller]
    fn ok(&self, tool: &str, arguments: Value) -> Value {
        let outcome = self.call(tool, arguments);
        assert!(outcome.ok, "{}", outcome.text);
        outcome.value()
    }

    fn call(&self, tool: &str, arguments: Value) -> Outcome {
        self.workspace.call(tool, &arguments.to_string())
    }

    fn tree(&self) -> Tree {
        tree_of(&self.root())
    }

    fn history(&self) -> Vec<HistoryEntry> {
        self.workspace.history(&HistoryArgs { limit: 1_000 }).unwrap().entries
    }
}

/// Each change is undone by its backup, then the undo is undone: the trees are the same byte by byte.
#[test]
fn every_change_can_be_undone_and_done_again() {
    let patch = "*** Begin Patch\n*** Add File: n/m/new.txt\n+n\n*** Update File: a.txt\n*** Move to: moved.txt\n@@\n-one\n+1\n\
                 *** Delete File: x.txt\n*** Update File: d/e/c.txt\n@@\n-c\n+C\n*** End Patch";
    for (tool, arguments) in [
        ("write_file", json!({"path": "a.txt", "content": "other"})),
        ("write_file", json!({"path": "new/deep/file.txt", "content": "new\n"})),
        ("write_file", json!({"path": "a.txt", "content": "more", "append": true})),
        ("edit_file", json!({"path": "a.txt", "edits": [{"old_text": "two", "new_text": "2"}]})),
        ("apply_patch", json!({"patch": patch})),
        ("replace", json!({"pattern": "(one|c|x)$", "replacement": "<$1>\n"})),
        ("make_dir", json!({"path": "p/q/r"})),
        ("copy", json!({"source": "a.txt", "destination": "k/copy.txt"})),
        ("copy", json!({"source": "a.txt", "destination": "x.txt", "overwrite": true})),
        ("copy", json!({"source": "d", "destination": "d2", "recursive": true})),
        ("move", json!({"source": "a.txt", "destination": "d/e/a.txt"})),
        ("move", json!({"source": "a.txt", "destination": "x.txt", "overwrite": true})),
        ("move", json!({"source": "d", "destination": "deep/er/d"})),
        ("move", json!({"source": "d/link", "destination": "link2"})),
        ("delete", json!({"path": "a.txt"})),
        ("delete", json!({"path": "d/link"})),
        ("delete", json!({"path": "d/empty"})),
        ("delete", json!({"path": "d", "recursive": true})),
    ] {
        let fixture = Fixture::new(Policy::default());
        let before = fixture.tree();
        let mut arguments = arguments;
        if tool == "replace" {
            arguments["plan"] = fixture.ok(tool, arguments.clone())["plan"].clone();
            assert_eq!(fixture.tree(), before, "planned alone");
        }
        let backup = fixture.ok(tool, arguments.clone())["backup"].clone();
        let after = fixture.tree();
        assert_ne!(before, after, "{tool} {arguments}");
        let undone = fixture.ok("restore", json!({"backup": backup}));
        assert_eq!(fixture.tree(), before, "{tool} {arguments}");
        assert_eq!(undone["undone"], backup);
        if let Some(again) = undone["backup"].as_str() {
            fixture.ok("restore", json!({"backup": again}));
            let only_directories =
                after.iter().all(|(path, content)| fixture.tree().get(path) == Some(content) || content.is_none());
            assert!(only_directories, "{tool} {arguments}: undone twice");
        }
    }
}

/// A file that is only moved back is not held in memory, so no file is too large.
#[test]
fn a_move_of_a_large_file_can_be_undone() {
    for (tool, arguments) in [
        ("copy", json!({"source": "big", "destination": "d/copy"})),
        ("copy", json!({"source": "big", "destination": "a.txt", "overwrite": true})),
        ("copy", json!({"source": "a.txt", "destination": "big", "overwrite": true})),
        ("copy", json!({"source": "t", "destination": "d/t", "recursive": true})),
        ("move", json!({"source": "big", "destination": "a.txt", "overwrite": true})),
        ("move", json!({"source": "a.txt", "destination": "big", "overwrite": true})),
        ("move", json!({"source": "big", "destination": "n/m/big"})),
        ("delete", json!({"path": "big"})),
        ("delete", json!({"path": "t", "recursive": true})),
    ] {
        let fixture = Fixture::new(Policy::default());
        let big: Vec<u8> = (0..12u32 << 20).map(|at| (at / 7) as u8).collect();
        fs::write(fixture.root().join("big"), &big).unwrap();
        fs::create_dir(fixture.root().join("t")).unwrap();
        fs::write(fixture.root().join("t/big"), &big).unwrap();
        fs::write(fixture.root().join("t/small"), "small").unwrap();
        let before = fixture.tree();
        let backup = fixture.ok(tool, arguments.clone())["backup"].clone();
        let after = fixture.tree();
        assert!(before != after, "{tool} {arguments}");
        let again = fixture.ok("restore", json!({"backup": backup}))["backup"].clone();
        assert!(fixture.tree() == before, "{tool} {arguments}");
        fixture.ok("restore", json!({"backup": again}));
        let missing: Vec<_> =
            after.iter().filter(|(path, content)| fixture.tree().get(*path) != Some(content)).collect();
        assert!(missing.iter().all(|(_, content)| content.is_none()), "{tool} {arguments}: undone twice");
    }
}

#[test]
fn what_a_move_overwrites_and_no_backup_holds_is_reported() {
    let policy = Policy { backups: Backups { max_bytes: 1000, ..Backups::default() }, ..Policy::default() };
    let fixture = Fixture::new(policy);
    fs::write(fixture.root().join("large"), vec![b'x'; 2000]).unwrap();
    let moved = fixture.ok("move", json!({"source": "x.txt", "destination": "large", "overwrite": true}));
    assert!(moved["notes"][0].as_str().unwrap().starts_with("no backup: "), "{moved}");
}

#[test]
fn a_path_alone_undoes_its_last_change() {
    let fixture = Fixture::new(Policy::default());
    let read = |path: &str| fs::read_to_string(fixture.root().join(path)).unwrap();
    for content in ["first", "second"] {
        fixture.ok("write_file", json!({"path": "x.txt", "content": content}));
    }
    fixture.ok("write_file", json!({"path": "a.txt", "content": "a"}));
    fixture.ok("restore", json!({"path": "x.txt"}));
    assert_eq!((read("x.txt").as_str(), read("a.txt").as_str()), ("first", "a"));
    // A single file of a patch can be undone.
    let patch = "*** Begin Patch\n*** Delete File: x.txt\n*** Delete File: d/e/c.txt\n*** End Patch";
    fixture.ok("apply_patch", json!({"patch": patch}));
    let restored = fixture.ok("restore", json!({"path": "d/e"}));
    assert_eq!(restored["restored"], json!(["d/e/c.txt"]));
    assert!(fixture.root().join("d/e/c.txt").exists() && !fixture.root().join("x.txt").exists());
    // A single file of a deleted tree is restored, and then the other files.
    let backup = fixture.ok("delete", json!({"path": "d", "recursive": true}))["backup"].clone();
    fixture.ok("restore", json!({"path": "d/b.bin"}));
    assert_eq!(fs::read(fixture.root().join("d/b.bin")).unwrap(), b"\0\x01b");
    assert!(!fixture.root().join("d/e").exists());
    fixture.ok("restore", json!({"backup": backup}));
    assert!(fixture.root().join("d/empty").is_dir() && fixture.root().join("d/link").is_symlink());
}

#[test]
fn later_changes_stay_without_overwrite() {
    let fixture = Fixture::new(Policy::default());
    let backup = fixture.ok("write_file", json!({"path": "a.txt", "content": "mine"}))["backup"].clone();
    fs::write(fixture.root().join("a.txt"), "somebody else's").unwrap();
    let refused = fixture.call("restore", json!({"backup": backup}));
    assert_eq!(refused.value()["code"], "changed-since-read");
    assert_eq!(fs::read(fixture.root().join("a.txt")).unwrap(), b"somebody else's");
    let restored = fixture.ok("restore", json!({"backup": backup, "overwrite": true}));
    assert_eq!(fs::read(fixture.root().join("a.txt")).unwrap(), b"one\r\ntwo");
    fixture.ok("restore", json!({"backup": restored["backup"]}));
    assert_eq!(fs::read(fixture.root().join("a.txt")).unwrap(), b"somebody else's");
    // A new file at a deleted path belongs to another process.
    let backup = fixture.ok("delete", json!({"path": "x.txt"}))["backup"].clone();
    fs::write(fixture.root().join("x.txt"), "new").unwrap();
    assert_eq!(fixture.call("restore", json!({"backup": backup})).value()["code"], "changed-since-read");
}

#[test]
fn the_oldest_backups_go() {
    let policy = |change: fn(&mut Backups)| {
        let mut policy = Policy::default();
        change(&mut policy.backups);
        Fixture::new(policy)
    };
    let write = |fixture: &Fixture, number: u64, size: usize| {
        fixture.ok("write_file", json!({"path": "x.txt", "content": format!("{number}{}", "x".repeat(size))}))
    };
    let fixture = policy(|backups| backups.max_count = 3);
    let first = write(&fixture, 0, 1)["backup"].clone();
    (1..6).for_each(|number| drop(write(&fixture, number, 1)));
    assert_eq!(fixture.history().len(), 3);
    let gone = fixture.call("restore", json!({"backup": first}));
    assert_eq!(gone.value()["code"], "not-found");
    assert!(gone.text.contains("there is no backup"), "{}", gone.text);
    let fixture = policy(|backups| backups.max_bytes = 10_000);
    (0..6).for_each(|number| drop(write(&fixture, number, 4_000)));
    assert_eq!(fixture.history().len(), 2);
    // The content is too large for the backup: the change is made, and a note says so.
    fs::write(fixture.root().join("big"), vec![b'x'; 20_000]).unwrap();
    let deleted = fixture.ok("delete", json!({"path": "big"}));
    assert_eq!(deleted["backup"], Value::Null);
    assert!(deleted["notes"][0].as_str().unwrap().contains("no backup: the old content has 20000 bytes"), "{deleted}");
    let fixture = policy(|backups| backups.max_days = 0);
    let state = fixture.home.path().join("state/history");
    fs::create_dir_all(&state).unwrap();
    fs::write(state.join("0000000000001-abcdef-16"), "0000000000000000").unwrap();
    write(&fixture, 1, 1);
    assert_eq!(fixture.history().len(), 1);
    let fixture = policy(|backups| backups.enabled = false);
    assert_eq!(write(&fixture, 1, 1)["backup"], Value::Null);
    assert!(fixture.history().is_empty());
}

/// The state directory may contain forged files, which must not cause any change.
#[test]
fn damaged_and_forged_backups_change_nothing() {
    let fixture = Fixture::new(Policy::default());
    let backup =
        fixture.ok("write_file", json!({"path": "a.txt", "content": "new"}))["backup"].as_str().unwrap().to_owned();
    let state = fixture.home.path().join("state/history");
    let before = fixture.tree();
    let write = |json: &str, id: &str| fs::write(state.join(id), format!("{json}{:016}", json.len())).unwrap();
    let record = |path: &str| {
        format!(
            r#"{{"verb":"write","entries":[{{"action":"deleted","path":"{path}","kind":"file","content":[0,0]}}]}}"#
        )
    };
    for (number, path) in ["../out.txt", "/etc/x", ".git/hooks/x", "d/../../out"].iter().enumerate() {
        let json = record(path);
        let id = format!("99999999999{number:02}-abcdef-{}", json.len() + 16);
        write(&json, &id);
        let failed = fixture.call("restore", json!({"backup": id}));
        assert!(!failed.ok, "{path}: {}", failed.text);
        fs::remove_file(state.join(&id)).unwrap();
    }
    for (id, bytes) in [
        ("9999999999999-abcdef-3", "abc"),
        ("9999999999998-abcdef-16", "9999999999999999"),
        ("9999999999997-abcdef-90", "{}0000000000000002"),
    ] {
        fs::write(state.join(id), bytes).unwrap();
        assert!(!fixture.call("restore", json!({"backup": id})).ok, "{id}");
    }
    for id in ["..", "../journal", "nothing", ""] {
        assert_eq!(fixture.call("restore", json!({"backup": id})).value()["code"], "not-found", "{id}");
    }
    assert_eq!(fixture.tree(), before);
    assert!(!fixture.home.path().join("out.txt").exists());
    // Damaged records do not hide valid ones.
    fixture.ok("restore", json!({"path": "a.txt"}));
    let names: Vec<_> = fixture.history().into_iter().map(|entry| (entry.backup, entry.operation)).collect();
    assert!(names.contains(&(backup, "write".to_owned())));
    assert!(names.iter().any(|(_, operation)| operation == "damaged"));
}

/// A directory that is not empty is not removed, and nothing of it is copied either.
/// A state directory can serve several workspaces whose first root has the same path. A backup of one workspace's other
/// roots is not restored in another workspace.
#[test]
fn a_backup_is_of_the_directories_that_were_changed() {
    let home = TempDir::new().unwrap();
    let path = |name: &str| home.path().join(name);
    for name in ["work", "A/lib", "B/lib"] {
        fs::create_dir_all(path(name)).unwrap();
        fs::write(path(name).join("cfg"), name).unwrap();
    }
    let open = |other: &str| {
        let builder = Workspace::builder().root(path("work")).further_root(path(other), paddock::Access::ReadWrite);
        builder.state_dir(path("state")).build().unwrap()
    };
    let call = |workspace: &Workspace, tool: &str, arguments: Value| workspace.call(tool, &arguments.to_string());
    let first = open("A/lib");
    let wrote = call(&first, "write_file", json!({"path": "/lib/cfg", "content": "x"})).value();
    assert!(call(&first, "write_file", json!({"path": "cfg", "content": "x"})).ok);
    let second = open("B/lib");
    let refused = call(&second, "restore", json!({"path": "/lib/cfg", "overwrite": true}));
    assert_eq!(refused.value()["code"], "not-found", "{}", refused.text);
    let refused = call(&second, "restore", json!({"backup": wrote["backup"], "overwrite": true}));
    assert_eq!(refused.value()["code"], "denied", "{}", refused.text);
    assert_eq!(fs::read_to_string(path("B/lib/cfg")).unwrap(), "B/lib");
    assert_eq!(second.history(&HistoryArgs { limit: 9 }).unwrap().entries.len(), 1);
    assert!(call(&second, "restore", json!({"path": "cfg"})).ok);
    // A new directory at the same path is a different directory.
    fs::rename(path("work"), path("old")).unwrap();
    fs::create_dir(path("work")).unwrap();
    let refused = call(&open("A/lib"), "restore", json!({"path": "cfg"}));
    assert_eq!(refused.value()["code"], "not-found", "{}", refused.text);
    assert!(call(&open("A/lib"), "restore", json!({"path": "/lib/cfg"})).ok);
    assert_eq!(fs::read_to_string(path("A/lib/cfg")).unwrap(), "A/lib");
}

#[test]
fn a_change_that_fails_leaves_no_backup() {
    let fixture = Fixture::new(Policy::default());
    fixture.ok("write_file", json!({"path": "d/b.bin", "content": "new"}));
    let before = fixture.history();
    for (tool, arguments) in [
        ("delete", json!({"path": "d"})),
        ("copy", json!({"source": "d", "destination": "d/e", "recursive": true})),
        ("move", json!({"source": "a.txt", "destination": "x.txt"})),
    ] {
        assert!(!fixture.call(tool, arguments).ok, "{tool}");
    }
    let names = |entries: &[HistoryEntry]| entries.iter().map(|entry| entry.backup.clone()).collect::<Vec<_>>();
    assert_eq!(names(&fixture.history()), names(&before));
    // Without a backup id, the last change of the path is undone.
    fixture.ok("restore", json!({"path": "d"}));
    assert_eq!(fs::read(fixture.root().join("d/b.bin")).unwrap(), b"\0\x01b");
}

#[test]
fn nothing_of_it_shows_in_the_workspace() {
    let fixture = Fixture::new(Policy::default());
    fixture.ok("write_file", json!({"path": "x.txt", "content": "y"}));
    fixture.ok("restore", json!({"path": "x.txt"}));
    let names: Vec<_> = fixture.tree().into_keys().filter(|path| path.to_str().unwrap().contains("paddock")).collect();
    assert!(names.is_empty(), "{names:?}");
}

#[test]
fn a_workspace_in_memory_has_its_backups_too() {
    let workspace = Workspace::memory(Policy::default()).unwrap();
    workspace.write(&WriteArgs::new("a", "1")).unwrap();
    let backup = workspace.write(&WriteArgs::new("a", "2")).unwrap().backup.unwrap();
    let restored = workspace.restore(&RestoreArgs::backup(backup)).unwrap();
    assert_eq!(restored.restored, ["a"]);
    assert_eq!(workspace.read(&ReadArgs::new("a")).unwrap().content, "1");
    assert_eq!(workspace.history(&HistoryArgs { limit: 2 }).unwrap().entries.len(), 2);
}

/// The record of an undo removes an older record from the history, but never the one that the undo reads.
#[test]
fn an_undo_does_not_remove_the_backup_that_it_reads() {
    for (max_count, others) in [(1, 0), (2, 1), (10, 9)] {
        let mut policy = Policy::default();
        policy.backups.max_count = max_count;
        let fixture = Fixture::new(policy);
        let before = fixture.tree();
        fixture.ok("delete", json!({"path": "d", "recursive": true}));
        (0..others).for_each(|n| drop(fixture.ok("write_file", json!({"path": "x.txt", "content": n.to_string()}))));
        let last = fixture.history().pop().unwrap();
        assert_eq!(fixture.history().len() as u64, max_count, "the oldest record is the next to go");
        fixture.ok("restore", json!({"backup": last.backup}));
        fixture.workspace.write(&WriteArgs::new("x.txt", "x\n")).unwrap();
        assert_eq!(fixture.tree(), before, "{max_count}");
        assert!(fixture.history().len() as u64 <= max_count + 1);
    }
    let mut policy = Policy::default();
    policy.backups.max_bytes = 5_000;
    let fixture = Fixture::new(policy);
    fixture.ok("write_file", json!({"path": "large.txt", "content": "x".repeat(3_000)}));
    fixture.ok("write_file", json!({"path": "large.txt", "content": "y".repeat(3_000)}));
    fixture.ok("restore", json!({"path": "large.txt"}));
    assert_eq!(fs::read_to_string(fixture.root().join("large.txt")).unwrap(), "x".repeat(3_000));
}

/// The undo of a move by either of its paths restores the file that the move replaced.
#[test]
fn a_move_over_a_file_is_undone_by_each_of_its_paths() {
    for path in ["a.txt", "x.txt"] {
        let fixture = Fixture::new(Policy::default());
        let before = fixture.tree();
        fixture.ok("move", json!({"source": "a.txt", "destination": "x.txt", "overwrite": true}));
        fixture.ok("restore", json!({"path": path}));
        assert_eq!(fixture.tree(), before, "{path}");
    }
}

/// A deletion reports the entries that a backup cannot hold, and the undo lists them separately from the restored ones.
#[test]
fn entries_that_cannot_be_restored_are_reported_twice() {
    let fixture = Fixture::new(Policy::default());
    std::os::unix::fs::symlink("/etc/passwd", fixture.root().join("d/absolute")).unwrap();
    mkfifoat(CWD, fixture.root().join("d/fifo"), Mode::RUSR | Mode::WUSR).unwrap();
    let deleted = fixture.ok("delete", json!({"path": "d", "recursive": true}));
    let note = deleted["notes"].to_string();
    assert!(note.contains("no backup of `d/") && note.contains("and 1 more"), "{note}");
    let restored = fixture.ok("restore", json!({"path": "d"}));
    let paths: Vec<_> = restored["restored"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(paths.contains(&"d/link") && paths.contains(&"d/b.bin"), "{restored}");
    assert!(!paths.contains(&"d/absolute") && !paths.contains(&"d/fifo"), "{restored}");
    assert_eq!(restored["notes"].as_array().map(Vec::len), Some(2), "{restored}");
}

/// The undo of a copy keeps the directory that contains a file of another process, and says so.
#[test]
fn a_directory_that_cannot_be_removed_is_not_reported_as_restored() {
    let fixture = Fixture::new(Policy::default());
    let copied = fixture.ok("copy", json!({"source": "d", "destination": "copied", "recursive": true}));
    fs::write(fixture.root().join("copied/e/foreign.txt"), "foreign\n").unwrap();
    let restored = fixture.ok("restore", json!({"backup": copied["backup"]}));
    assert_eq!(fs::read_to_string(fixture.root().join("copied/e/foreign.txt")).unwrap(), "foreign\n");
    assert!(!fixture.root().join("copied/b.bin").exists());
    let paths = restored["restored"].to_string();
    assert!(!paths.contains("\"copied\"") && !paths.contains("\"copied/e\""), "{restored}");
    assert_eq!(restored["notes"].as_array().map(Vec::len), Some(2), "{restored}");
}
