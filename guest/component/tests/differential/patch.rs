//! Compares patches with `git apply` and `patch`. If the two agree, our result must equal theirs; each kind of
//! deviation is counted and explained.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use similar::TextDiff;

use crate::support::{Random, call, has, memory, read, requested_cases};

const LINES: [&str; 9] =
    ["one\n", "two\n", "three\n", "}\n", "\n", "    indented\n", "fn f() {\n", "Straße\n", "x = 1\n"];

#[derive(Default, Debug)]
struct Tally {
    /// Patches for which all programs that apply the patch have the same result, or no program applies it.
    same: usize,
    /// Patches that the other programs apply in different places, because the lines occur several times.
    ambiguous: usize,
    /// Patches whose lines are not at the stated place. Paddock finds no unique place for them, and the other programs
    /// search by other rules.
    moved: usize,
}

#[test]
fn patches_have_the_result_of_git_and_patch() {
    if !has("git") || !has("patch") {
        return;
    }
    let (mut random, mut tally) = (Random::new(), Tally::default());
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("a.txt");
    while tally.same + tally.ambiguous + tally.moved < requested_cases() {
        let old = lines(&mut random, 30);
        let new = changed(&mut random, &old);
        let context = random.below(4);
        let diff = TextDiff::from_lines(old.concat(), new.concat())
            .unified_diff()
            .context_radius(context)
            .header("a/a.txt", "b/a.txt")
            .to_string();
        if diff.is_empty() {
            continue;
        }
        // The file may be older or newer than the version that the patch was made for.
        let there = if random.below(2) == 0 { old.clone() } else { changed(&mut random, &old) }.concat();
        let fs = memory(&[("a.txt".to_owned(), there.clone())]);
        let outcome = call(&fs, "apply_patch", &json!({ "patch": diff }));
        let ours = outcome.error.is_none().then(|| read(&fs, "a.txt"));
        let git = with(&file, &there, &diff, |patch| {
            let mut git = Command::new("git");
            git.args(["apply", "--unidiff-zero"]).arg(patch).env("GIT_CEILING_DIRECTORIES", "/");
            git
        });
        let patch = with(&file, &there, &diff, |path| {
            let mut patch = Command::new("patch");
            patch.args(["-p1", "--batch", "--forward", "--no-backup-if-mismatch", "-s", "-F0", "-i"]).arg(path);
            patch
        });
        let story = || format!("{diff}\nto {there:?}\nours {ours:?} {:?}\ngit {git:?}\npatch {patch:?}", outcome.error);
        match (&ours, &git, &patch) {
            (ours, git, patch) if ours == git || ours == patch => tally.same += 1,
            (_, Some(git), Some(patch)) if git != patch => tally.ambiguous += 1,
            (None, _, _) if diff_is_elsewhere(&diff, &there) => tally.moved += 1,
            _ => panic!("{}", story()),
        }
    }
    println!("{} patches beside `git apply` and `patch`: {tally:?}", requested_cases());
    assert!(tally.same > requested_cases() / 2, "{tally:?}");
}

/// Returns whether the lines of a hunk are not at its stated position in the original file.
fn diff_is_elsewhere(diff: &str, there: &str) -> bool {
    let there: Vec<_> = there.lines().collect();
    let (mut at, mut is_elsewhere) = (0, false);
    for line in diff.lines().skip(2) {
        if let Some(header) = line.strip_prefix("@@ -") {
            let stated = header.split(' ').next().unwrap();
            let (start, count) = stated.split_once(',').unwrap_or((stated, "1"));
            at = start.parse::<usize>().unwrap() - usize::from(count != "0");
            is_elsewhere |= at > there.len();
        } else if let Some(old) = line.strip_prefix([' ', '-']) {
            is_elsewhere |= there.get(at) != Some(&old);
            at += 1;
        }
    }
    is_elsewhere
}

/// Returns the file after another program applied the patch; `None` if it refuses.
fn with(file: &Path, there: &str, diff: &str, command: impl Fn(&Path) -> Command) -> Option<String> {
    let patch = file.with_extension("patch");
    fs::write(file, there).unwrap();
    fs::write(&patch, diff).unwrap();
    let output = command(&patch).current_dir(file.parent().unwrap()).output().unwrap();
    output.status.success().then(|| fs::read_to_string(file).unwrap())
}

fn lines(random: &mut Random, max: usize) -> Vec<&'static str> {
    (0..1 + random.below(max)).map(|_| random.of(&LINES)).collect()
}

fn changed(random: &mut Random, old: &[&'static str]) -> Vec<&'static str> {
    let mut new = old.to_vec();
    for _ in 0..1 + random.below(3) {
        let at = random.below(new.len() + 1);
        match random.below(3) {
            0 => new.insert(at, random.of(&LINES)),
            1 if at < new.len() => drop(new.remove(at)),
            _ if at < new.len() => new[at] = random.of(&LINES),
            _ => {}
        }
    }
    new
}
