//! Commits that a crash interrupted between two changes.

use paddock_ops::overlay::Commit;
use paddock_types::error::{Code, Error};
use paddock_types::policy::Policy;
use paddock_types::request::Access;
use paddock_vfs::memory::MemoryFs;
use paddock_vfs::overlay::OverlayFs;
use paddock_vfs::{Filesystem, Open};
use serde_json::json;

use crate::tree::tree_of;
use crate::{commit, fixture, over, policy, put, stopping, take_over, work};

/// Name of the record in the state directory if the roots have no identifiers.
const NOTE: &str = "commit";

/// Completes an interrupted commit, as the next call in the base does.
fn recover(memory: &MemoryFs, policy: &Policy) -> Result<(), Error> {
    paddock_ops::open(&over(memory), policy, Access::Change).map(drop)
}

fn is_noted(memory: &MemoryFs) -> bool {
    let state = memory.preopens().remove(1).dir;
    memory.list(&state).unwrap().entries.iter().any(|entry| entry.name == NOTE)
}

/// Calls `check` with the file systems after crashes at all moments of a commit at which its record is there.
fn at_each_crash(ready: impl Fn() -> MemoryFs, mut check: impl FnMut(&MemoryFs, u64)) {
    let mut interrupted = 0;
    for fault_at in 1.. {
        let memory = ready();
        let fs = stopping(&memory, fault_at, true);
        drop(take_over(&fs, &[], false));
        if fs.left.get() > 0 {
            break;
        }
        if is_noted(&memory) {
            interrupted += 1;
            check(&memory, fault_at);
        }
    }
    assert!(interrupted > 5, "{interrupted}");
}

/// A commit that a crash interrupted is completed with what it was to commit, and only where nobody has changed the base.
#[test]
fn an_interrupted_commit_takes_no_later_change() {
    for (path, is_in_directory) in [("d/precious.txt", true), ("unrelated.txt", false)] {
        let mut was_interrupted = 0;
        for fault_at in 1.. {
            let memory = fixture();
            work(&memory, "delete", json!({"path": "d", "recursive": true}));
            let fs = stopping(&memory, fault_at, true);
            drop(take_over(&fs, &[], false));
            if fs.left.get() > 0 {
                break;
            }
            let is_noted = memory.stat(&memory.preopens().remove(1).dir, "commit").is_ok();
            was_interrupted += u32::from(is_noted);
            put(&memory, path, "precious\n");
            // As a call in the overlay, which does not see the state directory of the base.
            put(&OverlayFs::open(&over(&memory), &policy()).unwrap(), "k/unreviewed.txt", "unreviewed\n");
            // Opening the base completes the commit.
            drop(paddock_ops::open(&over(&memory), &policy(), Access::Change).unwrap());
            let tree = tree_of(&memory);
            assert_eq!(tree[path].1, b"precious\n", "{fault_at}");
            assert!(!tree.contains_key("k/unreviewed.txt"), "{fault_at}");
            if is_noted && !is_in_directory {
                assert!(!tree.contains_key("d"), "{fault_at}: the commit was not completed");
            }
        }
        assert!(was_interrupted > 5, "{was_interrupted}");
    }
}

/// A directory with links is removed, which takes a step for each link.
fn with_removed_links() -> MemoryFs {
    let memory = fixture();
    let top = memory.preopens().remove(0).dir;
    let dir = memory.open_dir(&top, "k").unwrap();
    memory.make_dir(&dir, "in").unwrap();
    for name in ["1", "2"] {
        memory.symlink(&dir, name, "l.txt").unwrap();
    }
    work(&memory, "delete", json!({"path": "k", "recursive": true}));
    work(&memory, "write_file", json!({"path": "b.txt", "content": "mine\n"}));
    memory
}

#[test]
fn a_directory_with_links_is_removed_as_a_whole() {
    at_each_crash(with_removed_links, |memory, fault_at| {
        recover(memory, &policy()).unwrap();
        let tree = tree_of(memory);
        assert_eq!((tree.contains_key("k"), tree["b.txt"].1.as_slice()), (false, &b"mine\n"[..]), "{fault_at}");
        assert!(!is_noted(memory));
    });
    // A link that somebody has changed since stays.
    let mut kept = 0;
    at_each_crash(with_removed_links, |memory, fault_at| {
        let Ok(dir) = memory.open_dir(&memory.preopens().remove(0).dir, "k") else { return };
        let _ = memory.unlink(&dir, "2");
        memory.symlink(&dir, "2", "elsewhere").unwrap();
        kept += 1;
        recover(memory, &policy()).unwrap();
        assert_eq!(tree_of(memory)["k/2"].1, b"elsewhere", "{fault_at}");
    });
    assert!(kept > 5, "{kept}");
}

#[test]
fn a_file_that_somebody_has_removed_since_does_not_come_back() {
    at_each_crash(with_removed_links, |memory, fault_at| {
        memory.unlink(&memory.preopens().remove(0).dir, "b.txt").unwrap();
        recover(memory, &policy()).unwrap();
        assert!(!tree_of(memory).contains_key("b.txt"), "{fault_at}");
    });
}

/// The target of a link changes in two steps.
#[test]
fn a_link_is_changed_as_a_whole() {
    let ready = || {
        let memory = with_removed_links();
        work(&memory, "delete", json!({"path": "link"}));
        put_link(&memory);
        memory
    };
    at_each_crash(ready, |memory, fault_at| {
        recover(memory, &policy()).unwrap();
        assert_eq!(tree_of(memory)["link"].1, b"b.txt", "{fault_at}");
    });
}

/// Creates a link in the overlay, as a command does.
fn put_link(memory: &MemoryFs) {
    let (fs, policy) = (over(memory), policy());
    let overlay = OverlayFs::open(&fs, &policy).unwrap();
    overlay.symlink(&overlay.preopens().remove(0).dir, "link", "b.txt").unwrap();
}

/// One state directory can serve several workspaces.
#[test]
fn a_commit_is_completed_for_its_roots_only() {
    let of = |id: &str| {
        let roots = json!([{"guest": "/workspace", "id": id}]);
        let policy = json!({"backend": "overlay", "host": {"carries_modes": true}, "roots": roots});
        Policy::parse(&policy.to_string(), "paddock").unwrap()
    };
    let (mut was_completed, own, other) = (0, of("own"), of("other"));
    for fault_at in 1.. {
        let memory = with_removed_links();
        let fs = stopping(&memory, fault_at, true);
        drop(committed_as(&fs, &own));
        if fs.left.get() > 0 {
            break;
        }
        let before = tree_of(&memory);
        recover(&memory, &other).unwrap();
        assert_eq!(tree_of(&memory), before, "{fault_at}");
        recover(&memory, &own).unwrap();
        was_completed += u32::from(tree_of(&memory) != before);
    }
    assert!(was_completed > 5, "{was_completed}");
}

fn committed_as(fs: &dyn Filesystem, policy: &Policy) -> Result<Commit, Error> {
    let args = paddock_ops::overlay::CommitArgs { overlay: "o".to_owned(), ..Default::default() };
    let base = paddock_ops::open(fs, policy, Access::Change)?;
    paddock_ops::overlay::Transaction::open(fs, policy)?.commit(&base, &args)
}

#[test]
fn a_commit_that_rules_forbid_now_stays_unfinished() {
    let mut strict = policy();
    strict.rules.blocked_extensions.push(".txt".to_owned());
    let mut was_refused = 0;
    at_each_crash(with_removed_links, |memory, fault_at| {
        if let Err(error) = recover(memory, &strict) {
            assert!(format!("{error:?}").contains("`o` was cut off"), "{fault_at}: {error:?}");
            assert!(is_noted(memory));
            was_refused += 1;
        }
        recover(memory, &policy()).unwrap();
        let tree = tree_of(memory);
        assert_eq!((tree.contains_key("k"), tree["b.txt"].1.as_slice()), (false, &b"mine\n"[..]), "{fault_at}");
    });
    assert!(was_refused > 5, "{was_refused}");
}

#[test]
fn a_record_that_cannot_be_read_is_set_aside() {
    let memory = with_removed_links();
    let state = memory.preopens().remove(1).dir;
    let file = memory.open_file(&state, NOTE, Open::CreateNew).unwrap();
    memory.write(&file, 0, br#"{"overlay": "o", "paths": []}"#).unwrap();
    recover(&memory, &policy()).unwrap();
    assert!(!is_noted(&memory) && memory.stat(&state, "commit.refused").is_ok());
    commit(&over(&memory), &[], false).unwrap();
    assert!(!tree_of(&memory).contains_key("k"));
    assert_eq!(recover(&memory, &policy()).map_err(|error| error.code), Ok::<_, Code>(()));
}

/// A rule forbids what the second step makes, and the first one would have removed entries that no backup brings back.
#[test]
fn a_commit_that_fails_removes_nothing() {
    for with_backups in [true, false] {
        let memory = fixture();
        put_absolute_link(&memory);
        work(&memory, "write_file", json!({"path": "n", "content": "new\n"}));
        work(&memory, "delete", json!({"path": "l"}));
        work(&memory, "write_file", json!({"path": "l", "content": "file\n"}));
        work(&memory, "delete", json!({"path": "b.txt"}));
        put(&memory, ".agentignore", "n\n");
        let before = tree_of(&memory);
        let mut policy = policy();
        policy.rules.backups.enabled = with_backups;
        let fs = over(&memory);
        assert!(committed_as(&fs, &policy).is_err());
        assert_eq!((tree_of(&memory), is_noted(&memory)), (before, false));
    }
}

fn put_absolute_link(memory: &MemoryFs) {
    memory.symlink(&memory.preopens().remove(0).dir, "l", "/etc/hosts").unwrap();
}
