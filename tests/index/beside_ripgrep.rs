//! Searches with the index and by ripgrep find the same files, by generated patterns and with all flags.
//!
//! `PADDOCK_INDEX_SEARCHES` is the number of searches.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use paddock::{CallOptions, Progress};
use serde_json::{Value, json};

use super::Fixture;

const SYLLABLES: [&str; 24] = [
    "ne", "ed", "le", "hay", "st", "ack", "Ne", "LE", "ß", "é", "É", "K", "k", "\u{212a}", "ſ", "s", "fn", "_", "::",
    "12", "0", "ö", "(", ".",
];
const WORDS: usize = 600;
const TREE_FILES: usize = 300;
/// Number of different words of a file.
const FILE_WORDS: usize = 12;
/// Number of words of a file that does not share a group of the index with other files.
const MANY_WORDS: usize = 8_000;
/// Replacements of a character in a pattern.
const CLASSES: [&str; 12] =
    [".", "\\w", "[a-z]", "[^a]", "\\s", "[sk]", "(?i:k)", "é?", "s*", "\\b", "[[:alpha:]]+", "\\d{1,2}"];

/// Pseudo-random numbers, the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, max: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % max
    }

    fn of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }
}

#[test]
fn searches_with_an_index_find_the_files_of_ripgrep() {
    if Command::new("rg").arg("--version").output().is_err() {
        return println!("skipped: there is no `rg`");
    }
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let words: Vec<String> =
        (0..WORDS).map(|_| (0..2 + random.below(4)).map(|_| random.of(&SYLLABLES)).collect()).collect();
    let write_tree = |root: &Path| (0..TREE_FILES).for_each(|number| write(root, number, &words, &mut random));
    let Some(fixture) = Fixture::with_tree(write_tree, |builder| builder) else { return };
    fixture.update();
    let searches = std::env::var("PADDOCK_INDEX_SEARCHES").map_or(300, |searches| searches.parse().unwrap());
    let (mut opened, mut found, mut invalid) = (0, 0, 0);
    for _ in 0..searches {
        let arguments = arguments(&words, &mut random);
        let (status, theirs) = by_ripgrep(&fixture.path("."), &arguments);
        let options = CallOptions::default().with_progress(Progress::default());
        let outcome = fixture.workspace.call_with("grep", &arguments.to_string(), &options);
        assert_eq!(outcome.ok, status != Some(2), "{arguments}: {}", outcome.text);
        if !outcome.ok {
            invalid += 1;
            continue;
        }
        let ours = serde_json::to_value(&outcome).unwrap();
        let files = ours["result"]["files"].as_array().unwrap().iter();
        let paths: BTreeSet<_> = files.map(|file| file["path"].as_str().unwrap().to_owned()).collect();
        assert_eq!(paths, theirs, "{arguments}");
        (opened, found) = (opened + options.progress.opened(), found + theirs.len() as u64);
    }
    let total = (searches - invalid) * TREE_FILES as u64;
    println!(
        "{searches} searches beside ripgrep, {invalid} of them invalid: {found} files found, {opened} of {total} opened"
    );
    assert!(opened < total && found > searches, "{opened} of {total} opened, {found} found");
}

/// Writes one file of the tree: text, at times with carriage returns or a byte order mark. It has no zero byte, because ripgrep
/// prints some files with one and does not search others, and it is UTF-8, because ripgrep decodes no other encoding.
fn write(root: &Path, number: usize, words: &[String], random: &mut Random) {
    let directory = root.join(["a", "b", "b/c", "d/.e"][number % 4]);
    fs::create_dir_all(&directory).unwrap();
    let line_end = if random.below(4) == 0 { "\r\n" } else { "\n" };
    let mut text = Vec::new();
    let own: Vec<_> = (0..FILE_WORDS).map(|_| &words[random.below(WORDS)]).collect();
    let count = if number.is_multiple_of(5) { random.below(30) } else { MANY_WORDS };
    for _ in 0..count {
        text.extend_from_slice(own[random.below(FILE_WORDS)].as_bytes());
        text.extend_from_slice([" ", " ", " ", "\t", line_end][random.below(5)].as_bytes());
    }
    match random.below(30) {
        0 => text.splice(0..0, *b"\xef\xbb\xbf").for_each(drop),
        1 => drop(text.pop()),
        _ => {}
    }
    fs::write(directory.join(format!("f{number:03}")), text).unwrap();
}

fn arguments(words: &[String], random: &mut Random) -> Value {
    let is_fixed = random.below(5) == 0;
    let parts: Vec<_> = (0..1 + random.below(3)).map(|_| part(&words[random.below(WORDS)], is_fixed, random)).collect();
    let pattern =
        if is_fixed { parts[0].clone() } else { parts.join(random.of(&["|", "|", ".*", "\\s+", "(?:x|)", ""])) };
    json!({
        "pattern": pattern, "fixed": is_fixed, "case": random.of(&["sensitive", "insensitive", "smart"]),
        "word": random.below(4) == 0, "multiline": random.below(4) == 0,
        "output": "files", "limit": TREE_FILES, "include_hidden": true, "include_ignored": true,
    })
}

/// Returns a part of a word, in which some characters are replaced unless the part is plain text.
fn part(word: &str, is_fixed: bool, random: &mut Random) -> String {
    let letters: Vec<char> = word.chars().collect();
    let start = random.below(letters.len());
    let letters = &letters[start..(start + 3 + random.below(5)).min(letters.len())];
    let mut part = String::new();
    for letter in letters {
        match random.below(10) {
            0 if !is_fixed => part.push_str(random.of(&CLASSES)),
            1 if !is_fixed => part.push_str(&format!("[{letter}x]")),
            2 if !is_fixed && letter.is_alphanumeric() => {
                part.push_str(&format!("{letter}{}", random.of(&["?", "*", "+", "{2}"])))
            }
            3 => part.extend(letter.to_uppercase()),
            _ if !is_fixed && matches!(letter, '(' | '.') => part.push_str(&format!("\\{letter}")),
            _ => part.push(*letter),
        }
    }
    part
}

/// Returns the exit status of ripgrep, and the paths that it prints.
fn by_ripgrep(root: &Path, arguments: &Value) -> (Option<i32>, BTreeSet<String>) {
    let is_set = |name: &str| arguments[name] == true;
    let case = match arguments["case"].as_str().unwrap() {
        "insensitive" => "-i",
        "smart" => "-S",
        _ => "-s",
    };
    let mut rg = Command::new("rg");
    rg.args(["--no-config", "--no-ignore", "--hidden", "--crlf", "-l", case]);
    rg.args(is_set("fixed").then_some("-F")).args(is_set("word").then_some("-w"));
    rg.args(is_set("multiline").then_some("-U"));
    let output = rg.args(["-e", arguments["pattern"].as_str().unwrap(), "."]).current_dir(root).output().unwrap();
    let printed = str::from_utf8(&output.stdout).unwrap();
    let paths = printed.lines().map(|line| line.strip_prefix("./").unwrap_or(line).to_owned()).collect();
    (output.status.code(), paths)
}
