//! `benches/PEERS.md`: the tables.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::process::Command;

use anyhow::Result;

use crate::directories;
use crate::measure::Row;
use crate::paddock::{BATCH, BATCH_1, CALL, CALL_1};
use crate::peers::output_of;
use crate::trees::{Kind, grouped};
use crate::work::{Bench, change, grep, names, read, servers};

/// Size of a tree.
pub struct Size {
    /// Kind of the tree.
    pub kind: Kind,
    /// Number of files.
    pub files: u64,
    /// Total size of the files in bytes.
    pub bytes: u64,
}

/// Content of a column.
enum Column {
    /// The median of an entrant.
    Time(&'static str),
    /// The median of the first entrant divided by that of the second.
    Ratio(&'static str, &'static str),
    /// Peak memory of an entrant.
    Peak(&'static str),
}

use Column::{Peak, Ratio, Time};

const MCP: &str = "paddock mcp";
const REFERENCE: &str = "reference server";
const RUST_MCP: &str = "rust-mcp-filesystem";

/// Writes `benches/PEERS.md` with tables of `rows` and links to the charts.
pub fn write(bench: &Bench, rows: &[Row], sizes: &[Size], charts: &[&str]) -> Result<()> {
    let mut text = String::from(include_str!("../report-head.md"));
    for chart in charts {
        push(&mut text, &format!("\n![{}](charts/{chart})", chart.trim_end_matches(".svg")));
    }
    machine(&mut text, bench, rows, sizes);
    for size in sizes {
        searches(&mut text, rows, size);
    }
    listings(&mut text, rows, sizes);
    short_work(&mut text, rows);
    served(&mut text, rows);
    memory(&mut text, rows);
    left_out(&mut text, bench, rows);
    fs::write(directories::repository().join("benches/PEERS.md"), text.replace("\n\n\n", "\n\n"))?;
    Ok(())
}

fn machine(text: &mut String, bench: &Bench, rows: &[Row], sizes: &[Size]) {
    let date = output_of(Command::new("date").args(["-u", "+%Y-%m-%d"])).unwrap_or_default();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let kernel: Vec<_> = kernel.trim().split('.').take(2).collect();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    push(
        text,
        &format!("\n## This run\n\n{date}, {cores} cores ({}), Linux {}.\n", std::env::consts::ARCH, kernel.join(".")),
    );
    push(text, &format!("Command: `{}`; rounds: {}; load average before: {}.\n", command(), bench.rounds, bench.load));
    let agreed = rows.iter().filter(|row| row.mismatch.is_none()).count();
    push(text, &format!("Pieces of work: {}; all programs gave the same answer in {agreed} of them.\n", rows.len()));
    push(text, "| program | version |\n| --- | --- |");
    let paddock = output_of(Command::new(&bench.paddock).arg("--version")).unwrap_or_default();
    push(text, &format!("| paddock | {paddock} |"));
    for (name, version) in bench.peers.versions() {
        push(text, &format!("| {name} | {version} |"));
    }
    push(text, "\n| tree | files | MB |\n| --- | --- | --- |");
    for size in sizes {
        push(text, &format!("| {} | {} | {} |", size.kind, grouped(size.files), grouped(size.bytes / 1_000_000)));
    }
}

/// Returns the load average of the last minute. On a busy machine, even the ratios are inaccurate.
pub fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or_default().to_owned()
}

/// Returns the command that repeats the run, without paths of this machine.
fn command() -> String {
    let mut words = vec!["cargo run --release -p paddock-peers --".to_owned()];
    let mut is_path = false;
    for word in std::env::args().skip(1) {
        words.push(if std::mem::take(&mut is_path) { "PATH".to_owned() } else { word.clone() });
        is_path = word == "--paddock";
    }
    words.join(" ").trim_end_matches(" --").to_owned()
}

fn searches(text: &mut String, rows: &[Row], size: &Size) {
    let tree = size.kind.to_string();
    let rows: Vec<_> = rows.iter().filter(|row| row.group == grep::GROUP && row.tree == tree).collect();
    push(text, &format!("\n## Searches of {tree}\n\nAll threads.\n"));
    let columns = [
        Time("rg"),
        Time(CALL),
        Ratio(CALL, "rg"),
        Time(BATCH),
        Ratio(BATCH, "rg"),
        Time("grep"),
        Time("node"),
        Time("python"),
    ];
    table(text, "search", &rows, &columns);
    push(text, "\nOne thread.\n");
    let single = [Time("rg -j1"), Time(CALL_1), Ratio(CALL_1, "rg -j1"), Time(BATCH_1), Ratio(BATCH_1, "rg -j1")];
    table(text, "search", &rows, &single);
}

fn listings(text: &mut String, rows: &[Row], sizes: &[Size]) {
    push(text, "\n## Names");
    for size in sizes {
        let tree = size.kind.to_string();
        let rows: Vec<_> = rows.iter().filter(|row| row.group == names::GROUP && row.tree == tree).collect();
        push(text, &format!("\n{tree}:\n"));
        let columns = [
            Time("fd"),
            Time(CALL),
            Ratio(CALL, "fd"),
            Time(BATCH),
            Ratio(BATCH, "fd"),
            Time("rg"),
            Time("find"),
            Time("node"),
            Time("python"),
        ];
        table(text, "names", &rows, &columns);
    }
}

fn short_work(text: &mut String, rows: &[Row]) {
    let of = |group| rows.iter().filter(|row| row.group == group).collect::<Vec<_>>();
    push(text, "\n## Reads\n");
    let columns =
        [Time(CALL), Time(BATCH), Time("sed"), Time("node"), Time("python"), Ratio(CALL, "sed"), Ratio(BATCH, "sed")];
    table(text, "read", &of(read::GROUP), &columns);
    push(text, "\n## Changes\n");
    push(text, "A change by paddock is journalled, synced to the disk and all or nothing; the others only write.\n");
    let columns = [Time(CALL), Time(BATCH), Time("node"), Time("python"), Time("git apply"), Time("patch")];
    table(text, "change", &of(change::GROUP), &columns);
}

fn served(text: &mut String, rows: &[Row]) {
    push(text, "\n## Through the Model Context Protocol\n");
    let rows: Vec<_> =
        rows.iter().filter(|row| row.group == servers::GROUP || row.group == servers::START_GROUP).collect();
    let columns = [Time(MCP), Time(REFERENCE), Time(RUST_MCP), Ratio(MCP, REFERENCE), Ratio(MCP, RUST_MCP)];
    table(text, "request", &rows, &columns);
    push(text, "\nMost memory of the server, after that work:\n");
    let rows: Vec<_> = rows.into_iter().filter(|row| row.group == servers::GROUP).collect();
    table(text, "request", &rows, &[Peak(MCP), Peak(REFERENCE), Peak(RUST_MCP)]);
}

fn memory(text: &mut String, rows: &[Row]) {
    push(text, "\n## Memory of a search\n\nMost memory of the whole process.\n");
    let is_everything_row = |row: &&Row| row.group == grep::GROUP && row.work.ends_with("everything");
    let mut rows: Vec<_> = rows.iter().filter(is_everything_row).collect();
    // The last row is of the largest tree or of the crate registry.
    let last = rows.last().map(|row| row.tree.clone());
    rows.retain(|row| Some(&row.tree) == last.as_ref());
    let columns = [Peak(CALL), Peak(CALL_1), Peak("rg"), Peak("rg -j1"), Peak("grep"), Peak("node"), Peak("python")];
    table(text, "search", &rows, &columns);
}

fn left_out(text: &mut String, bench: &Bench, rows: &[Row]) {
    push(text, "\n## Left out\n");
    for (name, reason) in &bench.peers.missing {
        push(text, &format!("- {name}: not installed: {reason}"));
    }
    let mut reasons: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for row in rows {
        for (name, reason) in &row.left_out {
            let work = reasons.entry((name, reason)).or_default();
            if !work.contains(&row.work.as_str()) {
                work.push(&row.work);
            }
        }
    }
    for ((name, reason), work) in reasons {
        let first: Vec<_> = work.iter().take(3).copied().collect();
        let more = if work.len() > 3 { format!(" and {} more", work.len() - 3) } else { String::new() };
        push(text, &format!("- {name}: {reason} ({}{more})", first.join("; ")));
    }
    for row in rows {
        if let Some(difference) = &row.mismatch {
            push(text, &format!("- **Different answers**, {}, {}: {difference}", row.tree, row.work));
        }
    }
}

/// Adds a table of the rows, without empty columns.
fn table(text: &mut String, first: &str, rows: &[&Row], columns: &[Column]) {
    let columns: Vec<_> = columns.iter().filter(|column| rows.iter().any(|row| cell(row, column).is_some())).collect();
    let mut heading = format!("| {first} | facts |");
    let mut rule = "| --- | ---: |".to_owned();
    for column in &columns {
        let name = match column {
            Time(name) | Peak(name) => (*name).to_owned(),
            Ratio(name, other) => format!("{} / {other}", name.trim_start_matches("paddock ")),
        };
        let _ = write!(heading, " {name} |");
        rule.push_str(" ---: |");
    }
    push(text, &heading);
    push(text, &rule);
    let shows_tree = rows.iter().any(|row| rows.first().is_some_and(|first| first.tree != row.tree));
    for row in rows {
        let wrong = if row.mismatch.is_some() { " (DIFFERENT ANSWERS)" } else { "" };
        let tree = if shows_tree && row.tree != "texts" { format!(", {}", row.tree) } else { String::new() };
        let mut line = format!("| {}{tree}{wrong} | {} |", row.work, grouped(row.facts as u64));
        for column in &columns {
            let _ = write!(line, " {} |", cell(row, column).unwrap_or_else(|| "-".to_owned()));
        }
        push(text, &line);
    }
}

fn cell(row: &Row, column: &Column) -> Option<String> {
    match column {
        Time(name) => row.median(name).map(time_text),
        Ratio(name, other) => row.ratio(name, other).map(|ratio| format!("**{ratio:.2}**")),
        Peak(name) => {
            let kib = row.cells.iter().find(|cell| cell.name == *name)?.peak_kib?;
            Some(format!("{:.1} MB", kib as f64 * 1024.0 / 1e6))
        }
    }
}

/// Formats a time with a suitable unit.
pub fn time_text(seconds: f64) -> String {
    match seconds {
        ..1e-3 => format!("{:.0} µs", seconds * 1e6),
        1e-3..0.1 => format!("{:.1} ms", seconds * 1e3),
        0.1..1.0 => format!("{:.0} ms", seconds * 1e3),
        _ => format!("{seconds:.2} s"),
    }
}

fn push(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Cell;

    #[test]
    fn times_have_a_fitting_unit() {
        assert_eq!([0.000_091, 0.0012, 0.25, 3.0].map(time_text), ["91 µs", "1.2 ms", "250 ms", "3.00 s"]);
    }

    #[test]
    fn a_table_has_the_columns_that_there_are() {
        let cell = |name: &str, median| Cell { name: name.into(), median, fastest: median, rounds: 1, peak_kib: None };
        let row = Row { cells: vec![cell("rg", 0.1), cell(CALL, 0.2)], ..Row::new("g", "t", "w") };
        let mut text = String::new();
        table(&mut text, "search", &[&row], &[Time("rg"), Time(CALL), Ratio(CALL, "rg"), Time("grep")]);
        let expected = "| search | facts | rg | paddock call | call / rg |\n| --- | ---: | ---: | ---: | ---: |\n\
                        | w | 0 | 100 ms | 200 ms | **2.00** |\n";
        assert_eq!(text, expected);
    }
}
