//! Reported changes: the state of each path before its first change.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by a panic"
)]
#![cfg(target_os = "linux")]

mod support;

use std::fs;

use paddock_supervisor::protocol::{Kind, Verdict};
use support::{Fixture, Outcome, run, run_with};

/// Runs a script in a root with some files and a directory.
fn changed(script: &str) -> (Fixture, Outcome) {
    let fixture = Fixture::new();
    fixture.write("a.txt", "one\n");
    fixture.write("b.txt", "two\n");
    fixture.write("dir/inner/c.txt", "three\n");
    std::os::unix::fs::symlink("a.txt", fixture.inside("link")).unwrap();
    let outcome = run(fixture.shell(script)).succeeded();
    (fixture, outcome)
}

/// Returns the reported paths relative to the root, with their previous type and content.
fn reported(fixture: &Fixture, outcome: &Outcome) -> Vec<(String, Kind, Option<String>)> {
    let name = |path: &str| path.strip_prefix(fixture.root.to_str().unwrap()).unwrap()[1..].to_owned();
    outcome.ended.before.iter().map(|it| (name(&it.path), it.kind, fixture.staged_content(it))).collect()
}

fn file(name: &str, content: &str) -> (String, Kind, Option<String>) {
    (name.to_owned(), Kind::File, Some(content.to_owned()))
}

fn absent(name: &str) -> (String, Kind, Option<String>) {
    (name.to_owned(), Kind::Absent, None)
}

fn directory(name: &str) -> (String, Kind, Option<String>) {
    (name.to_owned(), Kind::Directory, None)
}

#[test]
fn each_kind_of_change() {
    for (script, expected) in [
        ("cat a.txt; ls; test -e b.txt", vec![]),
        ("echo new > new.txt", vec![absent("new.txt")]),
        ("echo changed > a.txt", vec![file("a.txt", "one\n")]),
        ("echo more >> a.txt", vec![file("a.txt", "one\n")]),
        (": > a.txt", vec![file("a.txt", "one\n")]),
        ("truncate -s 1 a.txt", vec![file("a.txt", "one\n")]),
        ("echo x > link", vec![file("a.txt", "one\n")]),
        ("rm a.txt", vec![file("a.txt", "one\n")]),
        ("mkdir new", vec![absent("new")]),
        ("mkdir -p x/y && echo z > x/y/z", vec![absent("x"), absent("x/y"), absent("x/y/z")]),
        ("mv a.txt b.txt", vec![file("a.txt", "one\n"), file("b.txt", "two\n")]),
        ("mv a.txt c.txt", vec![file("a.txt", "one\n"), absent("c.txt")]),
        ("ln a.txt hard && echo x > hard", vec![absent("hard"), file("a.txt", "one\n")]),
        ("ln -s b.txt soft", vec![absent("soft")]),
        ("mkfifo pipe", vec![absent("pipe")]),
        ("chmod 600 a.txt", vec![file("a.txt", "one\n")]),
        ("touch -d 2001-01-01 a.txt", vec![file("a.txt", "one\n")]),
        ("for i in 1 2 3; do echo $i > a.txt; done", vec![file("a.txt", "one\n")]),
        ("echo x > new && rm new", vec![]),
        ("mkdir new && rmdir new", vec![]),
        ("echo x > new && mv new other && rm other", vec![]),
        ("echo x > $TMPDIR/x && mv $TMPDIR/x a.txt", vec![file("a.txt", "one\n")]),
        ("mv a.txt $TMPDIR/ && mv $TMPDIR/a.txt .", vec![file("a.txt", "one\n")]),
        ("! mkdir dir 2>/dev/null && ! rmdir dir 2>/dev/null && ! ln a.txt b.txt 2>/dev/null", vec![]),
        (
            "mv dir moved",
            vec![
                directory("dir"),
                absent("moved"),
                directory("dir/inner"),
                file("dir/inner/c.txt", "three\n"),
                absent("moved/inner"),
                absent("moved/inner/c.txt"),
            ],
        ),
        ("rm -r dir", vec![file("dir/inner/c.txt", "three\n"), directory("dir/inner"), directory("dir")]),
    ] {
        let (fixture, outcome) = changed(script);
        assert_eq!(reported(&fixture, &outcome), expected, "{script}");
        assert!(outcome.ended.not_stored.is_empty(), "{script}: {:?}", outcome.ended.not_stored);
    }
}

#[test]
fn links_and_modes() {
    let (fixture, outcome) = changed("rm link; chmod 640 a.txt");
    let link = outcome.before(fixture.root.join("link")).unwrap();
    assert_eq!((link.kind, link.target.as_deref()), (Kind::Symlink, Some("a.txt")));
    assert_eq!(outcome.before(fixture.root.join("a.txt")).unwrap().mode, 0o644);
}

#[test]
fn a_thousand_files() {
    let fixture = Fixture::new();
    for index in 0..1000 {
        fixture.write(&format!("{index}.txt"), &index.to_string());
    }
    let outcome = run(fixture.shell("for i in $(seq 0 999); do echo x > $i.txt; done")).succeeded();
    assert_eq!(outcome.ended.before.len(), 1000);
    for (index, before) in outcome.ended.before.iter().enumerate() {
        assert_eq!(fixture.staged_content(before).unwrap(), index.to_string());
    }
}

#[test]
fn more_than_is_stored() {
    let fixture = Fixture::new();
    fixture.write("large", &"x".repeat(2000));
    fixture.write("small", "kept");
    let mut start = fixture.shell("echo > large; echo > small");
    start.limits.max_stored_bytes = 1000;
    let outcome = run(start).succeeded();
    assert_eq!(outcome.ended.not_stored, [fixture.inside("large")]);
    assert_eq!(outcome.before(fixture.root.join("large")).unwrap().staged_file, None);
    assert_eq!(fixture.staged_content(outcome.before(fixture.root.join("small")).unwrap()).unwrap(), "kept");
}

#[test]
fn ignored_changes_are_counted() {
    let fixture = Fixture::new();
    fixture.write("target/old", "old");
    fixture.write("target/deep/old", "old");
    let mut start = fixture.shell("echo x > target/new; echo x > target/old; echo x > kept; mv target other");
    start.rules = true;
    let outcome =
        run_with(start, |question| Verdict { ignored: question.path.contains("/target"), ..Verdict::default() });
    let outcome = outcome.succeeded();
    assert_eq!(outcome.ended.ignored, 3, "{outcome:#?}");
    assert!(outcome.ended.before.iter().all(|it| !it.path.contains("/target")), "{outcome:#?}");
    assert_eq!(outcome.kind(fixture.root.join("kept")), Some(Kind::Absent));
    assert_eq!(fs::read_dir(&fixture.staging).unwrap().count(), 0);
}
