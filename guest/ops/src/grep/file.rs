//! Searches files one by one.

use paddock_search::cursor::Position;
use paddock_search::line_buffer::{Opened, Source};
use paddock_search::matcher::Matcher;
use paddock_search::searcher::Scan;
use paddock_types::request;
use paddock_types::request::GrepOutput;
use paddock_types::response::{Grep, Skipped};
use paddock_vfs::{Dir, Fault, FsResult, Open};
use paddock_workspace::Workspace;

use crate::grep::page::{End, Page, Progress, Within};
use crate::index::exclusions::{Excluded, Exclusions};

/// The search pattern and the results.
pub struct Files<'w> {
    workspace: &'w Workspace<'w>,
    args: &'w request::Grep,
    matcher: Matcher,
    source: Source<'w>,
    /// Bytes read since the last check of the deadline, with a surcharge for each file.
    clocked: u64,
    /// Results of the current page.
    pub page: Page<'w>,
    exclusions: Exclusions<'w>,
}

/// Number of bytes between two checks of the deadline, and the surcharge for each file.
const BYTES_PER_CLOCK: u64 = 1024 * 1024;
const BYTES_PER_FILE: u64 = 16 * 1024;

/// Sizes of the results at a point in time.
pub struct Savepoint {
    matches: usize,
    files: usize,
    files_searched: u64,
    skipped: Skipped,
    used: usize,
    bytes_read: u64,
}

impl<'w> Files<'w> {
    /// Creates an empty page for the request `args`.
    pub fn new(workspace: &'w Workspace<'w>, args: &'w request::Grep, matcher: Matcher) -> Self {
        let limits = &workspace.policy.limits;
        let source = Source::new(workspace.fs, limits.max_file_bytes, matcher.needs_utf8);
        let (page, exclusions) = (Page::new(args, limits.max_result_bytes), Exclusions::new(workspace, args));
        Self { workspace, args, matcher, source, clocked: 0, page, exclusions }
    }

    /// Prepares for a search that is known to be long.
    pub fn expect_many_files(&mut self) {
        self.exclusions.expect_many_files();
    }

    /// Returns the position of a cursor in the file at `path`, with only the numbers that this search needs.
    pub fn position(&self, within: Within, path: &str) -> Position {
        let counts = self.args.max_per_file.is_some() || self.args.output == GrepOutput::Count;
        let match_count = if counts { within.match_count } else { 0 };
        let offset = if self.args.multiline { within.offset } else { 0 };
        Within { match_count, offset, ..within }.position(path)
    }

    /// Returns the number of bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.source.bytes_read
    }

    /// Takes the results, without the counts of the walk, and starts an empty page.
    pub fn take(&mut self) -> (Grep, usize) {
        let empty = Page::new(self.args, self.workspace.policy.limits.max_result_bytes);
        let page = std::mem::replace(&mut self.page, empty);
        let bytes_searched = page.result.bytes_searched + std::mem::take(&mut self.source.bytes_read);
        (Grep { bytes_searched, ..page.result }, page.used)
    }

    /// Returns whether the deadline must be checked after this file.
    pub fn is_clock_due(&mut self) -> bool {
        self.clocked += BYTES_PER_FILE + self.source.last_read();
        let is_due = self.clocked >= BYTES_PER_CLOCK;
        if is_due {
            self.clocked = 0;
        }
        is_due
    }

    /// Returns the current sizes of the results.
    pub fn savepoint(&self) -> Savepoint {
        let result = &self.page.result;
        Savepoint {
            matches: result.matches.len(),
            files: result.files.len(),
            files_searched: result.files_searched,
            skipped: result.skipped,
            used: self.page.used,
            bytes_read: self.source.bytes_read,
        }
    }

    /// Discards the results added since `savepoint`.
    pub fn back_to(&mut self, savepoint: Savepoint) {
        let result = &mut self.page.result;
        result.matches.truncate(savepoint.matches);
        result.files.truncate(savepoint.files);
        result.files_searched = savepoint.files_searched;
        result.skipped = savepoint.skipped;
        self.page.used = savepoint.used;
        self.source.bytes_read = savepoint.bytes_read;
    }

    /// Searches one of many files; a file that cannot be searched is counted as skipped.
    pub fn one_of_many(&mut self, dir: &Dir, name: &str, path: &str, within: Within) -> End {
        if within == Within::default()
            && let Some(excluded) = self.exclusions.find(dir, name, path)
        {
            self.pass_over(excluded);
            return End::Whole;
        }
        self.search(dir, name, path, within).unwrap_or_else(|fault| {
            self.count(&fault);
            End::Whole
        })
    }

    /// Counts a file as if it had been searched to its end without a match.
    fn pass_over(&mut self, excluded: Excluded) {
        self.source.pass_over(excluded.bytes);
        match excluded.is_binary {
            true => self.page.result.skipped.binary += 1,
            false => self.page.result.files_searched += 1,
        }
    }

    /// Counts a file that could not be searched to its end as skipped.
    pub fn count(&mut self, fault: &Fault) {
        match fault {
            Fault::Link => self.page.result.skipped.links += 1,
            Fault::NotRegular | Fault::IsDirectory => self.page.result.skipped.special += 1,
            _ => self.page.result.skipped.unreadable += 1,
        }
    }

    /// Searches one file, starting at `within`.
    pub fn search(&mut self, dir: &Dir, name: &str, path: &str, within: Within) -> FsResult<End> {
        let file = self.workspace.fs.open_file(dir, name, Open::Read)?;
        match self.source.open(file, self.args.multiline)? {
            Opened::Text => {}
            Opened::Binary => {
                self.page.result.skipped.binary += 1;
                return Ok(End::Whole);
            }
            Opened::TooLarge => {
                self.page.result.skipped.too_large += 1;
                return Ok(End::Whole);
            }
        }
        self.page.result.files_searched += 1;
        let max_chars = if self.args.whole_lines { usize::MAX } else { self.workspace.policy.limits.max_line_chars };
        let scan = Scan::new(self.args, max_chars, within.line, within.last_rendered);
        let mut progress = Progress { scan, within, path, is_leaving: false };
        let end = self.windows(&mut progress)?;
        let match_count = progress.within.match_count;
        if self.args.output == GrepOutput::Count && match_count > 0 && matches!(end, End::Whole) {
            self.page.add_file(path, Some(match_count));
        }
        Ok(end)
    }

    fn windows(&mut self, progress: &mut Progress<'_>) -> FsResult<End> {
        let offset = usize::try_from(progress.within.offset).unwrap_or(usize::MAX);
        while let Some(window) = self.source.next_window(&|text| self.matcher.may_match(text))? {
            self.page.result.skipped.long_lines += u64::from(window.splits_line);
            let is_new = progress.scan.enter(&window, offset);
            if (is_new || progress.is_leaving)
                && let Some(end) = self.page.fill(progress, &mut self.matcher, window.text)
            {
                return Ok(end);
            }
            progress.scan.leave(window.text, window.is_last);
            if is_new && !window.is_last && self.workspace.out_of_time() {
                let (line, last_rendered) = (progress.scan.last_searched_line(), progress.scan.last_rendered);
                return Ok(End::Page(Within { line, last_rendered, ..progress.within }));
            }
        }
        Ok(End::Whole)
    }
}
