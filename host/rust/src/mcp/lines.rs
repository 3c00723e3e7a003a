//! Lines of a stream, with a maximum length.

use paddock_protocol::envelope::Id;
use paddock_protocol::request_id::RequestIdReader;
use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// A UTF-8 byte order mark, which may precede JSON.
const BOM: &[u8] = b"\xef\xbb\xbf";

pub(super) struct Lines<R> {
    read: R,
    line: Vec<u8>,
    max: usize,
    state: State,
    /// Reader of the id in a line that is too long.
    request_id: RequestIdReader,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// A line is being read.
    Reads,
    /// The caller has the line. Its next call shows that it no longer needs the line.
    Taken,
    /// A line that is too long is being skipped, and the caller does not know of it yet.
    Skips,
    /// The rest of a line that is too long is being skipped.
    SkipsRest,
}

/// The result of one read.
pub(super) enum Line<'l> {
    /// A line that is not empty, without its end.
    Message(&'l [u8]),
    /// A line that is longer than the maximum, and the id of the request in it, if it is one. Its bytes are discarded.
    TooLong(Option<Id>),
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
        Self { read, line: Vec::new(), max, state: State::Reads, request_id: RequestIdReader::default() }
    }

    /// Reads the next line. A call that is dropped before its end loses no bytes.
    pub(super) async fn next(&mut self) -> Line<'_> {
        if self.state == State::Taken {
            self.line.clear();
            // A single long line must not keep its memory until the end of the session.
            self.line.shrink_to(RETAINED_CAPACITY);
            self.state = State::Reads;
        }
        loop {
            match self.piece().await {
                Piece::Part => {}
                Piece::None => return Line::End,
                Piece::Excess => return Line::TooLong(self.request_id.take()),
                Piece::Last if trimmed(&self.line).is_empty() => self.line.clear(),
                Piece::Last => {
                    self.state = State::Taken;
                    return Line::Message(trimmed(&self.line));
                }
            }
        }
    }

    async fn piece(&mut self) -> Piece {
        let available = self.read.fill_buf().await.unwrap_or_default();
        if available.is_empty() {
            return match std::mem::replace(&mut self.state, State::Reads) {
                State::Skips => Piece::Excess,
                _ => Piece::None,
            };
        }
        // There is no await from here on, so all consumed bytes are in `line` or `request_id`.
        let end = available.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(available.len(), |end| end + 1);
        let bytes = available.get(..taken).unwrap_or_default();
        if self.state == State::Reads && self.line.len().saturating_add(taken) > self.max {
            self.request_id.read(&std::mem::take(&mut self.line));
            self.state = State::Skips;
        }
        let piece = match self.state {
            State::Reads | State::Taken => {
                self.line.extend_from_slice(bytes);
                if end.is_some() { Piece::Last } else { Piece::Part }
            }
            State::Skips => {
                self.request_id.read(bytes);
                // The answer need not wait for the end of the line if the id is known.
                let is_known = end.is_some() || self.request_id.id().is_some();
                if is_known { Piece::Excess } else { Piece::Part }
            }
            State::SkipsRest => Piece::Part,
        };
        self.state = match (self.state, &piece) {
            (State::Skips | State::SkipsRest, _) if end.is_some() => State::Reads,
            (State::Skips, Piece::Excess) => State::SkipsRest,
            (state, _) => state,
        };
        self.read.consume(taken);
        piece
    }
}

/// Capacity in bytes that is kept for the next line.
const RETAINED_CAPACITY: usize = 64 * 1024;

fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_prefix(BOM).unwrap_or(line).trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(text: &[u8], max: usize) -> Vec<String> {
        let mut lines = Lines::new(tokio::io::BufReader::with_capacity(3, text), max);
        let mut received = Vec::new();
        loop {
            received.push(match lines.next().await {
                Line::Message(line) => String::from_utf8_lossy(line).into_owned(),
                Line::TooLong(Some(Id::Number(id))) => format!("too long: {id}"),
                Line::TooLong(Some(Id::Text(_)) | None) => "too long".to_owned(),
                Line::End => return received,
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

    #[tokio::test]
    async fn a_line_that_is_too_long_is_reported_once_with_the_id_of_its_request() {
        let first = br#"{"id": 3, "method": "a", "params": {"id": 4}}"#;
        let last = br#"{"method": "a", "params": {"id": 4}, "id": 5}"#;
        let response = br#"{"id": 6, "result": {"method": "a"}}"#;
        let lines = [&first[..], last, response, b"{}", last, b""].map(<[u8]>::to_vec).join(&b'\n');
        assert_eq!(all(&lines, 6).await, ["too long: 3", "too long: 5", "too long", "{}", "too long: 5"]);
        // The id is known before the line has ended.
        assert_eq!(all(&first[..30], 6).await, ["too long: 3"]);
        assert_eq!(all(&last[..30], 6).await, ["too long"]);
    }
}
