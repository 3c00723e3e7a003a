//! The escape suite over every backend, with and without the kernel's `openat2`, and on hosts that must fail it.
//! `tests/README.md` describes the format of `tests/escapes/`.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use paddock::selftest::{self, Own, Report, Subject};
use serde_json::Value;

use crate::without::{is_unknown, openat2, without};

mod bad;
mod memory;

/// Minimum number of attempts, so that a lost part of the suite is noticed.
const ON_DISK: u64 = 23_000;
const IN_MEMORY: u64 = 20_000;

fn run(subject: &mut dyn Subject) -> Report {
    let directory = quick_directory();
    let report = selftest::run(subject, directory.path(), |row| println!("{row}")).unwrap();
    assert!(fs::read_dir(directory.path()).unwrap().next().is_none(), "something is left behind");
    report
}

/// Returns a temporary directory in memory if possible, because the suite mostly waits for the disk.
fn quick_directory() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory).unwrap() } else { tempfile::tempdir().unwrap() }
}

fn assert_holds(report: &Report, attempts: u64) {
    assert!(report.holds(), "{report}");
    let total = report.total();
    assert!(total.attempts >= attempts, "only {} attempts", total.attempts);
    assert!(total.refused > 0 && total.allowed > 0, "{report}");
}

#[test]
fn nothing_leaves_an_overlay() {
    assert_holds(&run(&mut Own::overlay()), ON_DISK);
}

#[test]
fn nothing_leaves_memory() {
    let report = run(&mut memory::Memory::default());
    assert_holds(&report, IN_MEMORY);
    assert!(report.skipped.iter().all(|it| it.cause.contains("no disk")), "{:?}", report.skipped);
}

fn paddock(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_paddock"));
    command.current_dir(home).env("PADDOCK_STATE_DIR", home.join("state")).env("XDG_CONFIG_HOME", home.join("none"));
    command.env("TMPDIR", home).env_remove("PADDOCK_POLICY");
    command
}

fn reported(output: &Output) -> Value {
    let stdout = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stdout}\n{}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn nothing_leaves_without_openat2() {
    assert!(!is_unknown(&openat2()), "with it there is no test here");
    for arguments in [["selftest", "--json"].as_slice(), &["selftest", "--json", "--overlay"]] {
        let home = quick_directory();
        let mut command = paddock(home.path());
        without(command.args(arguments), openat2());
        let output = command.output().unwrap();
        let reported = reported(&output);
        assert_eq!(
            (&reported["openat2"], &reported["holds"]),
            (&Value::Bool(false), &Value::Bool(true)),
            "{reported:#}"
        );
        assert!(output.status.success() && reported["total"]["attempts"].as_u64() >= Some(ON_DISK), "{reported:#}");
    }
}

#[test]
fn nothing_leaves_a_directory_and_a_person_gets_a_table() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("elsewhere")).unwrap();
    let output = paddock(home.path()).args(["selftest", "--in", "elsewhere"]).output().unwrap();
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{table}");
    let last = table.lines().last().unwrap();
    assert!(last.ends_with("with openat2: nothing escaped"), "{last}");
    let rows: Vec<_> = table.lines().filter(|line| line.ends_with("        0      0")).collect();
    assert!(rows.len() > 20 && rows.last().unwrap().starts_with("all "), "{table}");
    let attempts = rows.last().unwrap().split_whitespace().nth(1).unwrap();
    assert!(attempts.parse::<u64>().unwrap() >= ON_DISK, "{table}");
    let left = |path: &Path| fs::read_dir(path).unwrap().map(|it| it.unwrap().file_name()).collect::<Vec<_>>();
    assert_eq!(left(&home.path().join("elsewhere")), Vec::<std::ffi::OsString>::new());
    assert!(!left(home.path()).iter().any(|name| name.to_string_lossy().contains("selftest")));
    let nowhere = paddock(home.path()).args(["selftest", "--in", "nowhere"]).output().unwrap();
    let cause = String::from_utf8(nowhere.stderr).unwrap();
    assert_eq!(nowhere.status.code(), Some(3));
    assert!(cause.contains("cannot run the suite in `nowhere`"), "{cause}");
}

/// Control: the suite must find the escapes of this host.
#[test]
fn a_host_that_compares_texts_is_found_out() {
    let report = run(&mut bad::Bad::default());
    let escapes = |family: &str| {
        let row = report.rows.iter().find(|row| row.family == family);
        row.unwrap_or_else(|| panic!("no family `{family}`")).escapes
    };
    for family in [
        "paths that lead out",
        "symbolic links",
        "links that tools would make, move or undo",
        "the kernel's own file systems",
        "special files and hard links",
        "hard links to files outside",
        "glob patterns",
        "headers of patches",
        "names in archives",
        "what `.agentignore` keeps from every tool",
        "every argument of `paddock`",
    ] {
        assert!(escapes(family) > 0, "no escape of: {family}\n{report}");
    }
}

/// The policy in the workspace must be a file, not a link to a file outside.
#[test]
fn a_policy_that_is_a_link_is_refused_and_not_reported() {
    for name in [".paddock.yaml", ".paddock.yml", ".paddock.toml", ".paddock.json"] {
        for target in ["../secret.txt", "/proc/self/environ", "/dev/zero", "nowhere"] {
            let home = tempfile::tempdir().unwrap();
            fs::write(home.path().join("secret.txt"), "CANARY: [unclosed\n").unwrap();
            fs::create_dir(home.path().join("ws")).unwrap();
            std::os::unix::fs::symlink(target, home.path().join("ws").join(name)).unwrap();
            for arguments in [["call", "--root", "ws", "tree"].as_slice(), &["policy", "show", "--root", "ws"]] {
                let output = paddock(home.path()).args(arguments).env("CANARY", "CANARY").output().unwrap();
                let output_text = [output.stdout, output.stderr].concat();
                let output_text = String::from_utf8_lossy(&output_text);
                assert_eq!(output.status.code(), Some(3), "{name} -> {target}: {output_text}");
                assert!(
                    output_text.contains(name) && !output_text.contains("CANARY"),
                    "{name} -> {target}: {output_text}"
                );
            }
        }
    }
}
