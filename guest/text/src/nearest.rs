//! Describes why a text was not found in another text, and the most similar lines. The work is bounded: one pass over
//! the text, and a comparison of the best few lines.

use std::collections::VecDeque;

use crate::find;

/// Maximum number of reported candidates.
const MAX_CANDIDATES: usize = 3;
/// Maximum number of lines that are compared in full.
const CLOSELY: usize = 16;
/// Maximum number of bytes of a line that are compared, and of characters that are rendered.
const LINE_BYTES: usize = 400;
const SHOWN_CHARS: usize = 240;
/// Maximum number of lines of a candidate that are compared and rendered.
const PLACE_LINES: usize = 6;

/// A range of lines that is similar to the wanted text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Number of the first line, from 1.
    pub line: u64,
    /// The text with visible white space: `·` is a space, `→` a tab, `␍` a carriage return, `⏎` a line ending.
    pub shown: String,
    /// The differences, if they are only in white space or letter case.
    pub difference: Option<&'static str>,
}

/// Returns at most three ranges of `text` that are most similar to `wanted`, the most similar first.
pub fn candidates(text: &str, wanted: &str) -> Vec<Candidate> {
    let squeezed = squeezed_places(text, wanted);
    if squeezed.is_empty() { similar_places(text, wanted) } else { squeezed }
}

/// Returns ranges that equal the wanted text except for white space and letter case.
fn squeezed_places(text: &str, wanted: &str) -> Vec<Candidate> {
    let needle: String = squeeze(wanted).collect();
    if needle.is_empty() {
        return Vec::new();
    }
    let hay: String = squeeze(text).collect();
    let starts = memchr::memmem::find_iter(hay.as_bytes(), &needle).take(MAX_CANDIDATES);
    starts
        .filter_map(|start| {
            let range = unsqueeze(text, start)?..unsqueeze(text, start + needle.len() - 1)?;
            let last = text.get(range.end..)?.chars().next()?;
            let found = text.get(range.start..range.end + last.len_utf8())?;
            let line = find::line_numbers(text, std::iter::once(range.start)).first().copied()?;
            let line_start = text.get(..range.start)?.rfind('\n').map_or(0, |at| at + 1);
            let count = found.lines().count();
            // The rendered part of a very long line starts at the match.
            let from = if range.start - line_start > SHOWN_CHARS / 2 { range.start } else { line_start };
            let lines = text.get(from..)?.split_inclusive('\n').take(count.min(PLACE_LINES)).collect::<String>();
            Some(Candidate { line, shown: show(&lines), difference: Some(difference(found, &lines, wanted)) })
        })
        .collect()
}

/// Returns the characters that are not white space, in lower case.
fn squeeze(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase)
}

/// Returns the offset of the character to which the byte `squeezed` of the squeezed text belongs.
fn unsqueeze(text: &str, squeezed: usize) -> Option<usize> {
    let mut passed = 0;
    let visible = text.char_indices().filter(|(_, c)| !c.is_whitespace());
    visible
        .map(|(at, c)| {
            passed += c.to_lowercase().map(char::len_utf8).sum::<usize>();
            (at, passed)
        })
        .find(|(_, passed)| *passed > squeezed)
        .map(|(at, _)| at)
}

/// Describes how the candidate lines differ from the wanted text.
fn difference(found: &str, lines: &str, wanted: &str) -> &'static str {
    let same = found.chars().filter(|c| !c.is_whitespace()).eq(wanted.chars().filter(|c| !c.is_whitespace()));
    let spaced_alike = found.to_lowercase() == wanted.trim().to_lowercase();
    if !same {
        return if spaced_alike { "letter case" } else { "white space and letter case" };
    }
    let pairs = || lines.lines().zip(wanted.trim_matches(['\n', '\r']).lines());
    if found.lines().count() != wanted.trim().lines().count() {
        return "line breaks";
    }
    let lead = |line: &str| line.len() - line.trim_start().len();
    let indent = |line: &str| line.get(..lead(line)).unwrap_or_default().to_owned();
    let indent_differs = pairs().any(|(a, b)| indent(a) != indent(b));
    let tabs_differ = pairs().any(|(a, b)| indent(a).contains('\t') != indent(b).contains('\t'));
    let body_differs = pairs().any(|(a, b)| a.trim() != b.trim());
    match (spaced_alike || !body_differs, indent_differs, tabs_differ) {
        (true, true, true) => "indentation (tabs against spaces)",
        (true, true, false) => "indentation",
        (true, false, _) => "white space at the end of a line",
        (false, _, _) => "white space",
    }
}

/// Returns ranges with similar lines. The longest wanted line selects the candidates.
fn similar_places(text: &str, wanted: &str) -> Vec<Candidate> {
    let wanted: Vec<_> = wanted.lines().take(200).collect();
    let longest = wanted.iter().enumerate().max_by_key(|(_, line)| line.trim().len());
    let Some((anchor, line)) = longest.filter(|(_, line)| line.trim().len() >= 2) else { return Vec::new() };
    let count = wanted.len().min(PLACE_LINES);
    let mut candidates: Vec<_> = best_starts(text, line, anchor)
        .into_iter()
        .map(|start| {
            let lines: Vec<_> = text.get(start..).unwrap_or_default().split_inclusive('\n').take(count).collect();
            (likeness(&lines, &wanted), start, lines.concat())
        })
        .filter(|(likeness, _, _)| *likeness >= 0.5)
        .collect();
    candidates.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    candidates.truncate(MAX_CANDIDATES);
    let number = |start| find::line_numbers(text, std::iter::once(start)).first().copied().unwrap_or(1);
    candidates
        .into_iter()
        .map(|(_, start, lines)| Candidate { line: number(start), shown: show(&lines), difference: None })
        .collect()
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
fn likeness(lines: &[&str], wanted: &[&str]) -> f32 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for (index, wanted) in wanted.iter().take(PLACE_LINES).enumerate() {
        let line = lines.get(index).map_or("", |line| cut(line.trim()));
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
            let (word, bit) = Self::place(*pair);
            if let Some(word) = set.get_mut(word) {
                *word |= 1 << bit;
            }
        }
        Self { set, count: text.len().saturating_sub(1) }
    }

    fn place(pair: [u8; 2]) -> (usize, u32) {
        let number = u16::from_le_bytes(pair);
        (usize::from(number / 64), u32::from(number % 64))
    }

    /// Returns the fraction of the pairs of either text that the set contains.
    fn score(&self, text: &str) -> f32 {
        let has = |pair: &&[u8; 2]| {
            let (word, bit) = Self::place(**pair);
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

/// Renders the text with visible white space, and cuts long text.
fn show(text: &str) -> String {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let lines: Vec<_> = text.split('\n').map(show_line).collect();
    let shown = lines.join("⏎");
    match shown.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", shown.get(..end).unwrap_or_default()),
        None => shown,
    }
}

fn show_line(line: &str) -> String {
    let line = line.get(..line.floor_char_boundary(4 * SHOWN_CHARS)).unwrap_or(line);
    let body = line.trim_matches([' ', '\t', '\r']);
    let lead = line.len() - line.trim_start_matches([' ', '\t', '\r']).len();
    let (before, rest) = line.split_at_checked(lead).unwrap_or((line, ""));
    let after = rest.get(body.len()..).unwrap_or_default();
    let blanks = |text: &str| text.replace(' ', "·").replace('\t', "→").replace('\r', "␍");
    let body = body.replace('\t', "→").replace('\u{a0}', "⍽");
    let body = paddock_types::error::printable(&body);
    format!("{}{body}{}", blanks(before), blanks(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(text: &str, wanted: &str) -> (u64, String, Option<&'static str>) {
        let place = candidates(text, wanted).into_iter().next().unwrap();
        (place.line, place.shown, place.difference)
    }

    #[test]
    fn white_space_and_case_are_told() {
        let text = "fn a() {\n\tlet x = 1; \n}\n";
        let shown = "→let x = 1;·".to_owned();
        assert_eq!(first(text, "    let x = 1;"), (2, shown.clone(), Some("indentation (tabs against spaces)")));
        assert_eq!(first(text, "\tlet x = 1;\n"), (2, shown.clone(), Some("white space at the end of a line")));
        assert_eq!(first(text, "\tlet  x = 1;"), (2, shown.clone(), Some("white space")));
        assert_eq!(first(text, "let X = 1;"), (2, shown, Some("letter case")));
        assert_eq!(first(text, "fn a()\n{").2, Some("line breaks"));
        assert_eq!(first(text, "fn a() {\n  let x = 1;\n}").1, "fn a() {⏎→let x = 1;·⏎}");
        assert_eq!(
            first("  a = b\n", " \ta = b"),
            (1, "··a = b".to_owned(), Some("indentation (tabs against spaces)"))
        );
    }

    #[test]
    fn similar_lines_are_told() {
        let text = "alpha beta\nfn compute(total: u32) -> u32 {\n    total\n}\n";
        assert_eq!(first(text, "fn compute(sum: u32) -> u32 {").0, 2);
        let nearest = first(text, "fn compute(total: u64) -> u32 {\n    sum\n}");
        assert_eq!(nearest, (2, "fn compute(total: u32) -> u32 {⏎····total⏎}".to_owned(), None));
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
    fn control_characters_are_escaped() {
        assert_eq!(first("a\u{1b}[31mb = 1\n", "a\u{1b}[31mB = 1").1, "a\\u{1b}[31mb = 1");
    }
}
