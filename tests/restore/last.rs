//! `restore` with `last` undoes several calls together, or none of them.

use std::fs;

use paddock::Policy;
use paddock::types::*;
use serde_json::{Value, json};

use super::Fixture;

/// Calls that change the fixture in all the ways that can be undone together.
fn calls() -> Vec<(&'static str, Value)> {
    let patch = "*** Begin Patch\n*** Add File: n/m/new.txt\n+n\n*** Update File: a.txt\n*** Move to: moved.txt\n@@\n-1\n+2\n\
                 *** Delete File: x.txt\n*** End Patch";
    vec![
        ("write_file", json!({"path": "a.txt", "content": "1\n"})),
        ("write_file", json!({"path": "a.txt", "content": "2", "append": true})),
        ("edit_file", json!({"path": "a.txt", "edits": [{"old_text": "2", "new_text": "3\n"}]})),
        ("apply_patch", json!({"patch": patch})),
        ("move", json!({"source": "moved.txt", "destination": "d/once.txt"})),
        ("edit_file", json!({"path": "d/once.txt", "edits": [{"old_text": "2", "new_text": "4"}]})),
        ("move", json!({"source": "d/once.txt", "destination": "a.txt"})),
        ("write_file", json!({"path": "x.txt", "content": "again"})),
        ("make_dir", json!({"path": "p/q"})),
        ("copy", json!({"source": "d", "destination": "p/q/d", "recursive": true})),
        ("delete", json!({"path": "d", "recursive": true})),
        ("write_file", json!({"path": "d/e/c.txt", "content": "other"})),
        ("delete", json!({"path": "p/q/d/link"})),
        ("delete", json!({"path": "x.txt"})),
        ("write_file", json!({"path": "x.txt", "content": "x\n"})),
    ]
}

#[test]
fn any_number_of_calls_is_undone_and_done_again() {
    let count = calls().len();
    for last in 1..=count {
        let fixture = Fixture::new(Policy::default());
        let mut trees = vec![fixture.tree()];
        let mut backups = Vec::new();
        for (tool, arguments) in calls() {
            backups.push(fixture.ok(tool, arguments)["backup"].clone());
            trees.push(fixture.tree());
        }
        let undone = fixture.ok("restore", json!({"last": last}));
        assert_eq!(fixture.tree(), trees[count - last], "the last {last}");
        backups.reverse();
        let named: Vec<_> =
            [&undone["undone"]].into_iter().chain(undone["also_undone"].as_array().into_iter().flatten()).collect();
        assert_eq!(named, backups[..last].iter().collect::<Vec<_>>());
        assert_eq!(fixture.history().len(), count + 1, "the undo has one backup");
        fixture.ok("restore", json!({"last": 1}));
        let files = |tree: &crate::tree::Tree| tree.iter().filter(|(_, it)| it.is_some()).count();
        assert_eq!(files(&fixture.tree()), files(&trees[count]), "the last {last} again");
    }
}

/// Random sequences of calls: either the tree is as it was before the calls, or nothing has changed.
#[test]
fn an_undo_is_whole_or_none() {
    let (mut whole, mut refused) = (0, 0);
    for seed in 0..60_u64 {
        let fixture = Fixture::new(Policy::default());
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = |below: usize| {
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            usize::try_from(random >> 33).unwrap() % below
        };
        let paths = ["a.txt", "x.txt", "d/e/c.txt", "n/a", "n/b", "d"];
        let mut trees = vec![fixture.tree()];
        for number in 0..40 {
            let (from, to) = (paths[next(paths.len())], paths[next(paths.len() - 1)]);
            let (tool, arguments) = match next(6) {
                0 | 1 => ("write_file", json!({"path": to, "content": number.to_string()})),
                2 => ("delete", json!({"path": from, "recursive": true})),
                3 => ("move", json!({"source": from, "destination": to, "overwrite": next(3) == 0})),
                4 => ("copy", json!({"source": from, "destination": to, "overwrite": true, "recursive": true})),
                _ => ("make_dir", json!({"path": format!("n/{}", next(3))})),
            };
            let outcome = fixture.call(tool, arguments);
            if outcome.ok && outcome.value()["backup"].is_string() {
                trees.push(fixture.tree());
            }
        }
        let last = 1 + next(trees.len().min(9) - 1);
        let outcome = fixture.call("restore", json!({"last": last}));
        let expected = if outcome.ok { &trees[trees.len() - 1 - last] } else { &trees[trees.len() - 1] };
        assert_eq!(&fixture.tree(), expected, "seed {seed}, the last {last}: {}", outcome.text);
        if outcome.ok {
            whole += 1;
        } else {
            assert!(outcome.text.contains("by itself"), "seed {seed}: {}", outcome.text);
            refused += 1;
        }
    }
    assert!(whole > refused && refused > 0, "{whole} whole, {refused} refused");
}

#[test]
fn calls_that_cannot_be_undone_together_change_nothing() {
    let fixture = Fixture::new(Policy::default());
    let refused = |arguments: Value, words: &[&str]| {
        let before = fixture.tree();
        let outcome = fixture.call("restore", arguments);
        assert!(!outcome.ok && words.iter().all(|words| outcome.text.contains(words)), "{}", outcome.text);
        assert_eq!(fixture.tree(), before);
    };
    refused(json!({"last": 1}), &["only 0 can be undone"]);
    fixture.ok("write_file", json!({"path": "a.txt", "content": "1"}));
    let moved = fixture.ok("move", json!({"source": "d", "destination": "e"}))["backup"].clone();
    fixture.ok("write_file", json!({"path": "x.txt", "content": "1"}));
    refused(json!({"last": 4}), &["only 3 can be undone"]);
    refused(json!({"last": 0}), &["last"]);
    refused(json!({"last": 101}), &["last"]);
    refused(json!({"last": 1, "backup": moved}), &["contradicts"]);
    let id = moved.as_str().unwrap();
    refused(json!({"last": 3}), &["the move of `d`", id, "only be undone by itself", "`last` 1 undoes the later ones"]);
    fixture.ok("restore", json!({"last": 1}));
    // Another process changed a file of an earlier call.
    fixture.ok("write_file", json!({"path": "b.txt", "content": "1"}));
    fixture.ok("write_file", json!({"path": "c.txt", "content": "1"}));
    fs::write(fixture.root().join("b.txt"), "theirs").unwrap();
    refused(json!({"last": 2}), &["changed since"]);
    fixture.ok("restore", json!({"last": 2, "overwrite": true}));
    assert!(!fixture.root().join("b.txt").exists());
}

/// A call that writes the existing content stores no backup.
#[test]
fn a_call_without_a_difference_is_undone_too() {
    let fixture = Fixture::new(Policy::default());
    fixture.ok("write_file", json!({"path": "a.txt", "content": "1"}));
    let before = fixture.tree();
    fixture.ok("write_file", json!({"path": "x.txt", "content": "1"}));
    fixture.ok("copy", json!({"source": "x.txt", "destination": "a.txt", "overwrite": true}));
    fixture.ok("restore", json!({"path": "a.txt"}));
    assert_eq!(fs::read(fixture.root().join("a.txt")).unwrap(), b"1");
    fixture.ok("restore", json!({"last": fixture.history().len() - 1}));
    assert_eq!(fixture.tree(), before);
}

#[test]
fn the_last_calls_of_a_path() {
    let fixture = Fixture::new(Policy::default());
    for content in ["1", "2", "3"] {
        fixture.ok("write_file", json!({"path": "x.txt", "content": content}));
        fixture.ok("write_file", json!({"path": "a.txt", "content": content}));
    }
    fixture.ok("restore", json!({"path": "x.txt", "last": 2}));
    let read = |path: &str| fs::read_to_string(fixture.root().join(path)).unwrap();
    assert_eq!((read("x.txt").as_str(), read("a.txt").as_str()), ("1", "3"));
}

#[test]
fn a_damaged_backup_ends_the_undo() {
    let fixture = Fixture::new(Policy::default());
    fixture.ok("write_file", json!({"path": "x.txt", "content": "1"}));
    let damaged = fixture.ok("write_file", json!({"path": "x.txt", "content": "2"}))["backup"].clone();
    fixture.ok("write_file", json!({"path": "x.txt", "content": "3"}));
    let file = fixture.home.path().join("state/history").join(damaged.as_str().unwrap());
    fs::write(file, "").unwrap();
    let before = fixture.tree();
    let refused = fixture.call("restore", json!({"last": 3}));
    assert!(refused.text.contains("is damaged; nothing was changed"), "{}", refused.text);
    assert!(refused.text.contains("`last` 1 undoes"), "{}", refused.text);
    assert_eq!(fixture.tree(), before);
}

/// Each short id in a text names exactly one record.
#[test]
fn texts_have_the_id_of_the_backup() {
    let fixture = Fixture::new(Policy::default());
    let short = |text: &str| {
        let at = text.rfind("backup ").unwrap() + "backup ".len();
        text[at..].trim_end_matches(']').to_owned()
    };
    let written = fixture.call("write_file", json!({"path": "x.txt", "content": "1"}));
    let id = short(&written.text);
    assert!(id.len() < 20 && written.value()["backup"].as_str().unwrap().starts_with(&id), "{}", written.text);
    let undone = fixture.call("restore", json!({"backup": id}));
    assert_eq!(undone.value()["undone"], written.value()["backup"]);
    assert!(undone.text.starts_with("undid write: x.txt\n[backup "), "{}", undone.text);
    for id in ["1", "1795322715123", "-", "1-", "x", &format!("{id}-1"), &id[1..]] {
        assert_eq!(fixture.call("restore", json!({"backup": id})).value()["code"], "not-found", "{id}");
    }
    // Records of the same millisecond differ in their number.
    let state = fixture.home.path().join("state/history");
    let full = written.value()["backup"].as_str().unwrap().to_owned();
    let [ms, _, size] = full.split('-').collect::<Vec<_>>()[..] else { panic!("{full}") };
    fs::copy(state.join(&full), state.join(format!("{ms}-00000a-{size}"))).unwrap();
    let undone = fixture.ok("restore", json!({"backup": format!("{ms}-a"), "overwrite": true}));
    assert_eq!(undone["undone"], format!("{ms}-00000a-{size}"));
}

/// `restore` without arguments lists the calls and changes nothing.
#[test]
fn without_arguments_the_history_is_listed() {
    let fixture = Fixture::new(Policy::default());
    assert_eq!(fixture.call("restore", json!({})).text, "[no backups]\n");
    fixture.ok("write_file", json!({"path": "x.txt", "content": "1"}));
    fixture.ok("delete", json!({"path": "a.txt"}));
    let before = fixture.tree();
    let listed = fixture.call("restore", json!({}));
    assert_eq!(fixture.tree(), before);
    let lines: Vec<Vec<&str>> = listed.text.lines().map(|line| line.split(' ').collect()).collect();
    assert_eq!(lines.iter().map(|line| &line[2..]).collect::<Vec<_>>(), [["delete", "a.txt"], ["write", "x.txt"]]);
    assert_eq!(listed.value()["entries"][0]["operation"], "delete");
    fs::write(fixture.root().join(".agentignore"), "a.txt\n").unwrap();
    let hidden = fixture.call("restore", json!({}));
    assert!(hidden.text.contains(" delete (hidden by .agentignore)\n"), "{}", hidden.text);
    assert!(!hidden.value().to_string().contains("a.txt"), "{}", hidden.text);
    fixture.ok("restore", json!({"backup": lines[1][0]}));
    assert_eq!(fs::read(fixture.root().join("x.txt")).unwrap(), b"x\n");
    let refused = fixture.workspace.restore(&RestoreArgs::last(2)).unwrap_err();
    assert_eq!(refused.code, ErrorCode::Denied, "{refused:?}");
    fs::remove_file(fixture.root().join(".agentignore")).unwrap();
    let typed = fixture.workspace.restore(&RestoreArgs::last(2)).unwrap();
    assert_eq!(typed.also_undone.len(), 1);
}
