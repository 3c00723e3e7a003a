//! Matches of one page, and the end of the page.

use paddock_search::matcher::Matcher;
use paddock_search::page;
use paddock_search::searcher::{Hit, Scan};
use paddock_types::request;
use paddock_types::request::GrepOutput;
use paddock_types::response::{FileCount, Grep, Skipped};
use serde::{Deserialize, Serialize};

/// Progress of the search in a file.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Within {
    /// Lines that are done.
    pub line: u64,
    /// With `multiline`, bytes that are done.
    pub offset: u64,
    /// Last line that was shown.
    pub shown: u64,
    /// Matches found so far.
    pub found: u64,
}

/// Reason for the end of the search in a file.
pub enum End {
    /// At the end of what there is to find.
    Done,
    /// The page is full, or the time is up.
    Page(Within),
}

/// The search in one file under way.
pub struct Progress<'p> {
    /// Which lines match.
    pub scan: Scan,
    /// After the last match that counts.
    pub within: Within,
    /// The file as results show it.
    pub path: &'p str,
    /// No further match of this file is asked for.
    pub is_leaving: bool,
}

/// Matches of one page.
pub struct Page<'w> {
    args: &'w request::Grep,
    /// Content of the page.
    pub result: Grep,
    limit: usize,
    max_bytes: usize,
    /// Bytes of text in the result.
    pub used: usize,
}

impl<'w> Page<'w> {
    /// An empty page.
    pub fn new(args: &'w request::Grep, max_bytes: usize) -> Self {
        let result = Grep {
            matches: Vec::new(),
            files: Vec::new(),
            files_searched: 0,
            bytes_searched: 0,
            skipped: Skipped::default(),
            truncated: false,
            next_cursor: None,
        };
        Self { args, result, limit: page::size(args.limit), max_bytes, used: 0 }
    }

    /// Takes what a window has. None if the file's next window is wanted.
    pub fn fill(&mut self, progress: &mut Progress<'_>, matcher: &mut Matcher, text: &[u8]) -> Option<End> {
        while !progress.is_leaving
            && let Some(hit) = progress.scan.next_hit(matcher, text)
        {
            if self.is_full(progress, text, &hit) {
                return Some(End::Page(progress.within));
            }
            self.take(progress, text, &hit);
        }
        self.show_after(progress, text, u64::MAX);
        (progress.is_leaving && !progress.scan.owes()).then_some(End::Done)
    }

    /// Whether a match is for the next page.
    fn is_full(&mut self, progress: &mut Progress<'_>, text: &[u8], hit: &Hit) -> bool {
        if self.args.output != GrepOutput::Content {
            return self.result.files.len() >= self.limit;
        }
        self.show_after(progress, text, hit.line);
        progress.within.shown = progress.scan.shown;
        let matches = self.result.matches.len();
        matches >= self.limit || (matches > 0 && self.used >= self.max_bytes)
    }

    fn take(&mut self, progress: &mut Progress<'_>, text: &[u8], hit: &Hit) {
        let scan = &mut progress.scan;
        match self.args.output {
            GrepOutput::Content => {
                let shown = scan.show(progress.path, text, hit);
                self.used += shown.path.len() + shown.text.len();
                self.used += shown.before.iter().map(|line| line.text.len()).sum::<usize>();
                self.result.matches.push(shown);
            }
            GrepOutput::Files => {
                self.result.files.push(FileCount { path: progress.path.to_owned(), count: None });
                progress.is_leaving = true;
            }
            GrepOutput::Count => scan.pass(hit),
        }
        let found = progress.within.found.saturating_add(1);
        progress.within = Within { line: hit.last_line, offset: scan.at as u64, shown: scan.shown, found };
        progress.is_leaving |= self.args.max_per_file.is_some_and(|max| found >= u64::from(max));
    }

    /// Adds the lines after the last match, which is in this file if there are any.
    fn show_after(&mut self, progress: &mut Progress<'_>, text: &[u8], until: u64) {
        let lines = progress.scan.lines_after(text, until);
        self.used += lines.iter().map(|line| line.text.len()).sum::<usize>();
        if let Some(last) = self.result.matches.last_mut().filter(|_| !lines.is_empty()) {
            last.after.extend(lines);
        }
    }

    /// Adds what another page has, if all of it is surely on this one too.
    pub fn append(&mut self, other: Grep, used: usize) -> bool {
        let shown = self.result.matches.len() + self.result.files.len() + other.matches.len() + other.files.len();
        if shown > self.limit || self.used.saturating_add(used) >= self.max_bytes {
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
