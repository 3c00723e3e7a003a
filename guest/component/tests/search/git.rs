//! Compares the ignore rules of walks with git.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::support::{Random, glob, globbed, memory, put};

const TREES: u64 = 400;

#[test]
fn a_walk_returns_the_files_that_git_would_add() {
    let home = tempfile::tempdir().unwrap();
    for seed in 0..TREES {
        let mut random = Random(seed * 7_919 + 1);
        let files = random_tree(&mut random);
        let dir = home.path().join(seed.to_string());
        std::fs::create_dir(&dir).unwrap();
        let expected = list_with_git(&dir, &files);
        let fs = memory();
        for (path, text) in &files {
            put(&fs, path, text.as_bytes());
        }
        let mut args = glob("**");
        (args.include_hidden, args.limit) = (true, 10_000);
        let listed_paths = globbed(&fs, args).paths.into_iter().collect::<BTreeSet<_>>();
        let rules: Vec<_> = files.iter().filter(|(path, text)| !text.is_empty() && path.contains("git")).collect();
        assert_eq!(listed_paths, expected, "tree {seed} with {rules:#?}");
        std::fs::remove_dir_all(&dir).unwrap();
    }
}

fn list_with_git(dir: &Path, files: &[(String, String)]) -> BTreeSet<String> {
    for (path, text) in files.iter().filter(|(path, _)| !path.starts_with(".git/")) {
        let path = dir.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    git(dir, &["init", "-q", "--template="]);
    for (path, text) in files.iter().filter(|(path, _)| path.starts_with(".git/")) {
        std::fs::create_dir_all(dir.join(path).parent().unwrap()).unwrap();
        std::fs::write(dir.join(path), text).unwrap();
    }
    let out = git(dir, &["ls-files", "-z", "-co", "--exclude-standard"]);
    out.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect()
}

fn git(dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.arg("-C").arg(dir).args(args);
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("HOME", dir);
    let out = command.output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

fn random_tree(random: &mut Random) -> Vec<(String, String)> {
    const NAMES: &[&str] = &[
        "a",
        "b",
        "foo",
        "bar",
        "foo.txt",
        "a b",
        ".hid",
        "b.o",
        "{a,b}",
        "x#y",
        "#c",
        "!d",
        "tail ",
        "ä",
        "[z]",
        "A",
        "w\u{3000}",
        "0",
        "-",
        "ab",
    ];
    let mut dirs = vec![String::new()];
    for _ in 0..random.below(8) {
        let above = dirs[random.below(dirs.len())].clone();
        dirs.push(format!("{above}{}/", random.pick(NAMES)));
    }
    let mut files = BTreeSet::new();
    for _ in 0..8 + random.below(16) {
        files.insert(format!("{}{}", dirs[random.below(dirs.len())], random.pick(NAMES)));
    }
    let mut rules = vec![".gitignore".to_owned()];
    for _ in 0..random.below(3) {
        rules.push(format!("{}.gitignore", dirs[random.below(dirs.len())]));
    }
    if random.below(4) == 0 {
        rules.push(".git/info/exclude".to_owned());
    }
    rules.sort();
    rules.dedup();
    let mut tree: Vec<_> = files.into_iter().map(|path| (path, String::new())).collect();
    tree.extend(rules.into_iter().map(|path| (path, random_rules(random))));
    // A path that is the directory of another path cannot be a file.
    let all: Vec<_> = tree.iter().map(|(path, _)| format!("{path}/")).collect();
    let paths: Vec<_> = tree.iter().map(|(path, _)| path.clone()).collect();
    let mut keep = all.iter().map(|dir| !paths.iter().any(|path| path.starts_with(dir.as_str())));
    tree.retain(|_| keep.next().unwrap());
    tree
}

fn random_rules(random: &mut Random) -> String {
    // `a**/b` is left out: git strips the literal prefix before it matches and treats the rest as `**/b`, contrary to
    // its manual.
    const ODD: &[&str] = &[
        "",
        "#c",
        "\\#c",
        "\\!d",
        "!",
        "/",
        "!/",
        "*",
        "!*",
        "**",
        "/**",
        "**/",
        "*/",
        "!*/",
        "foo/**",
        "**/foo",
        "a/**/b",
        "foo.*",
        "*.o",
        "!b.o",
        "tail\\ ",
        "foo   ",
        "a\\ b",
        "a b",
        "[ab]",
        "[!a]",
        "[^a]*",
        "[a-c]",
        "[[:alpha:]]",
        "[a",
        "{a,b}",
        "\\[z\\]",
        "x#y",
        "?",
        "??",
        "f*o",
        "f**o",
        "/a",
        "/a/",
        "a/",
        "!a/",
        "!/a/b",
        "a/b",
        "a/*",
        "!a/b",
        "foo\\",
        "foo\t",
        "w\u{3000}",
        "**/a/**",
        "a/**",
        "**/b/",
        "./a",
        "a//b",
        "\u{e4}",
        "?*",
        "[[:upper:]]",
        "[]a]",
        "[!]a]",
        "*[!o]",
        "[a-]",
        "/*",
        "!/foo",
        "/foo/*",
        "!/foo/bar",
        "\\a",
        "b.\\o",
        "a/b/",
        "**/a/b",
        "foo/*/",
        "  a",
        "[.]hid",
        "a[/]b",
        "a?b",
        "a[!x]b",
        "[z]",
        "*.txt ",
        "\\*",
        "!foo.txt",
        "{foo,bar}.txt",
        "fo[[:lower:]o]",
        "[\\]]",
        "[\\a]",
        "[b/]",
        "!a[b/]",
        "b[/o]",
        "[%--0]hid",
        "[.-0]hid",
        "[[:blank:]-0]hid",
        "[!-a]",
        "[!-.]",
        "[[:foo:]]",
        "[/-%]",
        "**//",
        "!**//",
        "foo\\/",
        "a/***/b",
        "****/b",
        "foo***",
    ];
    let mut text = if random.below(8) == 0 { "\u{feff}".to_owned() } else { String::new() };
    // Some files have more rules than are compared one by one.
    let rules = if random.below(10) == 0 { 60 } else { 1 + random.below(6) };
    for _ in 0..rules {
        text.push_str(random.pick(ODD));
        text.push_str(random.pick(&["\n", "\n", "\n", "\r\n", " \n"]));
    }
    text
}
