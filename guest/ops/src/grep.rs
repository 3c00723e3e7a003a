//! Finds text in files.

use paddock_search::cursor;
use paddock_search::cursor::Position;
use paddock_search::glob::Glob;
use paddock_search::hidden::Hidden;
use paddock_search::matcher::Matcher;
use paddock_search::page::Rank;
use paddock_types::entry::Kind;
use paddock_types::error::{Argument, Error, Result, Term};
use paddock_types::request::PathSort;
use paddock_types::response::{Grep, Response};
use paddock_types::{phrase, request};
use paddock_vfs::Dir;
use paddock_workspace::Workspace;
use paddock_workspace::resolved_path::ResolvedPath;
use paddock_workspace::walk::{Entry, Options, Start, Walk};

use crate::operation::{ChangingOperation, Operation};
use crate::recorder::Recorder;

mod file;
pub(super) mod near;
mod page;
pub mod partitions;

use crate::grep::file::Files;
use crate::grep::page::{End, Within};

const OPERATION: &str = "search";
/// Maximum number of context lines on each side of a match.
const MAX_CONTEXT: u32 = 1_000;

impl Operation for request::Grep {
    fn name(&self) -> &'static str {
        "grep"
    }

    fn requested_paths(&self) -> Vec<String> {
        vec![self.path.clone()]
    }

    fn as_change(&self) -> Option<&dyn ChangingOperation> {
        None
    }

    fn run(&self, workspace: &Workspace<'_>) -> Result<Response> {
        run(workspace, self).map(Response::Grep)
    }

    fn record(&self, response: &Response, recorder: &mut Recorder<'_>) {
        let Response::Grep(grep) = response else { return };
        recorder.add(&self.path);
        recorder.measure(grep.bytes_searched, Some(grep.matches.len() as u64));
    }
}

/// Finds text in files.
pub fn run(workspace: &Workspace<'_>, args: &request::Grep) -> Result<Grep> {
    let mut search = Search::begin(workspace, args)?;
    search.advance(usize::MAX);
    Ok(sorted(workspace, args, search.finish()))
}

/// Sorts the files of a result as requested, and adds notes if nothing was found.
fn sorted(workspace: &Workspace<'_>, args: &request::Grep, mut result: Grep) -> Grep {
    if args.sort == PathSort::Modified {
        let time = |path: &str| workspace.resolve(path, OPERATION).ok()?.stat?.modified;
        result.files.sort_by_cached_key(|file| Rank::by_time(time(&file.path), &file.path));
    }
    let is_empty = result.matches.is_empty() && result.files.is_empty();
    if is_empty && !result.truncated && args.cursor.is_none() {
        result.notes = near::notes(workspace, args, result.files_searched, result.bytes_searched);
    }
    result
}

fn check(args: &request::Grep) -> Result<()> {
    if args.limit == 0 || args.max_per_file == Some(0) {
        let zero = |name: Argument| Err(Error::argument(name, "it has to be at least 1"));
        return zero(if args.limit == 0 { Term::Limit.into() } else { "max_per_file".into() });
    }
    for (name, lines) in [("before", args.before), ("after", args.after)] {
        if lines > MAX_CONTEXT {
            return Err(Error::argument(name, format!("it has to be at most {MAX_CONTEXT}"))
                .hint(phrase![Term::ReadTool, " shows more of a file"]));
        }
    }
    Ok(())
}

/// A search in progress.
struct Search<'w> {
    workspace: &'w Workspace<'w>,
    fingerprint: String,
    files: Files<'w>,
    /// Walk over the files to search, or `None` if the request names a file.
    walk: Option<FileWalk<'w>>,
    /// Whether the page is full, the time is up, or all files are searched.
    is_over: bool,
    /// Position of the next page, if any.
    end: Option<Position>,
}

/// Walk over the files of a directory.
pub(super) struct FileWalk<'w> {
    /// Walk over all entries.
    pub(super) walk: Walk<'w>,
    glob: Option<Glob>,
    /// File in which the last page ended, and the position within it.
    within: Option<(String, Within)>,
}

/// An entry of a walk.
enum Step {
    /// A file to search.
    File,
    Other,
    End,
}

impl<'w> Search<'w> {
    /// Prepares the search. If the request names a file, searches it.
    fn begin(workspace: &'w Workspace<'w>, args: &'w request::Grep) -> Result<Self> {
        check(args)?;
        let files = Files::new(workspace, args, Matcher::new(args)?);
        let fingerprint = cursor::fingerprint(args);
        let position = cursor::open(args.cursor.as_deref(), &fingerprint)?;
        let resolved = workspace.resolve(&args.path, OPERATION)?;
        let mut search = Self { workspace, fingerprint, files, walk: None, is_over: false, end: None };
        match resolved.existing(workspace, OPERATION)?.kind {
            Kind::File => search.named(&resolved, position)?,
            Kind::Directory => {
                let dir = resolved.open_dir(workspace, OPERATION)?;
                search.walk = Some(FileWalk::new(workspace, args, &resolved, &dir, position)?);
            }
            kind => return Err(resolved.not_a_file(OPERATION, kind)),
        }
        Ok(search)
    }

    /// Searches the file that the request names, even if ignore rules exclude it.
    fn named(&mut self, resolved: &ResolvedPath, position: Option<Position>) -> Result<()> {
        let within = position.and_then(|position| Within::at(&position)).unwrap_or_default();
        let end = self.files.search(&resolved.dir, &resolved.name, &resolved.path, within);
        if let End::Page(within) = end.map_err(|fault| fault.at(OPERATION, &resolved.requested_path))? {
            self.end = Some(self.files.position(within, ""));
        }
        self.is_over = true;
        Ok(())
    }

    /// Searches at most `max` further files.
    fn advance(&mut self, max: usize) {
        let Some(walk) = self.walk.as_mut().filter(|_| !self.is_over) else { return };
        for _ in 0..max {
            if !walk.advance() {
                self.is_over = true;
                break;
            }
            let Some(entry) = walk.walk.entry() else { break };
            let within = walk.within(&entry);
            if let End::Page(within) = self.files.one_of_many(entry.dir, entry.name, entry.path, within) {
                self.is_over = true;
                self.end = Some(self.files.position(within, entry.below));
                return;
            }
            if self.files.is_clock_due() && self.workspace.out_of_time() {
                self.is_over = true;
                walk.walk.stopped = true;
                break;
            }
        }
        let reached = || Position { numbers: Vec::new(), path: walk.walk.reached().to_owned() };
        self.end = walk.walk.stopped.then(reached);
    }

    fn finish(mut self) -> Grep {
        let (mut result, _) = self.files.take();
        if let Some(walk) = &self.walk {
            result.skipped.add(&walk.walk.skipped);
        }
        result.truncated = self.end.is_some();
        result.next_cursor = self.end.map(|position| cursor::seal(&self.fingerprint, &position));
        result
    }
}

impl<'w> FileWalk<'w> {
    /// Starts the walk at the top, or at the position where a page ended.
    pub(super) fn new(
        workspace: &'w Workspace<'w>,
        args: &'w request::Grep,
        resolved: &ResolvedPath,
        dir: &Dir,
        position: Option<Position>,
    ) -> Result<Self> {
        let glob = args
            .glob
            .as_deref()
            .map(|glob| Glob::parse(glob, || Term::Glob.into(), &workspace.root_names()))
            .transpose()?;
        let within = position.as_ref().and_then(|position| Some((position.path.clone(), Within::at(position)?)));
        let start = position.map(|position| Start { inclusive: within.is_some(), path: position.path });
        let include_hidden = args.include_hidden;
        let options = Options {
            hidden: glob.as_ref().map_or_else(|| Hidden::from_flag(include_hidden), |glob| glob.hidden(include_hidden)),
            include_ignored: args.include_ignored,
            max_depth: glob.as_ref().and_then(|glob| glob.max_depth),
            prefix: glob.as_ref().map(|glob| glob.prefix.clone()).unwrap_or_default(),
            start,
            ..Options::default()
        };
        Ok(Self { walk: Walk::new(workspace, resolved, dir, options, OPERATION)?, glob, within })
    }

    /// Returns the position within a file at which the search starts.
    fn within(&self, entry: &Entry<'_>) -> Within {
        let here = self.within.as_ref().filter(|(path, _)| path == entry.below);
        here.map(|(_, within)| *within).unwrap_or_default()
    }

    /// Advances to the next file to search; returns false at the end.
    pub(super) fn advance(&mut self) -> bool {
        loop {
            match self.step() {
                Step::File => return true,
                Step::Other => {}
                Step::End => return false,
            }
        }
    }

    /// Advances to the next entry.
    fn step(&mut self) -> Step {
        let Some(entry) = self.walk.next_entry() else { return Step::End };
        if self.glob.as_ref().is_some_and(|glob| !glob.matches(entry.below)) {
            return Step::Other;
        }
        match entry.kind {
            Kind::File => return Step::File,
            Kind::Directory => {}
            Kind::Link => self.walk.skipped.links += 1,
            Kind::Other => self.walk.skipped.special += 1,
        }
        Step::Other
    }
}
