//! Results of a search for one page, and the end of the page.

use paddock_search::cursor::Position;
use paddock_search::matcher::Matcher;
use paddock_search::page;
use paddock_search::searcher::{Hit, Scan};
use paddock_types::request;
use paddock_types::request::GrepOutput;
use paddock_types::response::{FileCount, Grep};

/// Bytes of the line of a file in a list of files, besides its path.
const FILE_LINE_BYTES: usize = 16;

/// Position within a file up to which it has been searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Within {
    /// Number of finished lines.
    pub line: u64,
    /// Number of finished bytes, with `multiline`.
    pub offset: u64,
    /// Number of the last rendered line.
    pub last_rendered: u64,
    /// Number of matches found so far.
    pub match_count: u64,
}

impl Within {
    /// Returns the position of a cursor in the file at `path`. Trailing zeros are left out, but for the first number,
    /// which tells a position within a file from the end of the file.
    pub fn position(self, path: &str) -> Position {
        // The last rendered line is nearly always the last finished one.
        let last_rendered = if self.last_rendered == self.line { 0 } else { self.last_rendered.saturating_add(1) };
        let mut numbers = vec![self.line, last_rendered, self.match_count, self.offset];
        while numbers.len() > 1 && numbers.last() == Some(&0) {
            numbers.pop();
        }
        Position { numbers, path: path.to_owned() }
    }

    /// Returns the position within the file that a cursor names; `None` if the file is finished.
    pub fn at(position: &Position) -> Option<Self> {
        let mut numbers = position.numbers.iter().copied();
        let line = numbers.next()?;
        let last_rendered = numbers.next().and_then(|last_rendered| last_rendered.checked_sub(1)).unwrap_or(line);
        Some(Self {
            line,
            last_rendered,
            match_count: numbers.next().unwrap_or(0),
            offset: numbers.next().unwrap_or(0),
        })
    }
}

/// Reason for the end of the search in a file.
pub enum End {
    /// All requested matches were found.
    Whole,
    /// The page is full, or the time is up; the next page starts at this position.
    Page(Within),
}

/// The search in one file in progress.
pub struct Progress<'p> {
    /// The scan for matching lines.
    pub scan: Scan,
    /// Position after the last counted match.
    pub within: Within,
    /// Rendered path of the file.
    pub path: &'p str,
    /// Whether no further match of this file is requested.
    pub is_leaving: bool,
}

/// Results of one page.
pub struct Page<'w> {
    args: &'w request::Grep,
    /// Results so far.
    pub result: Grep,
    limit: usize,
    max_bytes: usize,
    /// Bytes of text in the result.
    pub used: usize,
}

impl<'w> Page<'w> {
    /// Creates an empty page.
    pub fn new(args: &'w request::Grep, max_bytes: usize) -> Self {
        let is_unlimited = args.unlimited && args.output != GrepOutput::Content;
        let max_bytes = if is_unlimited { usize::MAX } else { max_bytes };
        let result = Grep { counts_matches: args.multiline, ..Grep::default() };
        Self { args, result, limit: page::size(args.limit), max_bytes, used: 0 }
    }

    /// Adds the matches of a window. Returns `None` if the file's next window is needed.
    pub fn fill(&mut self, progress: &mut Progress<'_>, matcher: &mut Matcher, text: &[u8]) -> Option<End> {
        while !progress.is_leaving
            && let Some(hit) = progress.scan.next_hit(matcher, text)
        {
            if self.is_full(progress, text, &hit) {
                return Some(End::Page(progress.within));
            }
            self.take(progress, text, &hit);
        }
        self.render_context_after(progress, text, u64::MAX);
        (progress.is_leaving && !progress.scan.owes()).then_some(End::Whole)
    }

    /// Returns whether a match belongs to the next page.
    fn is_full(&mut self, progress: &mut Progress<'_>, text: &[u8], hit: &Hit) -> bool {
        if self.args.output != GrepOutput::Content {
            let files = self.result.files.len();
            return files >= self.limit || (files > 0 && self.used >= self.max_bytes);
        }
        self.render_context_after(progress, text, hit.line);
        progress.within.last_rendered = progress.scan.last_rendered;
        let matches = self.result.matches.len();
        matches >= self.limit || (matches > 0 && self.used >= self.max_bytes)
    }

    fn take(&mut self, progress: &mut Progress<'_>, text: &[u8], hit: &Hit) {
        let scan = &mut progress.scan;
        match self.args.output {
            GrepOutput::Content => {
                let rendered = scan.render(progress.path, text, hit);
                self.used += rendered.path.len() + rendered.text.len();
                self.used += rendered.before.iter().map(|line| line.text.len()).sum::<usize>();
                self.result.matches.push(rendered);
            }
            GrepOutput::Files => {
                self.add_file(progress.path, None);
                progress.is_leaving = true;
            }
            GrepOutput::Count => scan.pass(hit),
        }
        let match_count = progress.within.match_count.saturating_add(1);
        progress.within =
            Within { line: hit.last_line, offset: scan.at as u64, last_rendered: scan.last_rendered, match_count };
        progress.is_leaving |= self.args.max_per_file.is_some_and(|max| match_count >= u64::from(max));
    }

    /// Adds a file to the list of files.
    pub fn add_file(&mut self, path: &str, count: Option<u64>) {
        self.used += path.len() + FILE_LINE_BYTES;
        self.result.files.push(FileCount { path: path.to_owned(), count });
    }

    /// Appends the context lines after the last match, which is in this file if there are any.
    fn render_context_after(&mut self, progress: &mut Progress<'_>, text: &[u8], until: u64) {
        let lines = progress.scan.lines_after(text, until);
        self.used += lines.iter().map(|line| line.text.len()).sum::<usize>();
        if let Some(last) = self.result.matches.last_mut().filter(|_| !lines.is_empty()) {
            last.after.extend(lines);
        }
    }

    /// Appends the results of another page if this page certainly has room for all of them.
    pub fn append(&mut self, other: Grep, used: usize) -> bool {
        let count = self.result.matches.len() + self.result.files.len() + other.matches.len() + other.files.len();
        if count > self.limit || self.used.saturating_add(used) >= self.max_bytes {
            return false;
        }
        self.used += used;
        self.result.matches.extend(other.matches);
        self.result.files.extend(other.files);
        self.result.files_searched += other.files_searched;
        self.result.bytes_searched += other.bytes_searched;
        self.result.skipped.add(&other.skipped);
        true
    }
}
