//! Changes in an overlay are rendered, committed to its base in full, in part or not at all, and discarded.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::cell::Cell;

use paddock_guest::engine;
use paddock_ops::overlay::{Commit, CommitArgs, DiffArgs, Transaction};
use paddock_types::entry::Time;
use paddock_types::error::{Code, Error};
use paddock_types::policy::Policy;
use paddock_types::request::Access;
use paddock_vfs::memory::MemoryFs;
use paddock_vfs::open_location::OpenLocation;
use paddock_vfs::overlay::OverlayFs;
use paddock_vfs::{Filesystem, OVERLAY_GUEST_PATH, Open, Preopen};
use serde_json::{Value, json};

use stopping::Stopping;
use tree::{Tree, tree_of};

mod interrupted;
mod random;
mod stale;
#[path = "../stopping/mod.rs"]
mod stopping;
#[path = "../tree/mod.rs"]
mod tree;

fn policy() -> Policy {
    Policy::parse(r#"{"backend": "overlay", "host": {"carries_modes": true}}"#, "paddock").unwrap()
}

/// Returns a base with files, directories and a link.
fn fixture() -> MemoryFs {
    let memory = MemoryFs::new(&["/workspace", "/paddock-state"], || Time { seconds: 7, nanoseconds: 0 }, 1);
    for (path, content) in [
        ("a.txt", "one\ntwo\nthree\nfour\nfive\n"),
        ("b.txt", "b\n"),
        ("d/c.txt", "c\n"),
        ("d/e/f.txt", "f\n"),
        ("d/e/g.bin", "g\u{0}g"),
        ("k/l.txt", "l\n"),
    ] {
        put(&memory, path, content);
    }
    let top = memory.preopens().remove(0).dir;
    memory.symlink(&top, "link", "a.txt").unwrap();
    let state = memory.preopens().remove(1).dir;
    memory.make_dir(&state, "overlays").unwrap();
    let overlays = memory.open_dir(&state, "overlays").unwrap();
    memory.make_dir(&overlays, "o").unwrap();
    memory
}

/// Returns the file system with the preopens of an overlay, which fails at the n-th call.
fn stopping(memory: &MemoryFs, fault_at: u64, crash: bool) -> Stopping<'_> {
    let state = memory.preopens().remove(1).dir;
    let dir = memory.open_dir(&memory.open_dir(&state, "overlays").unwrap(), "o").unwrap();
    let overlay = Preopen { guest_path: OVERLAY_GUEST_PATH.to_owned(), dir };
    Stopping { inner: memory, left: Cell::new(fault_at), crash, meanwhile: None, also: vec![overlay] }
}

/// Returns the same file system without faults.
fn over(memory: &MemoryFs) -> Stopping<'_> {
    stopping(memory, u64::MAX, false)
}

/// Changes the base, as another process would.
fn put(fs: &dyn Filesystem, path: &str, content: &str) {
    let mut dir = fs.preopens().remove(0).dir;
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    for part in above.split('/').filter(|part| !part.is_empty()) {
        let _ = fs.make_dir(&dir, part);
        dir = fs.open_dir(&dir, part).unwrap();
    }
    let _ = fs.unlink(&dir, name);
    OpenLocation { dir, name: name.to_owned() }.create(fs, &content.as_bytes().to_vec().into()).unwrap();
}

#[track_caller]
fn work(memory: &MemoryFs, tool: &str, arguments: Value) {
    let (policy, fs) = (policy(), over(memory));
    let overlay = OverlayFs::open(&fs, &policy).unwrap();
    let outcome = engine::call(&overlay, &policy, "paddock", tool, &arguments.to_string());
    assert!(outcome.error.is_none(), "{tool} {arguments}: {:?}", outcome.error);
}

/// Makes every kind of change that an agent can make, and replaces names by another kind of entry.
fn refactor(fs: &MemoryFs) {
    work(fs, "edit_file", json!({"path": "a.txt", "edits": [{"old_text": "one", "new_text": "ONE"}]}));
    work(fs, "write_file", json!({"path": "new/deep/n.txt", "content": "n\n"}));
    work(fs, "make_dir", json!({"path": "empty/dir"}));
    work(fs, "delete", json!({"path": "b.txt"}));
    work(fs, "move", json!({"source": "link", "destination": "link2"}));
    work(fs, "delete", json!({"path": "d/e", "recursive": true}));
    work(fs, "write_file", json!({"path": "d/e", "content": "a file now\n"}));
    work(fs, "delete", json!({"path": "k", "recursive": true}));
    work(fs, "write_file", json!({"path": "k/other.txt", "content": "other\n"}));
}

fn merged_tree(memory: &MemoryFs) -> Tree {
    tree_of(&OverlayFs::open(&over(memory), &policy()).unwrap())
}

fn commit(fs: &dyn Filesystem, paths: &[&str], merge: bool) -> paddock_types::error::Result<Commit> {
    let outcome = take_over(fs, paths, merge)?;
    if outcome.conflicts.is_empty() {
        Transaction::open(fs, &policy())?.settle(&outcome.merged)?;
    }
    Ok(outcome)
}

/// Commits to the base. The overlay retains the changes.
fn take_over(fs: &dyn Filesystem, paths: &[&str], merge: bool) -> paddock_types::error::Result<Commit> {
    let paths = paths.iter().map(|path| (*path).to_owned()).collect();
    let args = CommitArgs { overlay: "o".to_owned(), paths, merge };
    let policy = policy();
    Transaction::open(fs, &policy)?.commit(&paddock_ops::open(fs, &policy, Access::Change)?, &args)
}

fn differences(memory: &MemoryFs) -> Vec<String> {
    let (policy, fs) = (policy(), over(memory));
    let diff = Transaction::open(&fs, &policy).unwrap().diff(&DiffArgs::default()).unwrap();
    diff.differences.into_iter().map(|difference| difference.path).collect()
}

#[test]
fn all_changes_are_committed_and_can_be_undone() {
    let memory = fixture();
    let before = tree_of(&memory);
    refactor(&memory);
    let wanted = merged_tree(&memory);
    assert_eq!(tree_of(&memory), before);
    let outcome = commit(&over(&memory), &[], false).unwrap();
    assert_eq!(outcome.conflicts, []);
    assert_eq!(tree_of(&memory), wanted);
    assert_eq!(differences(&memory), Vec::<String>::new());
    assert_eq!(merged_tree(&memory), wanted);
    let base = Policy::parse(r#"{"host": {"carries_modes": true}}"#, "paddock").unwrap();
    let undo = json!({"backup": outcome.backup.unwrap()}).to_string();
    let undone = engine::call(&memory, &base, "paddock", "restore", &undo);
    assert!(undone.error.is_none(), "{:?}", undone.error);
    assert_eq!(tree_of(&memory), before);
}

#[test]
fn some_changes_are_committed() {
    let memory = fixture();
    refactor(&memory);
    let wanted = merged_tree(&memory);
    let before = tree_of(&memory);
    commit(&over(&memory), &["new", "./a.txt", "link2"], false).unwrap();
    let after = tree_of(&memory);
    for path in ["a.txt", "new", "new/deep", "new/deep/n.txt", "link2"] {
        assert_eq!(after.get(path), wanted.get(path), "{path}");
    }
    for path in ["b.txt", "d/e/f.txt", "k/l.txt", "link"] {
        assert_eq!(after.get(path), before.get(path), "{path}");
    }
    assert!(!after.contains_key("empty"));
    assert_eq!(merged_tree(&memory), wanted, "the overlay looks as before");
    assert!(!differences(&memory).contains(&"a.txt".to_owned()));
    // The remaining changes are committed.
    commit(&over(&memory), &[], false).unwrap();
    assert_eq!(tree_of(&memory), wanted);
    assert_eq!(differences(&memory), Vec::<String>::new());
}

#[test]
fn all_or_some_changes_are_discarded() {
    let memory = fixture();
    let before = tree_of(&memory);
    refactor(&memory);
    let policy = policy();
    let fs = over(&memory);
    let open = || Transaction::open(&fs, &policy).unwrap();
    let gone = open().discard(&["a.txt".to_owned(), "d".to_owned(), "b.txt".to_owned()]).unwrap();
    assert!(gone.contains(&"d/e".to_owned()), "{gone:?}");
    let now = merged_tree(&memory);
    for path in ["a.txt", "b.txt", "d", "d/e", "d/e/f.txt", "d/e/g.bin"] {
        assert_eq!(now.get(path), before.get(path), "{path}");
    }
    assert!(now.contains_key("new/deep/n.txt") && !now.contains_key("k/l.txt"));
    open().discard(&[]).unwrap();
    assert_eq!(merged_tree(&memory), before);
    assert_eq!(tree_of(&memory), before);
}

#[test]
fn paths_without_a_difference_cannot_be_chosen() {
    let memory = fixture();
    refactor(&memory);
    assert_eq!(commit(&over(&memory), &["d/c.txt"], false).unwrap_err().code, Code::NotFound);
    let error = commit(&over(&memory), &["k/other.txt"], false).unwrap_err();
    assert_eq!(error.code, Code::InvalidArgument);
    assert!(error.hint_text().unwrap().contains("`k`"));
}

/// A change of the base by another process.
type Somebody = fn(&MemoryFs);

/// Changes a file of the base in place.
fn overwrite(memory: &MemoryFs, path: &str, content: &str) {
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    let top = memory.preopens().remove(0).dir;
    let mut names = above.split_terminator('/');
    let dir = names.try_fold(top, |dir, name| memory.open_dir(&dir, name)).unwrap();
    let file = memory.open_file(&dir, name, Open::Write).unwrap();
    memory.set_size(&file, 0).unwrap();
    memory.write(&file, 0, content.as_bytes()).unwrap();
}

/// Returns the paths of the files of the base that contain `precious`.
fn precious(memory: &MemoryFs) -> Vec<String> {
    let is_precious = |text: &[u8]| text.windows(8).any(|part| part == b"precious");
    tree_of(memory).into_iter().filter(|(_, entry)| is_precious(&entry.1)).map(|(path, _)| path).collect()
}

/// At any moment of a call in the overlay, another process changes files of the base.
#[test]
fn no_change_of_the_base_is_lost_during_a_call_in_the_overlay() {
    const CHANGED: [&str; 2] = ["a.txt", "d/c.txt"];
    const PRECIOUS: &str = "one\nprecious\n";
    let others: [Somebody; 2] = [
        |memory| CHANGED.iter().for_each(|path| put(memory, path, PRECIOUS)),
        |memory| CHANGED.iter().for_each(|path| overwrite(memory, path, PRECIOUS)),
    ];
    let calls = [
        ("edit_file", json!({"path": "a.txt", "edits": [{"old_text": "one", "new_text": "ONE"}]})),
        ("move", json!({"source": "a.txt", "destination": "d/moved.txt"})),
        ("move", json!({"source": "d", "destination": "z"})),
    ];
    for (other, (tool, arguments)) in others.iter().flat_map(|other| calls.iter().map(move |call| (other, call))) {
        let mut moments = 0;
        for moment in 1.. {
            let (memory, policy) = (fixture(), policy());
            let fs = Stopping { meanwhile: Some(*other), ..stopping(&memory, moment, false) };
            let overlay = OverlayFs::open(&fs, &policy).unwrap();
            let outcome = engine::call(&overlay, &policy, "paddock", tool, &arguments.to_string());
            // The call ended before this moment.
            if fs.left.get() < moment {
                break;
            }
            moments = moment;
            if outcome.error.is_none() {
                drop(commit(&over(&memory), &[], false));
            }
            assert_eq!(precious(&memory).len(), CHANGED.len(), "{tool} {arguments}, moment {moment}");
        }
        assert!(moments > 20, "{tool}: {moments}");
    }
}

/// A conflict stays one, whatever the overlay does afterwards with the file or the directories above it.
#[test]
fn no_later_change_in_the_overlay_hides_a_conflict() {
    let edit = |path: &str, content: &str| ("write_file", json!({"path": path, "content": content}));
    let delete = |path: &str| ("delete", json!({"path": path, "recursive": true}));
    let rename = |path: &str| ("move", json!({"source": path, "destination": "z"}));
    let make_dir = |path: &str| ("make_dir", json!({"path": path}));
    let scenarios = [
        (edit("d/c.txt", "mine\n"), "d/c.txt", rename("d")),
        (edit("d/c.txt", "mine\n"), "d/c.txt", delete("d")),
        (edit("d/e/f.txt", "mine\n"), "d/e/f.txt", rename("d")),
        (delete("d/c.txt"), "d/c.txt", rename("d")),
        (delete("d/c.txt"), "d/c.txt", delete("d")),
        (delete("d/e"), "d/e/f.txt", rename("d")),
        (edit("n.txt", "mine\n"), "n.txt", edit("n.txt", "mine 2\n")),
        (edit("n.txt", "mine\n"), "n.txt", rename("n.txt")),
        (edit("n.txt", "mine\n"), "n.txt", delete("n.txt")),
        (edit("d/n.txt", "mine\n"), "d/n.txt", rename("d")),
        (edit("d/n.txt", "mine\n"), "d/n.txt", delete("d")),
        (make_dir("n"), "n", rename("n")),
        (make_dir("n"), "n", delete("n")),
    ];
    for ((tool, arguments), path, (next, next_arguments)) in scenarios {
        let memory = fixture();
        work(&memory, tool, arguments.clone());
        put(&memory, path, "precious\n");
        work(&memory, next, next_arguments.clone());
        let outcome = commit(&over(&memory), &[], false).unwrap();
        let conflicts: Vec<_> = outcome.conflicts.iter().map(|conflict| conflict.path.as_str()).collect();
        let case = format!("{tool} {arguments}, {next} {next_arguments}: {conflicts:?}");
        assert_eq!(precious(&memory), [path], "{case}");
    }
}

/// An entry that was changed back hides what others change in the base, but is no reason for a conflict.
#[test]
fn a_change_of_the_base_is_visible_after_the_overlay_has_taken_its_own_back() {
    for (settles, removed) in [(true, false), (true, true), (false, false), (false, true)] {
        let fs = fixture();
        let before = tree_of(&fs)["b.txt"].clone();
        work(&fs, "write_file", json!({"path": "b.txt", "content": "mine\n"}));
        work(&fs, "write_file", json!({"path": "b.txt", "content": "b\n"}));
        work(&fs, "write_file", json!({"path": "other.txt", "content": "other\n"}));
        assert_eq!(differences(&fs), ["other.txt"]);
        overwrite(&fs, "b.txt", "theirs\n");
        if removed {
            fs.unlink(&fs.preopens().remove(0).dir, "b.txt").unwrap();
        }
        let base = tree_of(&fs);
        assert_eq!(merged_tree(&fs)["b.txt"], before);
        let over = over(&fs);
        let diff = Transaction::open(&over, &policy()).unwrap().diff(&DiffArgs { patch: true, ..DiffArgs::default() });
        let diff = diff.unwrap();
        let seen: Vec<_> = diff.differences.iter().map(|it| (&*it.path, it.is_stale, it.lines)).collect();
        assert_eq!(seen, [("b.txt", true, Some((0, 0))), ("other.txt", false, Some((1, 0)))]);
        assert!(!diff.patch.contains("b.txt"), "{}", diff.patch);
        if settles {
            let made = commit(&over, &[], false).unwrap();
            assert_eq!(made.changes.iter().map(|change| &*change.path).collect::<Vec<_>>(), ["other.txt"]);
        } else {
            let discarded = Transaction::open(&over, &policy()).unwrap().discard(&["b.txt".to_owned()]).unwrap();
            assert_eq!(discarded, ["b.txt"]);
        }
        assert_eq!(merged_tree(&fs).get("b.txt"), base.get("b.txt"));
        assert_eq!(tree_of(&fs).get("b.txt"), base.get("b.txt"));
    }
}

#[test]
fn a_change_of_the_base_below_an_entry_that_was_changed_back_is_not_removed_with_its_directory() {
    let (rename, delete) = (json!({"source": "d", "destination": "z"}), json!({"path": "d", "recursive": true}));
    for (tool, arguments) in [("move", rename), ("delete", delete)] {
        let memory = fixture();
        for content in ["mine\n", "c\n"] {
            work(&memory, "write_file", json!({"path": "d/c.txt", "content": content}));
        }
        overwrite(&memory, "d/c.txt", "precious\n");
        work(&memory, tool, arguments);
        let outcome = commit(&over(&memory), &[], false).unwrap();
        assert_eq!(precious(&memory), ["d/c.txt"], "{tool}: {:?}", outcome.conflicts);
    }
}

/// The overlay's own file hid one that somebody created in the base; without it, the latter is visible, and a change of the
/// directory either takes it along or is a conflict.
#[test]
fn a_file_of_the_base_is_visible_after_the_overlay_has_removed_its_own() {
    for removal in
        [("delete", json!({"path": "d/n.txt"})), ("move", json!({"source": "d/n.txt", "destination": "moved.txt"}))]
    {
        let memory = fixture();
        work(&memory, "write_file", json!({"path": "d/n.txt", "content": "mine\n"}));
        put(&memory, "d/n.txt", "precious\n");
        work(&memory, removal.0, removal.1.clone());
        assert_eq!(merged_tree(&memory)["d/n.txt"].1, b"precious\n", "{removal:?}");
        work(&memory, "move", json!({"source": "d", "destination": "z"}));
        assert_eq!(merged_tree(&memory)["z/n.txt"].1, b"precious\n", "{removal:?}");
    }
}

/// Removals below a directory that was removed later end together with that of the directory.
#[test]
fn removals_below_a_removed_directory_end_with_it() {
    let removed = || {
        let memory = fixture();
        work(&memory, "delete", json!({"path": "d/c.txt"}));
        work(&memory, "delete", json!({"path": "d", "recursive": true}));
        memory
    };
    let memory = removed();
    let before = tree_of(&memory);
    Transaction::open(&over(&memory), &policy()).unwrap().discard(&["d".to_owned()]).unwrap();
    assert_eq!((differences(&memory), merged_tree(&memory)), (Vec::new(), before));
    // Another change stays, so that the commit does not empty the overlay.
    let memory = removed();
    work(&memory, "write_file", json!({"path": "other.txt", "content": "other\n"}));
    commit(&over(&memory), &["d"], false).unwrap();
    put(&memory, "d/c.txt", "c\n");
    assert_eq!(differences(&memory), ["other.txt"]);
}

#[test]
fn a_concurrent_change_of_the_base_is_a_conflict() {
    let changes: [(&str, Somebody); 5] = [
        ("a.txt", |fs| put(fs, "a.txt", "one\ntwo\nthree\nfour\nFIVE\n")),
        ("b.txt", |fs| put(fs, "b.txt", "other\n")),
        ("new/deep/n.txt", |fs| put(fs, "new/deep/n.txt", "theirs\n")),
        ("k", |fs| put(fs, "k/m.txt", "m\n")),
        ("d/e", |fs| put(fs, "d/e/f.txt", "F\n")),
    ];
    for (path, change) in changes {
        let memory = fixture();
        refactor(&memory);
        let wanted = merged_tree(&memory);
        change(&memory);
        let before = tree_of(&memory);
        let refused = commit(&over(&memory), &[], false).unwrap();
        assert_eq!(refused.conflicts.iter().map(|conflict| conflict.path.as_str()).collect::<Vec<_>>(), [path]);
        assert_eq!(tree_of(&memory), before, "{path}");
        if path == "a.txt" {
            let conflict = &refused.conflicts[0];
            assert!(conflict.theirs.contains("+FIVE") && conflict.ours.contains("+ONE"), "{conflict:?}");
            // Both changes are in different places, so they can be merged.
            let merged = commit(&over(&memory), &[], true).unwrap();
            assert_eq!(merged.merged, ["a.txt"]);
            let mut both = wanted.clone();
            both.get_mut("a.txt").unwrap().1 = b"ONE\ntwo\nthree\nfour\nFIVE\n".to_vec();
            assert_eq!(tree_of(&memory), both);
            assert_eq!(differences(&memory), Vec::<String>::new());
        } else {
            assert_eq!(commit(&over(&memory), &[], true).unwrap().conflicts.len(), 1, "{path}");
        }
    }
}

#[test]
fn an_equal_change_of_the_base_is_no_conflict() {
    let memory = fixture();
    refactor(&memory);
    let wanted = merged_tree(&memory);
    put(&memory, "a.txt", "ONE\ntwo\nthree\nfour\nfive\n");
    put(&memory, "new/deep/n.txt", "n\n");
    let top = memory.preopens().remove(0).dir;
    memory.unlink(&top, "b.txt").unwrap();
    commit(&over(&memory), &[], false).unwrap();
    assert_eq!(tree_of(&memory), wanted);
}

#[test]
fn it_is_set_back_to_a_checkpoint() {
    let memory = fixture();
    let policy = policy();
    let fs = over(&memory);
    let open = || Transaction::open(&fs, &policy).unwrap();
    open().checkpoint("start").unwrap();
    work(&memory, "write_file", json!({"path": "a.txt", "content": "1\n"}));
    work(&memory, "delete", json!({"path": "d", "recursive": true}));
    open().checkpoint("half").unwrap();
    let half = merged_tree(&memory);
    refactor_rest(&memory);
    assert_eq!(open().checkpoint("half").unwrap_err().code, Code::AlreadyExists);
    open().rollback("half").unwrap();
    assert_eq!(merged_tree(&memory), half);
    open().rollback("start").unwrap();
    assert_eq!(merged_tree(&memory), tree_of(&memory));
    open().rollback("half").unwrap();
    assert_eq!(merged_tree(&memory), half);
    assert_eq!(open().checkpoints().unwrap(), ["half", "start"]);
    assert_eq!(open().rollback("no").unwrap_err().code, Code::NotFound);
    for name in ["", "..", "a/b", ".hidden", "ä"] {
        assert_eq!(open().checkpoint(name).unwrap_err().code, Code::InvalidArgument, "{name}");
    }
}

fn refactor_rest(fs: &MemoryFs) {
    work(fs, "write_file", json!({"path": "d", "content": "a file\n"}));
    work(fs, "write_file", json!({"path": "x.txt", "content": "x\n"}));
    work(fs, "delete", json!({"path": "a.txt"}));
}

/// A commit is stopped at every point, by an error or a crash: a later call finds the old or the new base.
#[test]
fn taking_over_is_all_or_nothing_wherever_it_stops() {
    let base = Policy::parse(r#"{"host": {"carries_modes": true}}"#, "paddock").unwrap();
    let policy = policy();
    for crash in [true, false] {
        for paths in [&[][..], &["a.txt", "new", "b.txt"][..]] {
            let finished = ready();
            let old = tree_of(&finished);
            commit(&over(&finished), paths, false).unwrap();
            let new = tree_of(&finished);
            let mut states = 0;
            for fault_at in 1.. {
                let memory = ready();
                let stopping = stopping(&memory, fault_at, crash);
                let result = take_over(&stopping, paths, false);
                if let Ok(outcome) = &result {
                    let open = Transaction::open(&stopping, &policy);
                    drop(open.and_then(|overlay| overlay.settle(&outcome.merged)));
                }
                let reached = if crash { stopping.left.get() == 0 } else { stopping.left.get() > fault_at };
                if !reached {
                    assert_eq!(result.unwrap().conflicts, []);
                    break;
                }
                states += 1;
                // An unrelated call performs the recovery.
                let looked = engine::call(&memory, &base, "paddock", "make_dir", r#"{"path": "looked"}"#);
                assert!(looked.error.is_none(), "{:?}", looked.error);
                let gone = engine::call(&memory, &base, "paddock", "delete", r#"{"path": "looked"}"#);
                assert!(gone.error.is_none(), "{:?}", gone.error);
                let now = tree_of(&memory);
                let is_reported = !crash && result.is_err();
                assert!(now == old || now == new, "{paths:?} {crash} {fault_at}: {:?}", now.keys().collect::<Vec<_>>());
                // A commit that reports an error has changed nothing, unless the undo failed too.
                if is_reported && now == new && now != old {
                    let message = result.as_ref().err().map(Error::message).unwrap_or_default();
                    assert!(
                        ["undoing the partial change", "remove the record of the commit of the overlay"]
                            .iter()
                            .any(|part| message.contains(part)),
                        "{message}"
                    );
                }
                // Committed changes that the overlay still holds are no differences; the remaining ones can be
                // committed.
                commit(&over(&memory), paths, false).unwrap_or_default();
                assert!(tree_of(&memory) == new, "{paths:?} {crash} {fault_at}");
            }
            assert!(states > 100, "{states}");
        }
    }
}

/// Returns a base and an overlay with all changes.
fn ready() -> MemoryFs {
    let memory = fixture();
    refactor(&memory);
    memory
}

#[test]
fn a_move_is_reported_as_a_move() {
    let memory = fixture();
    for path in ["same/1.txt", "same/2.txt"] {
        put(&memory, path, "same\n");
    }
    let reported_moves = || {
        let (policy, fs) = (policy(), over(&memory));
        let args = DiffArgs { patch: true, ..DiffArgs::default() };
        let diff = Transaction::open(&fs, &policy).unwrap().diff(&args).unwrap();
        let moves = diff.differences.into_iter().filter_map(|new| Some((new.moved_from?, new.path)));
        (moves.map(|(from, to)| format!("{from} -> {to}")).collect::<Vec<_>>(), diff.patch)
    };
    work(&memory, "move", json!({"source": "a.txt", "destination": "new/a \"b\".txt"}));
    let (moves, patch) = reported_moves();
    assert_eq!(moves, ["a.txt -> new/a \"b\".txt"]);
    let head = r#"diff --git a/a.txt "b/new/a \"b\".txt""#;
    assert_eq!(patch, format!("{head}\nsimilarity index 100%\nrename from a.txt\nrename to \"new/a \\\"b\\\".txt\"\n"));

    work(&memory, "move", json!({"source": "link", "destination": "link2"}));
    work(&memory, "move", json!({"source": "d", "destination": "moved"}));
    work(&memory, "move", json!({"source": "same", "destination": "pair"}));
    assert_eq!(
        reported_moves().0,
        [
            "link -> link2",
            "d/c.txt -> moved/c.txt",
            "d/e/f.txt -> moved/e/f.txt",
            "d/e/g.bin -> moved/e/g.bin",
            "a.txt -> new/a \"b\".txt",
            "same/1.txt -> pair/1.txt",
            "same/2.txt -> pair/2.txt"
        ]
    );

    // A file with other content, a copy, and a file that has changed in the base since are not reported as moves.
    work(&memory, "write_file", json!({"path": "pair/1.txt", "content": "other\n"}));
    work(&memory, "copy", json!({"source": "k/l.txt", "destination": "k/copy.txt"}));
    put(&memory, "d/c.txt", "changed\n");
    let (moves, patch) = reported_moves();
    assert!(
        !moves.iter().any(|reported_moves| reported_moves.contains("copy.txt") || reported_moves.contains("d/c.txt")),
        "{moves:?}"
    );
    assert!(moves.contains(&"same/1.txt -> pair/2.txt".to_owned()), "{moves:?}");
    assert!(patch.contains("deleted file mode 100644\nindex"), "{patch}");
}

#[test]
fn many_moves_of_the_same_content_are_found_in_time() {
    let memory = fixture();
    for number in 0..2_000 {
        put(&memory, &format!("many/{number:04}"), "");
    }
    work(&memory, "move", json!({"source": "many", "destination": "lots"}));
    let (policy, fs) = (policy(), over(&memory));
    let diff = Transaction::open(&fs, &policy).unwrap().diff(&DiffArgs::default()).unwrap();
    let moved = diff.differences.iter().filter_map(|new| Some((new.moved_from.as_ref()?, &new.path)));
    let mut count = 0;
    for (from, to) in moved {
        assert_eq!(from.replace("many", "lots"), *to);
        count += 1;
    }
    assert_eq!(count, 2_000);
}

#[test]
fn an_overlay_without_differences_has_empty_layers() {
    let memory = fixture();
    work(&memory, "write_file", json!({"path": "x/y.txt", "content": "y\n"}));
    work(&memory, "delete", json!({"path": "b.txt"}));
    let (policy, fs) = (policy(), over(&memory));
    let overlay = Transaction::open(&fs, &policy).unwrap();
    overlay.discard(&["b.txt".to_owned()]).unwrap();
    overlay.discard(&["x".to_owned()]).unwrap();
    let state = memory.preopens().remove(1).dir;
    let top = memory.open_dir(&memory.open_dir(&state, "overlays").unwrap(), "o").unwrap();
    let layers: Vec<_> = memory.list(&top).unwrap().entries.into_iter().map(|entry| entry.name).collect();
    let layers: Vec<_> = layers.iter().filter(|name| name.starts_with("layers-")).collect();
    assert_eq!(layers, ["layers-1"]);
    assert!(memory.list(&memory.open_dir(&top, "layers-1").unwrap()).unwrap().entries.is_empty());
}
