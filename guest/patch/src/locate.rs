//! Locates lines in a file. The time is linear in the size of the file, however often lines repeat.

use std::borrow::Cow;

use memchr::memmem::Finder;
use paddock_text::find::ascii_like;

use crate::lines::Lines;

pub use paddock_types::match_pass::Pass;

/// Maximum number of locations that an error lists.
pub const MAX_LOCATIONS: usize = 50;

/// Returns the line as `pass` compares it.
fn fold(pass: Pass, line: &str) -> Cow<'_, str> {
    match pass {
        Pass::Exact => Cow::Borrowed(line),
        Pass::TrailingSpace => Cow::Borrowed(line.trim_end()),
        Pass::Trimmed => Cow::Borrowed(line.trim()),
        Pass::Punctuation if line.is_ascii() => Cow::Borrowed(line.trim()),
        Pass::Punctuation => Cow::Owned(line.trim().chars().map(ascii_like).collect()),
    }
}

/// The lines of a file, prepared for searches in one pass.
pub struct Haystack {
    pass: Pass,
    /// Every line as the pass compares it, with LF before the first line and after each line.
    text: String,
    /// Offset in `text` of the LF before each line, and of the last LF.
    starts: Vec<u32>,
}

impl Haystack {
    /// Prepares `lines` for `pass`.
    pub fn new(lines: &Lines<'_>, pass: Pass) -> Self {
        let mut text = String::with_capacity(lines.text().len() + 2);
        let mut starts = Vec::with_capacity(lines.count() + 1);
        for line in lines.iter() {
            starts.extend(u32::try_from(text.len()));
            text.push('\n');
            text.push_str(&fold(pass, line.text));
        }
        starts.extend(u32::try_from(text.len()));
        text.push('\n');
        Self { pass, text, starts }
    }

    /// Returns the indices of the lines from `from` on at which `old` occurs, at most `max`.
    pub fn find(&self, old: &[&str], from: usize, max: usize) -> Vec<usize> {
        let mut needle = String::from("\n");
        for line in old {
            needle.push_str(&fold(self.pass, line));
            needle.push('\n');
        }
        let finder = Finder::new(&needle);
        let mut positions = Vec::new();
        let mut next = from;
        while positions.len() < max
            && let Some(start) = self.starts.get(next).map(|start| *start as usize)
            && let Some(at) = self.text.as_bytes().get(start..).and_then(|rest| finder.find(rest))
        {
            let line = self.starts.partition_point(|known| (*known as usize) < start + at);
            positions.push(line);
            next = line + 1;
        }
        positions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(text: &str, old: &[&str], from: usize) -> Vec<usize> {
        Haystack::new(&Lines::new(text), Pass::Exact).find(old, from, MAX_LOCATIONS)
    }

    #[test]
    fn locations_are_whole_lines_and_may_overlap() {
        assert_eq!(find("a\na\na\n", &["a", "a"], 0), [0, 1]);
        assert_eq!(find("a\na\na", &["a", "a"], 1), [1]);
        assert_eq!(find("xa\nax\na\r\n", &["a"], 0), [2]);
        assert_eq!(find("a\n\nb\n", &[""], 0), [1]);
        assert_eq!(find("a\n", &["a", ""], 0), [0; 0]);
        assert_eq!(find("", &["a"], 0), [0; 0]);
        assert_eq!(find("a\n", &["a"], 9), [0; 0]);
    }

    #[test]
    fn more_lenient_passes_find_more() {
        let first = |text: &str, old: &str| {
            let lines = Lines::new(text);
            let is_located = |pass: &Pass| !Haystack::new(&lines, *pass).find(&[old], 0, 1).is_empty();
            Pass::ALL.into_iter().find(is_located)
        };
        assert_eq!(first("x\nfoo\n", "foo"), Some(Pass::Exact));
        assert_eq!(first("x\nfoo  \n", "foo"), Some(Pass::TrailingSpace));
        assert_eq!(first("x\n\tfoo\n", "foo"), Some(Pass::Trimmed));
        assert_eq!(first("x\n “a” – b\n", "\"a\" - b"), Some(Pass::Punctuation));
        assert_eq!(first("x\n", "foo"), None);
    }

    #[test]
    fn repeated_lines_take_linear_time() {
        let text = "a\n".repeat(500_000);
        let mut old = vec!["a"; 200_000];
        old.push("b");
        assert_eq!(find(&text, &old, 0), [0; 0]);
    }
}
