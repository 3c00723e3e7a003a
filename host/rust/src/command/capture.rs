//! Output of a command: its head and its tail in bounded memory, as text for a model.

use std::collections::VecDeque;

use anstream::adapter::StripBytes;

use crate::bindings::exports::paddock::files::commands::Captured;

/// Marker for omitted output.
const CUT: &str = "[truncated]";

/// Limits of the output in a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Caps {
    pub(super) bytes: usize,
    pub(super) lines: usize,
}

/// The output of one stream since the last result, as text without escape sequences.
#[derive(Default)]
pub(super) struct Capture {
    /// Maximum number of bytes of the head, and of the tail.
    max_bytes: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// Incomplete character at the end of the output.
    unfinished: Vec<u8>,
    /// Number of bytes received, including escape sequences.
    came: u64,
    /// Number of bytes of text.
    text_bytes: u64,
    lines: u64,
    strip: StripBytes,
}

impl Capture {
    /// Creates a capture of at most twice `max_bytes` bytes.
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { max_bytes, ..Self::default() }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.came += bytes.len() as u64;
        let mut whole = std::mem::take(&mut self.unfinished);
        whole.extend_from_slice(bytes);
        self.unfinished = whole.split_off(whole.len() - partial(&whole));
        self.keep(&whole);
    }

    fn keep(&mut self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let Self { max_bytes, head, tail, text_bytes, lines, strip, .. } = self;
        for part in strip.strip_next(text.as_bytes()) {
            *text_bytes += part.len() as u64;
            *lines += memchr::memchr_iter(b'\n', part).count() as u64;
            let (first, rest) = part.split_at(part.len().min(*max_bytes - head.len()));
            head.extend_from_slice(first);
            // If the output is larger than the tail, its end is kept.
            let rest = rest.get(rest.len().saturating_sub(*max_bytes)..).unwrap_or_default();
            tail.drain(..(tail.len() + rest.len()).saturating_sub(*max_bytes));
            tail.extend(rest);
        }
    }

    /// Returns whether the output ends in an incomplete line that looks like a question. A prompt ends in a blank or in
    /// one of these characters. The output of a busy command, such as a row of dots, does not.
    #[cfg(any(test, target_os = "linux"))]
    pub(super) fn is_at_prompt(&self) -> bool {
        let last = self.tail.back().or_else(|| self.head.last());
        last.is_some_and(|byte| matches!(byte, b' ' | b'?' | b':' | b'>' | b'$' | b'#'))
    }

    /// Returns the output since the last call, within the limits, and all of it if it was cut. While the command runs,
    /// an incomplete character at the end is left for the next call.
    pub(super) fn take(&mut self, caps: Caps, runs: bool) -> (Captured, Option<Rest>) {
        if !runs {
            let unfinished = std::mem::take(&mut self.unfinished);
            self.keep(&unfinished);
        }
        let waits = self.unfinished.len() as u64;
        let (came, text_bytes, lines) = (self.came - waits, self.text_bytes, self.lines);
        (self.came, self.text_bytes, self.lines) = (waits, 0, 0);
        let mut bytes = std::mem::take(&mut self.head);
        let at = bytes.len();
        bytes.extend(std::mem::take(&mut self.tail));
        let is_whole = text_bytes == bytes.len() as u64;
        if is_whole && bytes.len() <= caps.bytes && lines <= caps.lines as u64 {
            return (Captured { text: text(&bytes), bytes: came, truncated: false, omitted: 0 }, None);
        }
        let (head, tail) = if is_whole { (bytes.as_slice(), bytes.as_slice()) } else { bytes.split_at(at) };
        let half =
            Caps { bytes: caps.bytes.saturating_sub(CUT.len() + 2) / 2, lines: caps.lines.saturating_sub(1) / 2 };
        let (first, last) = (first(head, half), last(tail, half));
        let omitted = text_bytes.saturating_sub((first.len() + last.len()) as u64);
        let (start, end) = (text(first), text(last));
        let whole = match is_whole {
            true => text(&bytes),
            false => {
                joined(&text(head), &format!("[{} bytes were not kept]", text_bytes - bytes.len() as u64), &text(tail))
            }
        };
        // The text of a part of a line can differ from the same part of the text of the line.
        let at = if whole.starts_with(&start) { start.len() } else { 0 };
        let captured = Captured { text: joined(&start, CUT, &end), bytes: came, truncated: true, omitted };
        (captured, Some(Rest { text: whole, at }))
    }
}

/// Output of which a result contains only a part.
pub(super) struct Rest {
    /// The output, without the bytes that were discarded.
    pub(super) text: String,
    /// Position in the text at which the omitted part begins.
    pub(super) at: usize,
}

/// Joins the head and the tail of an output by a line that stands for the part between them.
fn joined(head: &str, between: &str, tail: &str) -> String {
    let newline = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
    format!("{head}{newline}{between}\n{tail}")
}

/// Returns the beginning of a text within the limits: whole lines, unless the first line is longer.
pub(super) fn beginning(text: &str, caps: Caps) -> &str {
    // The limit of bytes may be smaller than the first character, which is returned nevertheless.
    let least = text.chars().next().map_or(0, char::len_utf8);
    let caps = Caps { bytes: caps.bytes.max(least), ..caps };
    let length = first(text.as_bytes(), caps).len();
    text.get(..length).unwrap_or(text)
}

/// Returns the first bytes within the limits: whole lines, unless the first line is longer.
fn first(bytes: &[u8], caps: Caps) -> &[u8] {
    let lines = memchr::memchr_iter(b'\n', bytes).nth(caps.lines.saturating_sub(1)).map_or(bytes.len(), |at| at + 1);
    let end = lines.min(caps.bytes).min(bytes.len());
    let (first, rest) = bytes.split_at(end);
    if rest.is_empty() || first.ends_with(b"\n") {
        return first;
    }
    match memchr::memrchr(b'\n', first) {
        Some(at) => first.get(..=at).unwrap_or(first),
        None => first.get(..end - partial(first)).unwrap_or(first),
    }
}

/// Returns the number of bytes at the end that are an incomplete character.
fn partial(bytes: &[u8]) -> usize {
    // The lead byte of a multi-byte character.
    let start = bytes.iter().rev().take(3).position(|byte| *byte >= 0b1100_0000);
    let part = start.and_then(|at| bytes.get(bytes.len() - at - 1..)).unwrap_or_default();
    match std::str::from_utf8(part) {
        Err(cause) if cause.error_len().is_none() => part.len(),
        _ => 0,
    }
}

/// Returns the last bytes within the limits.
fn last(bytes: &[u8], caps: Caps) -> &[u8] {
    let body = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let lines = memchr::memrchr_iter(b'\n', body).nth(caps.lines.saturating_sub(1)).map_or(0, |at| at + 1);
    let start = lines.max(bytes.len().saturating_sub(caps.bytes));
    let (before, last) = bytes.split_at(start);
    if before.is_empty() || before.ends_with(b"\n") {
        return last;
    }
    match memchr::memchr(b'\n', last.strip_suffix(b"\n").unwrap_or(last)) {
        Some(at) => last.get(at + 1..).unwrap_or(last),
        // A continuation byte of an earlier character.
        None => last.get(last.iter().take_while(|byte| **byte & 0b1100_0000 == 0b1000_0000).count()..).unwrap_or(last),
    }
}

/// Returns text as a terminal would finally display it: after a carriage return, the new text replaces the line.
fn text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if !text.contains('\r') {
        return text.into_owned();
    }
    let line = |line: &str| {
        let (body, end) = line.strip_suffix('\n').map_or((line, ""), |body| (body, "\n"));
        let body = body.trim_end_matches('\r');
        format!("{}{end}", body.rsplit('\r').next().unwrap_or(body))
    };
    text.split_inclusive('\n').map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPS: Caps = Caps { bytes: 100, lines: 10 };

    fn taken(parts: &[&[u8]], caps: Caps) -> Captured {
        taken_of(Capture::new(caps.bytes), parts, caps).0
    }

    fn taken_of(mut capture: Capture, parts: &[&[u8]], caps: Caps) -> (Captured, Option<Rest>) {
        parts.iter().for_each(|part| capture.push(part));
        capture.take(caps, false)
    }

    #[test]
    fn short_output_is_returned_whole() {
        let captured = taken(&[b"one\n", b"two"], CAPS);
        assert_eq!((captured.text.as_str(), captured.bytes, captured.truncated), ("one\ntwo", 7, false));
        let full = "x".repeat(100);
        assert_eq!(taken(&[full.as_bytes()], CAPS).text, full);
        let ten = "a\n".repeat(10);
        assert_eq!(taken(&[ten.as_bytes()], CAPS).text, ten);
    }

    #[test]
    fn long_output_keeps_its_head_and_tail() {
        let many: String = (0..1_000).map(|line| format!("{line}\n")).collect();
        for parts in [vec![many.as_bytes()], many.as_bytes().chunks(7).collect()] {
            let captured = taken(&parts, CAPS);
            assert_eq!(captured.text, "0\n1\n2\n3\n[truncated]\n996\n997\n998\n999\n");
            assert_eq!((captured.bytes, captured.truncated), (many.len() as u64, true));
        }
        let eleven: String = (0..11).map(|line| format!("{line}\n")).collect();
        assert_eq!(taken(&[eleven.as_bytes()], CAPS).text, "0\n1\n2\n3\n[truncated]\n7\n8\n9\n10\n");
        let long = taken(&["ä".repeat(1_000).as_bytes()], CAPS);
        assert_eq!(long.text, format!("{0}\n[truncated]\n{0}", "ä".repeat(21)));
        assert!(long.text.len() <= CAPS.bytes);
    }

    #[test]
    fn cut_output_is_returned_separately() {
        let many: String = (0..1_000).map(|line| format!("{line}\n")).collect();
        let (captured, rest) = taken_of(Capture::new(10_000), &[many.as_bytes()], CAPS);
        let rest = rest.unwrap();
        assert_eq!((rest.text.as_str(), rest.at), (many.as_str(), "0\n1\n2\n3\n".len()));
        assert_eq!(captured.omitted, (many.len() - "0\n1\n2\n3\n996\n997\n998\n999\n".len()) as u64);
        // If there is more output than the capture holds, the middle is lost, and the text says where and how much.
        let (captured, rest) = taken_of(Capture::new(100), &[many.as_bytes()], CAPS);
        let (text, lost) = (rest.unwrap().text, many.len() - 200);
        assert!(text.contains(&format!("\n[{lost} bytes were not kept]\n")), "{text}");
        assert_eq!(captured.omitted, (many.len() - "0\n1\n2\n3\n996\n997\n998\n999\n".len()) as u64);
        assert_eq!(beginning("ab\ncd\nef", Caps { bytes: 7, lines: 9 }), "ab\ncd\n");
        assert_eq!(beginning("äää", Caps { bytes: 1, lines: 9 }), "ä");
        assert!(taken_of(Capture::new(100), &[b"one"], CAPS).1.is_none());
    }

    #[test]
    fn a_question_is_distinguished_from_a_sign_of_life() {
        let ends = |text: &str| {
            let mut capture = Capture::new(100);
            capture.push(text.as_bytes());
            capture.is_at_prompt()
        };
        assert!(["$ ", ">>> ", "name? ", "Password:", "Continue?", "# "].into_iter().all(ends));
        assert!(!["", "..........", "working...", "10%", "done\n", "37/100"].into_iter().any(ends));
    }

    #[test]
    fn a_gigabyte_is_held_in_a_few_bytes() {
        let mut capture = Capture::new(1_000);
        let part = vec![b'y'; 1 << 20];
        (0..64).for_each(|_| capture.push(&part));
        assert!(capture.head.capacity() + capture.tail.capacity() < 10_000);
        assert_eq!(capture.take(CAPS, true).0.bytes, 64 << 20);
    }

    #[test]
    fn escape_sequences_and_invalid_utf_8_are_handled() {
        let captured = taken(&[b"\x1b[31mred\x1b[", b"0m \x1b]0;title\x07\ttab\x08\x00\n"], CAPS);
        assert_eq!(captured.text, "red \ttab\n");
        assert_eq!(taken(&[b"a\xff\xfeb\n"], CAPS).text, "a\u{fffd}\u{fffd}b\n");
        assert_eq!(taken(&[b"10%\r50%\r100%\r\ndone\r\n"], CAPS).text, "100%\ndone\n");
    }

    #[test]
    fn a_character_that_is_not_complete_waits_while_the_command_runs() {
        let mut capture = Capture::new(100);
        capture.push(b"a\xe2\x82");
        assert_eq!(capture.take(CAPS, true).0.text, "a");
        capture.push(b"\xac b\xf0\x9f");
        assert_eq!(capture.take(CAPS, true).0.text, "\u{20ac} b");
        capture.push(b"\x98\x80");
        assert_eq!(capture.take(CAPS, true).0.text, "\u{1f600}");
        capture.push(b"\xe2\x82");
        assert_eq!(capture.take(CAPS, false).0.text, "\u{fffd}");
        assert!(!capture.is_at_prompt());
    }
}
