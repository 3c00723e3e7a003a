//! Processes are killed during changes: all files have the same version, the last reported one or the next.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;

use super::client::Client;

const FILES: [&str; 4] = ["a.txt", "in/b.txt", "in/c.txt", "d.txt"];

fn requested_kills() -> usize {
    std::env::var("PADDOCK_KILLS").map_or(40, |count| count.parse().unwrap())
}

#[test]
fn a_process_killed_at_any_time_leaves_one_version() {
    let home = TempDir::new().unwrap();
    fs::create_dir_all(home.path().join("work/in")).unwrap();
    for file in FILES {
        fs::write(home.path().join("work").join(file), content(0)).unwrap();
    }
    let mut random = 0x9e37_79b9_7f4a_7c15_u64 ^ u64::from(std::process::id());
    let (mut version, mut changes, kills) = (0, 0, requested_kills());
    let mut met = [0; 3];
    for kill in 0..kills {
        let client = Client::start(home.path(), kill % 2 == 0);
        // Most processes are killed while they work, and some before they start.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let started = Instant::now();
        let mut next = version;
        let reported = client.killed_after(Duration::from_micros(random % 120_000), || {
            next += 1;
            ("apply_patch", patch(next))
        });
        let recovered_version = recovered(home.path());
        let changes_done = recovered_version
            .checked_sub(version)
            .unwrap_or_else(|| panic!("kill {kill}: {recovered_version} after {version}"));
        assert!(
            changes_done == reported || changes_done == reported + 1,
            "kill {kill}: {changes_done} done, {reported} reported"
        );
        met[if changes_done == 0 { 0 } else { 1 + changes_done - reported }] += 1;
        (version, changes) = (recovered_version, changes + changes_done);
        assert!(started.elapsed() < Duration::from_secs(30), "kill {kill} took too long");
    }
    println!(
        "{kills} kills, {changes} changes of {} files: {} before any change, {} after what was reported, {} one further",
        FILES.len(),
        met[0],
        met[1],
        met[2]
    );
    assert!(changes > 0, "nothing was done before each kill");
}

/// Returns the version of all files after the recovery by the next process, and checks that no other files exist.
fn recovered(home: &Path) -> usize {
    let mut client = Client::start(home, false);
    client.call("stat", &json!({"path": "."})).unwrap();
    drop(client);
    let version = |file: &str| {
        let text = fs::read_to_string(home.join("work").join(file)).unwrap();
        let version = text.split_whitespace().nth(1).unwrap().parse().unwrap();
        assert_eq!(text, content(version), "{file} is whole");
        version
    };
    let versions = FILES.map(version);
    assert!(versions.iter().all(|version| *version == versions[0]), "{versions:?}");
    let names = |dir: &str| {
        let entries = fs::read_dir(home.join("work").join(dir)).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(names("."), ["a.txt", "d.txt", "in"]);
    assert_eq!(names("in"), ["b.txt", "c.txt"]);
    versions[0]
}

/// Returns the content of a version, large enough that a write can be interrupted.
fn content(version: usize) -> String {
    format!("version {version} {}\n", "x".repeat(20_000 + version % 7))
}

fn patch(version: usize) -> serde_json::Value {
    let hunk = |file: &str| {
        let (old, new) = (content(version - 1), content(version));
        format!("*** Update File: {file}\n@@\n-{old}+{new}")
    };
    let hunks: String = FILES.iter().map(|file| hunk(file)).collect();
    json!({"patch": format!("*** Begin Patch\n{hunks}*** End Patch\n")})
}
