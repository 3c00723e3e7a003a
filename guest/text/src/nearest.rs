//! Describes why a text was not found in another text, and the most similar lines. The work is bounded: one pass over
//! the text, and a comparison of the best few lines.

use std::collections::VecDeque;
use std::fmt::Write;

use paddock_types::error::printable;

use crate::find;

/// Maximum number of reported candidates.
const MAX_CANDIDATES: usize = 3;
/// Maximum number of lines that are compared in full.
const CLOSELY: usize = 16;
/// Maximum number of bytes of a line that are compared.
const LINE_BYTES: usize = 400;
/// Maximum number of bytes that are rendered of the most similar candidate, and of each other one.
const MAX_FIRST_BYTES: usize = 2_000;
const MAX_BYTES_EACH: usize = 240;
/// Maximum number of lines of a candidate that are compared.
const MAX_SIMILAR_LINES: usize = 6;

/// A range of lines that is similar to the wanted text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Number of the first line, from 1.
    pub line: u64,
    /// The lines as a JSON string, without the last line ending.
    pub json: String,
    /// Whether `json` has only the start of the lines.
    pub is_cut: bool,
    /// The differences, if they are only in white space or letter case.
    pub difference: Option<&'static str>,
}

/// Returns at most three ranges of `text` that are most similar to `wanted`, the most similar first.
pub fn candidates(text: &str, wanted: &str) -> Vec<Candidate> {
    let squeezed = squeezed_ranges(text, wanted);
    let ranges = if squeezed.is_empty() { similar_ranges(text, wanted) } else { squeezed };
    let numbered = ranges.into_iter().enumerate();
    numbered
        .map(|(index, SimilarLines { start, lines, difference })| {
            let line = find::line_numbers(text, std::iter::once(start)).first().copied().unwrap_or(1);
            let lines = lines.strip_suffix('\n').map_or(lines, |lines| lines.strip_suffix('\r').unwrap_or(lines));
            let max = if index == 0 { MAX_FIRST_BYTES } else { MAX_BYTES_EACH };
            let end = lines.floor_char_boundary(max);
            let json = json(lines.get(..end).unwrap_or_default());
            Candidate { line, json, is_cut: end < lines.len(), difference }
        })
        .collect()
}

/// A range of lines that is similar to the wanted text.
struct SimilarLines<'t> {
    start: usize,
    lines: &'t str,
    difference: Option<&'static str>,
}

/// Returns ranges that equal the wanted text except for white space and letter case.
fn squeezed_ranges<'t>(text: &'t str, wanted: &str) -> Vec<SimilarLines<'t>> {
    let needle = without_space(wanted).to_lowercase();
    if needle.is_empty() {
        return Vec::new();
    }
    let hay = without_space(text).to_lowercase();
    let starts = memchr::memmem::find_iter(hay.as_bytes(), &needle).take(MAX_CANDIDATES);
    starts
        .filter_map(|start| {
            let range = unsqueeze(text, start)?..unsqueeze(text, start + needle.len() - 1)?;
            let last = text.get(range.end..)?.chars().next()?;
            let text_of_range = text.get(range.start..range.end + last.len_utf8())?;
            let line_start = text.get(..range.start)?.rfind('\n').map_or(0, |at| at + 1);
            // The rendered part of a very long line starts at the match.
            let start = if range.start - line_start > MAX_BYTES_EACH / 2 { range.start } else { line_start };
            let lines = first_lines(text, start, text_of_range.lines().count());
            Some(SimilarLines { start, lines, difference: Some(difference(text_of_range, lines, wanted)) })
        })
        .collect()
}

/// Returns the characters that are not white space.
fn without_space(text: &str) -> String {
    let mut rest = String::with_capacity(text.len());
    for c in text.chars() {
        if !c.is_whitespace() {
            rest.push(c);
        }
    }
    rest
}

/// Returns the offset of the character to which the byte `squeezed` of the squeezed text belongs.
fn unsqueeze(text: &str, squeezed: usize) -> Option<usize> {
    let mut passed = 0;
    for (at, c) in text.char_indices() {
        if c.is_whitespace() {
            continue;
        }
        for lower in c.to_lowercase() {
            passed += lower.len_utf8();
        }
        if passed > squeezed {
            return Some(at);
        }
    }
    None
}

/// Describes how the candidate lines differ from the wanted text.
fn difference(text_of_range: &str, lines: &str, wanted: &str) -> &'static str {
    let is_spaced_alike = text_of_range.to_lowercase() == wanted.trim().to_lowercase();
    if without_space(text_of_range) != without_space(wanted) {
        return if is_spaced_alike { "letter case" } else { "white space and letter case" };
    }
    if text_of_range.lines().count() != wanted.trim().lines().count() {
        return "line breaks";
    }
    let (mut indent_differs, mut tabs_differ, mut body_differs) = (false, false, false);
    for (line, wanted) in lines.lines().zip(wanted.trim_matches(['\n', '\r']).lines()) {
        let (body, wanted_body) = (line.trim_start(), wanted.trim_start());
        let indent = line.strip_suffix(body).unwrap_or_default();
        let wanted_indent = wanted.strip_suffix(wanted_body).unwrap_or_default();
        indent_differs |= indent != wanted_indent;
        tabs_differ |= indent.contains('\t') != wanted_indent.contains('\t');
        body_differs |= body.trim_end() != wanted_body.trim_end();
    }
    match (is_spaced_alike || !body_differs, indent_differs, tabs_differ) {
        (true, true, true) => "indentation (tabs against spaces)",
        (true, true, false) => "indentation",
        (true, false, _) => "white space at the end of a line",
        (false, _, _) => "white space",
    }
}

/// Returns ranges with similar lines. The longest wanted line selects the candidates.
fn similar_ranges<'t>(text: &'t str, wanted: &str) -> Vec<SimilarLines<'t>> {
    let wanted: Vec<_> = wanted.lines().take(200).collect();
    let longest = wanted.iter().enumerate().max_by_key(|(_, line)| line.trim().len());
    let Some((anchor, line)) = longest.filter(|(_, line)| line.trim().len() >= 2) else { return Vec::new() };
    let mut best: Vec<(f32, SimilarLines<'_>)> = Vec::new();
    for start in best_starts(text, line, anchor) {
        let lines = first_lines(text, start, wanted.len());
        let likeness = likeness(lines, &wanted);
        let is_better =
            |(other, range): &(f32, SimilarLines<'_>)| *other > likeness || *other == likeness && range.start < start;
        let at = best.partition_point(is_better);
        if likeness >= 0.5 && at < MAX_CANDIDATES {
            best.insert(at, (likeness, SimilarLines { start, lines, difference: None }));
            best.truncate(MAX_CANDIDATES);
        }
    }
    best.into_iter().map(|(_, range)| range).collect()
}

/// Returns `count` lines of `text` from the offset `start` on.
fn first_lines(text: &str, start: usize, count: usize) -> &str {
    let rest = text.get(start..).unwrap_or_default();
    let length = rest.split_inclusive('\n').take(count).map(str::len).sum();
    rest.get(..length).unwrap_or_default()
}

/// Returns the starts of the ranges whose line `anchor` shares the most byte pairs with `wanted`.
fn best_starts(text: &str, wanted: &str, anchor: usize) -> Vec<usize> {
    let pairs = Pairs::of(cut(wanted.trim()));
    let mut best: Vec<(f32, usize)> = Vec::new();
    let mut starts = VecDeque::with_capacity(anchor + 1);
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        starts.push_back(offset);
        if starts.len() > anchor + 1 {
            starts.pop_front();
        }
        offset += line.len();
        let score = pairs.score(cut(line.trim()));
        let worst = best.last().map_or(0.0, |(score, _)| *score);
        if score > 0.3 && (best.len() < CLOSELY || score > worst) {
            let at = best.partition_point(|(other, _)| *other >= score);
            best.insert(at, (score, starts.front().copied().unwrap_or(0)));
            best.truncate(CLOSELY);
        }
    }
    best.into_iter().map(|(_, start)| start).collect()
}

/// Returns the mean similarity of lines, weighted by length.
fn likeness(lines: &str, wanted: &[&str]) -> f32 {
    let (mut sum, mut weights) = (0.0, 0.0);
    let mut lines = lines.split('\n');
    for wanted in wanted.iter().take(MAX_SIMILAR_LINES) {
        let line = lines.next().map_or("", |line| cut(line.trim()));
        let wanted = cut(wanted.trim());
        let weight = (wanted.len().max(line.len()) + 1) as f32;
        sum += weight * if line == wanted { 1.0 } else { crate::similarity(line, wanted) };
        weights += weight;
    }
    if weights > 0.0 { sum / weights } else { 0.0 }
}

/// The set of adjacent byte pairs of a text.
struct Pairs {
    set: Vec<u64>,
    count: usize,
}

impl Pairs {
    fn of(text: &str) -> Self {
        let mut set = vec![0_u64; 1024];
        for pair in text.as_bytes().array_windows::<2>() {
            let (word, bit) = Self::bit_position(*pair);
            if let Some(word) = set.get_mut(word) {
                *word |= 1 << bit;
            }
        }
        Self { set, count: text.len().saturating_sub(1) }
    }

    fn bit_position(pair: [u8; 2]) -> (usize, u32) {
        let number = u16::from_le_bytes(pair);
        (usize::from(number / 64), u32::from(number % 64))
    }

    /// Returns the fraction of the pairs of either text that the set contains.
    fn score(&self, text: &str) -> f32 {
        let has = |pair: &&[u8; 2]| {
            let (word, bit) = Self::bit_position(**pair);
            self.set.get(word).is_some_and(|word| word & (1 << bit) != 0)
        };
        let common = text.as_bytes().array_windows::<2>().filter(has).count();
        let max = self.count.max(text.len().saturating_sub(1)).max(1);
        common as f32 / max as f32
    }
}

fn cut(line: &str) -> &str {
    line.get(..line.floor_char_boundary(LINE_BYTES)).unwrap_or(line)
}

/// Returns the text as a JSON string in which every character is visible: control characters, spaces other than U+0020
/// and characters without a width are escaped.
fn json(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    json.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => json.extend(['\\', c]),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            _ if c != ' ' && c.is_whitespace() || printable(c.encode_utf8(&mut [0; 4])).starts_with('\\') => {
                let _ = write!(json, "\\u{:04x}", u32::from(c));
            }
            _ => json.push(c),
        }
    }
    json.push('"');
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(text: &str, wanted: &str) -> (u64, String, Option<&'static str>) {
        let candidate = candidates(text, wanted).into_iter().next().unwrap();
        (candidate.line, candidate.json, candidate.difference)
    }

    #[test]
    fn differences_in_white_space_and_case_are_reported() {
        let text = "fn a() {\n\tlet x = 1; \n}\n";
        let json = r#""\tlet x = 1; ""#.to_owned();
        assert_eq!(first(text, "    let x = 1;"), (2, json.clone(), Some("indentation (tabs against spaces)")));
        assert_eq!(first(text, "\tlet x = 1;\n"), (2, json.clone(), Some("white space at the end of a line")));
        assert_eq!(first(text, "\tlet  x = 1;"), (2, json.clone(), Some("white space")));
        assert_eq!(first(text, "let X = 1;"), (2, json, Some("letter case")));
        assert_eq!(first(text, "fn a()\n{").2, Some("line breaks"));
        assert_eq!(first(text, "fn a() {\n  let x = 1;\n}").1, r#""fn a() {\n\tlet x = 1; \n}""#);
        assert_eq!(
            first("  a = b\n", " \ta = b"),
            (1, r#""  a = b""#.to_owned(), Some("indentation (tabs against spaces)"))
        );
    }

    #[test]
    fn similar_lines_are_reported() {
        let text = "alpha beta\nfn compute(total: u32) -> u32 {\n    total\n}\n";
        assert_eq!(first(text, "fn compute(sum: u32) -> u32 {").0, 2);
        let nearest = first(text, "fn compute(total: u64) -> u32 {\n    sum\n}");
        assert_eq!(nearest, (2, r#""fn compute(total: u32) -> u32 {\n    total\n}""#.to_owned(), None));
        assert_eq!(candidates(text, "something else entirely"), []);
        assert_eq!(candidates(text, " \n"), []);
        assert_eq!(candidates("", "x"), []);
    }

    #[test]
    fn a_large_text_takes_little_time() {
        let text = "let value = compute(value, other);\n".repeat(300_000);
        let started = std::time::Instant::now();
        assert_eq!(candidates(&text, "let value = compute(valve, other, third);\nnext").len(), 3);
        assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
        assert_eq!(candidates(&"x".repeat(10_000_000), &"xy".repeat(1000)).len(), 0);
    }

    #[test]
    fn the_text_can_be_copied_back() {
        let text = "a\u{1b}[31mb = \"1\"\u{a0}\\ \u{200b}é “q”\r\nnext\r\n";
        let expected = r#""a\u001b[31mb = \"1\"\u00a0\\ \u200bé “q”""#;
        assert_eq!(first(text, "a\u{1b}[31mB = \"1\" \\").1, expected);
        assert_eq!(first("a\r\n  b\r\n", "A\nb").1, r#""a\r\n  b""#);
    }

    #[test]
    fn the_best_candidate_is_rendered_whole() {
        let lines = (0..40).map(|number| format!("    let value_{number} = compute({number});\n")).collect::<String>();
        let text = format!("{lines}--\n{lines}");
        let candidates_of_text = candidates(&text, &lines.replace("    ", "\t"));
        assert_eq!(candidates_of_text.iter().map(|candidate| candidate.is_cut).collect::<Vec<_>>(), [false, true]);
        assert_eq!(candidates_of_text[0].json.replace("\\n", "\n"), format!("\"{}\"", lines.trim_end()));
        assert!(candidates_of_text[1].json.len() < 260);
        let (long, wanted) = ("é".repeat(2_000), format!("A{}", "é".repeat(2_000)));
        let candidates_of_text = candidates(&format!("a{long}\n"), &wanted);
        assert!(candidates_of_text[0].is_cut && candidates_of_text[0].json.len() <= MAX_FIRST_BYTES + 2);
    }
}
