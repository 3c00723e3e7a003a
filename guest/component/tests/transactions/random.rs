//! Random calls in an overlay beside random changes of its base: no commit removes a text of the base that the overlay never
//! showed.

use std::collections::BTreeSet;

use paddock_guest::engine;
use paddock_ops::overlay::Transaction;
use paddock_types::entry::Kind;
use paddock_vfs::Filesystem;
use paddock_vfs::memory::MemoryFs;
use paddock_vfs::overlay::OverlayFs;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::tree::tree_of;
use crate::{commit, fixture, merged_tree, over, policy, put};

#[derive(Clone, Debug)]
enum Step {
    /// Calls in the overlay.
    Calls(Vec<(&'static str, Value)>),
    /// Another process writes a text that is in no other file.
    Put(&'static str),
    /// Another process removes a file.
    Unlink(&'static str),
    Discard(Vec<&'static str>),
    Commit(Vec<&'static str>, bool),
}

fn path() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&["d", "d/c.txt", "d/n.txt", "d/e", "d/e/f.txt", "n"][..])
}

fn paths() -> impl Strategy<Value = Vec<&'static str>> {
    prop_oneof![Just(Vec::new()), path().prop_map(|path| vec![path])]
}

fn call() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => path().prop_map(|path| write(path, "mine\n")),
        4 => path().prop_map(|path| ("delete", json!({"path": path, "recursive": true}))),
        4 => (path(), path()).prop_map(|(from, to)| ("move", json!({"source": from, "destination": to}))),
        1 => path().prop_map(|path| ("make_dir", json!({"path": path}))),
        1 => path().prop_map(|path| ("copy", json!({"source": path, "destination": "copy"}))),
        2 => Just(("restore", json!({}))),
    ]
    .prop_map(|call| Step::Calls(vec![call]))
}

fn write(path: &str, content: &str) -> (&'static str, Value) {
    ("write_file", json!({"path": path, "content": content}))
}

/// Changes a file, and writes the text that the base has at first.
fn changed_back() -> impl Strategy<Value = Step> {
    let files = prop::sample::select(&[("d/c.txt", "c\n"), ("d/e/f.txt", "f\n")][..]);
    files.prop_map(|(path, content)| Step::Calls(vec![write(path, "mine\n"), write(path, content)]))
}

/// Removes or moves a directory, and undoes that.
fn directory_changed_back() -> impl Strategy<Value = Step> {
    (prop::sample::select(&["d", "d/e"][..]), any::<bool>()).prop_map(|(path, is_moved)| {
        let rename = |from: &str, to: &str| ("move", json!({"source": from, "destination": to}));
        Step::Calls(match is_moved {
            true => vec![rename(path, "t"), rename("t", path)],
            false => vec![("delete", json!({"path": path, "recursive": true})), ("restore", json!({"path": path}))],
        })
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => call(),
        2 => changed_back(),
        2 => directory_changed_back(),
        4 => path().prop_map(Step::Put),
        1 => path().prop_map(Step::Unlink),
        1 => paths().prop_map(Step::Discard),
        3 => (paths(), any::<bool>()).prop_map(|(paths, merge)| Step::Commit(paths, merge)),
    ]
}

/// Returns the texts of other processes that a tree contains.
fn texts(fs: &dyn Filesystem) -> BTreeSet<String> {
    let files = tree_of(fs).into_values();
    let lines = files
        .flat_map(|(_, content)| String::from_utf8(content).unwrap().lines().map(str::to_owned).collect::<Vec<_>>());
    lines.filter(|line| line.starts_with("precious")).collect()
}

fn shown(memory: &MemoryFs) -> BTreeSet<String> {
    texts(&OverlayFs::open(&over(memory), &policy()).unwrap())
}

/// Puts a file where no link or directory is, and no file is above it.
fn put_if_possible(memory: &MemoryFs, path: &str, content: &str) {
    let tree = tree_of(memory);
    let above = path.match_indices('/').map(|(end, _)| &path[..end]);
    let is_below_file = above.into_iter().any(|above| tree.get(above).is_some_and(|entry| entry.0 != Kind::Directory));
    if !is_below_file && tree.get(path).is_none_or(|entry| entry.0 == Kind::File) {
        put(memory, path, content);
    }
}

fn unlink(memory: &MemoryFs, path: &str) {
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    let mut dir = memory.preopens().remove(0).dir;
    for part in above.split('/').filter(|part| !part.is_empty()) {
        let Ok(next) = memory.open_dir(&dir, part) else { return };
        dir = next;
    }
    let _ = memory.unlink(&dir, name);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn no_commit_removes_what_the_overlay_never_showed(steps in vec(step(), 1..25)) {
        let memory = fixture();
        let mut seen = shown(&memory);
        let all = Step::Commit(Vec::new(), false);
        for (number, step) in steps.iter().chain([&all]).enumerate() {
            let before = texts(&memory);
            let (policy, fs) = (policy(), over(&memory));
            match step {
                Step::Calls(calls) => {
                    for (tool, arguments) in calls {
                        let overlay = OverlayFs::open(&fs, &policy).unwrap();
                        // Many calls fail because there is no such file, or another one.
                        drop(engine::call(&overlay, &policy, "paddock", tool, &arguments.to_string()));
                    }
                    prop_assert_eq!(&texts(&memory), &before);
                }
                Step::Put(path) => put_if_possible(&memory, path, &format!("precious {number}\n")),
                Step::Unlink(path) => unlink(&memory, path),
                Step::Discard(paths) => {
                    let paths: Vec<_> = paths.iter().map(|path| (*path).to_owned()).collect();
                    drop(Transaction::open(&fs, &policy).unwrap().discard(&paths));
                    prop_assert_eq!(&texts(&memory), &before);
                }
                Step::Commit(paths, merge) => {
                    let outcome = commit(&fs, paths, *merge);
                    let after = texts(&memory);
                    let lost: Vec<_> = before.difference(&after).filter(|text| !seen.contains(*text)).collect();
                    prop_assert!(lost.is_empty(), "{:?}: {:?}", lost, outcome);
                    if outcome.is_ok_and(|outcome| outcome.conflicts.is_empty() && paths.is_empty()) {
                        prop_assert_eq!(merged_tree(&memory), tree_of(&memory));
                    }
                }
            }
            seen.extend(shown(&memory));
        }
    }
}
