//! Paddock as an entrant: with one process per call, and with one process for all calls.

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::answers::Answer;
use crate::directories;
use crate::line_process::LineProcess;
use crate::measure::{Entrant, PeakFinder};
use crate::process::{Invocation, Run};

/// Name of the entrant with one process per call.
pub const CALL: &str = "paddock call";
/// Name of the entrant with one process for all calls; see [`CALL`].
pub const BATCH: &str = "paddock batch";
/// Name of the entrant with one thread; see [`CALL`].
pub const CALL_1: &str = "paddock call, 1 thread";
/// Name of the entrant with one thread; see [`BATCH`].
pub const BATCH_1: &str = "paddock batch, 1 thread";

/// The paddock binary on one directory.
pub struct Paddock {
    binary: PathBuf,
    options: Vec<OsString>,
    root: PathBuf,
    batch: RefCell<LineProcess>,
    single_batch: RefCell<LineProcess>,
}

/// Environment variable for a single thread.
const SINGLE: (&str, &str) = ("PADDOCK_THREADS", "1");

/// Arguments of a tool, one object for each page of the answer.
pub type Pages = Vec<Value>;

impl Paddock {
    /// Starts the long-running processes for `root`.
    pub fn open(binary: &Path, root: &Path) -> Result<Self> {
        let options = options(root)?;
        let start = |threads: Option<(&str, &str)>| {
            let mut command = Command::new(binary);
            command.arg("batch").args(&options).envs(threads);
            LineProcess::start("paddock batch", command).map(RefCell::new)
        };
        let (batch, single_batch) = (start(None)?, start(Some(SINGLE))?);
        Ok(Self { binary: binary.to_owned(), root: root.to_owned(), options, batch, single_batch })
    }

    /// Returns the arguments of all pages, found by following the cursors. The timed runs request the same pages again.
    pub fn pages(&self, tool: &str, arguments: Value) -> Result<Pages> {
        let mut pages = vec![arguments.clone()];
        loop {
            let last = pages.last().context("there is a page")?;
            let (_, answer) = self.batch.borrow_mut().request_line(&line(tool, last), |_| true)?;
            let Some(cursor) = result(&answer)?.get("next_cursor").filter(|cursor| cursor.is_string()).cloned() else {
                return Ok(pages);
            };
            let mut next = arguments.clone();
            next.as_object_mut().context("arguments are an object")?.insert("cursor".to_owned(), cursor);
            pages.push(next);
        }
    }

    /// Returns both entrants with all threads, and optionally both with one thread.
    pub fn entrants<'a>(
        &'a self,
        tool: &'static str,
        pages: &Pages,
        with_single: bool,
        answer: fn(&[Value]) -> Result<Answer>,
    ) -> Vec<Entrant<'a>> {
        let turns = vec![pages.clone()];
        let mut entrants = vec![
            self.called(CALL, tool, turns.clone(), answer),
            self.batch_entrant(BATCH, tool, turns.clone(), answer),
        ];
        if with_single {
            entrants.push(self.called(CALL_1, tool, turns.clone(), answer));
            entrants.push(self.batch_entrant(BATCH_1, tool, turns, answer));
        }
        entrants
    }

    /// Returns the entrant that starts one process per page. If `turns` has several elements, successive runs use
    /// successive elements.
    pub fn called<'a>(
        &'a self,
        name: &'static str,
        tool: &'static str,
        turns: Vec<Pages>,
        answer: fn(&[Value]) -> Result<Answer>,
    ) -> Entrant<'a> {
        let turns: Vec<Vec<Invocation>> = turns
            .iter()
            .map(|pages| pages.iter().map(|arguments| self.invocation(tool, arguments, name == CALL_1)).collect())
            .collect();
        let first = turns.first().and_then(|pages| pages.first()).cloned();
        // A task that changes files is not run again to measure its memory.
        let peak = first.filter(|_| turns.len() == 1);
        Entrant {
            name,
            run: Box::new(move |round| run_each(turn(&turns, round)?)),
            answer: Box::new(move |outputs| answer(&results(outputs)?)),
            peak: peak.map(|first| Box::new(move || first.peak_kib()) as PeakFinder<'a>),
        }
    }

    /// Returns the entrant that uses one process for all pages. If `turns` has several elements, successive runs use
    /// successive elements.
    pub fn batch_entrant<'a>(
        &'a self,
        name: &'static str,
        tool: &'static str,
        turns: Vec<Pages>,
        answer: fn(&[Value]) -> Result<Answer>,
    ) -> Entrant<'a> {
        let process = if name == BATCH_1 { &self.single_batch } else { &self.batch };
        let turns: Vec<Vec<Vec<u8>>> =
            turns.iter().map(|pages| pages.iter().map(|arguments| line(tool, arguments)).collect()).collect();
        Entrant {
            name,
            run: Box::new(move |round| request_each(&mut process.borrow_mut(), turn(&turns, round)?)),
            answer: Box::new(move |outputs| answer(&results(outputs)?)),
            peak: None,
        }
    }

    /// Returns the entrant with one thread that receives the same call `count` times in one write. The measurement then
    /// contains no wake-up of a process per call, which takes longer than a call on an idle machine.
    pub fn batch_entrant_at_once<'a>(
        &'a self,
        tool: &'static str,
        arguments: &Value,
        count: usize,
        answer: fn(&[Value]) -> Result<Answer>,
    ) -> Entrant<'a> {
        let lines = line(tool, arguments).repeat(count);
        let run = move |_| {
            let mut process = self.single_batch.borrow_mut();
            let start = Instant::now();
            process.send(&lines)?;
            let answers = (0..count).map(|_| process.receive(|_| true)).collect::<Result<Vec<_>>>()?;
            let time = start.elapsed();
            Ok(Run { time, outputs: answers.into_iter().take(1).collect() })
        };
        let answer = Box::new(move |outputs: &[Vec<u8>]| answer(&results(outputs)?));
        Entrant { name: BATCH_1, run: Box::new(run), answer, peak: None }
    }

    fn invocation(&self, tool: &str, arguments: &Value, single: bool) -> Invocation {
        let call = Invocation::new(&self.binary, &self.root).args(["call"]).args(&self.options);
        let call = if single { call.env(SINGLE.0, SINGLE.1) } else { call };
        call.args([tool, "-"]).stdin(arguments.to_string().into_bytes())
    }
}

/// Returns the options of every Paddock process: the root, limits that no task reaches, no search index, which the first task
/// would not have, and a separate state directory.
pub fn options(root: &Path) -> Result<Vec<OsString>> {
    let policy = directories::trees()?.join("policy.json");
    let limits = json!({
        "max_lines": 1_000_000,
        "max_line_chars": 1_000_000,
        "max_result_bytes": 100_000_000,
        "max_time_ms": 600_000,
    });
    std::fs::write(&policy, json!({ "limits": limits, "index": { "enabled": false } }).to_string())?;
    let state = directories::trees()?.join("state");
    std::fs::create_dir_all(&state)?;
    let each = [("--root", root), ("--policy", &policy), ("--state-dir", &state)];
    Ok(each.into_iter().flat_map(|(option, path)| [option.into(), path.as_os_str().to_owned()]).collect())
}

/// Runs the invocations one after the other.
pub fn run_each(invocations: &[Invocation]) -> Result<Run> {
    let mut run = Run { time: Duration::ZERO, outputs: Vec::new() };
    for invocation in invocations {
        let (time, output) = invocation.run()?;
        run.time += time;
        run.outputs.push(output);
    }
    Ok(run)
}

fn request_each(process: &mut LineProcess, lines: &[Vec<u8>]) -> Result<Run> {
    let mut run = Run { time: Duration::ZERO, outputs: Vec::new() };
    for line in lines {
        let (time, output) = process.request_line(line, |_| true)?;
        run.time += time;
        run.outputs.push(output);
    }
    Ok(run)
}

fn turn<T>(turns: &[T], round: usize) -> Result<&T> {
    turns.get(round % turns.len().max(1)).context("no turn")
}

fn line(tool: &str, arguments: &Value) -> Vec<u8> {
    format!("{}\n", json!({"tool": tool, "arguments": arguments})).into_bytes()
}

fn results(outputs: &[Vec<u8>]) -> Result<Vec<Value>> {
    outputs.iter().map(|output| result(output)).collect()
}

/// Returns the `result` of an outcome.
fn result(outcome: &[u8]) -> Result<Value> {
    let mut outcome: Value = serde_json::from_slice(outcome).context("an answer is no JSON")?;
    if outcome.get("ok") != Some(&Value::Bool(true)) {
        bail!("paddock: {}", crate::process::clipped(&outcome.to_string()));
    }
    outcome.get_mut("result").map(Value::take).context("an answer without a result")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_call_is_an_error() {
        assert!(result(br#"{"ok":false,"error":{"code":"io"}}"#).unwrap_err().to_string().contains("\"io\""));
        assert_eq!(result(br#"{"ok":true,"result":{"paths":[]}}"#).unwrap(), json!({"paths": []}));
    }

    #[test]
    fn turns_repeat_in_order() {
        assert_eq!(turn(&[1, 2], 3).unwrap(), &2);
        assert!(turn::<u8>(&[], 0).is_err());
    }
}
