//! Entries of the overlay that equal those of the base, and what other programs change there later.

use paddock_ops::overlay::Transaction;
use paddock_vfs::memory::MemoryFs;
use paddock_vfs::open_location::OpenLocation;
use paddock_vfs::{Filesystem, copy_remove};
use serde_json::{Value, json};

use crate::tree::tree_of;
use crate::{commit, differences, fixture, merged_tree, over, overwrite, policy, precious, put, work};

/// Calls that change the directory `d/e` in the overlay and change it back.
fn changed_back() -> [Vec<(&'static str, Value)>; 2] {
    let rename = |from: &str, to: &str| ("move", json!({"source": from, "destination": to}));
    [
        vec![("delete", json!({"path": "d/e", "recursive": true})), ("restore", json!({"path": "d/e"}))],
        vec![rename("d/e", "t"), rename("t", "d/e")],
    ]
}

#[test]
fn a_directory_that_was_changed_back_hides_no_later_change() {
    let (rename, delete) = (json!({"source": "d", "destination": "z"}), json!({"path": "d", "recursive": true}));
    for calls in changed_back() {
        let changed = || {
            let memory = fixture();
            calls.iter().for_each(|(tool, arguments)| work(&memory, tool, arguments.clone()));
            assert_eq!((differences(&memory), merged_tree(&memory)), (Vec::new(), tree_of(&memory)), "{calls:?}");
            overwrite(&memory, "d/e/f.txt", "precious\n");
            put(&memory, "d/e/new.txt", "precious\n");
            memory
        };
        let memory = changed();
        assert!(differences(&memory).contains(&"d/e".to_owned()), "{calls:?}");
        Transaction::open(&over(&memory), &policy()).unwrap().discard(&["d/e".to_owned()]).unwrap();
        assert_eq!(merged_tree(&memory), tree_of(&memory));
        for (tool, arguments) in [("move", &rename), ("delete", &delete)] {
            let memory = changed();
            work(&memory, tool, arguments.clone());
            let conflicts = commit(&over(&memory), &[], false).unwrap().conflicts;
            assert_eq!(precious(&memory), ["d/e/f.txt", "d/e/new.txt"], "{calls:?}, {tool}: {conflicts:?}");
        }
    }
}

#[test]
fn a_directory_that_was_moved_back_with_another_file_is_committed() {
    for calls in changed_back() {
        for path in ["d/e/f.txt", "d/e/new.txt"] {
            let memory = fixture();
            calls.iter().for_each(|(tool, arguments)| work(&memory, tool, arguments.clone()));
            work(&memory, "write_file", json!({"path": path, "content": "mine\n"}));
            work(&memory, "write_file", json!({"path": "other.txt", "content": "other\n"}));
            let wanted = merged_tree(&memory);
            assert!(commit(&over(&memory), &["d"], false).unwrap().conflicts.is_empty());
            assert_eq!((differences(&memory), merged_tree(&memory)), (vec!["other.txt".to_owned()], wanted.clone()));
            commit(&over(&memory), &[], false).unwrap();
            assert_eq!((tree_of(&memory), merged_tree(&memory)), (wanted.clone(), wanted), "{calls:?}, {path}");
        }
    }
}

/// Another change stays, so that the commit does not empty the overlay.
#[test]
fn committed_entries_hide_no_later_change() {
    let memory = fixture();
    for path in ["n.txt", "d/e/f.txt", "new/n.txt", "other.txt"] {
        work(&memory, "write_file", json!({"path": path, "content": "1\n"}));
    }
    work(&memory, "delete", json!({"path": "k", "recursive": true}));
    work(&memory, "write_file", json!({"path": "k/l.txt", "content": "1\n"}));
    commit(&over(&memory), &["n.txt", "d", "new", "k"], false).unwrap();
    for path in ["n.txt", "d/e/f.txt", "new/n.txt", "k/l.txt"] {
        overwrite(&memory, path, "2\n");
        assert_eq!(merged_tree(&memory)[path].1, b"2\n", "{path}");
    }
    put(&memory, "k/m.txt", "m\n");
    assert!(merged_tree(&memory).contains_key("k/m.txt"));
    assert_eq!(differences(&memory), ["other.txt"]);
    assert!(commit(&over(&memory), &[], false).unwrap().conflicts.is_empty());
}

/// The directory of the overlay hid a file that somebody created in the base.
#[test]
fn a_file_of_the_base_is_visible_after_a_directory_of_the_overlay_is_gone() {
    let removals: [(&str, Value); 2] =
        [("delete", json!({"path": "n", "recursive": true})), ("move", json!({"source": "n", "destination": "m"}))];
    for with_file in [false, true] {
        for (tool, arguments) in &removals {
            let memory: MemoryFs = fixture();
            work(&memory, "make_dir", json!({"path": "n"}));
            if with_file {
                work(&memory, "write_file", json!({"path": "n/f", "content": "f\n"}));
            }
            put(&memory, "n", "precious\n");
            work(&memory, tool, arguments.clone());
            assert_eq!(merged_tree(&memory)["n"].1, b"precious\n", "{tool}, {with_file}");
            assert!(!differences(&memory).contains(&"n".to_owned()));
        }
    }
}

/// A merge compares with the text that the overlay has changed, not with one of an earlier change at the same path.
#[test]
fn a_merge_is_based_on_the_text_that_was_changed() {
    let text = |flag: &str, last: &str| format!("flag={flag}\n2\n3\n4\n5\n6\n7\n8\n{last}\n");
    let memory = fixture();
    put(&memory, "d/x.txt", &text("A", "9"));
    work(&memory, "write_file", json!({"path": "d/x.txt", "content": text("A", "nine")}));
    work(&memory, "write_file", json!({"path": "other.txt", "content": "other\n"}));
    work(&memory, "move", json!({"source": "d", "destination": "z"}));
    assert!(commit(&over(&memory), &["d", "z"], false).unwrap().conflicts.is_empty());
    put(&memory, "d/x.txt", &text("B", "9"));
    work(&memory, "write_file", json!({"path": "d/x.txt", "content": text("B", "IX")}));
    overwrite(&memory, "d/x.txt", &text("A", "9"));
    assert!(commit(&over(&memory), &["d"], true).unwrap().conflicts.is_empty());
    assert_eq!(tree_of(&memory)["d/x.txt"].1, text("A", "IX").into_bytes());
}

/// The directories of the overlay above a file are empty after its commit or its discard.
#[test]
fn directories_that_others_remove_do_not_come_back() {
    for is_committed in [true, false] {
        let memory = fixture();
        work(&memory, "write_file", json!({"path": "d/e/f.txt", "content": "mine\n"}));
        work(&memory, "write_file", json!({"path": "other.txt", "content": "other\n"}));
        let (fs, paths) = (over(&memory), ["d/e/f.txt".to_owned()]);
        if is_committed {
            commit(&fs, &["d/e/f.txt"], false).unwrap();
        } else {
            Transaction::open(&fs, &policy()).unwrap().discard(&paths).unwrap();
        }
        remove_all(&memory, "d");
        assert_eq!(differences(&memory), ["other.txt"]);
        assert!(!merged_tree(&memory).contains_key("d"));
        commit(&fs, &[], false).unwrap();
        assert!(!tree_of(&memory).contains_key("d"));
    }
}

fn remove_all(memory: &MemoryFs, name: &str) {
    let top = OpenLocation { dir: memory.preopens().remove(0).dir, name: name.to_owned() };
    copy_remove::remove(memory, &top).unwrap();
}
