//! Lines of the stream from the client.

use paddock_protocol::lines::{self, Line};
use tokio::io::{AsyncBufRead, AsyncBufReadExt};

pub(super) struct Lines<R> {
    read: R,
    lines: lines::Lines,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    /// Creates a reader of lines of at most `max` bytes.
    pub(super) fn new(read: R, max: usize) -> Self {
        Self { read, lines: lines::Lines::new(max) }
    }

    /// Reads the next line. It is `None` when the stream has ended or failed; bytes after the last line end are then
    /// discarded. A call that is dropped before its end loses no bytes.
    pub(super) async fn next(&mut self) -> Option<Line> {
        loop {
            let available = self.read.fill_buf().await.unwrap_or_default();
            if available.is_empty() {
                return self.lines.end().filter(|line| matches!(line, Line::TooLong(_)));
            }
            // There is no await from here on, so that all consumed bytes are in `lines`.
            let (length, line) = self.lines.read_line(available);
            self.read.consume(length);
            if line.is_some() {
                return line;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use paddock_protocol::envelope::Id;

    use super::*;

    async fn all(text: &[u8], max: usize) -> Vec<String> {
        let mut lines = Lines::new(tokio::io::BufReader::with_capacity(3, text), max);
        let mut received = Vec::new();
        while let Some(line) = lines.next().await {
            received.push(match line {
                Line::Text(line) => String::from_utf8_lossy(&line).into_owned(),
                Line::TooLong(Some(Id::Number(id))) => format!("too long: {id}"),
                Line::TooLong(_) => "too long".to_owned(),
            });
        }
        received
    }

    #[tokio::test]
    async fn lines_are_read_whole_or_not_at_all() {
        assert_eq!(all(b"one\r\n\n  \ntwo\nthree", 100).await, ["one", "two"]);
        assert_eq!(all(b"\xef\xbb\xbfone\n", 100).await, ["one"]);
        let text = b"123456\n1234567\n1\n1234567890123\n2\n";
        assert_eq!(all(text, 6).await, ["123456", "too long", "1", "too long", "2"]);
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
