//! Changes of programs are reported, stored and undone like changes of tools.

use std::fs;

use serde_json::json;

use super::build::{fixture, fixture_under, printed, tool, tools};
use crate::fixture::changes;

/// Creates a symbolic link, which Wine does not.
const LINK: &str = if cfg!(windows) { "new link" } else { "symlink a.txt link" };

#[test]
fn changes_are_reported_and_undone() {
    for program in tools() {
        let fixture = fixture(program);
        for (path, text) in [("gone", "gone\n"), ("moved", "moved\n"), ("cut", "whole\n"), ("over", "over\n")] {
            fs::write(fixture.root().join(path), text).unwrap();
        }
        let ran = tool(
            &fixture,
            &[
                "append a.txt more",
                "write src/b.txt 2",
                "new made",
                "mkdir d/e",
                "rm gone",
                "mv moved d/e/moved",
                "cut cut 2",
                "new temporary",
                "rm temporary",
                "mv made over",
                LINK,
                "ln a.txt same",
                "mv src source",
            ],
        );
        assert_eq!(ran["stderr"]["text"], "", "{ran}");
        let mut reported = changes(&ran);
        reported.sort_by_key(|change| change.split_once(' ').unwrap().1.to_owned());
        let expected = [
            "modified a.txt",
            "modified cut",
            "created d",
            "created d/e",
            "created d/e/moved",
            "deleted gone",
            "created link",
            "deleted moved",
            "modified over",
            "created same",
            "created source",
            "created source/b.txt",
            "deleted src",
            "deleted src/b.txt",
        ];
        assert_eq!(reported, expected, "{ran}");
        fixture.ok("restore", json!({"backup": ran["backup"]}));
        let read = |path| fixture.read(path).unwrap_or_default();
        assert_eq!(
            ["a.txt", "src/b.txt", "gone", "moved", "cut", "over"].map(read),
            ["one\n", "two\n", "gone\n", "moved\n", "whole\n", "over\n"]
        );
        assert!(["d", "link", "same", "source", "made"].iter().all(|path| !fixture.root().join(path).exists()));
    }
}

#[test]
fn a_command_without_changes_leaves_no_backup() {
    let fixture = fixture(tools().next().unwrap());
    for steps in
        [&["cat a.txt", "ls ."][..], &["new t", "rm t"], &["write a.txt x", "cut a.txt 0", "append a.txt one\n"]]
    {
        let ran = tool(&fixture, steps);
        assert_eq!((changes(&ran), &ran["backup"]), (Vec::new(), &json!(null)), "{ran}");
    }
    let entries = fs::read_dir(fixture.home.path().join("state/commands")).unwrap().count();
    assert_eq!(entries, 0);
}

#[test]
fn ignored_files_are_counted_and_large_ones_named() {
    let fixture = fixture_under(tools().next().unwrap(), json!({"backups": {"max_bytes": 1_000}}), json!({}));
    fs::write(fixture.root().join(".gitignore"), "target/\n").unwrap();
    fs::write(fixture.root().join("large"), "x".repeat(2_000)).unwrap();
    let ran = tool(&fixture, &["mkdir target", "new target/a", "new target/b", "write large small"]);
    assert_eq!(changes(&ran), ["modified large"], "{ran}");
    assert!(ran["ignored"].as_u64().unwrap() >= 2, "{ran}");
    assert!(ran["notes"].to_string().contains("no backup of"), "{ran}");
    assert_eq!(printed(&fixture, &["cat large"]), "small");
}
