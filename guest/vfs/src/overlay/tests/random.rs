//! Random operations have the same results and effects in an overlay as in a directory.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::overlay::tests::{location, memory, policy, read, tree_of};
use crate::overlay::{Difference, Is, OverlayFs};
use crate::{Filesystem, FsResult, Open};

#[derive(Clone, Debug)]
enum Act {
    Write(String, u8),
    Create(String, u8),
    Read(String),
    MakeDir(String),
    Symlink(String, String),
    Link(String, String),
    Rename(String, String),
    Unlink(String),
    RemoveDir(String),
    /// Another instance over the same layers, as for the next call.
    Reopen,
}

fn path() -> impl Strategy<Value = String> {
    vec(prop_oneof![Just("a"), Just("b"), Just("at"), Just("in")], 1..4).prop_map(|names| names.join("/"))
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => (path(), any::<u8>()).prop_map(|(path, byte)| Act::Write(path, byte)),
        3 => (path(), any::<u8>()).prop_map(|(path, byte)| Act::Create(path, byte)),
        1 => path().prop_map(Act::Read),
        3 => path().prop_map(Act::MakeDir),
        1 => (path(), path()).prop_map(|(path, target)| Act::Symlink(path, target)),
        1 => (path(), path()).prop_map(|(path, to)| Act::Link(path, to)),
        6 => (path(), path()).prop_map(|(path, to)| Act::Rename(path, to)),
        2 => path().prop_map(Act::Unlink),
        2 => path().prop_map(Act::RemoveDir),
        1 => Just(Act::Reopen),
    ]
}

fn make(fs: &dyn Filesystem, act: &Act) -> FsResult<String> {
    let no_output = |()| String::new();
    match act {
        Act::Write(path, byte) | Act::Create(path, byte) => {
            let at = location(fs, path)?;
            let mode = if matches!(act, Act::Write(..)) { Open::Write } else { Open::CreateNew };
            let file = fs.open_file(&at.dir, &at.name, mode)?;
            fs.write(&file, 1, &[byte % 26 + b'a']).map(no_output)
        }
        Act::Read(path) => read(fs, &location(fs, path)?),
        Act::MakeDir(path) => location(fs, path).and_then(|at| fs.make_dir(&at.dir, &at.name)).map(no_output),
        Act::Symlink(path, target) => {
            location(fs, path).and_then(|at| fs.symlink(&at.dir, &at.name, target)).map(no_output)
        }
        Act::Link(path, to) => location(fs, path)?.link(fs, &location(fs, to)?).map(no_output),
        Act::Rename(path, to) => location(fs, path)?.rename(fs, &location(fs, to)?).map(no_output),
        Act::Unlink(path) => location(fs, path).and_then(|at| fs.unlink(&at.dir, &at.name)).map(no_output),
        Act::RemoveDir(path) => location(fs, path).and_then(|at| fs.remove_dir(&at.dir, &at.name)).map(no_output),
        Act::Reopen => Ok(String::new()),
    }
}

/// Returns the names in a tree's lines.
fn names(tree: &[String]) -> Vec<String> {
    let mut names: Vec<_> = tree.iter().map(|line| line.split([':', ' ']).next().unwrap().to_owned()).collect();
    names.sort();
    names
}

/// Returns the names of a tree after these changes.
fn applied(before: &[String], changes: &[Difference]) -> Vec<String> {
    let mut names = names(before);
    for change in changes {
        let path = format!("/{}", change.path.join("/"));
        names.retain(|name| name.trim_end_matches('/') != path);
        match &change.is {
            Some(Is::Directory) => names.push(format!("{path}/")),
            Some(_) => names.push(path),
            None => {}
        }
    }
    names.sort();
    names
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn an_overlay_does_what_a_directory_does(base in vec(act(), 0..30), acts in vec(act(), 1..30)) {
        let layers = memory();
        for act in base.iter().filter(|act| !matches!(act, Act::Link(..))) {
            let _ = make(&layers, act);
        }
        let (before, plain) = (tree_of(&layers), layers.clone_tree());
        let mut overlay = OverlayFs::open(&layers, &policy()).unwrap();
        for act in &acts {
            if matches!(act, Act::Reopen) {
                overlay = OverlayFs::open(&layers, &policy()).unwrap();
            }
            prop_assert_eq!(make(&overlay, act), make(&plain, act), "{:?}", act);
        }
        prop_assert_eq!(tree_of(&overlay), tree_of(&plain));
        let again = OverlayFs::open(&layers, &policy()).unwrap();
        prop_assert_eq!(tree_of(&again), tree_of(&plain));
        prop_assert_eq!(&again.changes().unwrap(), &overlay.changes().unwrap());
        if again.changes().unwrap().is_empty() {
            prop_assert_eq!(tree_of(&plain), before.clone());
        }
        let reported = again.changes().unwrap();
        prop_assert_eq!(applied(&before, &reported), names(&tree_of(&plain)), "{:?}", reported);
        prop_assert_eq!(tree_of(&layers), before);
    }

    #[test]
    fn open_directories_see_later_changes(acts in vec(act(), 1..30)) {
        let layers = memory();
        for path in ["a/a/b", "b/in", "a/at/a"] {
            crate::overlay::tests::make(&layers, path, "base");
        }
        let plain = layers.clone_tree();
        let overlay = OverlayFs::open(&layers, &policy()).unwrap();
        let open = |fs: &dyn Filesystem| ["a/b", "a/a/b", "b/in", "a/at/a"].map(|path| location(fs, path).unwrap().dir);
        let (load, expected) = (open(&overlay), open(&plain));
        for act in &acts {
            prop_assert_eq!(make(&overlay, act), make(&plain, act), "{:?}", act);
        }
        for (load, expected) in load.iter().zip(&expected) {
            let names = |fs: &dyn Filesystem, dir| {
                let mut entries = fs.list(dir).map(|listing| listing.entries).unwrap_or_default();
                entries.sort_by(|a, b| a.name.cmp(&b.name));
                entries
            };
            prop_assert_eq!(names(&overlay, load), names(&plain, expected));
        }
    }
}
