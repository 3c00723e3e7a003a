//! Edits of the same files by several processes: exactly the reported edits are in the files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::json;
use tempfile::TempDir;

use super::client::{Answer, Client};

const PROCESSES: usize = 8;
const FILES: usize = 3;
const END: &str = "the end\n";

fn requested_count(quick: usize) -> usize {
    std::env::var("PADDOCK_UPDATES").map_or(quick, |count| count.parse().unwrap())
}

fn fixture() -> TempDir {
    let home = TempDir::new().unwrap();
    fs::create_dir(home.path().join("work")).unwrap();
    for file in 0..FILES {
        fs::write(path(home.path(), file), END).unwrap();
    }
    home
}

fn path(home: &Path, file: usize) -> std::path::PathBuf {
    home.join(format!("work/{file}.txt"))
}

/// Makes the calls in several processes, half of them over MCP. Returns the calls that succeeded and the calls that
/// failed.
fn together(
    home: &Path,
    count: usize,
    call: impl Fn(&mut Client, &str, usize) -> Answer + Sync,
) -> (Vec<String>, Vec<(String, String)>) {
    let (mut reported, mut refused) = (Vec::new(), Vec::new());
    thread::scope(|scope| {
        let call = &call;
        let threads: Vec<_> = (0..PROCESSES)
            .map(|process| {
                scope.spawn(move || {
                    let mut client = Client::start(home, process % 2 == 0);
                    let label = |number| format!("process {process}, edit {number}");
                    let results = (0..count / PROCESSES).map(label).enumerate();
                    results.map(|(number, label)| (call(&mut client, &label, number), label)).collect::<Vec<_>>()
                })
            })
            .collect();
        for (answer, label) in threads.into_iter().flat_map(|thread| thread.join().unwrap()) {
            match answer {
                Ok(_) => reported.push(label),
                Err(error) => refused.push((label, error)),
            }
        }
    });
    (reported, refused)
}

/// Returns the number of occurrences of each line in all files.
fn lines(home: &Path) -> BTreeMap<String, usize> {
    let mut lines = BTreeMap::new();
    for file in 0..FILES {
        for line in fs::read_to_string(path(home, file)).unwrap().lines() {
            *lines.entry(line.to_owned()).or_default() += 1;
        }
    }
    lines
}

fn check(home: &Path, reported: &[String], refused: &[(String, String)], times: usize) {
    let lines = lines(home);
    for label in reported {
        assert_eq!(lines.get(label), Some(&times), "{label} was reported");
    }
    for (label, cause) in refused {
        assert_eq!(lines.get(label), None, "{label} was refused: {cause}");
    }
    let strange = lines.len() - reported.len() - 1;
    assert_eq!(strange, 0, "lines that nobody wrote");
}

fn insertion(label: &str) -> serde_json::Value {
    json!([{"old_text": END, "new_text": format!("{label}\n{END}")}])
}

#[test]
fn every_edit_that_was_reported_is_there() {
    let (home, count) = (fixture(), requested_count(400));
    let (reported, refused) = together(home.path(), count, |client, label, number| {
        client.call("edit_file", &json!({"path": format!("{}.txt", number % FILES), "edits": insertion(label)}))
    });
    println!("{count} edits by {PROCESSES} processes: {} done, {} refused", reported.len(), refused.len());
    // The processes wait for each other, and each finds the end.
    assert_eq!((reported.len(), refused.len()), (count / PROCESSES * PROCESSES, 0), "{refused:?}");
    check(home.path(), &reported, &refused, 1);
}

#[test]
fn with_if_match_an_edit_of_a_changed_file_is_refused() {
    let (home, count) = (fixture(), requested_count(400));
    let (reported, refused) = together(home.path(), count, |client, label, number| {
        let path = format!("{}.txt", number % FILES);
        let etag = client.call("stat", &json!({"path": path})).unwrap()["etag"].clone();
        assert!(etag.is_string(), "{etag}");
        client.call("edit_file", &json!({"path": path, "if_match": etag, "edits": insertion(label)}))
    });
    println!("{count} edits with if_match: {} done, {} refused", reported.len(), refused.len());
    assert!(reported.len() >= FILES && !refused.is_empty(), "{} done, {} refused", reported.len(), refused.len());
    assert!(refused.iter().all(|(_, cause)| cause.contains("since it was read")), "{refused:?}");
    check(home.path(), &reported, &refused, 1);
}

#[test]
fn patches_of_the_same_files_end_as_one_after_another() {
    let (home, count) = (fixture(), requested_count(160));
    let (reported, refused) = together(home.path(), count, |client, label, _| {
        let hunk = |file| format!("*** Update File: {file}.txt\n@@\n+{label}\n {END}");
        let hunks: String = (0..FILES).map(hunk).collect();
        client.call("apply_patch", &json!({"patch": format!("*** Begin Patch\n{hunks}*** End Patch\n")}))
    });
    println!("{count} patches of {FILES} files: {} done, {} refused", reported.len(), refused.len());
    assert_eq!(reported.len(), count / PROCESSES * PROCESSES, "{refused:?}");
    check(home.path(), &reported, &refused, FILES);
    let first = fs::read(path(home.path(), 0)).unwrap();
    assert!((1..FILES).all(|file| fs::read(path(home.path(), file)).unwrap() == first), "all in one order");
}

/// One process has the directory above the root of another, or further roots, or another state directory.
#[test]
fn processes_with_overlapping_roots_wait_for_each_other() {
    let home = TempDir::new().unwrap();
    for directory in ["work/sub", "other"] {
        fs::create_dir_all(home.path().join(directory)).unwrap();
    }
    fs::write(home.path().join("work/sub/f.txt"), "").unwrap();
    let clients: [(&[&str], &str); 4] = [
        (&["--root", "work"], "sub/f.txt"),
        (&["--root", "work/sub"], "f.txt"),
        (&["--root", "other", "--root", "work"], "/work/sub/f.txt"),
        (&["--root", "work", "--state-dir", "state2"], "sub/f.txt"),
    ];
    const EACH: usize = 60;
    thread::scope(|scope| {
        for (process, (options, path)) in clients.into_iter().enumerate() {
            let mut client = Client::start_with(home.path(), false, options);
            scope.spawn(move || {
                for number in 0..EACH {
                    let content = format!("{process} {number}\n");
                    client.call("write_file", &json!({"path": path, "content": content, "append": true})).unwrap();
                }
            });
        }
    });
    let content = fs::read_to_string(home.path().join("work/sub/f.txt")).unwrap();
    assert_eq!(content.lines().count(), clients.len() * EACH);
}

/// An overlay records what the base was when a call of the overlay read it, so that a commit finds the change of another
/// process.
#[test]
fn a_commit_overwrites_no_change_of_the_base() {
    let home = TempDir::new().unwrap();
    fs::create_dir(home.path().join("work")).unwrap();
    fs::write(path(home.path(), 0), "").unwrap();
    let line = |label: String| json!({"path": "0.txt", "content": label, "append": true});
    let is_over = AtomicBool::new(false);
    let reported = thread::scope(|scope| {
        let base = scope.spawn(|| {
            let mut client = Client::start(home.path(), false);
            let mut reported = 0;
            while !is_over.load(Ordering::Relaxed) {
                client.call("write_file", &line(format!("base {reported}\n"))).unwrap();
                reported += 1;
            }
            reported
        });
        for number in 0..30 {
            let mut overlay = Client::start_with(home.path(), false, &["--root", "work", "--overlay", "o"]);
            overlay.call("write_file", &line(format!("overlay {number}\n"))).unwrap();
            drop(overlay);
            // A commit that finds a change of the base is refused.
            if !overlay_command(home.path(), "commit") {
                assert!(overlay_command(home.path(), "discard"));
            }
        }
        is_over.store(true, Ordering::Relaxed);
        base.join().unwrap()
    });
    let content = fs::read_to_string(path(home.path(), 0)).unwrap();
    assert_eq!(content.lines().filter(|line| line.starts_with("base ")).count(), reported);
}

fn overlay_command(home: &Path, command_name: &str) -> bool {
    let mut command = Command::new(env!("CARGO_BIN_EXE_paddock"));
    command.args(["overlay", command_name, "o", "--root", "work"]).current_dir(home);
    command.env("PADDOCK_STATE_DIR", home.join("state")).env("XDG_CONFIG_HOME", home);
    command.output().unwrap().status.success()
}
