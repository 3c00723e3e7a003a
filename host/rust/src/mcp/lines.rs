//! Lines of a stream, with a maximum length.

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// A UTF-8 byte order mark, which may precede JSON.
const MARK: &[u8] = b"\xef\xbb\xbf";

pub(super) struct Lines<R> {
    read: R,
    line: Vec<u8>,
    max: usize,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// A line is being read.
    Reads,
    /// The caller has the line. Its next call shows that it no longer needs the line.
    Taken,
    /// The rest of a line that is too long is being skipped.
    Skips,
}

/// The result of one read.
pub(super) enum Line<'l> {
    /// A line that is not empty, without its end.
    Message(&'l [u8]),
    /// A line that is longer than the maximum. Its bytes are discarded.
    TooLong,
    /// The stream has ended or failed. Bytes after the last line end are discarded.
    End,
}

/// Content of one buffer of the stream.
enum Piece {
    Part,
    Last,
    Excess,
    None,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    pub(super) fn new(read: R, max: usize) -> Self {
        Self { read, line: Vec::new(), max, state: State::Reads }
    }

    /// Reads the next line. A call that is dropped before its end loses no bytes.
    pub(super) async fn next(&mut self) -> Line<'_> {
        if self.state == State::Taken {
            self.line.clear();
            // A single long line must not keep its memory until the end of the session.
            self.line.shrink_to(KEPT);
            self.state = State::Reads;
        }
        loop {
            match self.piece().await {
                Piece::Part => {}
                Piece::None => return Line::End,
                Piece::Excess => return Line::TooLong,
                Piece::Last if trimmed(&self.line).is_empty() => self.line.clear(),
                Piece::Last => {
                    self.state = State::Taken;
                    return Line::Message(trimmed(&self.line));
                }
            }
        }
    }

    async fn piece(&mut self) -> Piece {
        let Ok(available) = self.read.fill_buf().await else { return Piece::None };
        if available.is_empty() {
            return Piece::None;
        }
        // There is no await from here on, so all consumed bytes are in `line`.
        let end = available.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(available.len(), |end| end + 1);
        let piece = match (self.state, end) {
            (State::Skips, Some(_)) => {
                self.state = State::Reads;
                Piece::Part
            }
            (State::Skips, None) => Piece::Part,
            (_, end) if self.line.len().saturating_add(taken) > self.max => {
                self.line = Vec::new();
                self.state = if end.is_some() { State::Reads } else { State::Skips };
                Piece::Excess
            }
            (_, end) => {
                self.line.extend_from_slice(available.get(..taken).unwrap_or_default());
                if end.is_some() { Piece::Last } else { Piece::Part }
            }
        };
        self.read.consume(taken);
        piece
    }
}

/// Capacity in bytes that is kept for the next line.
const KEPT: usize = 64 * 1024;

fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_prefix(MARK).unwrap_or(line).trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(text: &[u8], max: usize) -> Vec<String> {
        let mut lines = Lines::new(tokio::io::BufReader::with_capacity(3, text), max);
        let mut found = Vec::new();
        loop {
            found.push(match lines.next().await {
                Line::Message(line) => String::from_utf8_lossy(line).into_owned(),
                Line::TooLong => "too long".to_owned(),
                Line::End => return found,
            });
        }
    }

    #[tokio::test]
    async fn lines_are_read_whole_or_not_at_all() {
        assert_eq!(all(b"one\r\n\n  \ntwo\nthree", 100).await, ["one", "two"]);
        assert_eq!(all(b"\xef\xbb\xbfone\n", 100).await, ["one"]);
        assert_eq!(all(b"12345\n123456\n1\n1234567890123\n2\n", 6).await, ["12345", "too long", "1", "too long", "2"]);
        assert_eq!(all(b"123456789", 6).await, ["too long"]);
    }
}
