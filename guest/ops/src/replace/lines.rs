//! One page of the lines that a plan changes, each as it is and as it would be.

use std::ops::Range;

use paddock_text::document::Splice;
use paddock_text::find;
use paddock_types::response::ReplacedLine;

/// Maximum number of bytes of a line and of its new text. A longer line is cut to the parts around its matches.
const MAX_LINE: usize = 500;
/// Number of bytes on each side of the matches of a line that is cut.
const AROUND: usize = 100;
/// Number of bytes that a line counts for besides its text, and a file besides its path.
const OVERHEAD: usize = 16;
/// Mark in place of what is cut.
const CUT: char = '…';

/// A page of changed lines.
pub struct Page {
    /// Number of changed lines before the page.
    skipped: u64,
    /// The lines of the page.
    pub lines: Vec<ReplacedLine>,
    /// Number of changed lines, up to the first one after the page.
    count: u64,
    /// Number of bytes that are left.
    remaining_bytes: usize,
    is_full: bool,
}

impl Page {
    /// Returns a page of at most `remaining_bytes` bytes, but at least one line. With `remaining_bytes` of 0 it has no lines.
    pub fn new(skipped: u64, remaining_bytes: usize) -> Self {
        Self { skipped, lines: Vec::new(), count: 0, remaining_bytes, is_full: remaining_bytes == 0 }
    }

    /// Adds the changed lines of a file. Returns whether the page has some of them.
    pub fn add(&mut self, path: &str, text: &str, splices: &[Splice]) -> bool {
        let before = self.lines.len();
        if self.is_full {
            return false;
        }
        let groups = groups(text, splices);
        let starts = groups.iter().filter_map(|group| Some(splices.get(group.start)?.range.start));
        for (group, line) in groups.iter().zip(find::line_numbers(text, starts)) {
            self.count += 1;
            if self.count <= self.skipped {
                continue;
            }
            let Some((old, new)) = render(text, splices, group) else { continue };
            let header = if self.lines.len() == before { path.len() + OVERHEAD } else { 0 };
            let size = header + OVERHEAD + old.len() + new.len();
            if size > self.remaining_bytes && !self.lines.is_empty() {
                self.is_full = true;
                break;
            }
            self.remaining_bytes = self.remaining_bytes.saturating_sub(size);
            let replacements = group.len() as u64;
            self.lines.push(ReplacedLine { path: path.to_owned(), line, old, new, replacements });
        }
        self.lines.len() > before
    }

    /// Returns the number of changed lines before the next page; `None` after the last page.
    pub fn next(&self) -> Option<u64> {
        let end = self.skipped + self.lines.len() as u64;
        (end < self.count).then_some(end)
    }
}

/// Groups the splices that are rendered as one line, because they are close to each other on the same line. Returns
/// ranges of indices.
fn groups(text: &str, splices: &[Splice]) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    let (mut start, mut end) = (0, 0);
    for (index, Splice { range, .. }) in splices.iter().enumerate() {
        let is_near = index > 0 && range.end.saturating_sub(start) <= MAX_LINE;
        match groups.last_mut() {
            Some(group) if is_near && !text.get(end..range.start).unwrap_or_default().contains('\n') => {
                group.end = index + 1;
            }
            _ => {
                start = range.start;
                groups.push(index..index + 1);
            }
        }
        end = range.end;
    }
    groups
}

/// Returns the lines of a group of splices, as they are and as they would be, without the last line ending.
fn render(text: &str, splices: &[Splice], group: &Range<usize>) -> Option<(String, String)> {
    let members = splices.get(group.clone())?;
    let (start, end) = (members.first()?.range.start, members.last()?.range.end);
    // The text beside the matches must not contain another match, which would be rendered with its old text.
    let floor = group.start.checked_sub(1).and_then(|before| splices.get(before)).map_or(0, |splice| splice.range.end);
    let ceiling = splices.get(group.end).map_or(text.len(), |splice| splice.range.start);
    let before = text.get(text.ceil_char_boundary(start.saturating_sub(MAX_LINE)).max(floor)..start)?;
    let after = text.get(end..text.floor_char_boundary(end.saturating_add(MAX_LINE)).min(ceiling))?;
    let (mut old, mut new) = (String::new(), String::new());
    let front = match before.rfind('\n') {
        Some(at) => before.get(at + 1..)?,
        None if before.len() == start => before,
        None => {
            old.push(CUT);
            before.get(before.ceil_char_boundary(before.len().saturating_sub(AROUND))..)?
        }
    };
    old.push_str(front);
    new.push_str(&old);
    push(&mut old, text.get(start..end)?);
    let mut replaced = String::new();
    let mut at = start;
    for Splice { range, text: with } in members {
        replaced.push_str(text.get(at..range.start)?);
        replaced.push_str(with);
        at = range.end;
    }
    push(&mut new, &replaced);
    let (rest, is_cut) = match after.find('\n') {
        Some(at) => (after.get(..at)?, false),
        None => match end + after.len() == text.len() {
            true => (after, false),
            false => (after.get(..after.floor_char_boundary(AROUND))?, true),
        },
    };
    let rest = rest.strip_suffix('\r').unwrap_or(rest);
    for line in [&mut old, &mut new] {
        line.push_str(rest);
        line.extend(is_cut.then_some(CUT));
    }
    Some((old, new))
}

/// Appends a text, cut if it is long.
fn push(to: &mut String, text: &str) {
    let end = text.floor_char_boundary(MAX_LINE);
    to.push_str(text.get(..end).unwrap_or_default());
    if end < text.len() {
        to.push(CUT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(page: &mut Page, text: &str, wanted: &str, new: &str) -> Vec<(u64, String, String, u64)> {
        let splice = |(at, old): (usize, &str)| Splice { range: at..at + old.len(), text: new.to_owned() };
        let splices: Vec<_> = text.match_indices(wanted).map(splice).collect();
        let before = page.lines.len();
        page.add("a.txt", text, &splices);
        let line = |it: &ReplacedLine| (it.line, it.old.clone(), it.new.clone(), it.replacements);
        page.lines.iter().skip(before).map(line).collect()
    }

    fn lines(text: &str, wanted: &str, new: &str) -> Vec<(u64, String, String, u64)> {
        page(&mut Page::new(0, usize::MAX), text, wanted, new)
    }

    fn line(number: u64, old: &str, new: &str, replacements: u64) -> (u64, String, String, u64) {
        (number, old.to_owned(), new.to_owned(), replacements)
    }

    #[test]
    fn matches_of_a_line_are_one_line() {
        assert_eq!(lines("x a\r\nb\r\na, a!", "a", "cc"), [line(1, "x a", "x cc", 1), line(3, "a, a!", "cc, cc!", 2)]);
        assert_eq!(lines("a", "a", ""), [line(1, "a", "", 1)]);
        assert_eq!(lines("x\ny\nz\n", "\ny\n", " "), [line(1, "x\ny\nz", "x z", 1)]);
    }

    #[test]
    fn long_lines_are_cut_around_their_matches() {
        let text = format!("{0}a{0}a{0}", "ä".repeat(400));
        let around = "ä".repeat(50);
        let expected = line(1, &format!("…{around}a{around}…"), &format!("…{around}b{around}…"), 1);
        assert_eq!(lines(&text, "a", "b"), [expected.clone(), expected]);
        let cut = format!("{}…", "x".repeat(MAX_LINE));
        assert_eq!(lines("a", "a", &"x".repeat(MAX_LINE + 1)), [line(1, "a", &cut, 1)]);
        assert_eq!(lines(&"x".repeat(MAX_LINE + 1), &"x".repeat(MAX_LINE + 1), "y"), [line(1, &cut, "y", 1)]);
    }

    #[test]
    fn a_long_line_takes_linear_time() {
        let text = "ab ".repeat(3_000_000);
        let started = std::time::Instant::now();
        assert_eq!(page(&mut Page::new(0, 50 * 1024), &text, "a", "b").len(), 49);
        assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
    }

    #[test]
    fn pages_follow_each_other() {
        let text = "a\n".repeat(100);
        let (mut skipped, mut numbers) = (0, Vec::new());
        loop {
            let mut part = Page::new(skipped, 300);
            for _ in 0..2 {
                numbers.extend(page(&mut part, &text, "a", "b").into_iter().map(|(line, ..)| line));
            }
            let Some(next) = part.next() else { break };
            assert!(next > skipped);
            skipped = next;
        }
        assert!(numbers == (1..=100).chain(1..=100).collect::<Vec<_>>(), "{numbers:?}");
        let mut none = Page::new(0, 0);
        assert_eq!((page(&mut none, &text, "a", "b").len(), none.next()), (0, None));
        assert_eq!(page(&mut Page::new(0, 1), &text, "a", "b").len(), 1);
        assert_eq!(page(&mut Page::new(500, 300), &text, "a", "b").len(), 0);
    }
}
