//! Malicious rules, globs and trees.

use paddock_types::entry::Kind;
use paddock_types::error::Code;
use paddock_types::policy::Policy;
use paddock_types::request::{Request, Tree};
use paddock_types::response::{Response, TreeNode};
use paddock_vfs::Filesystem;

use crate::support::{glob, globbed, list, listed, memory, parent, put, run, run_with, search, searched, tree};

#[test]
fn hidden_paths_stay_hidden() {
    let fs = tree(&[
        (".agentignore", "*.pem\n/keys/\n!Public.pem\nsub/deep/x\n"),
        ("a.pem", "s"),
        ("A.PEM", "s"),
        ("a.pem.", "s"),
        ("Public.pem", "s"),
        ("keys/k", "s"),
        ("sub/keys", "s"),
        ("sub/deep/x", "s"),
        ("sub/open/.agentignore", "!a.pem\n"),
        ("sub/open/a.pem", "s"),
    ]);
    let mut args = search("s");
    args.include_ignored = true;
    let result = searched(&fs, args);
    let paths: Vec<_> = result.matches.iter().map(|m| m.path.as_str()).collect();
    assert_eq!(paths, ["Public.pem", "sub/keys", "sub/open/a.pem"]);
    assert_eq!(result.skipped.denied, 5);
    let mut args = list();
    args.path = "keys".to_owned();
    assert_eq!(run(&fs, Request::List(args)).unwrap_err().code, Code::Denied);
}

#[test]
fn rules_that_cannot_be_used_deny_their_directory() {
    for broken in ["\\", "a\n[b\n", "a\n{\u{0}[z-a]\n"] {
        let fs = tree(&[("a", "s"), ("sub/.agentignore", broken), ("sub/a", "s")]);
        let result = searched(&fs, search("s"));
        assert_eq!((result.matches.len(), result.skipped.denied), (1, 1), "{broken:?}");
        let mut args = search("s");
        args.path = "sub/a".to_owned();
        let error = run(&fs, Request::Grep(args)).unwrap_err();
        assert_eq!(error.code, Code::Denied);
        assert!(error.message().contains("sub/.agentignore"), "{error}");
    }
    let fs = tree(&[("a", "s"), ("sub/a", "s"), ("dir/.agentignore/x", ""), ("dir/a", "s"), ("big/a", "s")]);
    let (dir, _) = parent(&fs, "sub/x");
    fs.symlink(&dir, ".agentignore", "../a").unwrap();
    put(&fs, "big/.agentignore", &vec![b'#'; 300 * 1024]);
    let result = searched(&fs, search("s"));
    assert_eq!((result.matches.len(), result.skipped.denied), (1, 3));
}

#[test]
fn entries_left_out_are_counted() {
    let fs = tree(&[
        (".gitignore", "out/\n*.log\n"),
        (".ignore", "!keep.log\nextra\n"),
        ("out/a", "s"),
        ("a.log", "s"),
        ("keep.log", "s"),
        ("extra", "s"),
        (".hidden/a", "s"),
        (".git/config", "s"),
        (".paddock/journal", "s"),
        ("bin", "s\0"),
    ]);
    let (dir, _) = parent(&fs, "x");
    fs.symlink(&dir, "link", "keep.log").unwrap();
    let result = searched(&fs, search("s"));
    assert_eq!(result.matches.iter().map(|m| m.path.as_str()).collect::<Vec<_>>(), ["keep.log"]);
    let skipped = result.skipped;
    assert_eq!((skipped.ignored, skipped.hidden, skipped.links, skipped.binary), (3, 4, 1, 1));
    let mut args = search("s");
    args.include_hidden = true;
    assert_eq!(searched(&fs, args.clone()).skipped.ignored, 4);
    args.include_ignored = true;
    let paths: Vec<_> = searched(&fs, args).matches.into_iter().map(|m| m.path).collect();
    assert_eq!(
        paths,
        [".git/config", ".gitignore", ".hidden/a", ".ignore", "a.log", "extra", "keep.log", "out/a"]
            .into_iter()
            .filter(|path| !path.contains("ignore"))
            .collect::<Vec<_>>()
    );
}

#[test]
fn limits_end_a_walk_with_a_cursor() {
    let fs = memory();
    for index in 0..50 {
        put(&fs, &format!("d{}/e/{index:02}", index / 10), b"s\n");
    }
    let mut policy = Policy::default();
    for (max_entries, max_time_ms) in [(7, 30_000), (1, 30_000), (5_000, 0)] {
        (policy.limits.max_entries, policy.limits.max_time_ms) = (max_entries, max_time_ms);
        let (mut args, mut paths, mut pages) = (search("s"), Vec::new(), 0);
        loop {
            let Response::Grep(page) = run_with(&fs, &policy, Request::Grep(args.clone())).unwrap() else { panic!() };
            paths.extend(page.matches.into_iter().map(|m| m.path));
            pages += 1;
            assert!(pages < 200, "it does not get on");
            args.cursor = page.next_cursor;
            if args.cursor.is_none() {
                break;
            }
        }
        let whole: Vec<_> = searched(&fs, search("s")).matches.into_iter().map(|m| m.path).collect();
        assert_eq!((paths.len(), &paths), (50, &whole));
        assert!(pages > 5);
    }
    policy.limits.max_entries = 7;
    policy.limits.max_time_ms = 30_000;
    let mut args = list();
    args.sort = paddock_types::request::ListSort::Size;
    args.depth = 9;
    assert_eq!(run_with(&fs, &policy, Request::List(args)).unwrap_err().code, Code::LimitExceeded);
}

#[test]
fn the_syntax_of_globs() {
    let fs = tree(&[
        ("src/a.rs", ""),
        ("src/sub/b.rs", ""),
        ("a.rs", ""),
        (".github/w.yml", ""),
        (".other/w.yml", ""),
        ("src/.h/x.rs", ""),
        ("src/c.txt", ""),
    ]);
    let paths = |pattern: &str| globbed(&fs, glob(pattern)).paths;
    assert_eq!(paths("*.rs"), ["a.rs", "src/a.rs", "src/sub/b.rs"]);
    assert_eq!(paths("/*.rs"), ["a.rs"]);
    assert_eq!(paths("./src//*.rs"), ["src/a.rs"]);
    assert_eq!(paths("src/"), ["src/a.rs", "src/c.txt", "src/sub/b.rs"]);
    assert_eq!(paths("src/**/*.{rs,txt}"), ["src/a.rs", "src/c.txt", "src/sub/b.rs"]);
    assert_eq!(paths("**/*.yml"), [""; 0]);
    assert_eq!(paths(".github/*"), [".github/w.yml"]);
    assert_eq!(paths("**/.h/*.rs"), ["src/.h/x.rs"]);
    assert_eq!(paths("{.github,src}/*.{yml,txt}"), [".github/w.yml", "src/c.txt"]);
    assert_eq!(paths("src[!x]a.rs"), [""; 0]);
    assert_eq!(paths("src/[!a]*.[!r]*"), ["src/c.txt"]);
    assert_eq!(paths("missing/**"), [""; 0]);
    let code = |pattern: &str| run(&fs, Request::Glob(glob(pattern))).unwrap_err().code;
    assert_eq!(code("../*"), Code::OutsideWorkspace);
    for pattern in ["", ".", "a\\b", "/workspace/*.rs", "{a", "[z-a]", &"{".repeat(200), &"a".repeat(5_000)] {
        assert_eq!(code(pattern), Code::InvalidArgument, "{pattern}");
    }
    let started = std::time::Instant::now();
    let _ = run(&fs, Request::Glob(glob(&"{a,b}".repeat(20))));
    let _ = run(&fs, Request::Glob(glob(&"{a*,b*,**/}".repeat(300))));
    assert!(started.elapsed().as_millis() < 500, "{:?}", started.elapsed());
}

#[test]
fn a_tree_shows_upper_levels_first() {
    let fs = memory();
    for index in 0..30 {
        put(&fs, &format!("a/{index}"), b"xy");
    }
    put(&fs, "b/one", b"x");
    put(&fs, "c", b"x");
    fs.make_dir(&parent(&fs, "x").0, "empty").unwrap();
    let rendered_tree = |depth, limit| {
        let args = Tree { depth, limit, ..Tree::of(".".to_owned()) };
        let Response::Tree(result) = run(&fs, Request::Tree(args)).unwrap() else { panic!() };
        result
    };
    let whole = rendered_tree(3, 500);
    assert_eq!((whole.files, whole.directories, whole.truncated), (32, 3, false));
    let children = |node: &TreeNode| node.children.as_ref().map(Vec::len);
    let tops = whole.tree.children.as_ref().unwrap();
    assert_eq!(
        tops.iter().map(|n| (n.name.as_str(), children(n))).collect::<Vec<_>>(),
        [("a", Some(30)), ("b", Some(1)), ("c", None), ("empty", Some(0))]
    );
    assert_eq!(tops[2].size, Some(1));
    let cut = rendered_tree(3, 10);
    assert_eq!((cut.files + cut.directories, cut.truncated), (10, true));
    assert_eq!(cut.tree.children.as_ref().unwrap().len(), 4);
    let exact = rendered_tree(3, 35);
    assert!(!exact.truncated);
    let top = rendered_tree(1, 4);
    assert!(!top.truncated);
    assert_eq!(children(&top.tree.children.unwrap()[0]), None);
    assert_eq!(top.tree.kind, Kind::Directory);
}

#[test]
fn a_listing_describes_every_entry() {
    let fs = tree(&[("a.txt", "12"), ("sub/b.txt", "345"), ("sub/c", "")]);
    let mut args = list();
    assert_eq!(listed(&fs, args.clone()).entries.iter().map(|e| e.path.as_str()).collect::<Vec<_>>(), ["a.txt", "sub"]);
    (args.depth, args.pattern) = (3, Some("*.txt".to_owned()));
    let result = listed(&fs, args.clone());
    assert_eq!((result.total_files, result.total_directories, result.total_size), (Some(2), Some(0), Some(5)));
    assert_eq!(result.entries[1].modified.as_deref(), Some("2023-11-14T22:13:20Z"));
    args.path = "a.txt".to_owned();
    assert_eq!(run(&fs, Request::List(args.clone())).unwrap_err().code, Code::NotADirectory);
    args.path = "sub".to_owned();
    assert_eq!(listed(&fs, args).entries[0].path, "sub/b.txt");
}

#[test]
fn large_rule_files_cost_little() {
    let fs = memory();
    let rules = "*a*b*\n".repeat(20_000);
    for depth in 1..12 {
        put(&fs, &format!("{}.gitignore", "d/".repeat(depth)), rules.as_bytes());
        put(&fs, &format!("{}f", "d/".repeat(depth)), b"s");
    }
    let started = std::time::Instant::now();
    let result = searched(&fs, search("s"));
    assert_eq!((result.matches.len(), result.skipped.unreadable > 8), (11, true));
    println!("{:?}", started.elapsed());
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
}
