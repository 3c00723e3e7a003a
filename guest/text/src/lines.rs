//! Lines of a file of any size, in constant memory.
//!
//! A line ends in `\n`; a `\r` before the `\n` belongs to the ending. In a file whose start contains `\r` and no
//! `\n`, lines end in `\r`. A last line without an ending counts: an empty file has no lines, and `a\n` has one.

use encoding_rs::{Encoding, UTF_16LE};

use crate::codec;
use crate::eol::Eol;

/// Number of bytes of one read. The number is even, so that no unit of UTF-16 is divided.
pub const CHUNK: usize = 64 * 1024;

/// A source of bytes.
pub trait Source {
    /// Error of a read.
    type Error;

    /// Appends [`CHUNK`] bytes at `offset` to `into`, or fewer at the end.
    fn read(&self, offset: u64, into: &mut Vec<u8>) -> Result<(), Self::Error>;
}

impl Source for [u8] {
    type Error = std::convert::Infallible;

    fn read(&self, offset: u64, into: &mut Vec<u8>) -> Result<(), Self::Error> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.len());
        let end = start.saturating_add(CHUNK).min(self.len());
        into.extend_from_slice(self.get(start..end).unwrap_or_default());
        Ok(())
    }
}

/// A line terminator in the encoding of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ender {
    byte: u8,
    unit: Unit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Byte,
    LowFirst,
    HighFirst,
}

impl Ender {
    /// A line feed of one byte.
    const FEED: Self = Self { byte: b'\n', unit: Unit::Byte };

    /// Returns the terminator of a file that starts with `head`, without its byte order mark: CR if it has no LF,
    /// else LF.
    pub fn of(head: &[u8], encoding: &'static Encoding) -> Self {
        let unit = match codec::is_utf16(encoding) {
            false => Unit::Byte,
            true if encoding == UTF_16LE => Unit::LowFirst,
            true => Unit::HighFirst,
        };
        let (feed, carriage) = (Self { byte: b'\n', unit }, Self { byte: b'\r', unit });
        let only_carriage = feed.next(head).is_none() && carriage.next(head).is_some();
        if only_carriage { carriage } else { feed }
    }

    /// Returns the end of each line that ends in `bytes`, including its line ending.
    fn ends(self, bytes: &[u8]) -> impl DoubleEndedIterator<Item = usize> {
        memchr::memchr_iter(self.byte, bytes).filter_map(move |at| match self.unit {
            Unit::Byte => Some(at + 1),
            Unit::LowFirst => (at % 2 == 0 && bytes.get(at + 1) == Some(&0)).then_some(at + 2),
            Unit::HighFirst => (at % 2 == 1 && bytes.get(at - 1) == Some(&0)).then_some(at + 1),
        })
    }

    fn next(self, bytes: &[u8]) -> Option<usize> {
        self.ends(bytes).next()
    }

    /// Returns the number of lines that end in `bytes`.
    fn count(self, bytes: &[u8]) -> usize {
        match self.unit {
            Unit::Byte => memchr::memchr_iter(self.byte, bytes).count(),
            Unit::LowFirst | Unit::HighFirst => self.ends(bytes).count(),
        }
    }

    fn width(self) -> usize {
        if self.unit == Unit::Byte { 1 } else { 2 }
    }

    /// Returns whether the last unit of `bytes` is a `\r`.
    fn is_after_carriage(self, bytes: &[u8]) -> bool {
        match (self.unit, bytes) {
            (Unit::Byte, [.., b'\r']) => true,
            (Unit::LowFirst, [.., b'\r', 0]) | (Unit::HighFirst, [.., 0, b'\r']) => bytes.len().is_multiple_of(2),
            _ => false,
        }
    }
}

/// A line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Offset in the file.
    pub start: u64,
    /// Number of bytes without the line ending.
    pub size: u64,
    /// Line ending; `Eol::None` at the end of the file.
    pub ending: Eol,
}

/// Reads the lines of a source in order.
pub struct Lines<'s, S: Source + ?Sized> {
    source: &'s S,
    ender: Ender,
    /// The last part read, and its offset in the file.
    buffer: Vec<u8>,
    buffer_start: u64,
    /// Number of bytes of the buffer that have been consumed.
    passed: usize,
    /// Offset of the end: bytes from here on are ignored.
    end: u64,
}

impl<'s, S: Source + ?Sized> Lines<'s, S> {
    /// Reads lines from `start` on, the start of a line.
    pub fn from(source: &'s S, ender: Ender, start: u64) -> Self {
        Self { source, ender, buffer: Vec::with_capacity(CHUNK), buffer_start: start, passed: 0, end: u64::MAX }
    }

    /// Limits the lines to those that start before `end`, the start of a line.
    #[must_use]
    pub fn until(mut self, end: u64) -> Self {
        self.end = end;
        self
    }

    /// Returns whether there are no more lines.
    pub fn is_at_end(&mut self) -> Result<bool, S::Error> {
        self.fill()?;
        Ok(self.rest().is_empty())
    }

    /// Skips at most `count` lines and returns the number of skipped lines.
    pub fn skip(&mut self, count: u64) -> Result<u64, S::Error> {
        let mut skipped = 0;
        let mut inside = false;
        while skipped < count {
            self.fill()?;
            let (ender, rest) = (self.ender, self.rest());
            if rest.is_empty() {
                return Ok(skipped + u64::from(inside));
            }
            let line_count = ender.count(rest) as u64;
            let wanted = count - skipped;
            if line_count >= wanted {
                let nth = usize::try_from(wanted - 1).unwrap_or(usize::MAX);
                let end = ender.ends(rest).nth(nth).unwrap_or(rest.len());
                self.passed += end;
                return Ok(count);
            }
            skipped += line_count;
            // Only the last unit is examined: a backward search for line endings takes as long as counting them.
            let unit = rest.get((rest.len() - 1) / 2 * 2..).unwrap_or_default();
            inside = ender.ends(unit).next_back() != Some(unit.len());
            self.passed = self.buffer.len();
        }
        Ok(skipped)
    }

    /// Reads the next line. Its first `keep` bytes, without the line ending, are stored in `into`.
    pub fn next(&mut self, keep: usize, into: &mut Vec<u8>) -> Result<Option<Line>, S::Error> {
        into.clear();
        let start = self.buffer_start + self.passed as u64;
        let (mut size, mut carriage) = (0_u64, false);
        let ended = loop {
            self.fill()?;
            let (ender, rest) = (self.ender, self.rest());
            if rest.is_empty() {
                break false;
            }
            let end = ender.next(rest);
            let body = rest.get(..end.map_or(rest.len(), |end| end - ender.width())).unwrap_or_default();
            let remaining = keep.saturating_sub(into.len());
            into.extend_from_slice(body.get(..remaining).unwrap_or(body));
            size += body.len() as u64;
            if !body.is_empty() {
                carriage = ender.is_after_carriage(body);
            }
            let passed = end.unwrap_or(rest.len());
            self.passed += passed;
            if end.is_some() {
                break true;
            }
        };
        if !ended && size == 0 {
            return Ok(None);
        }
        let ending = match (ended, carriage) {
            (false, _) => Eol::None,
            (true, _) if self.ender.byte == b'\r' => Eol::Cr,
            (true, true) => Eol::Crlf,
            (true, false) => Eol::Lf,
        };
        if ending == Eol::Crlf {
            size = size.saturating_sub(self.ender.width() as u64);
            into.truncate(usize::try_from(size).unwrap_or(usize::MAX));
        }
        Ok(Some(Line { start, size, ending }))
    }

    /// Consumes buffered lines of UTF-8 that end in `\n` alone and have at most `longest` bytes: at most `max` lines,
    /// and at most `remaining` bytes in total. Returns their text with line endings, and their number; an empty text at
    /// any other line.
    pub fn run(&mut self, max: u64, longest: usize, remaining: usize) -> Result<(&str, u64), S::Error> {
        self.fill()?;
        let rest = self.buffer.get(self.passed..).unwrap_or_default();
        let rest = rest.get(..remaining).unwrap_or(rest);
        if self.ender != Ender::FEED {
            return Ok(("", 0));
        }
        let (size, count) = paddock_scan::lines::run(rest, max, longest);
        let Some(Ok(text)) = rest.get(..size).map(simdutf8::basic::from_utf8) else { return Ok(("", 0)) };
        self.passed += size;
        Ok((text, count))
    }

    /// Reads the next part if the whole buffer has been consumed.
    fn fill(&mut self) -> Result<(), S::Error> {
        if self.passed < self.buffer.len() {
            return Ok(());
        }
        self.buffer_start += self.buffer.len() as u64;
        self.passed = 0;
        self.buffer.clear();
        let remaining = self.end.saturating_sub(self.buffer_start);
        if remaining > 0 {
            self.source.read(self.buffer_start, &mut self.buffer)?;
            self.buffer.truncate(usize::try_from(remaining).unwrap_or(usize::MAX));
        }
        Ok(())
    }

    fn rest(&self) -> &[u8] {
        self.buffer.get(self.passed..).unwrap_or_default()
    }
}

/// Returns the start of the last `count` lines of `start..size`, by reading backward from the end.
pub fn start_of_last<S: Source + ?Sized>(
    source: &S,
    ender: Ender,
    start: u64,
    size: u64,
    count: u64,
) -> Result<u64, S::Error> {
    let mut buffer = Vec::with_capacity(CHUNK);
    let mut end = size;
    let mut left = count;
    while end > start {
        // Chunks are aligned to `start`, so that no unit of UTF-16 is divided.
        let from = start + (end - start - 1) / CHUNK as u64 * CHUNK as u64;
        buffer.clear();
        source.read(from, &mut buffer)?;
        buffer.truncate(usize::try_from(end - from).unwrap_or(usize::MAX));
        for at in ender.ends(&buffer).rev().map(|at| from + at as u64).filter(|at| *at < size) {
            left = left.saturating_sub(1);
            if left == 0 {
                return Ok(at);
            }
        }
        end = from;
    }
    Ok(start)
}

/// Returns the start of the line that contains `at`.
pub fn line_start(text: &[u8], at: usize) -> usize {
    memchr::memrchr(b'\n', text.get(..at).unwrap_or_default()).map_or(0, |ending| ending + 1)
}

/// Returns the end of the line that contains `at`, before its line feed.
pub fn line_end(text: &[u8], at: usize) -> usize {
    memchr::memchr(b'\n', text.get(at..).unwrap_or_default()).map_or(text.len(), |length| at + length)
}

#[cfg(test)]
mod tests {
    use encoding_rs::{UTF_8, UTF_16BE, UTF_16LE};
    use proptest::prelude::*;

    use super::*;

    fn all(bytes: &[u8], encoding: &'static Encoding, keep: usize) -> Vec<(Vec<u8>, Line)> {
        let mut lines = Lines::from(bytes, Ender::of(bytes, encoding), 0);
        let mut into = Vec::new();
        std::iter::from_fn(|| lines.next(keep, &mut into).unwrap().map(|line| (into.clone(), line))).collect()
    }

    fn texts(text: &str) -> Vec<(String, Eol)> {
        let lines = all(text.as_bytes(), UTF_8, usize::MAX);
        lines.into_iter().map(|(bytes, line)| (String::from_utf8(bytes).unwrap(), line.ending)).collect()
    }

    #[test]
    fn lines_end_in_lf_crlf_or_cr() {
        let line = |text: &str, ending| (text.to_owned(), ending);
        assert_eq!(texts(""), []);
        assert_eq!(texts("\n"), [line("", Eol::Lf)]);
        assert_eq!(texts("a\r\nb\rc\nd"), [line("a", Eol::Crlf), line("b\rc", Eol::Lf), line("d", Eol::None)]);
        assert_eq!(texts("a\rb\r"), [line("a", Eol::Cr), line("b", Eol::Cr)]);
        assert_eq!(texts("\r\n\r\n"), [line("", Eol::Crlf), line("", Eol::Crlf)]);
    }

    #[test]
    fn only_the_start_of_a_long_line_is_kept() {
        let bytes = [vec![b'x'; 3 * CHUNK - 1], b"\r\ny".to_vec()].concat();
        let lines = all(&bytes, UTF_8, 5);
        assert_eq!(lines[0].0, b"xxxxx");
        assert_eq!(lines[0].1, Line { start: 0, size: 3 * CHUNK as u64 - 1, ending: Eol::Crlf });
        assert_eq!(lines[1], (b"y".to_vec(), Line { start: 3 * CHUNK as u64 + 1, size: 1, ending: Eol::None }));
    }

    #[test]
    fn utf16_line_feeds_are_units() {
        for (encoding, to) in [(UTF_16LE, u16::to_le_bytes as fn(u16) -> [u8; 2]), (UTF_16BE, u16::to_be_bytes)] {
            // U+0A0D and U+0D0A contain the bytes of a line ending.
            let bytes: Vec<u8> = "\u{a0d}\u{d0a}a\r\nb\n".encode_utf16().flat_map(to).collect();
            let lines = all(&bytes, encoding, usize::MAX);
            assert_eq!(lines.iter().map(|(_, line)| line.ending).collect::<Vec<_>>(), [Eol::Crlf, Eol::Lf]);
            assert_eq!(codec::decode(&lines[0].0, encoding), "\u{a0d}\u{d0a}a");
        }
    }

    proptest! {
        #[test]
        fn skipping_and_going_back_agree_with_reading(
            parts in prop::collection::vec(prop_oneof![Just(0), Just(1), 0..5000_usize, Just(CHUNK - 1), Just(CHUNK)], 0..12),
            end in "(\n|\r\n|\r)", last in any::<bool>(), count in 0..14_u64,
        ) {
            let mut text = parts.iter().map(|size| "x".repeat(*size)).collect::<Vec<_>>().join(&end);
            if last {
                text.push_str(&end);
            }
            let bytes = text.as_bytes();
            let ender = Ender::of(bytes, UTF_8);
            let starts: Vec<_> = all(bytes, UTF_8, 0).iter().map(|(_, line)| line.start).collect();
            let total = starts.len() as u64;
            let mut lines = Lines::from(bytes, ender, 0);
            prop_assert_eq!(lines.skip(count).unwrap(), count.min(total));
            let next = lines.next(0, &mut Vec::new()).unwrap().map(|line| line.start);
            prop_assert_eq!(next, starts.get(count as usize).copied());
            if count > 0 && total > 0 {
                let start = start_of_last(bytes, ender, 0, bytes.len() as u64, count).unwrap();
                prop_assert_eq!(start, starts[total.saturating_sub(count) as usize]);
                let before = Lines::from(bytes, ender, 0).until(start).skip(u64::MAX).unwrap();
                prop_assert_eq!(before, total.saturating_sub(count));
            }
        }
    }
}
