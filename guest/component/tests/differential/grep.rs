//! Compares searches with ripgrep: the same lines of the same files.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Random, call, has, memory, requested_cases};

const WORDS: [&str; 14] =
    ["need", "needle", "Needle", "x", "a b", "é", "Straße", "STRASSE", "fn", "fn_", "12", "\t", "#!", "end."];
const ATOMS: [&str; 18] = [
    "need",
    "n",
    "[a-e]",
    "[^a]",
    "\\w",
    "\\s",
    "\\d",
    ".",
    "é",
    "ß",
    "(?:fn|needle)",
    "(a|b)",
    "\\b",
    "x{2}",
    "N",
    "\\.",
    "[[:upper:]]",
    "\\W",
];
const REPEATS: [&str; 7] = ["", "", "", "*", "+", "?", "{1,2}"];
const GLOBS: [Option<&str>; 6] = [None, None, Some("*.txt"), Some("**/*.md"), Some("in/**"), Some("*.{md,c}")];
const PATHS: [&str; 6] = ["a.txt", "b.md", "in/c.txt", "in/deep/d.md", "in/deep/e.c", "z"];

#[test]
fn searches_return_the_lines_of_ripgrep() {
    if !has("rg") {
        return;
    }
    let (mut random, mut compared, mut lines, mut invalid) = (Random::new(), 0, 0, 0);
    let home = tempfile::tempdir().unwrap();
    while compared < requested_cases() {
        let files = tree(&mut random);
        let fs = memory(&files);
        for (path, text) in &files {
            let path = home.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        for _ in 0..50 {
            let inner: String = (0..1 + random.below(4)).map(|_| atom(&mut random)).collect();
            let pattern = [random.of(&["", "", "^"]), &inner, random.of(&["", "", "$"])].concat();
            let (fixed, case) = (random.below(5) == 0, random.of(&["sensitive", "insensitive", "smart"]));
            let glob = random.of(&GLOBS);
            let mut arguments =
                json!({"pattern": pattern, "fixed": fixed, "case": case, "limit": 10_000, "include_hidden": true});
            if let Some(glob) = glob {
                arguments["glob"] = json!(glob);
            }
            let ours = call(&fs, "grep", &arguments);
            let mut rg = Command::new("rg");
            rg.args([
                "--no-config",
                "--no-ignore",
                "--hidden",
                "--crlf",
                "--no-heading",
                "-n",
                "--color=never",
                "--sort=path",
            ]);
            rg.arg(match case {
                "insensitive" => "-i",
                "smart" => "-S",
                _ => "-s",
            });
            rg.args(fixed.then_some("-F")).args(glob.map(|glob| format!("-g{glob}"))).arg("-e").arg(&pattern).arg(".");
            let theirs = rg.current_dir(home.path()).output().unwrap();
            compared += 1;
            if theirs.status.code() == Some(2) {
                invalid += 1;
                assert!(ours.error.is_some(), "{arguments}: {}", String::from_utf8_lossy(&theirs.stderr));
                continue;
            }
            assert!(ours.error.is_none(), "{arguments}: {:?}", ours.error);
            let (ours, theirs) = (matched_lines(&ours.result), printed(&theirs.stdout));
            lines += theirs.len();
            assert_eq!(ours, theirs, "{arguments}");
        }
    }
    println!("{compared} searches beside ripgrep: {lines} lines, {invalid} patterns that neither takes, no difference");
}

/// Returns an element of a pattern. `^` and `$` occur only at the ends of a pattern: in lines that end in CRLF, ripgrep
/// misses matches of `${1,2}` or `.?^` that its own library finds.
fn atom(random: &mut Random) -> String {
    let atom = random.of(&ATOMS);
    let repeat = if atom == "\\b" { "" } else { random.of(&REPEATS) };
    [atom, repeat].concat()
}

fn tree(random: &mut Random) -> Vec<(String, String)> {
    let mut text = || -> String {
        let lines = (0..random.below(12)).map(|_| {
            let line: String = (0..random.below(5)).map(|_| random.of(&WORDS)).collect();
            line + random.of(&["\n", "\n", "\r\n"])
        });
        lines.collect::<String>() + if random.below(3) == 0 { "no end" } else { "" }
    };
    PATHS.map(|path| (path.to_owned(), text())).into()
}

/// Returns path, number and text of each line.
fn matched_lines(result: &str) -> Vec<(String, u64, String)> {
    let result: Value = serde_json::from_str(result).unwrap();
    let one = |entry: &Value| {
        let text = |name: &str| entry[name].as_str().unwrap().to_owned();
        (text("path"), entry["line"].as_u64().unwrap(), text("text"))
    };
    result["matches"].as_array().unwrap().iter().map(one).collect()
}

fn printed(stdout: &[u8]) -> Vec<(String, u64, String)> {
    let one = |line: &str| {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let (path, rest) = line.split_once(':').unwrap();
        let (number, text) = rest.split_once(':').unwrap();
        (path.strip_prefix("./").unwrap_or(path).to_owned(), number.parse().unwrap(), text.to_owned())
    };
    let stdout = std::str::from_utf8(stdout).unwrap();
    stdout.split_terminator('\n').map(one).collect()
}
