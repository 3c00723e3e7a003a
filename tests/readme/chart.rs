//! The chart of speed, with figures from `benches/PEERS.md`, which are of one run on one machine.

use std::fmt::Write as _;
use std::fs;

use super::{compare_or_bless, repository};

const FILE: &str = "host/guide/src/speed.svg";

/// A group of bars: its title, and the row of the report that it shows.
struct Group {
    title: &'static str,
    section: &'static str,
    row: &'static str,
    /// The columns of the row, each with the name of its bar.
    bars: &'static [(&'static str, &'static str)],
}

const MCP: &str = "## Through the Model Context Protocol";
const SERVERS: &[(&str, &str)] = &[
    ("paddock mcp", "paddock mcp"),
    ("reference server", "reference server (Node)"),
    ("rust-mcp-filesystem", "rust-mcp-filesystem"),
];

const GROUPS: [Group; 4] = [
    Group {
        title: "Search of 39,430 files (659 MB) for a rare literal",
        section: "## Searches of crate registry",
        row: "rare literal, everything",
        bars: &[
            ("paddock batch", "paddock, running"),
            ("paddock call", "paddock, started"),
            ("rg", "ripgrep"),
            ("grep", "GNU grep"),
        ],
    },
    Group {
        title: "MCP: search by name over 10,000 files",
        section: MCP,
        row: "search by name, 10,000 files",
        bars: SERVERS,
    },
    Group {
        title: "MCP: start, initialize, read 4 KB",
        section: MCP,
        row: "start, initialize, read 4 KB",
        bars: SERVERS,
    },
    Group {
        title: "MCP: one edit (paddock syncs it to the disk, with a backup)",
        section: MCP,
        row: "one edit",
        bars: SERVERS,
    },
];

/// Returns the cells of a row by column, in the first table of the section whose header has all columns.
fn cells(report: &str, group: &Group) -> Vec<String> {
    let section = report.split_once(group.section).expect(group.section).1;
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let header = cells(section.lines().find(|line| line.starts_with('|')).unwrap());
    let start = format!("| {} |", group.row);
    let row = cells(section.lines().find(|line| line.starts_with(&start)).expect(group.row));
    let column = |name: &str| header.iter().position(|cell| cell == name).expect(name);
    group.bars.iter().map(|(name, _)| row[column(name)].clone()).collect()
}

/// Returns the milliseconds of a cell such as `213 ms`.
fn milliseconds(cell: &str) -> f64 {
    let (number, unit) = cell.split_once(' ').expect(cell);
    let factor = match unit {
        "µs" => 0.001,
        "ms" => 1.0,
        "s" => 1000.0,
        _ => panic!("{cell}"),
    };
    number.parse::<f64>().unwrap() * factor
}

/// Returns the line of the report that names date and machine.
fn machine(report: &str) -> &str {
    let run = report.split_once("## This run\n\n").unwrap().1;
    run.lines().next().unwrap().trim_end_matches('.')
}

fn drawn(report: &str) -> String {
    let mut bars = String::new();
    let mut text = String::new();
    let mut y = 70.0;
    for group in &GROUPS {
        let cells = cells(report, group);
        let longest = cells.iter().map(|cell| milliseconds(cell)).fold(0.0, f64::max);
        writeln!(bars, r#"<text x="20" y="{y:.0}" class="title">{}</text>"#, group.title).unwrap();
        write!(text, "{}: ", group.title).unwrap();
        for ((_, name), cell) in group.bars.iter().zip(&cells) {
            y += 24.0;
            let width = (milliseconds(cell) / longest * 400.0).max(1.5);
            let class = if name.starts_with("paddock") { "own" } else { "other" };
            writeln!(bars, r#"<text x="190" y="{:.0}" text-anchor="end">{name}</text>"#, y - 2.0).unwrap();
            writeln!(
                bars,
                r#"<rect x="200" y="{:.0}" width="{width:.1}" height="16" rx="2" class="{class}"/>"#,
                y - 15.0
            )
            .unwrap();
            writeln!(bars, r#"<text x="{:.1}" y="{:.0}">{cell}</text>"#, 208.0 + width, y - 2.0).unwrap();
            write!(text, "{name} {cell}; ").unwrap();
        }
        y += 38.0;
    }
    let title = "Time of work that paddock and other programs do; shorter is faster";
    let subtitle = format!("{}; medians of one run, warm cache; each group has its own scale", machine(report));
    let height = y - 10.0;
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 740 {height:.0}" width="740" height="{height:.0}" role="img" aria-labelledby="title text">
<title id="title">{title}</title>
<desc id="text">{subtitle}. {}</desc>
<style>
text {{ font: 13px system-ui, sans-serif; fill: #7d8590; }} .title {{ font-weight: 600; }} .own {{ fill: #2c8a5e; }} .other {{ fill: #8b98a5; }}
</style>
<text x="20" y="22" class="title">{title}</text>
<text x="20" y="40">{subtitle}</text>
{bars}</svg>
"##,
        text.trim_end_matches("; ")
    )
}

#[test]
fn the_chart_has_the_figures_of_the_report() {
    let report = fs::read_to_string(repository().join("benches/PEERS.md")).unwrap();
    assert!(report.contains("| crate registry | 39,430 | 659 |"), "the title of a group says so");
    compare_or_bless(FILE, &drawn(&report));
}
