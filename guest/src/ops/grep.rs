//! Finds text in files.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::fs::place::Place;
use crate::fs::walk::{Entry, Hidden, Options, Start, Walk};
use crate::fs::{Dir, Fault, FsResult, Kind, Open};
use crate::request::{self, GrepOutput};
use crate::response::{FileCount, Grep};
use crate::search::glob::Glob;
use crate::search::matcher::Matcher;
use crate::search::scan::{Hit, Scan};
use crate::search::source::{Opened, Source};
use crate::search::{cursor, page};
use crate::workspace::Workspace;

const VERB: &str = "search";
/// Lines of context on each side of a match.
const MAX_CONTEXT: u32 = 1_000;

/// Finds text in files.
pub fn run(workspace: &Workspace<'_>, args: &request::Grep) -> Result<Grep> {
    check(args)?;
    let matcher = Matcher::new(args)?;
    let glob = args.glob.as_deref().map(|glob| Glob::parse(glob, "glob", workspace)).transpose()?;
    let plain = request::Grep { cursor: None, limit: 0, ..args.clone() };
    let fingerprint = cursor::fingerprint(&plain);
    let position = cursor::open::<Position>(args.cursor.as_deref(), &fingerprint)?;
    let place = workspace.resolve(&args.path, VERB)?;
    let mut search = Search::new(workspace, args, matcher);
    let end = match place.existing(workspace, VERB)?.kind {
        Kind::File => search.one_file(&place, position)?,
        Kind::Directory => {
            let dir = place.open_dir(workspace, VERB)?;
            search.directory(&place, &dir, glob.as_ref(), position)?
        }
        kind => return Err(place.not_a_file(VERB, kind)),
    };
    let mut result = search.page.result;
    result.bytes_searched = search.source.bytes_read;
    result.truncated = end.is_some();
    result.next_cursor = end.and_then(|position| cursor::seal(&fingerprint, &position));
    Ok(result)
}

fn check(args: &request::Grep) -> Result<()> {
    if args.limit == 0 || args.max_per_file == Some(0) {
        let name = if args.limit == 0 { "limit" } else { "max_per_file" };
        return Err(Error::argument(name, "it has to be at least 1"));
    }
    for (name, lines) in [("before", args.before), ("after", args.after)] {
        if lines > MAX_CONTEXT {
            return Err(Error::argument(name, format!("it has to be at most {MAX_CONTEXT}"))
                .hint("`read_file` shows more of a file"));
        }
    }
    Ok(())
}

/// Where a page ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Position {
    /// A file relative to the directory that is searched.
    path: String,
    /// How far the search in it went; none where it is done.
    within: Option<Within>,
}

/// How far the search in a file went.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Within {
    /// Lines that are done.
    line: u64,
    /// With `multiline`, bytes that are done.
    offset: u64,
    /// Last line that was shown.
    shown: u64,
    /// Matches found so far.
    found: u64,
}

/// How the search in a file ended.
enum End {
    /// At the end of what there is to find.
    Done,
    /// The page is full, or the time is up.
    Page(Within),
}

struct Search<'w> {
    workspace: &'w Workspace<'w>,
    args: &'w request::Grep,
    matcher: Matcher,
    source: Source<'w>,
    page: Page<'w>,
}

impl<'w> Search<'w> {
    fn new(workspace: &'w Workspace<'w>, args: &'w request::Grep, matcher: Matcher) -> Self {
        let limits = &workspace.policy.limits;
        let source = Source::new(workspace.fs, limits.max_file_bytes, matcher.needs_utf8);
        Self { workspace, args, matcher, source, page: Page::new(args, limits.max_result_bytes) }
    }

    /// Searches the file that was named, whatever the rules for walks say of it.
    fn one_file(&mut self, place: &Place, position: Option<Position>) -> Result<Option<Position>> {
        let within = position.and_then(|position| position.within).unwrap_or_default();
        let end =
            self.file(&place.dir, &place.name, &place.path, within).map_err(|fault| fault.at(VERB, &place.given))?;
        Ok(match end {
            End::Done => None,
            End::Page(within) => Some(Position { path: String::new(), within: Some(within) }),
        })
    }

    fn directory(
        &mut self,
        place: &Place,
        dir: &Dir,
        glob: Option<&Glob>,
        position: Option<Position>,
    ) -> Result<Option<Position>> {
        let within = position.as_ref().and_then(|position| Some((position.path.clone(), position.within?)));
        let start = position.map(|position| Start { inclusive: position.within.is_some(), path: position.path });
        let options = self.options(glob, start);
        let mut walk = Walk::new(self.workspace, place, dir, options, VERB)?;
        while let Some(entry) = walk.next() {
            if glob.is_some_and(|glob| !glob.matches(entry.below())) || !self.is_file(&entry) {
                continue;
            }
            let within = within.as_ref().filter(|(path, _)| path == entry.below()).map(|(_, within)| *within);
            match self.file(&entry.dir, &entry.name, &entry.path, within.unwrap_or_default()) {
                Ok(End::Done) => {}
                Ok(End::Page(within)) => {
                    self.add_skipped(&walk);
                    return Ok(Some(Position { path: entry.below().to_owned(), within: Some(within) }));
                }
                Err(fault) => self.count(&fault),
            }
            if self.workspace.out_of_time() {
                walk.stopped = true;
                break;
            }
        }
        self.add_skipped(&walk);
        Ok(walk.stopped.then(|| Position { path: walk.reached().to_owned(), within: None }))
    }

    fn options(&self, glob: Option<&Glob>, start: Option<Start>) -> Options {
        let include_hidden = self.args.include_hidden;
        Options {
            hidden: glob.map_or_else(|| Hidden::from_flag(include_hidden), |glob| glob.hidden(include_hidden)),
            include_ignored: self.args.include_ignored,
            max_depth: glob.and_then(|glob| glob.max_depth),
            prefix: glob.map(|glob| glob.prefix.clone()).unwrap_or_default(),
            start,
        }
    }

    fn is_file(&mut self, entry: &Entry) -> bool {
        match entry.kind {
            Kind::File => return true,
            Kind::Directory => {}
            Kind::Link => self.page.result.skipped.links += 1,
            Kind::Other => self.page.result.skipped.special += 1,
        }
        false
    }

    /// A file that could not be searched to its end.
    fn count(&mut self, fault: &Fault) {
        match fault {
            Fault::Link => self.page.result.skipped.links += 1,
            Fault::NotRegular | Fault::IsDirectory => self.page.result.skipped.special += 1,
            _ => self.page.result.skipped.unreadable += 1,
        }
    }

    fn add_skipped(&mut self, walk: &Walk<'_>) {
        let own = self.page.result.skipped;
        self.page.result.skipped = crate::response::Skipped {
            links: own.links + walk.skipped.links,
            special: own.special + walk.skipped.special,
            unreadable: own.unreadable + walk.skipped.unreadable,
            binary: own.binary,
            too_large: own.too_large,
            long_lines: own.long_lines,
            ..walk.skipped
        };
    }

    /// Searches one file from `within` on.
    fn file(&mut self, dir: &Dir, name: &str, path: &str, within: Within) -> FsResult<End> {
        let file = self.workspace.fs.open_file(dir, name, Open::Read)?;
        match self.source.open(file, self.args.multiline)? {
            Opened::Text => {}
            Opened::Binary => {
                self.page.result.skipped.binary += 1;
                return Ok(End::Done);
            }
            Opened::TooLarge => {
                self.page.result.skipped.too_large += 1;
                return Ok(End::Done);
            }
        }
        self.page.result.files_searched += 1;
        let scan = Scan::new(self.args, self.workspace.policy.limits.max_line_chars, within.line, within.shown);
        let mut progress = Progress { scan, within, path, is_leaving: false };
        let end = self.windows(&mut progress)?;
        let found = progress.within.found;
        if self.args.output == GrepOutput::Count && found > 0 && matches!(end, End::Done) {
            self.page.result.files.push(FileCount { path: path.to_owned(), count: Some(found) });
        }
        Ok(end)
    }

    fn windows(&mut self, progress: &mut Progress<'_>) -> FsResult<End> {
        let offset = usize::try_from(progress.within.offset).unwrap_or(usize::MAX);
        while let Some(window) = self.source.next_window()? {
            self.page.result.skipped.long_lines += u64::from(window.splits_line);
            let is_new = progress.scan.enter(&window, offset);
            if (is_new || progress.is_leaving)
                && let Some(end) = self.page.fill(progress, &mut self.matcher, window.text)
            {
                return Ok(end);
            }
            progress.scan.leave(window.text, window.is_last);
            if is_new && !window.is_last && self.workspace.out_of_time() {
                let (line, shown) = (progress.scan.done(), progress.scan.shown);
                return Ok(End::Page(Within { line, shown, ..progress.within }));
            }
        }
        Ok(End::Done)
    }
}

/// The search in one file under way.
struct Progress<'p> {
    scan: Scan,
    /// After the last match that counts.
    within: Within,
    path: &'p str,
    /// No further match of this file is asked for.
    is_leaving: bool,
}

/// What is found for one page.
struct Page<'w> {
    args: &'w request::Grep,
    result: Grep,
    limit: usize,
    max_bytes: usize,
    /// Bytes of text in the result.
    used: usize,
}

impl<'w> Page<'w> {
    fn new(args: &'w request::Grep, max_bytes: usize) -> Self {
        let result = Grep {
            matches: Vec::new(),
            files: Vec::new(),
            files_searched: 0,
            bytes_searched: 0,
            skipped: crate::response::Skipped::default(),
            truncated: false,
            next_cursor: None,
        };
        Self { args, result, limit: page::size(args.limit), max_bytes, used: 0 }
    }

    /// Takes what a window has. None if the file's next window is wanted.
    fn fill(&mut self, progress: &mut Progress<'_>, matcher: &mut Matcher, text: &[u8]) -> Option<End> {
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
        progress.is_leaving |= self.args.max_per_file.is_some_and(|most| found >= u64::from(most));
    }

    /// Adds the lines after the last match, which is in this file if there are any.
    fn show_after(&mut self, progress: &mut Progress<'_>, text: &[u8], until: u64) {
        let lines = progress.scan.lines_after(text, until);
        self.used += lines.iter().map(|line| line.text.len()).sum::<usize>();
        if let Some(last) = self.result.matches.last_mut().filter(|_| !lines.is_empty()) {
            last.after.extend(lines);
        }
    }
}
