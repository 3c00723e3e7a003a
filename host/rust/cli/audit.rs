//! `paddock audit`: reads and checks the audit log that `--audit` writes.

use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use paddock::audit;
use serde::Deserialize;

use super::status;

/// Check or show the audit log that `--audit` writes
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Check that no record was changed, removed, moved or inserted
    #[command(after_help = "\
Examples:
  paddock audit verify audit.jsonl
  paddock audit verify audit.jsonl --head 5f1c…

Prints the number of records and the hash of the last one, which can be kept elsewhere: --head looks for it later.
Exit status: 0 the chain is whole, 1 it is broken, 3 the file cannot be read.")]
    Verify {
        /// The audit log
        file: PathBuf,

        /// Hash of a record, stored elsewhere: the log has to contain it
        #[arg(long, value_name = "HASH")]
        head: Option<String>,
    },
    /// Print the last records, the oldest first, without checking them
    #[command(after_help = "\
A line is the number of the record, when, how the call ended, its dialect and tool, bytes, and the paths.
A call that started and has no end was refused, is under way, or was ended with its process.")]
    Show {
        /// The audit log
        file: PathBuf,

        /// Maximum number of records
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: usize,

        /// Print one JSON object per line, as in the log
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::Verify { file, head } => verify(file, head.as_deref()),
        Command::Show { file, limit, json } => show(file, *limit, *json),
    }
}

fn verify(file: &Path, head: Option<&str>) -> anyhow::Result<ExitCode> {
    let report = audit::verify(file, head).with_context(|| format!("cannot read `{}`", file.display()))?;
    let mut stdout = std::io::stdout().lock();
    for note in &report.notes {
        writeln!(stdout, "note: {note}")?;
    }
    if let Some(problem) = &report.problem {
        writeln!(stdout, "broken at line {}: {}", problem.line, problem.reason)?;
    }
    writeln!(stdout, "{} records, head {}", report.records, report.head)?;
    Ok(status(report.problem.is_none()))
}

/// The fields of a record that `show` prints.
#[derive(Deserialize)]
struct Record {
    sequence: u64,
    time: String,
    event: String,
    #[serde(default)]
    call: String,
    #[serde(default)]
    dialect: String,
    #[serde(default)]
    tool: String,
    outcome: Option<String>,
    #[serde(default)]
    paths: Vec<String>,
    #[serde(default)]
    redacted: u64,
    #[serde(default)]
    bytes: u64,
}

fn show(file: &Path, limit: usize, json: bool) -> anyhow::Result<ExitCode> {
    let mut stdout = std::io::stdout().lock();
    let read = |max| audit::last(file, max).with_context(|| format!("cannot read `{}`", file.display()));
    if json {
        for line in read(limit)? {
            writeln!(stdout, "{line}")?;
        }
        return Ok(status(true));
    }
    // Reads twice as many lines: a call has up to two records, and its start is only printed if its end is missing.
    let lines = read(limit.saturating_mul(2))?;
    let records: Vec<Option<Record>> = lines.iter().map(|line| serde_json::from_str(line).ok()).collect();
    let ended: HashSet<&str> =
        records.iter().flatten().filter(|record| record.event == "end").map(|record| record.call.as_str()).collect();
    let matches_filter = |record: &&Option<Record>| {
        record.as_ref().is_none_or(|record| record.event != "start" || !ended.contains(record.call.as_str()))
    };
    let records_to_print: Vec<_> = records.iter().filter(matches_filter).collect();
    for record in records_to_print.iter().skip(records_to_print.len().saturating_sub(limit)) {
        writeln!(stdout, "{}", record.as_ref().map_or_else(|| "no record".to_owned(), line))?;
    }
    Ok(status(true))
}

fn line(record: &Record) -> String {
    let Record { sequence, time, event, call: _, dialect, tool, outcome, paths, redacted, bytes } = record;
    let outcome = match event.as_str() {
        "start" => "no end",
        "end" => outcome.as_deref().unwrap_or_default(),
        other => other,
    };
    // Escaped, since a path can contain line breaks and control characters.
    let mut paths: Vec<_> = paths.iter().map(|path| path.escape_debug().to_string()).collect();
    if *redacted > 0 {
        paths.push(format!("({redacted} not shown)"));
    }
    let name = if tool.is_empty() { String::new() } else { format!("{dialect}/{tool}") };
    let (time, outcome, name) =
        (time.escape_debug(), outcome.escape_debug().to_string(), name.escape_debug().to_string());
    format!("{sequence:>6}  {time}  {outcome:<17}  {name:<22} {bytes:>9}  {}", paths.join(", "))
}
