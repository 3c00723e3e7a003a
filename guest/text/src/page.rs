//! A page: consecutive lines of a result, within its limits.

use std::collections::VecDeque;

use encoding_rs::{Encoding, UTF_8};

use crate::codec;
use crate::eol::Eol;
use crate::lines::{Line, Lines, Source};

/// Marker at the end of a truncated line.
pub const CUT_SUFFIX: &str = "… [truncated line]";
/// Part of the marker at the end of a truncated line that is otherwise unchanged, before the number of the next byte.
pub const RAW_CUT_SUFFIX: &str = " continues at byte ";

/// Limits and format of a page.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Maximum number of lines.
    pub lines: u64,
    /// Maximum number of characters of a line; ignored with `raw`.
    pub line_chars: usize,
    /// Maximum number of bytes of text.
    pub bytes: usize,
    /// Whether lines are unchanged and keep their endings.
    pub raw: bool,
    /// Whether a page that is too small holds the last lines instead of the first.
    pub last: bool,
    /// Encoding of the file.
    pub encoding: &'static Encoding,
}

/// Consecutive lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The text.
    pub content: String,
    /// Number of the first line; 0 if the page has no lines.
    pub start: u64,
    /// Number of the last line; 0 if the page has no lines.
    pub end: u64,
    /// Whether further lines follow.
    pub more: bool,
    /// Whether a limit cut a line, or removed lines that `more` does not cover.
    pub cut: bool,
    /// Line endings of the lines.
    pub ending: Eol,
    /// Whether the last line is the last of the lines and has no ending.
    pub is_open: bool,
}

/// Reads a page from the next lines, of which the first has the number `first`.
///
/// The page has at least one line if there is one, so that successive pages reach the end.
pub fn page<S: Source + ?Sized>(lines: &mut Lines<'_, S>, first: u64, layout: &Layout) -> Result<Page, S::Error> {
    let mut builder = Builder {
        layout,
        first,
        content: String::new(),
        starts: VecDeque::new(),
        gone: 0,
        count: 0,
        cut: false,
        ending: Eol::None,
        last_ending: Eol::None,
    };
    let mut bytes = Vec::new();
    let mut taken = 0;
    let mut more = false;
    // Most text needs no conversion, so many lines are copied at once.
    let mut runs = layout.encoding == UTF_8 && !layout.last;
    while taken < layout.lines {
        if runs {
            let remaining = layout.bytes.saturating_sub(builder.content.len());
            let (text, count) = lines.run(layout.lines - taken, layout.longest(), remaining)?;
            builder.add_run(text, count);
            taken += count;
            runs = count > 0;
            if taken == layout.lines {
                break;
            }
        }
        let Some(line) = lines.next(layout.keep(), &mut bytes)? else { break };
        if !builder.add(line, &bytes, first.saturating_add(taken)) {
            more = true;
            break;
        }
        taken += 1;
    }
    let more = more || !lines.is_at_end()?;
    Ok(builder.finish(more))
}

impl Layout {
    /// Returns the number of bytes up to which every line fits whole.
    fn longest(&self) -> usize {
        if self.raw { usize::MAX } else { self.line_chars }
    }

    /// Returns the number of bytes of a line to read: more than a page renders.
    fn keep(&self) -> usize {
        let max = if self.raw { self.bytes } else { self.line_chars.min(self.bytes) };
        max.saturating_mul(4).saturating_add(16)
    }
}

/// A page under construction. Lines are appended to one string, because a page has thousands of lines.
struct Builder<'l> {
    layout: &'l Layout,
    /// Number of the first line of `content`.
    first: u64,
    content: String,
    /// Offset of each line in `content`; only with `last`, which removes lines again.
    starts: VecDeque<usize>,
    /// Offset of the first line of the page in `content`.
    gone: usize,
    count: u64,
    cut: bool,
    ending: Eol,
    /// Ending of the last line.
    last_ending: Eol,
}

impl Builder<'_> {
    /// Adds lines that fit, each with `\n` after it.
    fn add_run(&mut self, text: &str, count: u64) {
        if count == 0 {
            return;
        }
        self.separate();
        let part = if self.layout.raw { text } else { text.strip_suffix('\n').unwrap_or(text) };
        self.content.push_str(part);
        self.ending = self.ending.and(Eol::Lf);
        self.last_ending = Eol::Lf;
        self.count += count;
    }

    /// Appends a line feed between lines.
    fn separate(&mut self) {
        if !self.layout.raw && self.count > 0 {
            self.content.push('\n');
        }
    }

    /// Adds a line. Returns false if the line does not fit.
    fn add(&mut self, line: Line, bytes: &[u8], number: u64) -> bool {
        let before = self.content.len();
        // The size includes the line feed between lines.
        self.separate();
        let start = self.content.len();
        let cut = if self.layout.raw { self.add_raw(line, bytes, number) } else { self.add_plain(line, bytes) };
        if self.content.len() > self.layout.bytes && self.count > 0 && !self.layout.last {
            self.content.truncate(before);
            return false;
        }
        self.cut |= cut;
        self.ending = self.ending.and(line.ending);
        self.last_ending = line.ending;
        self.count += 1;
        if self.layout.last {
            self.starts.push_back(start);
            self.take_off();
        }
        true
    }

    /// Removes first lines so that the last lines fit.
    fn take_off(&mut self) {
        while self.content.len() - self.gone > self.layout.bytes && self.starts.len() > 1 {
            self.starts.pop_front();
            self.gone = self.starts.front().copied().unwrap_or(self.gone);
            self.first += 1;
            self.count -= 1;
            self.cut = true;
        }
        // The content moves only now and then, because each move copies all of it.
        if self.gone > self.layout.bytes {
            self.content.drain(..self.gone);
            for start in &mut self.starts {
                *start -= self.gone;
            }
            self.gone = 0;
        }
    }

    /// Adds the line without its ending, cut if it is too long. Returns whether it was cut.
    fn add_plain(&mut self, line: Line, bytes: &[u8]) -> bool {
        let text = codec::decode(bytes, self.layout.encoding);
        let limit = match text.len() > self.layout.line_chars {
            true => text.char_indices().nth(self.layout.line_chars).map_or(text.len(), |(at, _)| at),
            false => text.len(),
        };
        let limit = text.floor_char_boundary(limit.min(self.layout.bytes));
        let cut = limit < text.len() || line.size > bytes.len() as u64;
        self.content.push_str(text.get(..limit).unwrap_or_default());
        if cut {
            self.content.push_str(CUT_SUFFIX);
        }
        cut
    }

    /// Adds the line with its ending. A line that is longer than a page is cut, and the text says how to read its rest.
    /// Returns whether it was cut.
    fn add_raw(&mut self, line: Line, bytes: &[u8], number: u64) -> bool {
        let text = codec::decode(bytes, self.layout.encoding);
        if line.size == bytes.len() as u64 && text.len() <= self.layout.bytes {
            self.content.push_str(&text);
            self.content.push_str(match line.ending {
                Eol::Crlf => "\r\n",
                Eol::Cr => "\r",
                Eol::Lf => "\n",
                Eol::Mixed | Eol::None => "",
            });
            return false;
        }
        let part = text.get(..text.floor_char_boundary(self.layout.bytes)).unwrap_or_default();
        let rest = line.start + codec::byte_at(bytes, self.layout.encoding, part) as u64 + 1;
        self.content.push_str(part);
        self.content.push_str(&format!("… [line {number}{RAW_CUT_SUFFIX}{rest}]"));
        true
    }

    fn finish(mut self, more: bool) -> Page {
        let (start, end) = match self.count {
            0 => (0, 0),
            count => (self.first, self.first.saturating_add(count - 1)),
        };
        self.content.drain(..self.gone);
        let is_open = !more && self.count > 0 && self.last_ending == Eol::None;
        Page { content: self.content, start, end, more, cut: self.cut, ending: self.ending, is_open }
    }
}

#[cfg(test)]
mod tests {
    use encoding_rs::UTF_16LE;
    use proptest::prelude::*;

    use super::*;
    use crate::lines::{CHUNK, Ender};

    const PLAIN: Layout = Layout { lines: 10, line_chars: 20, bytes: 100, raw: false, last: false, encoding: UTF_8 };

    fn read(bytes: &[u8], skip: u64, layout: &Layout) -> Page {
        let mut lines = Lines::from(bytes, Ender::of(bytes, layout.encoding), 0);
        lines.skip(skip).unwrap();
        page(&mut lines, skip + 1, layout).unwrap()
    }

    #[test]
    fn lines_are_joined_by_lf() {
        let page = read(b"a\r\n\r\nb\r\n", 0, &PLAIN);
        assert_eq!((page.content.as_str(), page.start, page.end, page.more, page.cut), ("a\n\nb", 1, 3, false, false));
        assert_eq!(page.ending, Eol::Crlf);
        assert_eq!(read(b"", 0, &PLAIN).end, 0);
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let page = read("äöü\nx".as_bytes(), 0, &Layout { line_chars: 2, ..PLAIN });
        assert_eq!((page.content.as_str(), page.cut), ("äö… [truncated line]\nx", true));
        let page = read("äöü".as_bytes(), 0, &Layout { bytes: 3, ..PLAIN });
        assert_eq!(page.content, "ä… [truncated line]");
        assert_eq!(read("äö".as_bytes(), 0, &Layout { line_chars: 2, ..PLAIN }).content, "äö");
    }

    #[test]
    fn a_raw_line_says_where_its_rest_is() {
        let layout = Layout { bytes: 4, raw: true, ..PLAIN };
        let page = read(b"ab\n0123456\nz", 1, &layout);
        assert_eq!(page.content, "0123… [line 2 continues at byte 8]");
        assert!(page.more && page.cut);
        let utf16: Vec<u8> = "0123456".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let page = read(&utf16, 0, &Layout { encoding: UTF_16LE, ..layout });
        assert_eq!(page.content, "0123… [line 1 continues at byte 9]");
    }

    #[test]
    fn the_last_lines_stay_where_not_all_fit() {
        let page = read(b"aaa\nbbb\nccc\n", 0, &Layout { bytes: 7, last: true, ..PLAIN });
        assert_eq!((page.content.as_str(), page.start, page.end, page.cut), ("bbb\nccc", 2, 3, true));
    }

    /// Returns the lines one by one, with the limit of a line as the only limit.
    fn one_by_one(bytes: &[u8], line_chars: usize) -> String {
        let mut lines = Lines::from(bytes, Ender::of(bytes, UTF_8), 0);
        let mut line = Vec::new();
        let mut all = Vec::new();
        while lines.next(usize::MAX, &mut line).unwrap().is_some() {
            let text = String::from_utf8_lossy(&line);
            let part: String = text.chars().take(line_chars).collect();
            all.push(if part.len() < text.len() { part + CUT_SUFFIX } else { part });
        }
        all.join("\n")
    }

    proptest! {
        #[test]
        fn a_run_of_lines_equals_single_lines(
            parts in prop::collection::vec((prop_oneof![0..30_usize, Just(CHUNK - 1), Just(CHUNK)], 0..8_usize), 0..40),
        ) {
            let ends: [&[u8]; 8] = [b"\n", b"\n", b"\n", b"\r\n", b"\r", "\u{e9}\n".as_bytes(), b"\xff\n", b"\n\n"];
            let bytes: Vec<u8> = parts.iter().flat_map(|(size, end)| [&b"x".repeat(*size), ends[*end]].concat()).collect();
            let layout = Layout { lines: u64::MAX, bytes: usize::MAX, ..PLAIN };
            let page = read(&bytes, 0, &layout);
            prop_assert_eq!(page.content, one_by_one(&bytes, layout.line_chars));
            prop_assert!(!page.more);
        }

        #[test]
        fn a_page_after_a_page_gives_the_whole(
            text in "([a-zé中]{0,12}(\n|\r\n)){0,12}[a-z]{0,3}", lines in 1..5_u64, bytes in 40..60_usize, raw in any::<bool>(),
        ) {
            let layout = Layout { lines, bytes, raw, ..PLAIN };
            let mut parts = Vec::new();
            let mut at = 0;
            loop {
                let page = read(text.as_bytes(), at, &layout);
                prop_assert!(page.content.len() <= bytes && !page.cut);
                prop_assert!(page.end == 0 || page.end + 1 - page.start <= lines);
                parts.push(page.content);
                if !page.more {
                    break;
                }
                prop_assert!(page.end > at);
                at = page.end;
            }
            if raw {
                prop_assert_eq!(parts.concat(), text);
            } else {
                let text = text.replace("\r\n", "\n");
                prop_assert_eq!(parts.join("\n"), text.strip_suffix('\n').unwrap_or(&text));
            }
        }
    }
}
