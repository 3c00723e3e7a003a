//! Changes of commands are reported, stored and undone like changes of tools.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use paddock::types::HistoryArgs;
use serde_json::json;

use crate::fixture::{Fixture, changes};

#[test]
fn changes_are_reported_and_undone() {
    let fixture = Fixture::new();
    fs::write(fixture.root().join("gone.txt"), "gone\n").unwrap();
    fs::write(fixture.root().join("moved.txt"), "moved\n").unwrap();
    symlink("a.txt", fixture.root().join("link")).unwrap();
    let ran = fixture.shell(
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
    let mut reported = changes(&ran);
    reported.sort_by_key(|change| change.split_once(' ').unwrap().1.to_owned());
    assert_eq!(reported, expected, "{ran}");
    let newest = &fixture.workspace.history(&HistoryArgs { limit: 10 }).unwrap().entries[0];
    assert_eq!((json!(newest.backup), newest.operation.as_str()), (ran["backup"].clone(), "run"));
    fixture.ok("restore", json!({"backup": ran["backup"]}));
    let read = |path| fixture.read(path);
    assert_eq!(
        [read("a.txt"), read("src/b.txt"), read("gone.txt"), read("moved.txt"), read("link")].map(Option::unwrap),
        ["one\n", "two\n", "gone\n", "moved\n", "one\n"]
    );
    assert!(!fixture.root().join("d").exists() && !fixture.root().join("new.txt").exists());
    assert_eq!(fs::read_link(fixture.root().join("link")).unwrap().to_str(), Some("a.txt"));
}

#[test]
fn a_command_without_changes_leaves_no_backup() {
    let fixture = Fixture::new();
    for line in ["cat a.txt", "echo x > t; rm t", "cp a.txt b; mv b a.txt", "echo one > a.txt"] {
        let ran = fixture.shell(line);
        assert_eq!((changes(&ran), &ran["backup"]), (Vec::new(), &json!(null)), "{line}");
    }
}

#[test]
fn a_command_that_is_ended_leaves_its_changes_recorded() {
    let fixture = Fixture::new();
    let ran = fixture.ok("shell", json!({"command": "echo half > a.txt; sleep 100", "timeout_ms": 300}));
    assert_eq!(changes(&ran), ["modified a.txt"]);
    fixture.ok("restore", json!({"path": "a.txt"}));
    assert_eq!(fixture.read("a.txt").unwrap(), "one\n");
}

#[test]
fn ignored_files_are_counted_and_not_kept() {
    let fixture = Fixture::new();
    fs::write(fixture.root().join(".gitignore"), "target/\n*.o\n").unwrap();
    let ran = fixture.shell("mkdir target; for i in 1 2 3; do echo x > target/$i; done; echo x > m.o; echo x > kept.c");
    assert_eq!(changes(&ran), ["created kept.c"], "{ran}");
    assert!(ran["ignored"].as_u64().unwrap() >= 4, "{ran}");
}

#[test]
fn modes_survive_a_restore() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = Fixture::new();
    let script = fixture.root().join("run.sh");
    fs::write(&script, "echo ran\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let ran = fixture.shell("./run.sh; echo 'echo changed' > run.sh; ./run.sh");
    assert_eq!(ran["stdout"]["text"], "ran\nchanged\n");
    fixture.ok("restore", json!({"path": "run.sh"}));
    assert_eq!(fixture.printed("./run.sh"), "ran\n");
}

#[test]
fn more_than_backups_hold_is_said() {
    let fixture = Fixture::under(json!({"backups": {"max_bytes": 100_000}}), json!({}));
    fs::write(fixture.root().join("large"), "x".repeat(200_000)).unwrap();
    let ran = fixture.shell("echo small > large");
    assert_eq!(changes(&ran), ["modified large"]);
    assert!(ran["notes"].to_string().contains("backup"), "{ran}");
}

#[test]
fn nothing_is_left_in_the_state_directory() {
    let fixture = Fixture::new();
    fixture.shell("echo x > a.txt; rm -r src");
    let entries = fs::read_dir(fixture.home.path().join("state/commands")).unwrap();
    let names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["lock"], "what commands lock stays");
}

/// A command can change more paths than the recording process may have open descriptors.
#[test]
fn a_command_that_changes_more_paths_than_there_are_descriptors_is_recorded() {
    let fixture = Fixture::new();
    let line = "rm a.txt; mkdir many; cd many; for i in $(seq 400); do : > $i; done";
    let call = |tool: &str, arguments: serde_json::Value| {
        let mut command = Command::new("sh");
        command.args(["-c", r#"ulimit -n 200; exec "$@""#, "sh", env!("CARGO_BIN_EXE_paddock"), "call", "--root"]);
        command.arg(fixture.root()).arg("--state-dir").arg(fixture.home.path().join("state"));
        command.args(["--set", "commands.enabled=true", tool, &arguments.to_string()]);
        serde_json::from_slice::<serde_json::Value>(&command.output().unwrap().stdout).unwrap()
    };
    let ran = call("shell", json!({"command": line}));
    assert!(ran["result"]["backup"].is_string(), "{ran}");
    let restored = call("restore", json!({"path": "a.txt"}));
    assert_eq!((&restored["ok"], fixture.read("a.txt").unwrap()), (&json!(true), "one\n".to_owned()), "{restored}");
}

/// A moved file exists once and is too large for the backup of the undo.
#[test]
fn the_only_copy_of_a_large_file_is_not_taken_away() {
    let small = json!({"limits": {"max_file_bytes": 1000}, "backups": {"max_bytes": 1000}});
    let fixture = Fixture::under(small, json!({}));
    fs::write(fixture.root().join("large"), [b'x'; 3000]).unwrap();
    let ran = fixture.shell("mv large other; mkdir d; mv a.txt d");
    let refused = fixture.call("restore", json!({"backup": ran["backup"]}));
    assert_eq!(refused.value()["code"], "limit-exceeded", "{}", refused.text);
    assert_eq!(fs::read(fixture.root().join("other")).unwrap().len(), 3000);
    assert_eq!((fixture.read("d/a.txt"), fixture.read("a.txt")), (Some("one\n".to_owned()), None), "all or nothing");
    fixture.ok("restore", json!({"path": "a.txt"}));
    fixture.ok("restore", json!({"backup": ran["backup"], "overwrite": true}));
}

#[test]
fn a_restore_does_not_write_through_a_new_link() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.root().join("d")).unwrap();
    for (name, text) in [("d/f", "one\n"), ("src/f", "theirs\n")] {
        fs::write(fixture.root().join(name), text).unwrap();
    }
    let ran = fixture.shell("rm -r d; ln -s src d");
    fixture.ok("restore", json!({"backup": ran["backup"]}));
    assert_eq!([fixture.read("d/f"), fixture.read("src/f")].map(Option::unwrap), ["one\n", "theirs\n"]);
    assert!(fixture.root().join("d").symlink_metadata().unwrap().is_dir());
    // A link that another process created stays, and nothing is written through it.
    let ran = fixture.shell("rm -r d");
    symlink("src", fixture.root().join("d")).unwrap();
    let refused = fixture.call("restore", json!({"backup": ran["backup"], "overwrite": true}));
    assert_eq!(refused.value()["code"], "changed-since-read", "{}", refused.text);
    assert_eq!(fixture.read("src/f").unwrap(), "theirs\n");
}

#[test]
fn recording_large_files_ends() {
    let fixture = Fixture::new();
    let started = std::time::Instant::now();
    let ran = fixture.shell("for i in $(seq 1 60); do truncate -s 1000000000 f$i; done; rm a.txt");
    assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
    assert_eq!(changes(&ran).len(), 61, "{ran}");
    fixture.ok("restore", json!({"path": "a.txt"}));
    assert_eq!(fixture.read("a.txt").unwrap(), "one\n");
}
