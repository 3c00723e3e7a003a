//! What commands change is told, kept and undone, as what tools change.

use std::fs;
use std::os::unix::fs::symlink;

use paddock::types::HistoryArgs;
use serde_json::json;

use super::desk::{Desk, changes};

#[test]
fn changes_are_told_and_undone() {
    let desk = Desk::new();
    fs::write(desk.root().join("gone.txt"), "gone\n").unwrap();
    fs::write(desk.root().join("moved.txt"), "moved\n").unwrap();
    symlink("a.txt", desk.root().join("link")).unwrap();
    let ran = desk.shell(
        "echo more >> a.txt; sed -i s/two/2/ src/b.txt; echo new > new.txt; mkdir -p d/e; rm gone.txt link; mv moved.txt d/e/; \
         echo x > temporary; rm temporary; echo same > same; cat a.txt",
    );
    let expected = [
        "modified a.txt",
        "created d",
        "created d/e",
        "created d/e/moved.txt",
        "deleted gone.txt",
        "deleted link",
        "deleted moved.txt",
        "created new.txt",
        "created same",
        "modified src/b.txt",
    ];
    let mut told = changes(&ran);
    told.sort_by_key(|change| change.split_once(' ').unwrap().1.to_owned());
    assert_eq!(told, expected, "{ran}");
    let newest = &desk.workspace.history(&HistoryArgs { limit: 10 }).unwrap().entries[0];
    assert_eq!((json!(newest.backup), newest.verb.as_str()), (ran["backup"].clone(), "run"));
    desk.ok("restore", json!({"backup": ran["backup"]}));
    let read = |path| desk.read(path);
    assert_eq!(
        [read("a.txt"), read("src/b.txt"), read("gone.txt"), read("moved.txt"), read("link")].map(Option::unwrap),
        ["one\n", "two\n", "gone\n", "moved\n", "one\n"]
    );
    assert!(!desk.root().join("d").exists() && !desk.root().join("new.txt").exists());
    assert_eq!(fs::read_link(desk.root().join("link")).unwrap().to_str(), Some("a.txt"));
}

#[test]
fn what_changes_nothing_leaves_no_backup() {
    let desk = Desk::new();
    for line in ["cat a.txt", "echo x > t; rm t", "cp a.txt b; mv b a.txt", "echo one > a.txt"] {
        let ran = desk.shell(line);
        assert_eq!((changes(&ran), &ran["backup"]), (Vec::new(), &json!(null)), "{line}");
    }
}

#[test]
fn a_command_that_is_ended_leaves_its_changes_recorded() {
    let desk = Desk::new();
    let ran = desk.ok("shell", json!({"command": "echo half > a.txt; sleep 100", "timeout_ms": 300}));
    assert_eq!(changes(&ran), ["modified a.txt"]);
    desk.ok("restore", json!({"path": "a.txt"}));
    assert_eq!(desk.read("a.txt").unwrap(), "one\n");
}

#[test]
fn ignored_files_are_counted_and_not_kept() {
    let desk = Desk::new();
    fs::write(desk.root().join(".gitignore"), "target/\n*.o\n").unwrap();
    let ran = desk.shell("mkdir target; for i in 1 2 3; do echo x > target/$i; done; echo x > m.o; echo x > kept.c");
    assert_eq!(changes(&ran), ["created kept.c"], "{ran}");
    assert!(ran["ignored"].as_u64().unwrap() >= 4, "{ran}");
}

#[test]
fn modes_survive_a_restore() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::new();
    let script = desk.root().join("run.sh");
    fs::write(&script, "echo ran\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let ran = desk.shell("./run.sh; echo 'echo changed' > run.sh; ./run.sh");
    assert_eq!(ran["stdout"]["text"], "ran\nchanged\n");
    desk.ok("restore", json!({"path": "run.sh"}));
    assert_eq!(desk.printed("./run.sh"), "ran\n");
}

#[test]
fn more_than_backups_hold_is_said() {
    let desk = Desk::under(json!({"backups": {"max_bytes": 100_000}}), json!({}));
    fs::write(desk.root().join("large"), "x".repeat(200_000)).unwrap();
    let ran = desk.shell("echo small > large");
    assert_eq!(changes(&ran), ["modified large"]);
    assert!(ran["notes"].to_string().contains("backup"), "{ran}");
}

#[test]
fn nothing_is_left_in_the_state_directory() {
    let desk = Desk::new();
    desk.shell("echo x > a.txt; rm -r src");
    let kept = fs::read_dir(desk.home.path().join("state/commands")).unwrap();
    let names: Vec<_> = kept.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["lock"], "what commands lock stays");
}

#[test]
fn recording_large_files_ends() {
    let desk = Desk::new();
    let started = std::time::Instant::now();
    let ran = desk.shell("for i in $(seq 1 60); do truncate -s 1000000000 f$i; done; rm a.txt");
    assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
    assert_eq!(changes(&ran).len(), 61, "{ran}");
    desk.ok("restore", json!({"path": "a.txt"}));
    assert_eq!(desk.read("a.txt").unwrap(), "one\n");
}
