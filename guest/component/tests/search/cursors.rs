//! Pages joined by cursors give the complete result.

use paddock_types::entry::Time;
use paddock_types::error::Code;
use paddock_types::policy::Policy;
use paddock_types::request::{Glob, Grep, GrepOutput, List, ListSort, PathSort, Request, Tree};
use paddock_types::response::{GrepMatch, Response};
use paddock_vfs::memory::MemoryFs;
use proptest::prelude::*;

use crate::support::{Random, glob, globbed, list, listed, memory, parent, put, run_with, search, searched};

fn random_tree(seed: u64) -> MemoryFs {
    let mut random = Random(seed);
    let fs = memory();
    let mut dirs = vec![String::new()];
    for _ in 0..random.below(10) {
        let above = dirs[random.below(dirs.len())].clone();
        dirs.push(format!("{above}{}/", random.pick(&["a", "b", "a-b", "a.b", "zz", ".h"])));
    }
    for index in 0..random.below(30) {
        let name =
            format!("{}{}{index}", dirs[random.below(dirs.len())], random.pick(&["a", "b.txt", "x", "a.b", ".s"]));
        put(&fs, &name, random_text(&mut random).as_bytes());
        let (dir, last) = parent(&fs, &name);
        let seconds = 1_000 + random.below(5) as u64;
        paddock_vfs::memory::MemoryFs::set_modified(&fs, &dir, last, Time { seconds, nanoseconds: 0 }).unwrap();
    }
    fs
}

fn random_text(random: &mut Random) -> String {
    (0..random.below(12))
        .map(|_| random.pick(&["a", "ab", "b\n", "\n", "xay\r\n", "a a\n", "foo\nbar\n", "é", "\n\n"]))
        .collect()
}

/// Returns each match with the context that it would have alone.
fn all_pages(fs: &MemoryFs, mut args: Grep) -> (Vec<GrepMatch>, Vec<paddock_types::response::FileCount>) {
    let (mut matches, mut files) = (Vec::new(), Vec::new());
    for _ in 0..2_000 {
        let page = searched(fs, args.clone());
        assert!(page.matches.len() + page.files.len() <= args.limit as usize);
        assert_eq!(page.truncated, page.next_cursor.is_some());
        assert!(!page.truncated || page.matches.len() + page.files.len() == args.limit as usize);
        matches.extend(page.matches);
        files.extend(page.files);
        match page.next_cursor {
            Some(cursor) => args.cursor = Some(cursor),
            None => return (matches, files),
        }
    }
    panic!("no end");
}

/// The digest of a cursor covers the arguments and the position: no part of another cursor is accepted.
#[test]
fn of_names_is_good_for_its_order_only() {
    let fs = random_tree(1);
    (0..9).for_each(|index| put(&fs, &format!("file{index}"), b""));
    let [by_path, by_time] = [PathSort::Path, PathSort::Modified].map(|sort| Glob { sort, limit: 2, ..glob("**") });
    let cursor = |args: &Glob| globbed(&fs, args.clone()).next_cursor.unwrap();
    for (args, other) in [(&by_path, &by_time), (&by_time, &by_path)] {
        let (own, other) = (cursor(args), cursor(other));
        let digest = own.split_once(':').unwrap().0;
        let position = other.split_once(':').unwrap().1;
        for forged in [format!("{digest}:{position}"), other.clone(), format!("{own}x")] {
            let request = Request::Glob(Glob { cursor: Some(forged), ..args.clone() });
            let error = run_with(&fs, &Policy::default(), request).unwrap_err();
            assert!(error.code == Code::InvalidArgument && error.message().contains("other arguments"), "{error:?}");
        }
    }
}

/// Pages of listings end at the limit of bytes, and together give the complete listing.
#[test]
fn of_every_listing_is_bounded_in_bytes() {
    let fs = memory();
    (0..40).for_each(|index| put(&fs, &format!("directory{}/a rather long name {index:02}", index % 3), b"x"));
    let mut policy = Policy::default();
    policy.limits.max_result_bytes = 300;
    let listing = |sort| Request::List(List { sort, depth: 2, limit: 1_000, ..list() });
    let named = |sort| Request::Glob(Glob { sort, limit: 1_000, ..glob("**") });
    let with = |output| Request::Grep(Grep { output, limit: 1_000, ..search("x") });
    let requests = [ListSort::Name, ListSort::Size].map(listing).into_iter();
    let requests = requests.chain([PathSort::Path, PathSort::Modified].map(named));
    for request in requests.chain([GrepOutput::Files, GrepOutput::Count].map(with)) {
        let whole = page_of(&fs, &Policy::default(), request.clone());
        assert!(whole.0.len() >= 40 && whole.1.is_none(), "{request:?}");
        let (mut paths, mut cursor) = (Vec::new(), None);
        loop {
            let (page, next) = page_of(&fs, &policy, continued(&request, cursor));
            let bytes: usize = page.iter().map(String::len).sum();
            assert!((1..=300 + 50).contains(&bytes), "{bytes} bytes: {request:?}");
            paths.extend(page);
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(paths, whole.0, "{request:?}");
        let all = page_of(&fs, &policy, unlimited(&request));
        assert_eq!(all, whole, "{request:?}");
    }
    // A tree has no cursor. Its text says that entries are missing, and upper levels come first.
    let args = Tree { limit: 1_000, ..Tree::of(".".to_owned()) };
    let tree = |policy: &Policy| match run_with(&fs, policy, Request::Tree(args.clone())).unwrap() {
        Response::Tree(tree) => tree,
        other => panic!("{other:?}"),
    };
    assert!(!tree(&Policy::default()).truncated);
    let cut = tree(&policy);
    assert!(cut.truncated && cut.directories == 3 && (1..20).contains(&cut.files), "{cut:?}");
    policy.limits.max_result_bytes = 30;
    assert_eq!((tree(&policy).directories, tree(&policy).files), (2, 0));
}

fn continued(request: &Request, cursor: Option<String>) -> Request {
    match request.clone() {
        Request::List(args) => Request::List(List { cursor, ..args }),
        Request::Glob(args) => Request::Glob(Glob { cursor, ..args }),
        Request::Grep(args) => Request::Grep(Grep { cursor, ..args }),
        other => panic!("{other:?}"),
    }
}

fn unlimited(request: &Request) -> Request {
    match request.clone() {
        Request::List(args) => Request::List(List { unlimited: true, ..args }),
        Request::Glob(args) => Request::Glob(Glob { unlimited: true, ..args }),
        Request::Grep(args) => Request::Grep(Grep { unlimited: true, ..args }),
        other => panic!("{other:?}"),
    }
}

fn page_of(fs: &MemoryFs, policy: &Policy, request: Request) -> (Vec<String>, Option<String>) {
    match run_with(fs, policy, request).unwrap() {
        Response::List(list) => (list.entries.into_iter().map(|entry| entry.path).collect(), list.next_cursor),
        Response::Glob(glob) => (glob.paths, glob.next_cursor),
        Response::Grep(grep) => (grep.files.into_iter().map(|file| file.path).collect(), grep.next_cursor),
        other => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn of_grep(seed: u64, limit in 1_u32..6, lines in 0_u32..3, shape in 0_usize..3, max in 0_u32..3, multiline: bool) {
        let fs = random_tree(seed);
        let mut random = Random(seed ^ 5);
        let mut args = search(random.pick(&["a", "^", "x*", "a$", "b|o", "^$", "\\s"]));
        if multiline {
            args.pattern = random.pick(&["a", "a\\s+b", "^", "x*", "\\n", "(?s)o.*?b", "$"]).to_owned();
        }
        args.multiline = multiline;
        (args.before, args.after) = (lines, lines);
        args.output = [GrepOutput::Content, GrepOutput::Files, GrepOutput::Count][shape];
        args.max_per_file = Some(max).filter(|max| *max > 0);
        args.limit = 10_000;
        let whole = searched(&fs, args.clone());
        prop_assert!(!whole.truncated);
        args.limit = limit;
        let (matches, files) = all_pages(&fs, args);
        prop_assert_eq!(matches, whole.matches);
        prop_assert_eq!(files, whole.files);
    }

    #[test]
    fn of_glob(seed: u64, limit in 1_u32..6, by_time: bool, hidden: bool) {
        let fs = random_tree(seed);
        let mut args = glob(Random(seed ^ 9).pick(&["**", "*.txt*", "a/**", "*/*", "a*", "**/a/*", ".h/**"]));
        args.sort = if by_time { PathSort::Modified } else { PathSort::Path };
        (args.include_hidden, args.limit) = (hidden, 10_000);
        let whole = globbed(&fs, args.clone());
        prop_assert!(!whole.truncated);
        args.limit = limit;
        let mut paths = Vec::new();
        loop {
            let page = globbed(&fs, args.clone());
            prop_assert!(page.paths.len() <= limit as usize);
            prop_assert!(!page.truncated || page.paths.len() == limit as usize);
            paths.extend(page.paths);
            args.cursor = page.next_cursor;
            if args.cursor.is_none() { break }
        }
        prop_assert_eq!(paths, whole.paths);
    }

    #[test]
    fn of_list(seed: u64, limit in 1_u32..6, sort in 0_usize..3, depth in 1_u32..4) {
        let fs = random_tree(seed);
        let mut args = list();
        args.sort = [ListSort::Name, ListSort::Size, ListSort::Modified][sort];
        (args.depth, args.limit) = (depth, 10_000);
        let whole = listed(&fs, args.clone());
        prop_assert!(!whole.truncated && whole.total_files.is_some());
        args.limit = limit;
        let mut paths = Vec::new();
        loop {
            let page = listed(&fs, args.clone());
            prop_assert_eq!(page.total_files, whole.total_files);
            prop_assert_eq!(page.total_size, whole.total_size);
            prop_assert!(!page.truncated || page.entries.len() == limit as usize);
            paths.extend(page.entries.into_iter().map(|entry| entry.path));
            args.cursor = page.next_cursor;
            if args.cursor.is_none() { break }
        }
        prop_assert_eq!(paths, whole.entries.into_iter().map(|entry| entry.path).collect::<Vec<_>>());
    }
}

#[test]
fn a_walk_continues_after_a_deleted_entry() {
    use paddock_vfs::Filesystem;
    let fs = memory();
    for path in ["a/1", "a/2", "a/3", "a.txt", "b/1"] {
        put(&fs, path, b"x");
    }
    let mut args = glob("**");
    args.limit = 2;
    let first = globbed(&fs, args.clone());
    assert_eq!(first.paths, ["a/1", "a/2"]);
    let (dir, name) = parent(&fs, "a/2");
    fs.unlink(&dir, name).unwrap();
    args.cursor = first.next_cursor;
    let second = globbed(&fs, args.clone());
    assert_eq!(second.paths, ["a/3", "a.txt"]);
    for path in ["a/1", "a/3"] {
        let (dir, name) = parent(&fs, path);
        fs.unlink(&dir, name).unwrap();
    }
    let (dir, name) = parent(&fs, "a");
    fs.remove_dir(&dir, name).unwrap();
    assert_eq!(globbed(&fs, args).paths, ["a.txt", "b/1"]);
}

#[test]
fn a_page_that_ends_with_the_last_entry_is_not_truncated() {
    let fs = memory();
    for path in ["a", "b"] {
        put(&fs, path, b"x\nx\n");
    }
    let mut args = glob("*");
    args.limit = 2;
    assert!(!globbed(&fs, args).truncated);
    let mut args = search("x");
    args.limit = 4;
    assert!(!searched(&fs, args.clone()).truncated);
    args.limit = 3;
    assert!(searched(&fs, args).truncated);
}
