//! The search in one file, window by window: the matching lines and their context.
//!
//! `grep-searcher` cannot resume within a file, where the next page of a result starts.

use std::collections::VecDeque;
use std::ops::Range;

use memchr::{memchr, memchr_iter};
use paddock_text::lines::{line_end, line_start};
use paddock_types::request::Grep;
use paddock_types::response::{ContextLine, GrepMatch};

use crate::line_buffer::Window;
use crate::matcher::Matcher;
use crate::render::Renderer;

/// A match. In a search by lines, the first match of its line.
pub struct Hit {
    /// Number of the first line.
    pub line: u64,
    /// Number of the last line.
    pub last_line: u64,
    match_range: Range<usize>,
    /// The lines, without the last line ending.
    block: Range<usize>,
}

/// Progress of the search in a file.
pub struct Scan {
    /// Number of the first line of the window.
    pub line: u64,
    /// Last line returned, as a match or as context.
    pub last_rendered: u64,
    /// Offset in the window at which the search continues.
    pub at: usize,
    multiline: bool,
    before: usize,
    after: u64,
    renderer: Renderer,
    /// Last line of the last match.
    matched: u64,
    counter: Counter,
    /// Next context line after the last match, and number of context lines that remain.
    pending: Pending,
    /// Last lines of the previous window.
    carried: VecDeque<ContextLine>,
    /// Number of bytes of the first line of the window in earlier windows.
    continued: u64,
}

/// Counts lines up to a position that only advances.
struct Counter {
    at: usize,
    line: u64,
}

struct Pending {
    at: usize,
    line: u64,
    left: u64,
}

impl Scan {
    /// Creates a search that continues after the line `last_line`; lines up to `last_rendered` have been returned.
    pub fn new(args: &Grep, max_chars: usize, last_line: u64, last_rendered: u64) -> Self {
        Self {
            line: 1,
            last_rendered,
            at: 0,
            multiline: args.multiline,
            before: usize::try_from(args.before).unwrap_or(usize::MAX),
            after: u64::from(args.after),
            renderer: Renderer::new(max_chars),
            matched: last_line,
            counter: Counter { at: 0, line: 1 },
            pending: Pending { at: 0, line: 0, left: 0 },
            carried: VecDeque::new(),
            continued: 0,
        }
    }

    /// Starts a window; with `multiline`, after `offset`. Returns false if the whole window was searched before.
    pub fn enter(&mut self, window: &Window<'_>, offset: usize) -> bool {
        self.continued = window.continued;
        self.counter = Counter { at: 0, line: self.line };
        self.at = if self.multiline { offset } else { 0 };
        let second = || memchr(b'\n', window.text).map_or(window.text.len(), |end| end + 1);
        self.pending.at = if self.pending.line > self.line { second() } else { 0 };
        // In a search by lines, earlier lines have been searched.
        if !self.multiline && self.matched >= self.line {
            let lines = usize::try_from(self.matched - self.line).unwrap_or(usize::MAX);
            self.at = memchr_iter(b'\n', window.text).nth(lines).map_or(window.text.len() + 1, |end| end + 1);
        }
        self.at < window.text.len()
    }

    /// Returns the next match in the window.
    pub fn next_hit(&mut self, matcher: &mut Matcher, text: &[u8]) -> Option<Hit> {
        loop {
            let match_range = matcher.find(text, self.at)?;
            let start = line_start(text, match_range.start);
            if start >= text.len() {
                return None;
            }
            let ends_line = match_range.end > match_range.start && text.get(match_range.end - 1) == Some(&b'\n');
            let end = line_end(text, if ends_line { match_range.end - 1 } else { match_range.end });
            let is_repeated = self.multiline && match_range.start == match_range.end && self.at > start;
            self.at = if self.multiline && match_range.end > match_range.start { match_range.end } else { end + 1 };
            if is_repeated {
                continue;
            }
            let line = self.counter.line_at(text, start);
            let last_line = if self.multiline { line + count(text, start..end) } else { line };
            return Some(Hit { line, last_line, match_range: match_range.start..match_range.end, block: start..end });
        }
    }

    /// Returns a match with its leading context.
    pub fn render(&mut self, path: &str, text: &[u8], hit: &Hit) -> GrepMatch {
        let line = self.renderer.matched(text, hit.block.clone(), hit.match_range.clone());
        let before = self.lines_before(text, hit);
        let base = if hit.block.start == 0 { self.continued } else { 0 };
        self.matched = hit.last_line;
        self.last_rendered = self.last_rendered.max(hit.last_line);
        self.pending = Pending { at: hit.block.end + 1, line: hit.last_line + 1, left: self.after };
        GrepMatch {
            path: path.to_owned(),
            line: hit.line,
            text: line.text,
            text_start: base + line.text_start,
            match_start: base + line.match_start,
            match_end: base + line.match_end,
            before,
            after: Vec::new(),
        }
    }

    /// Counts a match without returning it.
    pub fn pass(&mut self, hit: &Hit) {
        self.matched = hit.last_line;
    }

    /// Returns whether context lines after the last match remain.
    pub fn owes(&self) -> bool {
        self.pending.left > 0
    }

    /// Returns the context lines after the last match, up to line `until`.
    pub fn lines_after(&mut self, text: &[u8], until: u64) -> Vec<ContextLine> {
        let mut lines = Vec::new();
        while self.pending.left > 0 && self.pending.line < until && self.pending.at < text.len() {
            let end = line_end(text, self.pending.at);
            let line = self.pending.line;
            lines.push(ContextLine { line, text: self.renderer.context(text, self.pending.at..end) });
            self.last_rendered = self.last_rendered.max(line);
            self.pending = Pending { at: end + 1, line: line + 1, left: self.pending.left - 1 };
        }
        lines
    }

    /// Returns the last completed line, between windows.
    pub fn last_searched_line(&self) -> u64 {
        self.matched.max(self.line.saturating_sub(1))
    }

    /// Ends a window.
    pub fn leave(&mut self, text: &[u8], is_last: bool) {
        if is_last {
            return;
        }
        let next = self.counter.line_at(text, text.len());
        if self.before > 0 {
            self.carry(text, next);
        }
        self.line = next;
    }

    /// Stores the last lines of a window as context for the next window.
    fn carry(&mut self, text: &[u8], next: u64) {
        let (mut at, mut line) = (text.len(), next);
        // A part of a line that is too long has no line ending.
        let mut open = !text.ends_with(b"\n");
        let mut lines = VecDeque::new();
        while lines.len() < self.before && at > 0 {
            let end = if open { at } else { at - 1 };
            let start = line_start(text, end);
            line = if open { line } else { line.saturating_sub(1) };
            if line <= self.last_rendered {
                break;
            }
            lines.push_front(ContextLine { line, text: self.renderer.context(text, start..end) });
            (at, open) = (start, false);
        }
        let first = lines.front().map_or(next, |line| line.line);
        self.carried.retain(|carried| carried.line < first);
        self.carried.extend(lines);
        while self.carried.len() > self.before {
            self.carried.pop_front();
        }
    }

    fn lines_before(&mut self, text: &[u8], hit: &Hit) -> Vec<ContextLine> {
        let (mut at, mut line) = (hit.block.start, hit.line);
        let mut lines = Vec::new();
        while lines.len() < self.before && at > 0 && line - 1 > self.last_rendered {
            let start = line_start(text, at - 1);
            line -= 1;
            lines.push(ContextLine { line, text: self.renderer.context(text, start..at - 1) });
            at = start;
        }
        if at == 0 {
            let earlier =
                self.carried.iter().rev().filter(|carried| carried.line < line && carried.line > self.last_rendered);
            let missing = self.before - lines.len();
            lines.extend(earlier.take(missing).cloned());
        }
        lines.reverse();
        lines
    }
}

impl Counter {
    fn line_at(&mut self, text: &[u8], at: usize) -> u64 {
        if at > self.at {
            self.line += count(text, self.at..at);
            self.at = at;
        }
        self.line
    }
}

fn count(text: &[u8], range: Range<usize>) -> u64 {
    memchr_iter(b'\n', text.get(range).unwrap_or_default()).count() as u64
}
