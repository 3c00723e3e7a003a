//! Changes: an edit of one file and a patch of ten files. Each second run reverts the first.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::{ABSENT, Bench, add, invocation, showing};
use crate::answers::Answer;
use crate::measure::{Entrant, Row};
use crate::paddock::{BATCH, CALL, Paddock, Pages, run_each};
use crate::process::Invocation;
use crate::trees::editable;
use crate::{directories, trees};

/// Name of the table of changes.
pub const GROUP: &str = "change";

const FILES: usize = 10;
/// Values in the files before and after a run; every second run restores the first value.
const TURNS: [(u8, u8); 2] = [(1, 2), (2, 1)];

/// Adds the rows of both changes.
pub fn rows(bench: &Bench, rows: &mut Vec<Row>) -> Result<()> {
    let top = directories::scratch("change")?;
    let paddock = Paddock::open(&bench.paddock, &top)?;
    rows.push(edits(bench, &paddock, &top)?);
    rows.push(patches(bench, &paddock, &top)?);
    Ok(())
}

fn edits(bench: &Bench, paddock: &Paddock, top: &Path) -> Result<Row> {
    let mut row = Row::new(GROUP, "texts", "one edit");
    let mut entrants = Vec::new();
    for (name, folder) in [(CALL, "edit-call"), (BATCH, "edit-batch")] {
        let turns = TURNS.map(|(old, new)| {
            let edit = json!({"old_text": value(old), "new_text": value(new)});
            vec![json!({"path": format!("{folder}/file0.rs"), "edits": [edit]})]
        });
        entrants.push(checked(ours(paddock, name, "edit_file", turns), files(top, folder, 1)?));
    }
    let peers = &bench.peers;
    for (name, peer, script) in [("node", &peers.node, "plain.mjs"), ("python", &peers.python, "plain.py")] {
        let dir = files(top, name, 1)?;
        let plain =
            invocation(peer.as_ref(), &dir).ok_or(ABSENT).map(|plain| plain.args([directories::script(script)]));
        let turns = plain.map(|plain| {
            TURNS.map(|(old, new)| plain.clone().args(["edit", "file0.rs"]).args([value(old), value(new)]))
        });
        add(&mut row, &mut entrants, name, turns.map(|turns| checked(in_turns(name, turns), dir)));
    }
    bench.contest(&mut row, entrants, &HashSet::new());
    Ok(row)
}

fn patches(bench: &Bench, paddock: &Paddock, top: &Path) -> Result<Row> {
    let mut row = Row::new(GROUP, "texts", "patch of ten files");
    let mut entrants = Vec::new();
    for (name, folder) in [(CALL, "patch-call"), (BATCH, "patch-batch")] {
        let turns = TURNS.map(|(old, new)| vec![json!({"patch": patch(&format!("{folder}/"), old, new)})]);
        entrants.push(checked(ours(paddock, name, "apply_patch", turns), files(top, folder, FILES)?));
    }
    let peers = &bench.peers;
    let each: [(_, _, &[&str]); 2] =
        [("git apply", &peers.git, &["apply"]), ("patch", &peers.patch, &["--silent", "--strip=1"])];
    for (name, peer, arguments) in each {
        let dir = files(top, name, FILES)?;
        // Without this variable, git would find the surrounding repository and treat the directory as a part of it.
        let program = invocation(peer.as_ref(), &dir).map(|program| program.env("GIT_CEILING_DIRECTORIES", top));
        let turns = program.ok_or(ABSENT).map(|program| {
            TURNS.map(|(old, new)| program.clone().args(arguments).stdin(patch("", old, new).into_bytes()))
        });
        add(&mut row, &mut entrants, name, turns.map(|turns| checked(in_turns(name, turns), dir)));
    }
    bench.contest(&mut row, entrants, &HashSet::new());
    Ok(row)
}

fn value(value: u8) -> String {
    format!("let value = {value};")
}

/// Returns a unified diff of all files, with `prefix` before their names.
fn patch(prefix: &str, old: u8, new: u8) -> String {
    let hunk = format!("@@ -150,3 +150,3 @@\n fn one() {{}}\n-{}\n+{}\n fn two() {{}}\n", value(old), value(new));
    let file = |number| format!("--- a/{prefix}file{number}.rs\n+++ b/{prefix}file{number}.rs\n{hunk}");
    (0..FILES).map(file).collect()
}

fn files(top: &Path, folder: &str, count: usize) -> Result<PathBuf> {
    let dir = top.join(folder);
    fs::create_dir_all(&dir)?;
    for number in 0..count {
        fs::write(dir.join(format!("file{number}.rs")), editable(1))?;
    }
    Ok(dir)
}

fn ours<'a>(paddock: &'a Paddock, name: &'static str, tool: &'static str, turns: [Pages; 2]) -> Entrant<'a> {
    let nothing = |_: &[serde_json::Value]| Ok(Answer::default());
    if name == CALL {
        return paddock.called(name, tool, turns.to_vec(), nothing);
    }
    paddock.batch_entrant(name, tool, turns.to_vec(), nothing)
}

fn in_turns<'a>(name: &'static str, turns: [Invocation; 2]) -> Entrant<'a> {
    let [there, back] = turns;
    let mut entrant = showing(name, there.clone());
    entrant.run = Box::new(move |round| run_each(std::slice::from_ref(if round % 2 == 0 { &there } else { &back })));
    // A task that changes files is not run again to measure its memory.
    entrant.peak = None;
    entrant
}

/// Adds a check after each run: every file in `dir` must have the new text and no other change.
pub fn checked<'a>(entrant: Entrant<'a>, dir: PathBuf) -> Entrant<'a> {
    let Entrant { name, mut run, .. } = entrant;
    let of_answer = dir.clone();
    let checked = move |round: usize| {
        let measured = run(round)?;
        let (_, new) = TURNS.get(round % 2).copied().context("two turns")?;
        ensure!(has_changed(&dir, new)?, "{name} did not make the change");
        Ok(measured)
    };
    let answer = move |_: &[Vec<u8>]| Ok(Answer::text(&fs::read_to_string(of_answer.join("file0.rs"))?));
    Entrant { name, run: Box::new(checked), answer: Box::new(answer), peak: None }
}

fn has_changed(dir: &Path, new: u8) -> Result<bool> {
    let expected = trees::editable(new);
    for entry in fs::read_dir(dir)? {
        if fs::read_to_string(entry?.path())? != expected {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_patch_fits_the_text() {
        let text = editable(1);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[149..152], ["fn one() {}", "let value = 1;", "fn two() {}"]);
        assert!(
            patch("d/", 1, 2).starts_with("--- a/d/file0.rs\n+++ b/d/file0.rs\n@@ -150,3 +150,3 @@\n fn one() {}\n-")
        );
    }
}
