//! Lines of a text.

use crate::block::{Block, LANES};
use crate::writer::Writer;

/// Appends the first `lines` lines of `text`, each as number, `separator`, line without its ending, and line feed. The
/// first line has the number `first`. After a final line feed, `text` has one more line, which is empty.
pub fn number(into: &mut String, text: &str, lines: u64, first: u64, separator: &str) {
    // The text has to be the last allocation: it can then grow in its place.
    let mut prefix = Prefix::new(first, separator);
    let mut writer = Writer::after(std::mem::take(into), text.len() + text.len() / 4);
    let mut rest = Some(text.as_bytes());
    for _ in 0..lines {
        let Some(text) = rest else { break };
        prefix.add_to(&mut writer);
        rest = add_line(&mut writer, text);
        writer.push_byte(b'\n');
        prefix.increment();
    }
    #[expect(unsafe_code, reason = "a text that is divided at line feeds is UTF-8, and so are numbers and separators")]
    {
        *into = unsafe { writer.into_text() };
    }
}

/// Appends the first line of `text` without its ending. Returns the text after the line; `None` if it is the last.
#[inline(always)]
fn add_line<'t>(writer: &mut Writer, text: &'t [u8]) -> Option<&'t [u8]> {
    let feed = Block::of(b'\n');
    let size = writer.copy_until(text, |block| block.equals(feed).bits());
    if size > 0 {
        writer.strip(b'\r');
    }
    text.get(size + 1..)
}

/// Returns the number of bytes and of lines that `text` starts with, among lines that end in `\n` alone and have at most
/// `longest` bytes before it: at most `max` lines.
pub fn run(text: &[u8], max: u64, longest: usize) -> (usize, u64) {
    let (feed, carriage) = (Block::of(b'\n'), Block::of(b'\r'));
    let (blocks, rest) = text.as_chunks::<LANES>();
    let (mut size, mut count) = (0, 0);
    // Adds the line that ends at an offset if it is one of them. Returns whether it is.
    let mut add = |at: usize| {
        let is_one = count < max && at - size <= longest && text.get(at) == Some(&b'\n');
        if is_one {
            (size, count) = (at + 1, count + 1);
        }
        is_one
    };
    for (index, block) in blocks.iter().enumerate() {
        let block = Block::load(block);
        let mut ends = block.equals(feed).or(block.equals(carriage)).bits();
        while ends != 0 {
            if !add(index * LANES + ends.trailing_zeros() as usize) {
                return (size, count);
            }
            ends &= ends - 1;
        }
    }
    let start = text.len() - rest.len();
    let ends = rest.iter().zip(start..).filter(|(byte, _)| matches!(byte, b'\n' | b'\r'));
    ends.map(|(_, at)| at).take_while(|at| add(*at)).for_each(drop);
    (size, count)
}

/// Number of decimal digits of the largest number.
const MAX_DIGITS: usize = 20;

/// A number in decimal notation, and a separator after it.
struct Prefix {
    /// `MAX_DIGITS` digits, the separator, and a block that means nothing.
    bytes: Vec<u8>,
    /// Index of the first digit.
    start: usize,
}

impl Prefix {
    fn new(number: u64, separator: &str) -> Self {
        let digits = format!("{number:0MAX_DIGITS$}");
        let start = digits.find(|digit| digit != '0').unwrap_or(MAX_DIGITS - 1);
        Self { bytes: [digits.as_bytes(), separator.as_bytes(), &[0; LANES]].concat(), start }
    }

    #[inline(always)]
    fn add_to(&self, writer: &mut Writer) {
        let mut remaining = self.bytes.len() - LANES - self.start;
        for at in (self.start..).step_by(LANES) {
            let Some(block) = self.bytes.get(at..).and_then(<[u8]>::first_chunk) else { break };
            writer.push_block(block, remaining.min(LANES));
            if remaining <= LANES {
                break;
            }
            remaining -= LANES;
        }
    }

    fn increment(&mut self) {
        for index in (0..MAX_DIGITS).rev() {
            let Some(digit) = self.bytes.get_mut(index) else { return };
            if *digit < b'9' {
                *digit += 1;
                self.start = self.start.min(index);
                return;
            }
            *digit = b'0';
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{number, run};

    fn numbered(text: &str, lines: u64, first: u64, separator: &str) -> String {
        let mut into = "é".to_owned();
        number(&mut into, text, lines, first, separator);
        into.strip_prefix('é').unwrap().to_owned()
    }

    /// Returns the same as [`run`], by single bytes.
    fn run_by_bytes(text: &[u8], max: u64, longest: usize) -> (usize, u64) {
        let (mut size, mut count) = (0, 0);
        for (at, byte) in text.iter().enumerate().filter(|(_, byte)| matches!(byte, b'\n' | b'\r')) {
            if count == max || at - size > longest || *byte == b'\r' {
                break;
            }
            (size, count) = (at + 1, count + 1);
        }
        (size, count)
    }

    proptest! {
        #[test]
        fn numbered_lines_are_those_of_a_split(
            text in "([a-zé中]{0,40}(\n|\r\n|\r|\n\n)){0,12}[a-z]{0,3}",
            lines in 0..15_u64,
            first in prop_oneof![0..12_u64, 90..101_u64, Just(u64::MAX - 20)],
            separator in prop_oneof![Just("|"), Just(": "), Just("")],
        ) {
            let expected: String = text
                .split('\n')
                .zip(first..first + lines)
                .map(|(line, number)| format!("{number}{separator}{}\n", line.strip_suffix('\r').unwrap_or(line)))
                .collect();
            prop_assert_eq!(numbered(&text, lines, first, separator), expected);
        }

        #[test]
        fn a_run_is_that_of_single_bytes(
            text in "([a-zé]{0,40}(\n|\n|\n|\n|\r\n|\r)){0,12}[a-z]{0,3}",
            max in prop_oneof![0..12_u64, Just(u64::MAX)],
            longest in prop_oneof![0..40_usize, Just(usize::MAX)],
        ) {
            prop_assert_eq!(run(text.as_bytes(), max, longest), run_by_bytes(text.as_bytes(), max, longest));
        }
    }

    #[test]
    fn a_line_of_any_size_is_whole() {
        for size in 0..70 {
            let line = "x".repeat(size);
            assert_eq!(numbered(&format!("{line}\r\n{line}"), 2, 9, ""), format!("9{line}\n10{line}\n"));
        }
    }

    #[test]
    fn numbers_have_no_leading_zero() {
        let expected: String = (0..2_000).map(|number| format!("{number} and a long separator\n")).collect();
        assert_eq!(numbered(&"\n".repeat(2_000), 2_000, 0, " and a long separator"), expected);
        assert_eq!(numbered("", 1, u64::MAX, ""), format!("{}\n", u64::MAX));
    }
}
