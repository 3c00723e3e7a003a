//! A quick regression check: compares a few ratios between Paddock and ripgrep with recorded ratios.
//!
//! Both programs have one thread, so that the ratios do not depend on the number of cores; the gain from threads is a
//! separate ratio.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::answers::{Answer, Form};
use crate::directories;
use crate::measure::{Entrant, Row};
use crate::paddock::{BATCH, BATCH_1, Paddock};
use crate::peers::{Peers, system};
use crate::process::Invocation;
use crate::trees::{self, Kind, Tree};
use crate::work::grep::{self, Query};
use crate::work::{Bench, Rules, printing, read, showing};

const RG_1: &str = "rg -j1";
const TREE: Kind = Kind::Generated(10_000);
const ROUNDS: usize = 5;
/// Default factor by which a ratio may exceed the recorded one.
const FACTOR: f64 = 1.5;
const QUERIES: [&str; 6] =
    ["rare literal", "common literal", "classes", "one of ten words", "case-insensitive", "two lines of context"];
/// Number of reads in one measurement, because a single read is too short.
const READS: usize = 50;
/// Name of the ratio that shows the gain from threads.
const SPREAD: &str = "rare literal, all threads over one";

/// Content of `recorded.json`.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    /// Maximum factor by which a ratio may exceed the recorded one.
    factor: f64,
    /// Recorded ratio of medians, Paddock's divided by ripgrep's, for each task.
    ratios: Map<String, Value>,
}

/// Measures the ratios, and compares them with the recorded ones or records them. Returns whether no ratio is clearly
/// worse than the recorded one.
pub fn run(paddock: PathBuf, record: bool) -> Result<bool> {
    let peers =
        Peers { rg: Some(system("rg").context("the regression check needs ripgrep on the PATH")?), ..Peers::default() };
    let bench = Bench { paddock, peers, rounds: ROUNDS, load: String::new(), only: &[BATCH, BATCH_1, RG_1] };
    let check = RegressionCheck { tree: Tree::prepare(TREE)?, texts: trees::texts()?, bench };
    let path = directories::repository().join("benches/peers/recorded.json");
    if record {
        let ratios = check.all()?.into_iter().map(|(name, ratio)| (name, json!(rounded(ratio)))).collect();
        fs::write(&path, format!("{}\n", serde_json::to_string_pretty(&Record { factor: FACTOR, ratios })?))?;
        return Ok(true);
    }
    let text = fs::read_to_string(&path).context("there is no record; --quick --record makes it")?;
    check.compare(&serde_json::from_str(&text).context("the record is not understood")?)
}

struct RegressionCheck {
    bench: Bench,
    tree: Tree,
    texts: PathBuf,
}

impl RegressionCheck {
    /// Returns the ratio of each task.
    fn all(&self) -> Result<Vec<(String, f64)>> {
        let mut ratios = Vec::new();
        for query in grep::queries(TREE).iter().filter(|query| QUERIES.contains(&query.name)) {
            ratios.extend(self.search(query)?);
        }
        ratios.push(("glob **/*.rs".to_owned(), self.glob()?));
        ratios.push((format!("{READS} reads of 4 KB"), self.reads()?));
        Ok(ratios)
    }

    fn compare(&self, record: &Record) -> Result<bool> {
        let mut worse = worse_ratios(record, &self.all()?);
        if !worse.is_empty() {
            eprintln!("once more, since machines are noisy");
            let again = worse_ratios(record, &self.all()?);
            worse.retain(|name| again.contains(name));
        }
        for name in &worse {
            eprintln!("CLEARLY WORSE than on record, twice: {name}");
        }
        Ok(worse.is_empty())
    }

    fn search(&self, query: &Query) -> Result<Vec<(String, f64)>> {
        let paddock = Paddock::open(&self.bench.paddock, &self.tree.top)?;
        let row = grep::row(&self.bench, &self.tree, &paddock, query, Rules::Respected)?;
        let mut ratios = vec![(query.name.to_owned(), ratio(&row, BATCH_1, RG_1)?)];
        if SPREAD.starts_with(query.name) {
            ratios.push((SPREAD.to_owned(), ratio(&row, BATCH, BATCH_1)?));
        }
        Ok(ratios)
    }

    fn glob(&self) -> Result<f64> {
        let paddock = Paddock::open(&self.bench.paddock, &self.tree.top)?;
        let arguments = json!({"pattern": "**/*.rs", "limit": 10_000, "include_hidden": true, "include_ignored": true});
        let pages = vec![paddock.pages("glob", arguments)?];
        let ours = paddock.batch_entrant(BATCH_1, "glob", pages, |results| Ok(Answer::paddock(results)));
        let arguments = ["--no-config", "--files", "-uu", "-j1", "--glob", "*.rs", "./"];
        let theirs = printing(RG_1, self.ripgrep(&self.tree.top)?.args(arguments), Form::Names);
        self.duel("glob", vec![ours, theirs])
    }

    fn reads(&self) -> Result<f64> {
        let paddock = Paddock::open(&self.bench.paddock, &self.texts)?;
        let small = json!({"path": "small.txt"});
        let ours = paddock.batch_entrant_at_once("read_file", &small, READS, |results| Ok(read::content(results)));
        let arguments = ["--no-config", "--no-line-number", "-j1", "", "small.txt"];
        let theirs = showing(RG_1, self.ripgrep(&self.texts)?.args(arguments));
        self.duel("reads", vec![ours, theirs])
    }

    fn ripgrep(&self, dir: &std::path::Path) -> Result<Invocation> {
        crate::work::invocation(self.bench.peers.rg.as_ref(), dir).context("no ripgrep")
    }

    fn duel(&self, work: &str, entrants: Vec<Entrant<'_>>) -> Result<f64> {
        let mut row = Row::new("regression check", TREE.to_string(), work);
        self.bench.contest(&mut row, entrants, &HashSet::new());
        ratio(&row, BATCH_1, RG_1)
    }
}

/// Returns the ratio of the medians of two programs, which must have given the same answer.
fn ratio(row: &Row, name: &str, other: &str) -> Result<f64> {
    ensure!(row.mismatch.is_none(), "different answers to {}: {}", row.work, row.mismatch.as_deref().unwrap_or(""));
    row.ratio(name, other).with_context(|| format!("{name} or {other} took no part in {}", row.work))
}

/// Returns the names of ratios that are clearly worse than the recorded ones. Ratios without a record are ignored.
fn worse_ratios(record: &Record, ratios: &[(String, f64)]) -> Vec<String> {
    let mut worse = Vec::new();
    for (name, ratio) in ratios {
        let Some(recorded) = record.ratios.get(name).and_then(Value::as_f64) else {
            eprintln!("{name}: {ratio:.2}, not on record");
            continue;
        };
        let max_ratio = recorded * record.factor;
        let is_worse = *ratio > max_ratio;
        eprintln!("{name}: {ratio:.2}, on record {recorded:.2}{}", if is_worse { ", WORSE" } else { "" });
        worse.extend(is_worse.then(|| name.clone()));
    }
    worse
}

fn rounded(ratio: f64) -> f64 {
    (ratio * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_clearly_worse_ratios_are_reported() {
        let ratios = json!({"a": 1.0, "b": 2.0}).as_object().cloned().unwrap();
        let record = Record { factor: 1.5, ratios };
        let measured = [("a".to_owned(), 1.6), ("b".to_owned(), 2.9), ("new".to_owned(), 9.0)];
        assert_eq!(worse_ratios(&record, &measured), ["a"]);
    }
}
