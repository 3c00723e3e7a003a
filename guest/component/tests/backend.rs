//! The contract of a backend, checked for the memory backend and for a table backend that exists only here. Every
//! operation runs over the table backend too and must give the results of the memory backend. `guest/BACKENDS.md` says
//! how to add a backend.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use paddock_guest::engine;
use paddock_types::entry::{Kind, Time};
use paddock_types::policy::Policy;
use paddock_vfs::memory::MemoryFs;
use paddock_vfs::{Fault, Filesystem, Open};
use serde_json::{Value, json};

mod backend {
    pub mod table;
}

use backend::table::TableFs;

type Tree = BTreeMap<String, Option<Vec<u8>>>;

/// Policies for both ways to replace a file: by a rename that carries the mode over, or by a rewrite in place.
const POLICIES: [&str; 2] = [r#"{"host": {"carries_modes": true}}"#, "{}"];

fn memory() -> MemoryFs {
    MemoryFs::new(&["/workspace", "/paddock-state"], || Time { seconds: 7, nanoseconds: 0 }, 1)
}

#[test]
fn the_backend_meets_every_requirement() {
    promises(&memory());
    promises(&TableFs::new());
}

/// Checks the guarantees that no layer above the backend enforces.
fn promises(fs: &dyn Filesystem) {
    let top = fs.preopens().remove(0).dir;
    let read = |name: &str| {
        let (file, mut bytes) = (fs.open_file(&top, name, Open::Read)?, Vec::new());
        while fs.read(&file, bytes.len() as u64, 2, &mut bytes)? > 0 {}
        Ok::<_, Fault>(String::from_utf8(bytes).unwrap())
    };
    let put = |name: &str, text: &str| {
        fs.write(&fs.open_file(&top, name, Open::CreateNew).unwrap(), 0, text.as_bytes()).unwrap();
    };
    // Only a rename replaces an existing entry.
    put("a", "first");
    fs.make_dir(&top, "d").unwrap();
    for taken in ["a", "d"] {
        assert_eq!(fs.open_file(&top, taken, Open::CreateNew).err(), Some(Fault::Exists));
        assert_eq!(fs.make_dir(&top, taken), Err(Fault::Exists));
        assert!(matches!(fs.link(&top, "a", &top, taken), Err(Fault::Exists | Fault::Unsupported)));
        assert!(matches!(fs.symlink(&top, taken, "a"), Err(Fault::Exists | Fault::Unsupported)));
    }
    // Each wrong kind and each missing entry has its own error.
    assert_eq!(fs.open_dir(&top, "a").err(), Some(Fault::NotDirectory));
    assert_eq!(fs.open_file(&top, "d", Open::Read).err(), Some(Fault::IsDirectory));
    assert_eq!(fs.stat(&top, "none").err(), Some(Fault::NotFound));
    assert_eq!((fs.unlink(&top, "none"), fs.unlink(&top, "d")), (Err(Fault::NotFound), Err(Fault::IsDirectory)));
    assert_eq!(fs.remove_dir(&top, "a"), Err(Fault::NotDirectory));
    // A write past the end fills the gap with zeros; `set_size` truncates and extends.
    let file = fs.open_file(&top, "a", Open::Write).unwrap();
    fs.write(&file, 6, b"x").unwrap();
    assert_eq!(read("a").unwrap(), "first\0x");
    fs.set_size(&file, 2).unwrap();
    fs.set_size(&file, 3).unwrap();
    assert_eq!((read("a").unwrap().as_str(), fs.stat_file(&file).unwrap().size), ("fi\0", 3));
    assert_eq!(fs.read(&file, 99, 9, &mut Vec::new()), Ok(0));
    // A rename replaces the target, and an open file keeps its content.
    put("b", "second");
    fs.rename(&top, "b", &top, "a").unwrap();
    assert_eq!((read("a").unwrap().as_str(), read("b")), ("second", Err(Fault::NotFound)));
    assert_eq!(fs.stat_file(&file).unwrap().size, 3);
    fs.rename(&top, "a", &top, "a").unwrap();
    assert_eq!(read("a").unwrap(), "second");
    // An open directory stays valid after a rename.
    let inner = fs.open_dir(&top, "d").unwrap();
    fs.rename(&top, "d", &top, "e").unwrap();
    fs.open_file(&inner, "f", Open::CreateNew).unwrap();
    assert_eq!(fs.stat(&fs.open_dir(&top, "e").unwrap(), "f").unwrap().kind, Kind::File);
    // Only an empty directory can be removed or replaced, and no directory can be moved into itself.
    assert_eq!(fs.remove_dir(&top, "e"), Err(Fault::NotEmpty));
    fs.make_dir(&top, "g").unwrap();
    assert_eq!(fs.rename(&top, "g", &top, "e"), Err(Fault::NotEmpty));
    assert_eq!(fs.rename(&top, "g", &top, "a"), Err(Fault::NotDirectory));
    assert_eq!(fs.rename(&top, "a", &top, "g"), Err(Fault::IsDirectory));
    assert!(fs.rename(&top, "e", &inner, "h").is_err());
    fs.rename(&top, "e", &top, "g").unwrap();
    let mut names: Vec<_> = fs.list(&top).unwrap().entries.into_iter().map(|entry| entry.name).collect();
    names.sort();
    assert_eq!(names, ["a", "g"]);
    // Random numbers must not repeat.
    assert_ne!(fs.random(), fs.random());
}

#[test]
fn every_operation_has_the_result_of_the_memory_backend() {
    for policy in POLICIES {
        let (known, own) = (memory(), TableFs::new());
        let policy = Policy::parse(policy, "paddock").unwrap();
        for (tool, arguments, succeeds) in calls() {
            let expected = called(&known, &policy, tool, &arguments);
            assert_eq!(expected["ok"], succeeds, "{tool} {arguments}: {expected}");
            assert_eq!(called(&own, &policy, tool, &arguments), expected, "{tool} {arguments}");
        }
        assert_eq!(tree_of(&own), tree_of(&known));
        assert!(tree_of(&own).len() > 5);
    }
}

/// Returns calls in an order in which each finds the files it needs, and whether it succeeds.
fn calls() -> Vec<(&'static str, Value, bool)> {
    let edit = |old: &str, new: &str| json!({"path": "src/main.rs", "edits": [{"old_text": old, "new_text": new}]});
    vec![
        ("write_file", json!({"path": "src/main.rs", "content": "fn main() {\n    one();\n}\n"}), true),
        ("write_file", json!({"path": "src/one.rs", "content": "pub fn one() {}\n"}), true),
        ("write_file", json!({"path": "notes.txt", "content": "one\ntwo\n"}), true),
        ("write_file", json!({"path": "notes.txt", "content": "three\n", "append": true}), true),
        ("write_file", json!({"path": "notes.txt", "content": "", "create_only": true}), false),
        ("read_file", json!({"path": "notes.txt", "offset": 2}), true),
        ("read_file", json!({"path": "note.txt"}), false),
        ("read_file", json!({"path": "src"}), false),
        ("read_file", json!({"path": "notes.txt/a"}), false),
        ("read_file", json!({"path": "../notes.txt"}), false),
        ("edit_file", edit("one();", "one();\n    two();"), true),
        ("edit_file", edit("nothing", ""), false),
        ("apply_patch", json!({"patch": several("notes.txt")}), true),
        ("apply_patch", json!({"patch": several("gone.txt")}), false),
        ("list_dir", json!({"path": "src"}), true),
        ("tree", json!({}), true),
        ("glob", json!({"pattern": "**/*.rs"}), true),
        ("grep", json!({"pattern": "two"}), true),
        ("stat", json!({"path": "src/main.rs"}), true),
        ("copy", json!({"source": "src/main.rs", "destination": "main.rs"}), true),
        ("copy", json!({"source": "src", "destination": "copy/of/src", "recursive": true}), true),
        ("copy", json!({"source": "src/main.rs", "destination": "main.rs"}), false),
        ("move", json!({"source": "main.rs", "destination": "far/away.rs"}), true),
        ("move", json!({"source": "copy/of", "destination": "far/of"}), true),
        ("move", json!({"source": "far", "destination": "far/of/far"}), false),
        ("move", json!({"source": "far/away.rs", "destination": "src/main.rs"}), false),
        ("delete", json!({"path": "far/of/src/main.rs"}), true),
        ("delete", json!({"path": "far/of"}), false),
        ("delete", json!({"path": "far/of", "recursive": true}), true),
        ("restore", json!({"path": "far/of"}), true),
        ("restore", json!({"path": "src/main.rs"}), true),
        ("make_dir", json!({"path": "empty/too"}), true),
        ("tree", json!({}), true),
    ]
}

/// Returns a patch that creates, changes, moves and deletes files.
fn several(third: &str) -> String {
    format!(
        "*** Begin Patch\n*** Add File: new/file.txt\n+new\n*** Update File: src/main.rs\n@@\n-fn main() {{\n+fn begin() {{\n\
         *** Update File: {third}\n*** Move to: moved/notes.txt\n@@\n-two\n+TWO\n*** Delete File: src/one.rs\n*** End Patch\n"
    )
}

#[test]
fn a_change_of_several_files_is_whole_or_none_without_hard_links() {
    for policy in POLICIES {
        let policy = Policy::parse(policy, "paddock").unwrap();
        let patch = json!({"patch": several("notes.txt")});
        let (before, after) = (start(), start());
        assert_eq!(called(&after, &policy, "apply_patch", &patch)["ok"], true);
        let (before, after) = (tree_of(&before), tree_of(&after));
        for crashes in [false, true] {
            let mut left = 0;
            while stops(&policy, &patch, (left, crashes), (&before, &after)) {
                left += 1;
            }
            assert!(left > 20, "{left}");
        }
    }
}

/// Returns whether the call reached the injected fault. If it did, the tree must be the one before or after the call.
fn stops(policy: &Policy, patch: &Value, (left, crashes): (u64, bool), (before, after): (&Tree, &Tree)) -> bool {
    let fs = start();
    fs.crashes.set(crashes);
    fs.left.set(left);
    let outcome = called(&fs, policy, "apply_patch", patch);
    let was_reached = !(1..=left).contains(&fs.left.replace(u64::MAX));
    // The next call that changes anything recovers from the crash.
    called(&fs, policy, "make_dir", &json!({"path": "src"}));
    let (tree, is_ok) = (tree_of(&fs), outcome["ok"] == true);
    let whole = tree == *after && (is_ok || crashes);
    assert!(whole || (tree == *before && !is_ok), "change {left}, crash {crashes}, done {is_ok}: {tree:?}");
    was_reached
}

fn start() -> TableFs {
    let fs = TableFs::new();
    for (tool, arguments, _) in calls().into_iter().take(3) {
        assert_eq!(called(&fs, &Policy::default(), tool, &arguments)["ok"], true);
    }
    fs
}

/// Returns the outcome of a call without the identifiers of backups, which are random.
fn called(fs: &dyn Filesystem, policy: &Policy, tool: &str, arguments: &Value) -> Value {
    let outcome = engine::call(fs, policy, "paddock", tool, &arguments.to_string());
    let mut result: Value = serde_json::from_str(&outcome.result).unwrap();
    for name in ["backup", "undone"] {
        if let Some(id) = result.get_mut(name).filter(|id| id.is_string()) {
            *id = json!("<backup>");
        }
    }
    let text = if tool == "restore" { String::new() } else { outcome.text };
    json!({"ok": outcome.error.is_none(), "result": result, "text": text, "changes": outcome.changes})
}

/// Returns every path in the workspace with its bytes; `None` for a directory.
fn tree_of(fs: &dyn Filesystem) -> Tree {
    let (mut tree, mut ahead) = (Tree::new(), vec![(String::new(), fs.preopens().remove(0).dir)]);
    while let Some((above, dir)) = ahead.pop() {
        for entry in fs.list(&dir).unwrap().entries {
            let path = format!("{above}{}", entry.name);
            let content = (entry.kind == Kind::File).then(|| {
                let (file, mut bytes) = (fs.open_file(&dir, &entry.name, Open::Read).unwrap(), Vec::new());
                while fs.read(&file, bytes.len() as u64, 1 << 16, &mut bytes).unwrap() > 0 {}
                bytes
            });
            if content.is_none() {
                ahead.push((format!("{path}/"), fs.open_dir(&dir, &entry.name).unwrap()));
            }
            tree.insert(path, content);
        }
    }
    tree
}
