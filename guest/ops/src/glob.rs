//! Finds files by name.

use std::rc::Rc;

use paddock_index::listings::parts;
use paddock_search::cursor::Position;
use paddock_search::glob::{Glob, Name};
use paddock_search::page::{Page, PageBudget, Rank};
use paddock_search::{cursor, glob};
use paddock_types::entry::Kind;
use paddock_types::error::{Argument, Code, Error, Result, Term};
use paddock_types::request::PathSort;
use paddock_types::response::{Response, Skipped};
use paddock_types::{phrase, request, response};
use paddock_vfs::Dir;
use paddock_workspace::Workspace;
use paddock_workspace::resolved_path::ResolvedPath;
use paddock_workspace::walk::{Entry, Options, Start, Walk};

use crate::advice;
use crate::details;
use crate::operation::{ChangingOperation, Operation};
use crate::recorder::Recorder;

pub mod partitions;

const OPERATION: &str = "search";
/// Number of entries that a search for a similar glob visits between two checks of its matches.
const STEP: u64 = 256;

impl Operation for request::Glob {
    fn name(&self) -> &'static str {
        "glob"
    }

    fn requested_paths(&self) -> Vec<String> {
        vec![self.path.clone()]
    }

    fn as_change(&self) -> Option<&dyn ChangingOperation> {
        None
    }

    fn run(&self, workspace: &Workspace<'_>) -> Result<Response> {
        run(workspace, self).map(Response::Glob)
    }

    fn record(&self, response: &Response, recorder: &mut Recorder<'_>) {
        let Response::Glob(glob) = response else { return };
        recorder.add(&self.path);
        recorder.measure(glob.entries.iter().map(|entry| entry.details.read).sum(), None);
    }
}

/// Finds files by name.
pub fn run(workspace: &Workspace<'_>, args: &request::Glob) -> Result<response::Glob> {
    let (scope, fingerprint, position) = begin(workspace, args)?;
    let budget = budget(workspace, args);
    if args.sort == PathSort::Path {
        let mut search = Search::new(&scope, scope.walk(position.map(start))?, budget);
        search.advance(u64::MAX);
        return Ok(described(workspace, args, search.finish(&fingerprint)));
    }
    let rank = |position| Rank::at(position).ok_or_else(cursor::no_cursor);
    let page = Page::new(budget, position.map(rank).transpose()?);
    let (paths, skipped, end) = by_time(&scope, scope.walk(None)?, page)?;
    Ok(described(workspace, args, page_of(paths, skipped, end.map(Rank::position), &fingerprint)))
}

/// Adds the requested details of each path to the result, and notes if nothing was found.
fn described(workspace: &Workspace<'_>, args: &request::Glob, mut result: response::Glob) -> response::Glob {
    if let Some(wanted) = &args.details {
        result.entries = details::entries(workspace, wanted, &result.paths);
    }
    if result.paths.is_empty() && !result.truncated && args.cursor.is_none() {
        result.notes = notes(workspace, args);
    }
    result
}

/// Returns notes about a glob without a match.
pub(super) fn notes(workspace: &Workspace<'_>, args: &request::Glob) -> Vec<String> {
    let (path, glob) = (&args.path, &args.pattern);
    let name = glob.trim_matches('/');
    let below = format!("{}/{name}", path.trim_end_matches('/'));
    let resolved = if name.contains(['*', '?', '[', '{']) { None } else { workspace.resolve(&below, OPERATION).ok() };
    let kind = resolved.and_then(|resolved| resolved.stat).map(|stat| stat.kind);
    match kind {
        Some(Kind::Directory) => vec![format!("`{name}` is a directory; `{name}/**` matches the files below it")],
        _ => {
            let mut notes = advice::of_glob(glob);
            if notes.is_empty() {
                notes.extend(wider(workspace, args));
            }
            notes
        }
    }
}

/// Returns a note about a similar glob that has a match.
fn wider(workspace: &Workspace<'_>, args: &request::Glob) -> Option<String> {
    let searched = workspace.resolve(&args.path, OPERATION).ok()?.path;
    for glob in advice::wider(&args.pattern, &searched) {
        let scope = Rc::new(SearchScope::with(workspace, args, &glob, argument).ok()?);
        let mut search = Search::new(&scope, scope.walk(None).ok()?, budget(workspace, args));
        let mut visited = STEP;
        while search.paths.is_empty() && search.advance(visited) {
            visited += STEP;
        }
        if !search.paths.is_empty() {
            let note = "a glob is relative to the searched directory";
            return Some(format!("{note}: `{}` matches nothing there, and `{glob}` does", args.pattern));
        }
    }
    None
}

/// Returns the name of the argument with the glob.
fn argument() -> Argument {
    "pattern".into()
}

fn begin<'w>(
    workspace: &'w Workspace<'w>,
    args: &request::Glob,
) -> Result<(Rc<SearchScope<'w>>, String, Option<Position>)> {
    if args.limit == 0 {
        return Err(Error::argument(Term::Limit, "it has to be at least 1"));
    }
    let scope = SearchScope::new(workspace, args)?;
    let fingerprint = cursor::fingerprint(args);
    let position = cursor::open(args.cursor.as_deref(), &fingerprint)?;
    Ok((Rc::new(scope), fingerprint, position))
}

fn budget(workspace: &Workspace<'_>, args: &request::Glob) -> PageBudget {
    PageBudget::new(args.limit, crate::text_bytes(workspace, args.unlimited), 1)
}

/// Returns the start of a page in the order of the walk.
fn start(position: Position) -> Start {
    Start { path: position.path, inclusive: false }
}

/// Returns the end of a page in the order of the walk.
fn after(path: &str) -> Position {
    Position { numbers: Vec::new(), path: path.to_owned() }
}

/// The matched pattern and the directory to search.
struct SearchScope<'w> {
    workspace: &'w Workspace<'w>,
    glob: Glob,
    directories: bool,
    links: bool,
    resolved: ResolvedPath,
    dir: Dir,
    options: Options,
}

impl<'w> SearchScope<'w> {
    fn new(workspace: &'w Workspace<'w>, args: &request::Glob) -> Result<Self> {
        Self::with(workspace, args, &args.pattern, argument)
    }

    /// Returns the scope of a search for `pattern`, which is the argument `name`.
    fn with(workspace: &'w Workspace<'w>, args: &request::Glob, pattern: &str, name: Name) -> Result<Self> {
        let glob = Glob::parse(pattern, name, &workspace.root_names())?;
        let options = Options {
            hidden: glob.hidden(args.include_hidden),
            include_ignored: args.include_ignored,
            max_depth: glob.max_depth,
            exclude: glob::exclusion(&args.exclude, || Term::Exclude.into(), &workspace.root_names())?,
            prefix: glob.prefix.clone(),
            names_only: args.sort == PathSort::Path,
            ..Options::default()
        };
        let (resolved, dir) = workspace.directory_to_search(&args.path, OPERATION)?;
        let request::Glob { directories, links, .. } = *args;
        Ok(Self { workspace, glob, directories, links, resolved, dir, options })
    }

    fn walk(&self, start: Option<Start>) -> Result<Walk<'w>> {
        let options = Options { start, ..self.options.clone() };
        Walk::new(self.workspace, &self.resolved, &self.dir, options, OPERATION)
    }

    /// Returns a path of a result relative to the searched directory.
    fn below<'p>(&self, path: &'p str) -> &'p str {
        path.get(self.resolved.base().len()..).unwrap_or_default()
    }

    fn is_match(&self, entry: &Entry<'_>) -> bool {
        (entry.kind != Kind::Directory || self.directories) && self.glob.matches(entry.below)
    }

    /// Returns whether the entry is a link to be found, which it is only if its target exists in the workspace.
    fn has_target(&self, entry: &Entry<'_>) -> bool {
        let target = || self.workspace.resolve(entry.path, OPERATION);
        self.links && entry.kind == Kind::Link && target().is_ok_and(|resolved| resolved.stat.is_some())
    }
}

/// Paths in one text: thousands of strings would take longer.
#[derive(Default)]
struct Paths {
    /// The paths, each followed by a NUL byte.
    text: String,
    count: usize,
}

/// A search in progress, in the order of the walk.
struct Search<'w> {
    scope: Rc<SearchScope<'w>>,
    walk: Walk<'w>,
    budget: PageBudget,
    paths: Paths,
    /// Last path, relative to the searched directory, and the entries skipped up to it.
    last: (String, Skipped),
    /// Entries skipped by other walks, and the position that the previous walk reached.
    skipped: Skipped,
    reached: String,
    /// Position at which the page ends, once it is full or a limit is reached.
    end: Option<Position>,
}

impl<'w> Search<'w> {
    fn new(scope: &Rc<SearchScope<'w>>, walk: Walk<'w>, budget: PageBudget) -> Self {
        let scope = Rc::clone(scope);
        let (paths, last, skipped) = (Paths::default(), Default::default(), Skipped::default());
        let reached = walk.reached().to_owned();
        Self { scope, walk, budget, paths, last, skipped, reached, end: None }
    }

    /// Continues until the walk has visited `entries` entries. Returns false if the search is over.
    fn advance(&mut self, entries: u64) -> bool {
        while self.end.is_none() && self.walk.looked_at() < entries {
            if !self.walk.advance() {
                self.end = self.walk.stopped.then(|| after(self.reached()));
                return false;
            }
            self.take_entry();
        }
        self.end.is_none()
    }

    /// Processes the current entry of the walk.
    fn take_entry(&mut self) {
        let Some(entry) = self.walk.entry().filter(|entry| self.scope.is_match(entry)) else { return };
        match entry.kind {
            Kind::Link if !self.scope.has_target(&entry) => self.walk.skipped.links += 1,
            Kind::Other => self.walk.skipped.special += 1,
            // Entries skipped between two pages are reported by the second page.
            _ if self.budget.is_full() => self.end = Some(after(&self.last.0)),
            Kind::File | Kind::Directory | Kind::Link => {
                self.last.0.clear();
                self.last.0.push_str(entry.below);
                self.budget.take(entry.path);
                self.paths.push(entry.path);
                self.last.1 = self.left_out();
            }
        }
    }

    /// Returns the path up to which all entries have been visited.
    fn reached(&self) -> &str {
        if self.walk.has_begun() { self.walk.reached() } else { &self.reached }
    }

    fn left_out(&self) -> Skipped {
        let mut skipped = self.skipped;
        skipped.add(&self.walk.skipped);
        skipped
    }

    fn finish(self, fingerprint: &str) -> response::Glob {
        let is_full = self.end.is_some() && !self.walk.stopped;
        let skipped = if is_full { self.last.1 } else { self.left_out() };
        page_of(self.paths.to_vec(), skipped, self.end, fingerprint)
    }
}

impl Paths {
    fn push(&mut self, path: &str) {
        self.text.push_str(path);
        self.text.push('\0');
        self.count += 1;
    }

    fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn last(&self) -> Option<&str> {
        let text = self.text.strip_suffix('\0')?;
        let start = memchr::memrchr(0, text.as_bytes()).map_or(0, |end| end + 1);
        text.get(start..)
    }

    fn to_vec(&self) -> Vec<String> {
        parts(&self.text).map(str::to_owned).collect()
    }
}

fn by_time(
    scope: &SearchScope<'_>,
    mut walk: Walk<'_>,
    mut page: Page<String>,
) -> Result<(Vec<String>, Skipped, Option<Rank>)> {
    while walk.advance() {
        let Some(entry) = walk.entry().filter(|entry| scope.is_match(entry)) else { continue };
        match entry.kind {
            Kind::Link if !scope.has_target(&entry) => walk.skipped.links += 1,
            Kind::Other => walk.skipped.special += 1,
            Kind::File | Kind::Directory | Kind::Link => {
                let stat = scope.workspace.fs.stat(entry.dir, entry.name).ok();
                let modified = stat.and_then(|stat| stat.modified);
                page.push(Rank::by_time(modified, entry.below), entry.path.to_owned());
            }
        }
    }
    if walk.stopped {
        return Err(too_many("modified", "path"));
    }
    let (paths, end) = page.finish();
    Ok((paths, walk.skipped, end))
}

fn page_of(paths: Vec<String>, skipped: Skipped, end: Option<Position>, fingerprint: &str) -> response::Glob {
    let next_cursor = end.as_ref().map(|end| cursor::seal(fingerprint, end));
    response::Glob { paths, skipped, truncated: end.is_some(), next_cursor, notes: Vec::new(), entries: Vec::new() }
}

/// Returns the error of a call whose sort order needs more entries than one call can visit.
pub(super) fn too_many(sort: &str, other: &str) -> Error {
    Error::new(Code::LimitExceeded, format!("cannot sort by `{sort}`: the walk reached its limit of entries or time"))
        .hint("name a directory further down")
        .also_hint(phrase![format!("`{other}` as "), Term::Sort, " continues page by page"])
}
