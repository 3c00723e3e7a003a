//! Searches with an index, compared with the same searches without one, while files change in every way.
//!
//! `PADDOCK_INDEX_STEPS` is the number of random steps, and `PADDOCK_INDEX_ALL_DAMAGE` has every byte damaged.

mod segments;
mod stamped;

use paddock_ops::index::exclusions::FILES_BEFORE_INDEX;
use paddock_ops::index::update::{Update, update, update_with_groups};
use paddock_types::policy::Policy;
use paddock_types::request::{Glob, Grep, GrepOutput, LetterCase, Replace, Request};
use paddock_vfs::{Dir, Fault, Filesystem, Open};
use paddock_workspace::Workspace;

use crate::support::{Random, glob, run_with, search};
use stamped::{LISTINGS, Stamped, UNSTAMPED, advance, now_ns, set_now_ns};

const SECOND: u64 = 1_000_000_000;

/// Names of the directories of the tree, and number of files in each.
const DIRECTORIES: [&str; 4] = ["a", "b", "b/c", "d"];
const FILES: usize = 24;

/// Returns a policy under which files can be indexed as soon as the clock has advanced.
fn with_index() -> Policy {
    let mut policy = Policy::default();
    policy.rules.index.min_age_seconds = 0;
    policy
}

fn without_index() -> Policy {
    let mut policy = Policy::default();
    policy.rules.index.enabled = false;
    policy
}

/// Returns the answers of a search, of a replacement of what it finds, and of a search of all names.
fn answer(fs: &Stamped, policy: &Policy, args: &Grep) -> String {
    let replace = Replace {
        glob: args.glob.clone(),
        fixed: args.fixed,
        letter_case: args.letter_case,
        multiline: args.multiline,
        word: args.word,
        include_hidden: args.include_hidden,
        ..Replace::of(args.pattern.clone(), "new".to_owned())
    };
    let names = Glob { include_hidden: true, include_ignored: true, limit: 1_000, ..glob("**") };
    let requests = [Request::Grep(args.clone()), Request::Replace(replace), Request::Glob(names)];
    requests.map(|request| format!("{:?}", run_with(fs, policy, request))).join("\n")
}

/// Returns the answer of a search, after a comparison with that of the search without an index, and the number of files
/// that were not opened.
fn compared(fs: &Stamped, args: &Grep, context: &dyn Fn() -> String) -> (String, u64) {
    let before = fs.opened.get();
    let expected = answer(fs, &without_index(), args);
    let between = fs.opened.get();
    let found = answer(fs, &with_index(), args);
    assert_eq!(found, expected, "{args:?}\n{}", context());
    (found, (between - before).saturating_sub(fs.opened.get() - between))
}

/// Makes one pass, in parts of a few files if `in_parts` is true.
fn pass(fs: &Stamped, policy: &Policy, in_parts: bool) -> Update {
    pass_with_groups(fs, policy, in_parts, 100)
}

fn pass_with_groups(fs: &Stamped, policy: &Policy, in_parts: bool, group_bytes: u64) -> Update {
    let (mut total, mut start) = (Update::default(), None);
    loop {
        let workspace = Workspace::open(fs, policy).unwrap();
        // No machine is so slow that a pass of that time has several parts.
        let time_ms = if in_parts { 0 } else { 3_600_000 };
        let part = update_with_groups(&workspace, start.as_deref(), time_ms, group_bytes).unwrap();
        total.added += part.added;
        total.unsettled += part.unsettled;
        if part.next.is_none() {
            return total;
        }
        start = part.next;
    }
}

fn top(fs: &Stamped) -> Dir {
    fs.preopens()[0].dir.clone()
}

fn open_dir(fs: &Stamped, path: &str) -> Option<Dir> {
    path.split('/').try_fold(top(fs), |dir, name| fs.open_dir(&dir, name).ok())
}

fn make_dir(fs: &Stamped, path: &str) -> Dir {
    path.split('/').fold(top(fs), |dir, name| {
        match fs.make_dir(&dir, name) {
            Ok(()) | Err(Fault::Exists) => {}
            Err(fault) => panic!("{fault:?}"),
        }
        fs.open_dir(&dir, name).unwrap()
    })
}

fn put(fs: &Stamped, dir: &Dir, name: &str, bytes: &[u8]) {
    let file = fs.open_file(dir, name, Open::CreateNew).unwrap();
    fs.write(&file, 0, bytes).unwrap();
}

const WORDS: [&str; 12] = [
    "needle",
    "Needle",
    "haystack",
    "fn get_unchecked",
    "größe",
    "ſtop",
    "stop",
    "\u{212a}elvin",
    "kelvin",
    "struct",
    "\r\n",
    "\t",
];

fn text(random: &mut Random) -> Vec<u8> {
    let mut text = Vec::new();
    for _ in 0..random.below(12) {
        text.extend_from_slice(random.pick(&WORDS).as_bytes());
        text.extend_from_slice([" ", "\n", "_", ""][random.below(4)].as_bytes());
    }
    match random.below(40) {
        0 => text.push(0),
        1 => text.extend_from_slice(b"caf\xe9 needle\n"),
        2 => text = text.iter().fold(b"\xff\xfe".to_vec(), |utf16, byte| [&utf16[..], &[*byte & 0x7f, 0]].concat()),
        3 => text.splice(0..0, *b"\xef\xbb\xbf").for_each(drop),
        _ => {}
    }
    text
}

fn tree(random: &mut Random) -> Stamped {
    let fs = Stamped::new();
    for path in DIRECTORIES {
        let dir = make_dir(&fs, path);
        (0..FILES).for_each(|number| put(&fs, &dir, &format!("f{number}"), &text(random)));
    }
    advance(60 * SECOND);
    fs
}

fn pattern(random: &mut Random) -> String {
    let parts = [
        "needle",
        "get_",
        "unchecked",
        "haystack",
        "(?i)stop",
        "(?i)kelvin",
        "größe",
        ".",
        "[a-z]+",
        "\\s",
        "\\w*",
        "x?",
        "^",
        "$",
        "\\b",
        "(?:needle|struct)",
        "(?:stop)+",
        "[ks]",
        "\\r?\\n",
        "ſ",
        "n{2}",
        "e{1,2}dle",
        "[^a]",
        "\\n",
    ];
    (0..1 + random.below(4)).map(|_| random.pick(&parts)).collect()
}

fn request(random: &mut Random) -> Grep {
    let mut args = search(&pattern(random));
    args.fixed = random.below(8) == 0;
    args.letter_case = [LetterCase::Sensitive, LetterCase::Insensitive, LetterCase::Smart][random.below(3)];
    args.multiline = random.below(3) == 0;
    args.word = random.below(6) == 0;
    args.output = [GrepOutput::Content, GrepOutput::Files, GrepOutput::Count][random.below(3)];
    args.limit = [1, 5, 1_000][random.below(3)];
    args.max_per_file = [None, Some(1)][random.below(2)];
    args.before = random.below(2) as u32;
    args.include_hidden = random.below(4) == 0;
    args.glob = [None, Some("f1*".to_owned())][usize::from(random.below(6) == 0)].clone();
    args
}

/// Changes a file in one of many ways, some of which keep size or modification time.
fn change(fs: &Stamped, random: &mut Random) -> Option<()> {
    let directories = [random.pick(&DIRECTORIES), random.pick(&DIRECTORIES)];
    let (dir, other) = (open_dir(fs, directories[0])?, open_dir(fs, directories[1])?);
    let (name, to) = (format!("f{}", random.below(FILES)), format!("f{}", random.below(FILES)));
    match random.below(13) {
        // Other content of the same size, with the old modification time or the current one.
        0..=2 => {
            let modified = fs.stat(&dir, &name).ok()?.modified?;
            let file = fs.open_file(&dir, &name, Open::Write).ok()?;
            let size = fs.stat_file(&file).ok()?.size as usize;
            let mut bytes = text(random);
            bytes.resize(size, b'e');
            fs.write(&file, 0, &bytes).ok()?;
            if random.below(2) == 0 {
                fs.set_modified(&dir, &name, modified);
            }
        }
        3 => {
            let file = fs.open_file(&dir, &name, Open::Write).ok()?;
            fs.set_size(&file, random.below(40) as u64).ok()?;
        }
        4 => fs.unlink(&dir, &name).ok()?,
        5 => put_if_missing(fs, &dir, &name, random),
        // A new file with the modification time of the old one takes its name.
        6 => {
            let modified = fs.stat(&dir, &name).ok()?.modified?;
            let _ = fs.unlink(&dir, "new");
            put(fs, &dir, "new", &text(random));
            fs.set_modified(&dir, "new", modified);
            fs.rename(&dir, "new", &dir, &name).ok()?;
        }
        7 => fs.rename(&dir, &name, &other, &to).ok()?,
        8 => fs.link(&dir, &name, &other, &to).ok()?,
        // Two directories change their names.
        9 => {
            let (top, b) = (top(fs), open_dir(fs, "b")?);
            fs.rename(&top, "a", &top, "swap").ok()?;
            match random.below(2) {
                0 => fs.rename(&top, "d", &top, "a").and_then(|()| fs.rename(&top, "swap", &top, "d")).ok()?,
                _ => fs.rename(&b, "c", &top, "a").and_then(|()| fs.rename(&top, "swap", &b, "c")).ok()?,
            }
        }
        10 => {
            fs.unlink(&dir, &name).ok()?;
            fs.symlink(&dir, &name, &to).ok()?;
        }
        11 => {
            fs.unlink(&dir, &name).ok()?;
            fs.make_dir(&dir, &name).ok()?;
        }
        _ => fs.remove_dir(&dir, &name).ok()?,
    }
    Some(())
}

fn put_if_missing(fs: &Stamped, dir: &Dir, name: &str, random: &mut Random) {
    if matches!(fs.stat(dir, name), Err(Fault::NotFound)) {
        put(fs, dir, name, &text(random));
    }
}

/// Changes a file twice at the same time, without a change of its size, and makes a pass in between.
fn change_twice(fs: &Stamped, random: &mut Random) -> Option<()> {
    let dir = open_dir(fs, random.pick(&DIRECTORIES))?;
    let file = fs.open_file(&dir, &format!("f{}", random.below(FILES)), Open::Write).ok()?;
    for text in [b"nothing of it", b"one needle in"] {
        fs.set_size(&file, 0).ok()?;
        fs.write(&file, 0, text).ok()?;
        pass_with_groups(fs, &with_index(), false, 1);
    }
    Some(())
}

/// Moves the clock, mostly by less than its resolution; sometimes back.
fn move_clock(random: &mut Random) {
    match random.below(12) {
        0..=4 => {}
        5..=8 => advance(random.below(3) as u64 * SECOND),
        9 | 10 => advance(random.below(20) as u64 * SECOND),
        // Back to a time that no change has had.
        _ => set_now_ns(now_ns() - random.below(10) as u64 * SECOND + 1 + random.below(1_000_000) as u64),
    }
}

#[test]
fn searches_with_an_index_equal_those_without() {
    let steps = std::env::var("PADDOCK_INDEX_STEPS").ok().and_then(|steps| steps.parse().ok()).unwrap_or(2_000);
    let mut random = Random(24);
    let (mut fs, mut unopened, mut changes) = (tree(&mut random), 0, 0);
    for step in 0..steps {
        move_clock(&mut random);
        match random.below(10) {
            0 if random.below(4) == 0 => {
                changes += u64::from(change_twice(&fs, &mut random).is_some());
                compared(&fs, &search("one needle"), &|| format!("step {step}"));
            }
            0..=4 => changes += u64::from(change(&fs, &mut random).is_some()),
            5 => {
                let group_bytes = [1, 100, 1_000][random.below(3)];
                pass_with_groups(&fs, &with_index(), random.below(2) == 0, group_bytes);
            }
            _ => {
                let args = request(&mut random);
                unopened += compared(&fs, &args, &|| format!("step {step}")).1;
            }
        }
        if step % 500 == 499 {
            fs = tree(&mut random);
        }
    }
    assert!(unopened > steps && changes > steps / 5, "{unopened} files were not opened, {changes} changes");
}

#[test]
fn listings_are_used_and_follow_changes() {
    let fs = tree(&mut Random(12));
    let all = Glob { limit: 1_000, ..glob("**") };
    let listed = |policy: &Policy| {
        let before = fs.listed.get();
        let answer = format!("{:?}", run_with(&fs, policy, Request::Glob(all.clone())));
        (answer, fs.listed.get() - before)
    };
    // The top, and its directories.
    let directories = DIRECTORIES.len() as u64 + 1;
    assert_eq!(listed(&without_index()).1, directories);
    pass(&fs, &with_index(), true);
    let (expected, _) = listed(&without_index());
    // Only the directory of the index and the top are listed.
    assert_eq!(listed(&with_index()), (expected, 2));
    let dir = open_dir(&fs, "b/c").unwrap();
    put(&fs, &dir, "added", b"");
    let (expected, _) = listed(&without_index());
    assert!(expected.contains("b/c/added"));
    assert_eq!(listed(&with_index()), (expected.clone(), 3));
    // A directory that was just changed is not in the index.
    pass(&fs, &with_index(), false);
    assert_eq!(listed(&with_index()), (expected.clone(), 3));
    advance(2 * SECOND + 1);
    pass(&fs, &with_index(), false);
    assert_eq!(listed(&with_index()), (expected, 2));
}

/// Each part of a pass over many directories adds a small file of listings.
#[test]
fn small_listings_of_many_directories_stay() {
    let fs = Stamped::new();
    for part in 0..10 {
        for number in 0..130 {
            put(&fs, &make_dir(&fs, &format!("{part}/{number}")), "a", b"text\n");
        }
        advance(3 * SECOND);
        pass(&fs, &with_index(), false);
    }
    let listed = |policy: &Policy| {
        let before = fs.listed.get();
        run_with(&fs, policy, Request::Glob(Glob { limit: 2_000, ..glob("**") })).unwrap();
        fs.listed.get() - before
    };
    assert!(listed(&without_index()) > 1_300);
    assert!(listed(&with_index()) < 200);
}

/// Changes a bit of each `step`th byte of a file of the index, and cuts it off there. Compares the answers with those without
/// an index. Leaves another text in the file.
fn damage(fs: &Stamped, name: &str, step: usize) {
    let (whole, args) = (fs.index_file(name), search("needle.*unchecked"));
    let expected = answer(fs, &without_index(), &args);
    let step = if std::env::var_os("PADDOCK_INDEX_ALL_DAMAGE").is_some() { 1 } else { step };
    for at in (0..whole.len()).step_by(step).chain(0..64) {
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << (at % 8);
        fs.set_index_file(name, &damaged);
        assert_eq!(answer(fs, &with_index(), &args), expected, "byte {at}");
        fs.set_index_file(name, &whole[..at]);
        assert_eq!(answer(fs, &with_index(), &args), expected, "{at} bytes");
    }
    fs.set_index_file(name, b"something else");
}

#[test]
fn damaged_listings_are_a_slow_walk() {
    let fs = tree(&mut Random(13));
    pass(&fs, &with_index(), false);
    let names = fs.index_files(LISTINGS);
    assert_eq!(names.len(), 1);
    damage(&fs, &names[0], 7);
    // The next pass replaces damaged listings.
    pass(&fs, &with_index(), false);
    let replaced = fs.index_files(LISTINGS);
    assert!(replaced.len() == 1 && replaced != names, "{replaced:?}");
}

#[test]
fn an_index_is_used_and_follows_changes() {
    let mut random = Random(1);
    let fs = tree(&mut random);
    let args = search("get_unchecked_of_nothing");
    let files = (DIRECTORIES.len() * FILES) as u64;
    assert_eq!(compared(&fs, &args, &String::new).1, 0);
    let added = pass(&fs, &with_index(), false);
    assert_eq!((added.added, added.unsettled), (files, 0));
    let (_, unopened) = compared(&fs, &args, &String::new);
    // The search and the replacement each read some files before they open the index.
    assert!(unopened >= 2 * (files - u64::from(FILES_BEFORE_INDEX) - 1), "{unopened} of {files}");
    assert_eq!(pass(&fs, &with_index(), true), Update::default(), "nothing is left");
    // A file that was just changed is read, and not indexed.
    let dir = open_dir(&fs, "d").unwrap();
    let file = fs.open_file(&dir, "f9", Open::Write).unwrap();
    fs.write(&file, 0, b"get_unchecked_of_nothing").unwrap();
    let (answer, _) = compared(&fs, &args, &String::new);
    assert!(answer.contains("d/f9"), "{answer}");
    assert_eq!(pass(&fs, &with_index(), false).unsettled, 1);
    advance(2 * SECOND + 1);
    assert_eq!(pass(&fs, &with_index(), false).added, 1);
    let (answer, _) = compared(&fs, &args, &String::new);
    assert!(answer.contains("d/f9"), "{answer}");
}

#[test]
fn files_in_parts_are_all_added() {
    let mut random = Random(2);
    let fs = tree(&mut random);
    let added = pass(&fs, &with_index(), true);
    assert_eq!(added.added, (DIRECTORIES.len() * FILES) as u64);
    assert_eq!(pass(&fs, &with_index(), false), Update::default());
}

#[test]
fn the_policy_limits_and_removes_the_index() {
    let mut random = Random(3);
    let fs = tree(&mut random);
    let mut policy = with_index();
    policy.rules.index.max_bytes = 0;
    assert_eq!(pass(&fs, &policy, false).added, 0);
    assert_eq!(pass(&fs, &Policy::default(), false).unsettled, (DIRECTORIES.len() * FILES) as u64);
    let has_index = |policy: &Policy| {
        pass(&fs, &with_index(), false);
        assert!(!fs.index().is_empty());
        pass(&fs, policy, false);
        !fs.index().is_empty()
    };
    assert!(!has_index(&policy) && !has_index(&without_index()) && has_index(&with_index()));
    // A call with less memory keeps fewer files.
    policy = with_index();
    policy.rules.limits.max_memory_bytes = 256 * 50;
    pass(&fs, &with_index(), false);
    let added = pass(&fs, &policy, false).added;
    assert!((1..=50).contains(&added), "{added}");
}

#[test]
fn hidden_files_are_never_in_the_index() {
    let fs = Stamped::new();
    let dir = make_dir(&fs, "a");
    for name in [".agentignore", ".gitignore", ".env", "secret", "ignored", "blocked.key", "shown"] {
        put(
            &fs,
            &dir,
            name,
            match name {
                ".agentignore" => b"secret",
                ".gitignore" => b"ignored",
                _ => b"text",
            },
        );
    }
    advance(60 * SECOND);
    let mut policy = with_index();
    policy.rules.blocked_extensions = vec![".key".to_owned()];
    assert_eq!(pass(&fs, &policy, false).added, 1);
}

/// A pass removes what rules hide since the last one, also if it makes up a small part of a segment.
#[test]
fn files_that_become_hidden_leave_the_index() {
    let hidden_by = [
        |fs: &Stamped, _: &mut Policy| put(fs, &top(fs), ".agentignore", b"d/*0\n"),
        |fs: &Stamped, _: &mut Policy| put(fs, &top(fs), ".agentignore", b"["),
        |fs: &Stamped, _: &mut Policy| put(fs, &open_dir(fs, "d").unwrap(), ".agentignore", b"f1\n"),
        |fs: &Stamped, _: &mut Policy| put(fs, &open_dir(fs, "d").unwrap(), ".agentignore", b"["),
        |_: &Stamped, policy: &mut Policy| policy.rules.blocked_directories.push("d".to_owned()),
    ];
    for hide in hidden_by {
        let (fs, mut policy) = (tree(&mut Random(8)), with_index());
        pass(&fs, &policy, true);
        let before = fs.index();
        pass(&fs, &policy, true);
        assert_eq!(fs.index(), before);
        hide(&fs, &mut policy);
        // A pass that cannot remove them leaves them to the next one.
        fs.removable.set(0);
        pass(&fs, &policy, true);
        assert!(before.iter().all(|name| fs.index().contains(name)));
        fs.removable.set(u64::MAX);
        pass(&fs, &policy, true);
        assert!(before.iter().all(|name| !fs.index().contains(name)));
        pass(&fs, &policy, true);
        let after = fs.index();
        pass(&fs, &policy, true);
        assert_eq!(fs.index(), after);
    }
}

#[test]
fn a_root_without_stamps_does_not_end_a_pass() {
    let fs = Stamped::with_roots(&["/workspace", "/paddock-state", "/notes"]);
    (0..1_200).for_each(|number| put(&fs, &top(&fs), &format!("{UNSTAMPED}{number}"), b"text\n"));
    let notes = fs.preopens().remove(2).dir;
    fs.make_dir(&notes, "d").unwrap();
    put(&fs, &fs.open_dir(&notes, "d").unwrap(), "f", b"text\n");
    advance(60 * SECOND);
    assert_eq!(pass(&fs, &with_index(), false).added, 1);
}

/// `replace` refuses a path with a backslash, but only if the file has a match.
#[test]
fn files_that_cannot_be_changed_count_alike() {
    let fs = tree(&mut Random(9));
    put(&fs, &top(&fs), "z\\y.txt", b"haystack\n");
    advance(60 * SECOND);
    pass(&fs, &with_index(), false);
    for pattern in ["needle_of_nothing.*haystack", "haystack.*needle_of_nothing", "haystack"] {
        compared(&fs, &search(pattern), &String::new);
    }
}

#[test]
fn a_damaged_index_is_a_slow_search() {
    let mut random = Random(4);
    let fs = tree(&mut random);
    pass(&fs, &with_index(), false);
    let names = fs.index();
    assert_eq!(names.len(), 1);
    damage(&fs, &names[0], 41);
    // The next pass replaces a damaged segment.
    assert_eq!(pass(&fs, &with_index(), false).added, (DIRECTORIES.len() * FILES) as u64);
    assert!(compared(&fs, &search("of_nothing"), &String::new).1 > 0);
    // The lists of one segment are checked in each pass.
    let name = fs.index().remove(0);
    let mut damaged = fs.index_file(&name);
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    fs.set_index_file(&name, &damaged);
    assert_eq!(pass(&fs, &with_index(), false).added, (DIRECTORIES.len() * FILES) as u64);
}

#[test]
fn a_foreign_position_is_refused() {
    let fs = tree(&mut Random(6));
    let policy = with_index();
    let workspace = Workspace::open(&fs, &policy).unwrap();
    assert!(update(&workspace, Some("x"), 10).is_err());
}
