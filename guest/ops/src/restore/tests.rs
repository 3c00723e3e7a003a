//! Chains of undos: any number of undos and undos of undos lead to the earlier trees, with their permission bits.

use std::collections::BTreeMap;

use paddock_types::entry::Kind;
use paddock_types::request::{ApplyPatch, Delete, MakeDir, Move, Request, Restore, Transfer, Write};
use paddock_types::response::Response;
use paddock_vfs::{Dir, Filesystem, Open};

use crate::fixture::Fixture;

/// Each path with its kind, permission bits, and content.
type Tree = BTreeMap<String, (Kind, u32, Vec<u8>)>;

const PATHS: [&str; 8] = ["a", "b", "c", "d/a", "d/b", "d/e/a", "d", "n"];
const MODES: [u32; 5] = [0o600, 0o644, 0o755, 0o640, 0o444];

fn tree(fixture: &Fixture) -> Tree {
    fn add(fs: &dyn Filesystem, dir: &Dir, above: &str, tree: &mut Tree) {
        for entry in fs.list(dir).unwrap().entries {
            let path = format!("{above}{}", entry.name);
            let mut bytes = Vec::new();
            if entry.kind == Kind::Directory {
                add(fs, &fs.open_dir(dir, &entry.name).unwrap(), &format!("{path}/"), tree);
            } else {
                let file = fs.open_file(dir, &entry.name, Open::Read).unwrap();
                while fs.read(&file, bytes.len() as u64, 1 << 16, &mut bytes).unwrap() > 0 {}
            }
            tree.insert(path, (entry.kind, fs.mode(dir, &entry.name).unwrap(), bytes));
        }
    }
    let mut tree = Tree::new();
    add(&fixture.memory, &fixture.enter("").0, "", &mut tree);
    tree
}

/// A sequence of numbers that a seed determines.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    fn one_of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

/// Files with several contents, some of them equal, and several modes.
fn fixture(random: &mut Random, carries_modes: bool) -> Fixture {
    let mut fixture = Fixture::new(&[]);
    fixture.policy.host.carries_modes = carries_modes;
    for path in ["a", "b", "c", "d/a", "d/b", "d/e/a"] {
        fixture.put(path, random.one_of(&[b"1\n", b"2\n"]));
        let (dir, name) = fixture.enter(path);
        fixture.memory.set_mode(&dir, name, random.one_of(&MODES)).unwrap();
    }
    for path in ["d", "d/e"] {
        let (dir, name) = fixture.enter(path);
        fixture.memory.set_mode(&dir, name, random.one_of(&[0o700, 0o755, 0o750])).unwrap();
    }
    fixture
}

fn any_request(random: &mut Random) -> Request {
    let (from, to) = (random.one_of(&PATHS), random.one_of(&PATHS));
    let (source, destination) = (from.to_owned(), to.to_owned());
    let transfer = Transfer { source, destination, overwrite: random.below(4) > 0, recursive: true };
    match random.below(10) {
        0..=3 => Request::Move(Move(transfer)),
        4 => Request::Copy(transfer),
        5 | 6 => Request::Delete(Delete { path: from.to_owned(), recursive: true, files_only: false }),
        7 => Request::MakeDir(MakeDir { path: from.to_owned(), parents: true }),
        8 => {
            let patch =
                format!("*** Begin Patch\n*** Update File: {from}\n*** Move to: {to}x\n@@\n-1\n+2\n*** End Patch");
            Request::ApplyPatch(ApplyPatch { patch, ..ApplyPatch::default() })
        }
        _ => {
            let content = random.one_of(&["1\n", "2\n", "3\n"]).to_owned();
            Request::Write(Write { path: to.to_owned(), content, ..Write::default() })
        }
    }
}

fn backup_of(response: &Response) -> Option<String> {
    match response {
        Response::Move(transfer) | Response::Copy(transfer) => transfer.backup.clone(),
        Response::Delete(delete) => delete.backup.clone(),
        Response::MakeDir(make_dir) => make_dir.backup.clone(),
        Response::ApplyPatch(patch) => patch.backup.clone(),
        Response::Write(write) => write.backup.clone(),
        Response::Restore(restore) => restore.backup.clone(),
        _ => None,
    }
}

fn restore(fixture: &Fixture, args: Restore) -> Option<String> {
    let seed = format!("{args:?}");
    let (response, _) = fixture.run(Request::Restore(args)).unwrap_or_else(|error| panic!("{seed}: {error:?}"));
    backup_of(&response)
}

/// A change that can be undone.
struct RecordedCall {
    before: Tree,
    after: Tree,
    backup: String,
}

/// Runs random calls. Returns those that changed something.
fn run_calls(fixture: &Fixture, random: &mut Random) -> Vec<RecordedCall> {
    let mut calls = Vec::new();
    while calls.len() < 12 {
        let before = tree(fixture);
        if let Ok((response, _)) = fixture.run(any_request(random))
            && let Some(backup) = backup_of(&response)
        {
            calls.push(RecordedCall { before, after: tree(fixture), backup });
        }
    }
    calls
}

#[test]
fn chains_of_undos_restore_every_tree_with_its_modes() {
    for seed in 0..120_u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let fixture = fixture(&mut random, seed % 2 == 0);
        let mut calls = run_calls(&fixture, &mut random);
        // Undo, undo of the undo, and so on.
        for level in 0..5 {
            let mut undone = Vec::new();
            while let Some(RecordedCall { before, after, backup }) = calls.pop() {
                let undo = restore(&fixture, Restore { backup: Some(backup.clone()), ..Restore::default() });
                assert_eq!(tree(&fixture), before, "seed {seed}, level {level}, backup {backup}");
                assert!(undo.is_some() || before == after, "seed {seed}, level {level}, backup {backup}");
                undone.extend(undo.map(|backup| RecordedCall { before: after, after: before, backup }));
            }
            calls = undone;
        }
    }
}

#[test]
fn several_calls_are_undone_and_done_again_with_their_modes() {
    let mut count = 0;
    for seed in 0..120_u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let fixture = fixture(&mut random, seed % 2 == 0);
        let calls = run_calls(&fixture, &mut random);
        let last = 1 + random.below(6);
        let ends = [&calls[calls.len() - last].before, &calls[calls.len() - 1].after];
        let args = Restore { last: u32::try_from(last).ok(), ..Restore::default() };
        let Ok((undo, _)) = fixture.run(Request::Restore(args)) else {
            // Some changes can only be undone by themselves.
            assert_eq!(&tree(&fixture), ends[1], "seed {seed}");
            continue;
        };
        count += 1;
        let mut backup = backup_of(&undo);
        for (level, wanted) in ends.iter().cycle().take(5).enumerate() {
            if level > 0 {
                backup = restore(&fixture, Restore { backup, ..Restore::default() });
            }
            assert_eq!(&&tree(&fixture), wanted, "seed {seed}, level {level}");
            if backup.is_none() {
                assert_eq!(ends[0], ends[1], "seed {seed}, level {level}");
                break;
            }
        }
    }
    assert!(count > 40, "{count}");
}
