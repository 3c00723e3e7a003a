//! Rendering of a matched line.

use std::borrow::Cow;
use std::ops::Range;

use encoding_rs::Encoding;
use paddock_text::encoding;
use paddock_text::page::CUT_SUFFIX;

/// Number of bytes of a block that are examined on each side of the match.
const AROUND: usize = 64 * 1024;

/// Renders lines of one file.
pub struct Renderer {
    max_chars: usize,
    /// Encoding of the file, known after the first line that is not UTF-8.
    encoding: Option<&'static Encoding>,
}

/// A rendered match. Offsets are bytes of the line in UTF-8.
pub struct RenderedLine {
    /// The text; if it is too long, cut, with [`CUT_SUFFIX`] in place of the end.
    pub text: String,
    /// Offset of the text in the line.
    pub text_start: u64,
    /// Start of the match in the line.
    pub match_start: u64,
    /// End of the match in the line.
    pub match_end: u64,
}

impl Renderer {
    /// Creates a renderer for at most `max_chars` characters of a line; with `usize::MAX`, for whole lines.
    pub fn new(max_chars: usize) -> Self {
        Self { max_chars, encoding: None }
    }

    /// Renders a line of `text` without a match.
    pub fn context(&mut self, text: &[u8], line: Range<usize>) -> String {
        let start = line.start;
        self.matched(text, line, start..start).text
    }

    /// Renders the lines `block` of `text`, cut around the match.
    pub fn matched(&mut self, text: &[u8], block: Range<usize>, match_range: Range<usize>) -> RenderedLine {
        let bytes = without_ending(text.get(block.clone()).unwrap_or_default());
        let at = |position: usize| position.saturating_sub(block.start).min(bytes.len());
        let (start, end) = (at(match_range.start), at(match_range.end));
        let around = if self.max_chars == usize::MAX { usize::MAX } else { AROUND };
        let near = boundary(bytes, start.saturating_sub(around))..boundary(bytes, end.saturating_add(around));
        let part = bytes.get(near.clone()).unwrap_or_default();
        let (start, end) = (start.saturating_sub(near.start), end.saturating_sub(near.start));
        let (text_of_line, start, end) = match std::str::from_utf8(part) {
            Ok(part) => (Cow::Borrowed(part), start, end),
            Err(_) => self.decode(text, part, start, end),
        };
        let cut = self.cut(&text_of_line, start, end);
        let mut text = text_of_line.get(cut.clone()).unwrap_or_default().to_owned();
        if cut.end < text_of_line.len() || near.end < bytes.len() {
            text.push_str(CUT_SUFFIX);
        }
        RenderedLine {
            text,
            text_start: (near.start + cut.start) as u64,
            match_start: (near.start + start) as u64,
            match_end: (near.start + end) as u64,
        }
    }

    fn decode<'p>(&mut self, text: &[u8], part: &'p [u8], start: usize, end: usize) -> (Cow<'p, str>, usize, usize) {
        let encoding = *self.encoding.get_or_insert_with(|| encoding::detect(text).encoding);
        let decode = |range: Range<usize>| encoding.decode_without_bom_handling(part.get(range).unwrap_or_default()).0;
        let before = decode(0..start).len();
        (encoding.decode_without_bom_handling(part).0, before, before + decode(start..end).len())
    }

    /// Returns the rendered part of `text`: its start, if the match is in it.
    fn cut(&self, text: &str, start: usize, end: usize) -> Range<usize> {
        let nth = |from: usize, count: usize| {
            let rest = text.get(from..).unwrap_or_default();
            rest.char_indices().nth(count).map_or(text.len(), |(at, _)| from + at)
        };
        let front = nth(0, self.max_chars);
        if end <= front {
            return 0..front;
        }
        let before = text.get(..start).unwrap_or_default();
        let from = before.char_indices().rev().take(self.max_chars / 4).last().map_or(start, |(at, _)| at);
        from..nth(from, self.max_chars)
    }
}

fn without_ending(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Moves `at` back to the start of a UTF-8 character.
fn boundary(bytes: &[u8], at: usize) -> usize {
    let at = at.min(bytes.len());
    let is_inside = |at: &usize| bytes.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
    (at.saturating_sub(3)..=at).rev().find(|at| !is_inside(at)).unwrap_or(at)
}
