//! The charts: time against the size of a tree, and ratios of searches.

use std::fs;

use anyhow::Result;

use crate::directories;
use crate::measure::Row;
use crate::paddock::{BATCH, CALL};
use crate::report::{Size, time_text};
use crate::svg::{Anchor, GRID, INK, Svg};
use crate::trees::{Kind, grouped};
use crate::work::grep;

const SCALED_QUERY: &str = "rare literal, everything";
const SERIES: [(&str, &str); 6] = [
    (CALL, "#1f6feb"),
    (BATCH, "#39a0c9"),
    ("rg", "#e5534b"),
    ("grep", "#986ee2"),
    ("node", "#57ab5a"),
    ("python", "#c69026"),
];
const RATIOS: [(&str, &str); 2] = [(CALL, "#1f6feb"), (BATCH, "#39a0c9")];

/// Writes the charts for which these rows have data to `benches/charts/`, removes charts of other runs, and returns the
/// names of the written files.
pub fn write(rows: &[Row], sizes: &[Size]) -> Result<Vec<&'static str>> {
    let dir = directories::repository().join("benches/charts");
    fs::create_dir_all(&dir)?;
    let generated = sizes.iter().rfind(|size| size.kind != Kind::Registry);
    let registry = sizes.iter().find(|size| size.kind == Kind::Registry);
    let charts = [
        ("grep-by-size.svg", by_size(rows, sizes)),
        ("grep-ratio-generated.svg", generated.and_then(|tree| ratios(rows, tree))),
        ("grep-ratio-registry.svg", registry.and_then(|tree| ratios(rows, tree))),
    ];
    let mut written = Vec::new();
    for (name, chart) in charts {
        let path = dir.join(name);
        if let Some(chart) = chart {
            fs::write(path, chart)?;
            written.push(name);
        } else if path.exists() {
            fs::remove_file(path)?;
        }
    }
    Ok(written)
}

/// A logarithmic scale from values to positions in the picture.
struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    fn at(&self, value: f64) -> f64 {
        let part = (value.log10() - self.low) / (self.high - self.low).max(f64::EPSILON);
        self.from + part * (self.to - self.from)
    }
}

/// A line of the first chart, with its name and colour.
struct Line {
    name: &'static str,
    colour: &'static str,
    /// Points of the line: number of files and seconds.
    points: Vec<(f64, f64)>,
}

fn by_size(rows: &[Row], sizes: &[Size]) -> Option<String> {
    let mut trees: Vec<_> = sizes.iter().filter(|size| size.kind != Kind::Registry).collect();
    trees.sort_by_key(|size| size.files);
    let lines: Vec<_> = SERIES.iter().map(|(name, colour)| line(rows, &trees, name, colour)).collect();
    let lines: Vec<_> = lines.into_iter().filter(|line| line.points.len() > 1).collect();
    let times = lines.iter().flat_map(|line| line.points.iter().map(|(_, time)| time.log10()));
    let (low, high) = times.fold((f64::MAX, f64::MIN), |(low, high), time| (low.min(time), high.max(time)));
    let files = |size: Option<&&Size>| Some((size?.files as f64).log10());
    let x = Scale { low: files(trees.first())?, high: files(trees.last())?, from: 90.0, to: 520.0 };
    let y = Scale { low: low.floor(), high: high.ceil(), from: 340.0, to: 50.0 };
    if lines.is_empty() {
        return None;
    }
    let mut svg = Svg::new(740.0, 400.0, "Time of a search against the number of files");
    svg.text((20.0, 24.0), Anchor::Start, INK, "Time of a search for a rare literal, by the size of the tree");
    axes(&mut svg, &x, &y, &trees);
    legend(&mut svg, lines, &x, &y);
    Some(svg.finish())
}

fn line(rows: &[Row], trees: &[&Size], name: &'static str, colour: &'static str) -> Line {
    let point = |size: &&Size| {
        let tree = size.kind.to_string();
        let row = rows.iter().find(|row| row.group == grep::GROUP && row.tree == tree && row.work == SCALED_QUERY)?;
        Some((size.files as f64, row.median(name)?))
    };
    Line { name, colour, points: trees.iter().filter_map(point).collect() }
}

fn axes(svg: &mut Svg, x: &Scale, y: &Scale, trees: &[&Size]) {
    // The exponents of ten are small integers, so the casts lose nothing.
    for exponent in y.low as i32..=y.high as i32 {
        let seconds = 10f64.powi(exponent);
        let height = y.at(seconds);
        svg.line((x.from, height), (x.to, height), GRID, false);
        svg.text((x.from - 10.0, height + 4.0), Anchor::End, INK, &short_time(exponent));
    }
    for size in trees {
        let x_position = x.at(size.files as f64);
        svg.line((x_position, y.from), (x_position, y.to), GRID, false);
        svg.text((x_position, y.from + 20.0), Anchor::Middle, INK, &grouped(size.files));
    }
    svg.text((f64::midpoint(x.from, x.to), y.from + 42.0), Anchor::Middle, INK, "files");
}

fn short_time(exponent: i32) -> String {
    match exponent {
        ..-3 => format!("{} µs", 10f64.powi(exponent + 6)),
        -3..0 => format!("{} ms", 10f64.powi(exponent + 3)),
        _ => format!("{} s", 10f64.powi(exponent)),
    }
}

/// Draws the names of the lines in the order of their ends, without overlap.
fn legend(svg: &mut Svg, mut lines: Vec<Line>, x: &Scale, y: &Scale) {
    let end = |line: &Line| line.points.last().map_or(0.0, |(_, time)| *time);
    lines.sort_by(|a, b| end(b).total_cmp(&end(a)));
    let mut free = y.to;
    for line in lines {
        let points: Vec<_> = line.points.iter().map(|&(files, time)| (x.at(files), y.at(time))).collect();
        svg.path(&points, line.colour);
        let height = (y.at(end(&line)) + 4.0).max(free);
        free = height + 18.0;
        let text = format!("{} {}", line.name, time_text(end(&line)));
        svg.text((x.to + 14.0, height), Anchor::Start, line.colour, &text);
    }
}

/// Left edge and maximum length of the bars in the second chart.
const LEFT: f64 = 250.0;
const RIGHT: f64 = 640.0;
const TOP: f64 = 70.0;
const STEP: f64 = 38.0;

fn ratios(rows: &[Row], tree: &Size) -> Option<String> {
    let name = tree.kind.to_string();
    let rows: Vec<_> = rows
        .iter()
        .filter(|row| row.group == grep::GROUP && row.tree == name && row.ratio(CALL, "rg").is_some())
        .collect();
    let all = rows.iter().flat_map(|row| RATIOS.iter().filter_map(|(name, _)| row.ratio(name, "rg")));
    let max_ratio = all.fold(None, |max_ratio: Option<f64>, ratio| Some(max_ratio.unwrap_or(1.0).max(ratio)))?.ceil();
    let width = |ratio: f64| ratio / max_ratio * (RIGHT - LEFT);
    let bottom = TOP + STEP * rows.len() as f64;
    let mut svg = Svg::new(700.0, bottom + 50.0, "Time of searches as a multiple of ripgrep's");
    svg.text((20.0, 24.0), Anchor::Start, INK, &format!("Time of a search over {name}, as a multiple of ripgrep's"));
    for (index, (name, colour)) in RATIOS.iter().enumerate() {
        let left = LEFT + 150.0 * index as f64;
        svg.bar((left, 38.0), (12.0, 12.0), colour);
        svg.text((left + 18.0, 49.0), Anchor::Start, INK, name);
    }
    ticks(&mut svg, max_ratio, bottom);
    for (number, row) in rows.iter().enumerate() {
        let top = TOP + STEP * number as f64;
        svg.text((LEFT - 10.0, top + 21.0), Anchor::End, INK, &row.work);
        for (index, (name, colour)) in RATIOS.iter().enumerate() {
            let Some(ratio) = row.ratio(name, "rg") else { continue };
            let height = top + 4.0 + 15.0 * index as f64;
            svg.bar((LEFT, height), (width(ratio), 13.0), colour);
            svg.text((LEFT + width(ratio) + 6.0, height + 11.0), Anchor::Start, INK, &format!("{ratio:.2}"));
        }
    }
    // The reference line is drawn over the bars, so that each bar visibly ends before or after it.
    svg.line((LEFT + width(1.0), TOP - 6.0), (LEFT + width(1.0), bottom), "#e5534b", true);
    Some(svg.finish())
}

fn ticks(svg: &mut Svg, max_ratio: f64, bottom: f64) {
    // The axis has at most ten ticks, whatever the largest ratio is.
    let step = (max_ratio / 10.0).ceil().max(1.0);
    let mut ratio = 0.0;
    while ratio <= max_ratio {
        let x_position = LEFT + ratio / max_ratio * (RIGHT - LEFT);
        svg.line((x_position, TOP - 6.0), (x_position, bottom), GRID, false);
        svg.text((x_position, bottom + 18.0), Anchor::Middle, INK, &format!("{ratio}"));
        ratio += step;
    }
    svg.text(
        (f64::midpoint(LEFT, RIGHT), bottom + 38.0),
        Anchor::Middle,
        INK,
        "time / ripgrep's time (dashed: as fast)",
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_logarithmic() {
        let scale = Scale { low: 0.0, high: 2.0, from: 100.0, to: 300.0 };
        assert!((scale.at(1.0) - 100.0).abs() < 1e-9 && (scale.at(10.0) - 200.0).abs() < 1e-9);
        assert_eq!([-4, -3, -1, 0, 1].map(short_time), ["100 µs", "1 ms", "100 ms", "1 s", "10 s"]);
    }
}
