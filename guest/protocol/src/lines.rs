//! Lines of a stream of bytes, with a maximum length. A transport reads the stream.

use crate::envelope::Id;
use crate::request_id::RequestIdReader;

/// A UTF-8 byte order mark, which may precede JSON.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// Divides a stream into lines. It holds at most one line of the maximum length, and of a longer one only the id.
pub struct Lines {
    max: usize,
    line: Vec<u8>,
    overflow: Overflow,
}

/// The rest of a line that is too long.
enum Overflow {
    /// The line is not too long.
    None,
    /// The id of the request in the line is not known yet.
    Unreported(Box<RequestIdReader>),
    /// The line was returned, and its rest is skipped.
    Reported,
}

/// A line of the stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A line without its line break, and without the white space and the byte order mark around it. It is not empty.
    Text(Vec<u8>),
    /// A line over the maximum length, with the id of the request in it, if it is one.
    TooLong(Option<Id>),
}

impl Lines {
    /// Creates a divider for lines of at most `max` bytes.
    pub fn new(max: usize) -> Self {
        Self { max, line: Vec::new(), overflow: Overflow::None }
    }

    /// Reads the next bytes of the stream, and passes each line that ends in them, or becomes too long, to `handle`.
    ///
    /// # Errors
    ///
    /// The first error of `handle`. The rest of the bytes is lost then.
    pub fn read<E>(&mut self, mut bytes: &[u8], mut handle: impl FnMut(Line) -> Result<(), E>) -> Result<(), E> {
        while !bytes.is_empty() {
            let (length, line) = self.read_line(bytes);
            bytes = bytes.get(length..).unwrap_or_default();
            line.map_or(Ok(()), &mut handle)?;
        }
        Ok(())
    }

    /// Reads the next bytes of the stream to the end of the first line in them. Returns how many bytes these are, and the
    /// line, if one has ended or become too long. The caller passes the rest in its next call.
    pub fn read_line(&mut self, bytes: &[u8]) -> (usize, Option<Line>) {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let piece = end.and_then(|end| bytes.get(..end)).unwrap_or(bytes);
        let length = piece.len() + usize::from(end.is_some());
        (length, self.add(piece, end.is_some()))
    }

    /// Returns the last line of the stream, which has no line break. A text is not a message without its line break,
    /// unless it is the whole input of a command.
    pub fn end(&mut self) -> Option<Line> {
        self.add(&[], true)
    }

    fn add(&mut self, piece: &[u8], is_last: bool) -> Option<Line> {
        match &mut self.overflow {
            Overflow::None if self.line.len().saturating_add(piece.len()) <= self.max => {
                self.line.extend_from_slice(piece);
                return is_last.then(|| self.take()).flatten();
            }
            Overflow::None => {
                let mut reader = Box::<RequestIdReader>::default();
                reader.read(&std::mem::take(&mut self.line));
                self.overflow = Overflow::Unreported(reader);
            }
            Overflow::Unreported(_) => {}
            Overflow::Reported => {
                if is_last {
                    self.overflow = Overflow::None;
                }
                return None;
            }
        }
        let Overflow::Unreported(reader) = &mut self.overflow else { return None };
        reader.read(piece);
        // The answer need not wait for the end of the line if the id is known.
        if !is_last && reader.id().is_none() {
            return None;
        }
        let id = reader.take();
        self.overflow = if is_last { Overflow::None } else { Overflow::Reported };
        Some(Line::TooLong(id))
    }

    fn take(&mut self) -> Option<Line> {
        let mut line = std::mem::take(&mut self.line);
        line.truncate(line.trim_ascii_end().len());
        let start = line.len() - line.strip_prefix(BOM).unwrap_or(&line).trim_ascii_start().len();
        line.drain(..start);
        (!line.is_empty()).then_some(Line::Text(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, size: usize) -> Vec<Line> {
        let (mut lines, mut found) = (Lines::new(30), Vec::new());
        for bytes in text.as_bytes().chunks(size) {
            lines
                .read(bytes, |line| {
                    found.push(line);
                    Ok::<_, ()>(())
                })
                .unwrap();
            assert!(lines.line.len() <= 30);
        }
        found.extend(lines.end());
        found
    }

    #[test]
    fn lines_are_the_same_in_pieces_of_every_size() {
        let long = format!(r#"{{"id": 7, "method": "x", "a": "{}"}}"#, "y".repeat(100));
        let late = format!(r#"{{"method": "x", "a": "{}", "id": "b"}}"#, "y".repeat(100));
        let text = format!("one\n\n  \r\n{long}\ntwo\r\n{late}\n{}\n{}\nlast", "z".repeat(30), "z".repeat(31));
        let whole = lines(&text, text.len());
        let expected = [
            Line::Text(b"one".to_vec()),
            Line::TooLong(Some(Id::Number(7))),
            Line::Text(b"two".to_vec()),
            Line::TooLong(Some(Id::Text("b".into()))),
            Line::Text(vec![b'z'; 30]),
            Line::TooLong(None),
            Line::Text(b"last".to_vec()),
        ];
        assert_eq!(whole, expected);
        for size in 1..40 {
            assert_eq!(lines(&text, size), whole, "{size}");
        }
        let unfinished = lines(&long[..60], 7);
        assert_eq!(unfinished, [Line::TooLong(Some(Id::Number(7)))]);
    }

    #[test]
    fn a_byte_order_mark_and_white_space_are_not_part_of_a_line() {
        for size in 1..20 {
            let expected = [&b"one"[..], b"t wo", b"\xc3\xa4"].map(|line| Line::Text(line.to_vec()));
            assert_eq!(
                lines("\u{feff}one\n\u{feff} \r\n\t t wo \r\n\u{feff}\n\u{feff}\u{e4}\n", size),
                expected,
                "{size}"
            );
        }
    }

    #[test]
    fn the_end_of_a_line_is_not_counted() {
        for end in ["\n", ""] {
            assert!(matches!(lines(&format!("{}{end}", "z".repeat(30)), 8)[..], [Line::Text(_)]));
            assert_eq!(lines(&format!("{}{end}", "z".repeat(31)), 8), [Line::TooLong(None)]);
        }
    }

    #[test]
    fn one_line_is_read_at_a_time() {
        let mut lines = Lines::new(4);
        for (bytes, length, line) in [
            (&b""[..], 0, None),
            (b"\nab", 1, None),
            (b"ab", 2, None),
            (b"c\nd\n", 2, Some(Line::Text(b"abc".to_vec()))),
            (b"d\n", 2, Some(Line::Text(b"d".to_vec()))),
            (b"12345", 5, None),
            (b"6\n7\n", 2, Some(Line::TooLong(None))),
            (b"7\n", 2, Some(Line::Text(b"7".to_vec()))),
        ] {
            assert_eq!(lines.read_line(bytes), (length, line), "{bytes:?}");
        }
        assert_eq!(lines.end(), None);
    }
}
