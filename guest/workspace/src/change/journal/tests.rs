use paddock_types::entry::{Kind, Time};
use paddock_types::policy::Policy;
use paddock_vfs::memory::MemoryFs;
use serde_json::{Value, json};

use crate::change::journal::*;

const HASH: &str = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";

/// Runs `test` on a workspace that has `.paddock-00000000000000ff.tmp/file` and, in it and outside, `.git/.paddock-00000000000000aa.tmp`.
fn with(policy: &str, preopens: &[&str], test: impl FnOnce(&Workspace<'_>)) {
    let fs = MemoryFs::new(preopens, || Time { seconds: 7, nanoseconds: 0 }, 1);
    let top = fs.preopens().remove(0).dir;
    for (dir, name) in [(".paddock-00000000000000ff.tmp", "file"), (".git", ".paddock-00000000000000aa.tmp")] {
        fs.make_dir(&top, dir).unwrap();
        let dir = fs.open_dir(&top, dir).unwrap();
        put(&fs, &dir, name, b"hello\n");
    }
    let policy = Policy::parse(policy, "paddock").unwrap();
    test(&Workspace::open(&fs, &policy).unwrap());
}

fn put(fs: &dyn Filesystem, dir: &Dir, name: &str, bytes: &[u8]) {
    OpenLocation { dir: dir.clone(), name: name.to_owned() }.create(fs, &bytes.to_vec().into()).unwrap();
}

/// Runs `test` in a workspace with a state directory.
fn with_state(policy: &str, test: impl FnOnce(&Workspace<'_>)) {
    with(policy, &["/workspace", "/paddock-state"], test);
}

/// Writes a journal as a crash would leave it.
fn leave(workspace: &Workspace<'_>, text: &[u8]) {
    put(workspace.fs, workspace.state.as_ref().unwrap(), NAME, text);
}

fn leave_whole(workspace: &Workspace<'_>, journal: &Value) {
    let body = journal.to_string();
    leave(workspace, format!("{}\n{body}", sha256(body.as_bytes())).as_bytes());
}

fn stored_location(path: &str) -> Value {
    let mut above: Vec<_> = path.split('/').collect();
    let name = above.pop().unwrap();
    json!({"root": "", "above": above, "name": name})
}

/// Returns a journal with one entry to remove.
fn debris(path: &str) -> Value {
    json!({"directories": [], "steps": [], "debris": [stored_location(path)]})
}

fn journal_step(target: &str, to: Option<&str>) -> Value {
    json!({"target": stored_location(target), "to": to.map(stored_location), "temporary": null, "backup": ".paddock-0123456789abcdef.tmp",
        "old": HASH, "new": to.map(|_| HASH), "in_place": false})
}

fn state_names(workspace: &Workspace<'_>) -> Vec<String> {
    let entries = workspace.fs.list(workspace.state.as_ref().unwrap()).unwrap().entries;
    entries.into_iter().map(|entry| entry.name).collect()
}

fn is_there(workspace: &Workspace<'_>, path: &str) -> bool {
    let mut names: Vec<_> = path.split('/').collect();
    let name = names.pop().unwrap();
    let top = workspace.roots[0].dir.clone();
    let dir = names.iter().try_fold(top, |dir, name| workspace.fs.open_dir(&dir, name));
    dir.is_ok_and(|dir| workspace.fs.stat(&dir, name).is_ok())
}

#[track_caller]
fn is_refused(workspace: &Workspace<'_>) {
    recover(workspace).unwrap();
    assert_eq!(state_names(workspace), [REFUSED]);
    assert!(
        is_there(workspace, ".paddock-00000000000000ff.tmp/file")
            && is_there(workspace, ".git/.paddock-00000000000000aa.tmp")
    );
    workspace.fs.unlink(workspace.state.as_ref().unwrap(), REFUSED).unwrap();
}

#[test]
fn a_journal_is_applied_and_removed() {
    with_state("{}", |workspace| {
        leave_whole(workspace, &debris(".paddock-00000000000000ff.tmp"));
        recover(workspace).unwrap();
        assert!(!is_there(workspace, ".paddock-00000000000000ff.tmp") && state_names(workspace).is_empty());
        recover(workspace).unwrap();
    });
}

#[test]
fn all_steps_are_done_or_none() {
    // Each journal deletes a file: an existing one, a deleted one, and one that another process has changed.
    let (ready, applied, lost) = (Some("hello\n"), None, Some("theirs\n"));
    for (before, is_done) in [
        (vec![ready, ready], true),
        (vec![applied, ready], true),
        (vec![applied, applied], true),
        (vec![ready, lost], false),
        (vec![lost, ready, ready], false),
        (vec![applied, lost, ready], true),
    ] {
        with_state("{}", |workspace| {
            let (fs, top) = (workspace.fs, &workspace.roots[0].dir);
            let mut steps = Vec::new();
            for (number, text) in before.iter().enumerate() {
                let name = number.to_string();
                fs.make_dir(top, &name).unwrap();
                text.iter().for_each(|text| put(fs, &fs.open_dir(top, &name).unwrap(), "file", text.as_bytes()));
                steps.push(journal_step(&format!("{name}/file"), None));
            }
            leave_whole(
                workspace,
                &json!({"directories": [], "steps": steps, "debris": [stored_location(".paddock-00000000000000ff.tmp")]}),
            );
            recover(workspace).unwrap();
            assert!(
                state_names(workspace).is_empty() && !is_there(workspace, ".paddock-00000000000000ff.tmp"),
                "{before:?}"
            );
            for (number, text) in before.iter().enumerate() {
                let dir = fs.open_dir(top, &number.to_string()).unwrap();
                let names: Vec<_> = fs.list(&dir).unwrap().entries.into_iter().map(|entry| entry.name).collect();
                let stays = *text == lost || (*text == ready && !is_done);
                assert_eq!(names, if stays { vec!["file"] } else { vec![] }, "{before:?}, {number}");
            }
        });
    }
}

#[test]
fn an_unfinished_journal_does_not_block_changes() {
    with_state("{}", |workspace| {
        put(workspace.fs, workspace.state.as_ref().unwrap(), &format!("{NAME}{UNFINISHED}"), b"half");
        Journal::default().write(workspace).unwrap();
        assert_eq!(state_names(workspace), [NAME]);
    });
}

#[test]
fn missing_directories_do_not_stop_recovery() {
    with_state("{}", |workspace| {
        for path in [
            ".paddock-00000000000000bb.tmp",
            "none/.paddock-00000000000000bb.tmp",
            ".paddock-00000000000000ff.tmp/.paddock-00000000000000bb.tmp",
        ] {
            leave_whole(workspace, &debris(path));
            recover(workspace).unwrap();
            leave_whole(workspace, &json!({"directories": [stored_location(path)], "steps": [], "debris": []}));
            recover(workspace).unwrap();
            assert!(state_names(workspace).is_empty(), "{path}");
        }
        let files = json!({"directories": [stored_location(".paddock-00000000000000ff.tmp"), stored_location(".paddock-00000000000000ff.tmp/file")], "steps": [], "debris": []});
        leave_whole(workspace, &files);
        recover(workspace).unwrap();
        assert!(
            is_there(workspace, ".paddock-00000000000000ff.tmp/file"),
            "a directory with something in it stays, and what is none"
        );
    });
}

#[test]
fn a_damaged_journal_is_retained_and_not_applied() {
    with_state("{}", |workspace| {
        let body = debris(".paddock-00000000000000ff.tmp").to_string();
        let whole = format!("{}\n{body}", sha256(body.as_bytes())).into_bytes();
        let other = format!("{}\n{}", sha256(body.as_bytes()), debris(".paddock-00000000000000ff.tmp/file"));
        let no_json = format!("{}\n{{", sha256(b"{"));
        let damaged: [&[u8]; 7] =
            [b"", b"\n", body.as_bytes(), other.as_bytes(), no_json.as_bytes(), b"\xff\n{}", &whole[..whole.len() - 1]];
        for text in damaged {
            leave(workspace, text);
            is_refused(workspace);
        }
    });
}

#[test]
fn a_journal_that_no_change_could_have_left_is_not_carried_out() {
    with_state("{}", |workspace| {
        leave_whole(workspace, &json!({"directories": [], "steps": [], "debris": []}));
        is_refused(workspace);
        for path in [
            "../.paddock-00000000000000ff.tmp",
            "a/../.paddock-00000000000000ff.tmp",
            "./.paddock-00000000000000ff.tmp",
            ".paddock-00000000000000ff.tmp/",
            ".paddock-00000000000000ff.tmp/.",
            "/.paddock-00000000000000ff.tmp",
            ".paddock-00000000000000ff.tmp/..",
            "a\\b",
            "a\0",
        ] {
            leave_whole(workspace, &debris(path));
            is_refused(workspace);
            leave_whole(
                workspace,
                &json!({"directories": [stored_location(path)], "steps": [], "debris": [stored_location(".paddock-00000000000000ff.tmp")]}),
            );
            is_refused(workspace);
        }
        let slash = json!({"root": "", "above": [], "name": ".paddock-00000000000000ff.tmp/file"});
        leave_whole(workspace, &json!({"directories": [], "steps": [], "debris": [slash]}));
        is_refused(workspace);
    });
}

#[test]
fn a_journal_of_a_protected_path_waits_for_a_policy_that_permits_it() {
    let journals = || {
        let hook = ".git/.paddock-00000000000000aa.tmp";
        [
            debris(hook),
            json!({"directories": [stored_location(".git/new")], "steps": [], "debris": [stored_location(".paddock-00000000000000ff.tmp")]}),
            json!({"directories": [], "steps": [journal_step(hook, None)], "debris": []}),
            json!({"directories": [], "steps": [journal_step(hook, Some(".paddock-00000000000000aa.tmp"))], "debris": []}),
            json!({"directories": [], "steps": [journal_step(".paddock-00000000000000ff.tmp/file", Some(".git/file"))], "debris": []}),
        ]
    };
    for journal in journals() {
        with_state("{}", |workspace| {
            leave_whole(workspace, &journal);
            let error = recover(workspace).unwrap_err();
            assert!(
                error.code == Code::Denied && error.path.is_some_and(|path| path.starts_with(".git/")),
                "{journal}"
            );
            assert_eq!(state_names(workspace), [NAME], "{journal}");
            let is_unchanged = [".paddock-00000000000000ff.tmp/file", ".git/.paddock-00000000000000aa.tmp"]
                .iter()
                .all(|path| is_there(workspace, path));
            let is_new = [".git/file", ".paddock-00000000000000aa.tmp"].iter().any(|path| is_there(workspace, path));
            assert!(is_unchanged && !is_new, "{journal}");
        });
    }
    for journal in journals() {
        with_state(r#"{"allow_protected": true}"#, |workspace| {
            leave_whole(workspace, &journal);
            recover(workspace).unwrap();
            assert!(state_names(workspace).is_empty(), "{journal}");
        });
    }
}

#[test]
fn without_a_state_directory_a_journal_lies_in_the_workspace_and_is_ignored() {
    with("{}", &["/workspace"], |workspace| {
        recover(workspace).unwrap();
        assert!(!is_there(workspace, INSIDE), "looking for one makes nothing");
        let journal = Journal {
            debris: vec![serde_json::from_value(stored_location(".paddock-00000000000000ff.tmp")).unwrap()],
            ..Journal::default()
        };
        journal.write(workspace).unwrap();
        let dir = workspace.fs.open_dir(&workspace.roots[0].dir, INSIDE).unwrap();
        let rules = workspace.fs.open_file(&dir, ".gitignore", Open::Read).unwrap();
        assert_eq!(read_up_to(workspace.fs, &rules, 9).unwrap(), b"*\n");
        assert_eq!(workspace.fs.stat(&dir, NAME).unwrap().kind, Kind::File);
        recover(workspace).unwrap();
        assert!(!is_there(workspace, ".paddock-00000000000000ff.tmp") && workspace.fs.stat(&dir, NAME).is_err());
        assert_eq!(workspace.fs.stat(&dir, REFUSED).err(), Some(Fault::NotFound));
    });
}

#[test]
fn a_second_journal_follows_the_cleanup_of_the_first() {
    with_state("{}", |workspace| {
        leave_whole(workspace, &debris(".paddock-00000000000000ff.tmp"));
        let second = Journal {
            directories: vec![serde_json::from_value(stored_location("new")).unwrap()],
            ..Journal::default()
        };
        let kind = paddock_types::response::ChangeKind::Created;
        workspace.changed(paddock_types::response::Change { kind, path: "a".to_owned(), to: None, size: None });
        second.write(workspace).unwrap();
        assert!(!is_there(workspace, ".paddock-00000000000000ff.tmp"));
        assert_eq!(state_names(workspace), [NAME]);
        second.tidy(workspace).unwrap();
        assert!(state_names(workspace).is_empty());
    });
}

/// Without a state directory the journal is in the workspace, whose author may have written it.
#[test]
fn an_untrusted_journal_removes_only_own_temporary_files() {
    let temporary = ".paddock-0123456789abcdef.tmp";
    let in_other = |name: &str| json!({"root": "/notes", "above": [], "name": name});
    let one = |stored_location: Value| json!({"directories": [], "steps": [], "debris": [stored_location]});
    for (journal, is_followed) in [
        (one(stored_location(temporary)), true),
        (one(stored_location("thesis")), false),
        (one(in_other(temporary)), false),
        (json!({"directories": [], "steps": [journal_step(".env", None)], "debris": []}), false),
        (
            json!({"directories": [], "steps": [{"target": in_other("thesis"), "to": null, "temporary": null,
            "backup": temporary, "old": HASH, "new": null, "in_place": false}], "debris": []}),
            false,
        ),
    ] {
        with("{}", &["/workspace", "/notes"], |workspace| {
            let (fs, roots) = (workspace.fs, &workspace.roots);
            let names = ["thesis", ".env", temporary];
            for (root, name) in roots.iter().flat_map(|root| names.map(|name| (root, name))) {
                put(fs, &root.dir, name, b"hello\n");
            }
            put(fs, &roots[0].dir, ".agentignore", b".env\n");
            let own = make_inside(fs, &roots[0].dir).unwrap();
            let body = journal.to_string();
            put(fs, &own, NAME, format!("{}\n{body}", sha256(body.as_bytes())).as_bytes());
            recover(workspace).unwrap();
            let is_left = |root: &Root, name: &str| fs.stat(&root.dir, name).is_ok();
            assert!(names.iter().all(|name| is_left(&roots[1], name)) && is_left(&roots[0], "thesis"), "{journal}");
            assert!(is_left(&roots[0], ".env"), "{journal}");
            assert_eq!(is_left(&roots[0], temporary), !is_followed, "{journal}");
            assert_eq!(fs.stat(&own, REFUSED).is_ok(), !is_followed, "{journal}");
        });
    }
}

#[test]
fn without_a_state_directory_a_change_of_two_roots_is_refused() {
    with("{}", &["/workspace", "/notes"], |workspace| {
        let in_both = Journal {
            directories: workspace
                .roots
                .iter()
                .map(|root| StoredLocation { root: root.label.clone(), above: Vec::new(), name: "d".to_owned() })
                .collect(),
            ..Journal::default()
        };
        assert_eq!(in_both.write(workspace).unwrap_err().code, Code::Io);
        let in_other = Journal { directories: in_both.directories[1..].to_vec(), ..Journal::default() };
        in_other.write(workspace).unwrap();
        let own = workspace.fs.open_dir(&workspace.roots[1].dir, INSIDE).unwrap();
        assert!(workspace.fs.stat(&own, NAME).is_ok());
    });
}

#[test]
fn a_journal_of_other_roots_waits_for_them() {
    let with_id = |id: &str, test: &dyn Fn(&Workspace<'_>)| {
        let policy = json!({"roots": [{"guest": "/workspace", "id": "1"}, {"guest": "/notes", "id": id}]});
        with(&policy.to_string(), &["/workspace", "/notes", "/paddock-state"], test);
    };
    let names = std::cell::RefCell::new(Vec::new());
    for id in ["2", "3"] {
        with_id(id, &|workspace| {
            // A journal without entries is valid too.
            Journal::default().write(workspace).unwrap();
            names.borrow_mut().extend(state_names(workspace));
        });
    }
    let names = names.into_inner();
    assert!(names.len() == 2 && names[0] != names[1] && names.iter().all(|name| name.starts_with(NAME)), "{names:?}");
}
