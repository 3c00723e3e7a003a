//! Locates a text in another text, regardless of line endings.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;

use crate::eol;

/// Returns the first `max` ranges of `text` that match `wanted`. A `\n` in `wanted` matches every line ending of the
/// text, unless `wanted` contains a `\r` and so states its line endings.
///
/// With `overlapping`, the ranges may overlap.
pub fn occurrences(text: &str, wanted: &str, overlapping: bool, max: usize) -> Vec<Range<usize>> {
    if wanted.is_empty() {
        return Vec::new();
    }
    let any_ending = wanted.contains('\n') && !wanted.contains('\r') && text.contains('\r');
    let folded = if any_ending { fold(text) } else { Cow::Borrowed(text) };
    let finder = memmem::Finder::new(wanted);
    let mut from = 0;
    let starts: Vec<usize> = std::iter::from_fn(|| {
        let start = from + finder.find(folded.as_bytes().get(from..)?)?;
        from = start + if overlapping { 1 } else { wanted.len() };
        Some(start)
    })
    .take(max)
    .collect();
    let ends = starts.iter().map(|start| start + wanted.len());
    if folded.len() == text.len() {
        return starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect();
    }
    let unfolded = unfold(text, ends);
    unfold(text, starts.iter().copied()).into_iter().zip(unfolded).map(|(start, end)| start..end).collect()
}

/// Returns the first `max` ranges of `text` that match `wanted` as [`occurrences`] does, if every space, quote and dash of
/// Unicode counts as the ASCII character for it. The ranges may overlap. Returns none if that makes no difference.
pub fn alike(text: &str, wanted: &str, max: usize) -> Vec<Range<usize>> {
    if text.is_ascii() && wanted.is_ascii() {
        return Vec::new();
    }
    let [folded, wanted] = [text, wanted].map(|text| text.chars().map(ascii_like).collect::<String>());
    let ranges = occurrences(&folded, &wanted, true, max);
    // The folded text has the same characters, of other lengths.
    let unfolded = |offsets: &mut dyn Iterator<Item = usize>| -> Vec<usize> {
        let ends = (folded.len(), text.len());
        let starts = folded.char_indices().zip(text.char_indices()).map(|((at, _), (unfolded, _))| (at, unfolded));
        let mut both = starts.chain([ends]);
        offsets.filter_map(|offset| both.find(|(at, _)| *at == offset)).map(|(_, unfolded)| unfolded).collect()
    };
    let starts = unfolded(&mut ranges.iter().map(|range| range.start));
    let ends = unfolded(&mut ranges.iter().map(|range| range.end));
    starts.into_iter().zip(ends).map(|(start, end)| start..end).collect()
}

/// Returns the ASCII character for a space, quote or dash of Unicode, and every other character as it is.
pub fn ascii_like(c: char) -> char {
    match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}

/// Returns `text` with its line endings as `\n`.
fn fold(text: &str) -> Cow<'_, str> {
    if text.contains("\r\n") {
        Cow::Owned(text.replace("\r\n", "\n"))
    } else if text.contains('\n') {
        // In this text, a lone `\r` does not end a line.
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.replace('\r', "\n"))
    }
}

/// Converts ascending offsets of the folded text to offsets of `text`.
fn unfold(text: &str, offsets: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut pairs = memmem::find_iter(text.as_bytes(), "\r\n").peekable();
    let mut before = 0;
    offsets
        .map(|offset| {
            while pairs.next_if(|pair| *pair < offset + before).is_some() {
                before += 1;
            }
            offset + before
        })
        .collect()
}

/// Returns the numbers of the lines that contain the ascending `offsets`.
pub fn line_numbers(text: &str, offsets: impl Iterator<Item = usize>) -> Vec<u64> {
    let ender = if text.contains('\n') { b'\n' } else { b'\r' };
    let (mut at, mut line) = (0, 1);
    offsets
        .map(|offset| {
            let between = text.as_bytes().get(at..offset).unwrap_or_default();
            line += memchr::memchr_iter(ender, between).count() as u64;
            at = offset;
            line
        })
        .collect()
}

/// Returns `new` with the line endings of `range`, which it replaces: the n-th line break becomes the n-th of the
/// range, and further line breaks become like those. A `\r\n` in `new` stays.
pub fn localize<'n>(text: &str, range: &Range<usize>, new: &'n str) -> Cow<'n, str> {
    if !new.contains('\n') || !text.contains('\r') {
        return Cow::Borrowed(new);
    }
    let near = eol::near(text, range.start);
    let old = text.get(range.clone()).unwrap_or_default();
    if eol::detect(old) != eol::Eol::Mixed {
        // The replaced text has precedence over the text before it.
        let ending = if old.contains("\r\n") {
            "\r\n"
        } else if old.contains('\n') {
            "\n"
        } else {
            near
        };
        return eol::with_ending(new, ending);
    }
    let mut endings = old.split_inclusive('\n').map(|line| if line.ends_with("\r\n") { "\r\n" } else { "\n" });
    let mut last = near;
    new.split_inclusive('\n')
        .map(|line| {
            last = endings.next().unwrap_or(last);
            eol::with_ending(line, last)
        })
        .collect::<String>()
        .into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn occurrences_of(text: &str, wanted: &str) -> Vec<Range<usize>> {
        occurrences(text, wanted, true, 100)
    }

    #[test]
    fn line_feeds_match_any_ending() {
        assert_eq!(occurrences_of("a\r\nb\r\na\r\nb", "a\nb"), [0..4, 6..10]);
        assert_eq!(occurrences_of("a\r\nb\na\nb", "\n"), [1..3, 4..5, 6..7]);
        assert_eq!(occurrences_of("x\r\n\r\n", "\n\n"), [1..5; 1]);
        assert_eq!(occurrences_of("a\rb", "a\nb"), [0..3; 1]);
        assert!(occurrences_of("a\rb\nc", "a\nb").is_empty());
        assert_eq!(occurrences_of("a\nb\r\nb", "\r\nb"), [3..6; 1]);
        assert!(occurrences_of("a\nb", "a\r\nb").is_empty());
    }

    #[test]
    fn overlaps_count() {
        assert_eq!(occurrences_of("aaa", "aa"), [0..2, 1..3]);
        assert_eq!(occurrences("aaaa", "aa", false, 100), [0..2, 2..4]);
        assert_eq!(occurrences("aaaa", "a", true, 2).len(), 2);
        assert!(occurrences_of("a", "").is_empty());
    }

    #[test]
    fn spaces_quotes_and_dashes_fold() {
        let alike_ranges = |text: &str, wanted: &str| alike(text, wanted, 100);
        assert_eq!(alike_ranges("é “a” – b\r\nc", "\"a\" - b\nc"), [3..19; 1]);
        assert_eq!(alike_ranges("a\u{a0}b a\u{2009}b", "a b"), [0..4, 5..10]);
        assert_eq!(alike_ranges("it's", "it\u{2019}s"), [0..4; 1]);
        assert_eq!(alike_ranges("\u{a0}\u{a0}\u{a0}", "  "), [0..4, 2..6]);
        assert_eq!(alike_ranges("a b", "a b"), [0..0; 0]);
        assert_eq!(alike_ranges("é", "e"), [0..0; 0]);
        assert_eq!(alike("\u{a0}\u{a0}\u{a0}", " ", 2).len(), 2);
    }

    #[test]
    fn new_text_takes_the_endings_that_are_there() {
        let localized = |text: &str, range, new| localize(text, &range, new).into_owned();
        assert_eq!(localized("a\r\nb\r\n", 0..1, "x\ny\r\nz"), "x\r\ny\r\nz");
        assert_eq!(localized("a\r\nb\nc\n", 0..6, "x\ny\nz\n"), "x\r\ny\nz\n");
        assert_eq!(localized("a\r\nb\nc\n", 5..6, "x\ny"), "x\ny");
        assert_eq!(localized("a\r\nb\nc\n", 3..5, "x\ny\n"), "x\ny\n");
        assert_eq!(localized("a\nb", 0..1, "x\n"), "x\n");
        assert_eq!(localized("a\rb", 0..1, "x\ny"), "x\ry");
    }

    #[test]
    fn numbers_of_lines() {
        assert_eq!(line_numbers("a\nb\nc", [0, 1, 2, 4].into_iter()), [1, 1, 2, 3]);
        assert_eq!(line_numbers("a\rb", [2].into_iter()), [2]);
    }

    proptest! {
        #[test]
        fn folded_ranges_are_occurrences(text in "([ab]|\r\n|\n){0,20}", wanted in "[ab\n]{1,3}") {
            let folded = text.replace("\r\n", "\n");
            let ranges = occurrences_of(&text, &wanted);
            for range in &ranges {
                prop_assert_eq!(text[range.clone()].replace("\r\n", "\n"), wanted.as_str());
            }
            let expected = (0..folded.len()).filter(|at| folded[*at..].starts_with(&wanted)).count();
            prop_assert_eq!(ranges.len(), expected);
        }
    }
}
