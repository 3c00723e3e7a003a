//! Lists a directory.

use paddock_search::cursor;
use paddock_search::cursor::Position;
use paddock_search::glob::Glob;
use paddock_search::hidden::Hidden;
use paddock_search::page::{Page, PageBudget, Rank};
use paddock_types::entry::Kind;
use paddock_types::error::{Error, Result, Term};
use paddock_types::request::ListSort;
use paddock_types::response::{Entry, Response};
use paddock_types::{request, response, time};
use paddock_vfs::Stat;
use paddock_workspace::walk::{Options, Start, Walk};
use paddock_workspace::{Workspace, walk};

use crate::details;
use crate::operation::{ChangingOperation, Operation};
use crate::recorder::Recorder;

const OPERATION: &str = "list";
/// Maximum number of entries for which totals are computed: each file needs a `stat`.
const MAX_TOTALED: u64 = 100_000;
/// Maximum number of entries that a page in another order than by name leaves out: it needs them in memory.
const MAX_SKIPPED: u64 = 100_000;
/// Bytes of a line besides the path: type, size and line feed.
const LINE_BYTES: usize = 16;

impl Operation for request::List {
    fn name(&self) -> &'static str {
        "list"
    }

    fn requested_paths(&self) -> Vec<String> {
        vec![self.path.clone()]
    }

    fn as_change(&self) -> Option<&dyn ChangingOperation> {
        None
    }

    fn run(&self, workspace: &Workspace<'_>) -> Result<Response> {
        run(workspace, self).map(Response::List)
    }

    fn record(&self, response: &Response, recorder: &mut Recorder<'_>) {
        let Response::List(list) = response else { return };
        recorder.add(&list.path);
        recorder.measure(list.entries.iter().map(|entry| entry.details.read).sum(), None);
    }
}

/// Lists a directory.
pub fn run(workspace: &Workspace<'_>, args: &request::List) -> Result<response::List> {
    for (name, value) in [("depth", args.depth), ("limit", args.limit)] {
        if value == 0 {
            return Err(Error::argument(name, "it has to be at least 1"));
        }
    }
    let glob = args
        .pattern
        .as_deref()
        .map(|glob| Glob::parse(glob, || "pattern".into(), &workspace.root_names()))
        .transpose()?;
    if args.skip > MAX_SKIPPED && args.sort != ListSort::Name {
        return Err(
            Error::argument(Term::Offset, format!("it has to be at most {MAX_SKIPPED}")).hint("name a directory below")
        );
    }
    let fingerprint = cursor::fingerprint(args);
    let position = cursor::open(args.cursor.as_deref(), &fingerprint)?;
    let (resolved, dir) = workspace.directory_to_search(&args.path, OPERATION)?;
    let start = position.as_ref().filter(|_| args.sort == ListSort::Name);
    let start = start.map(|position| Start { path: position.path.clone(), inclusive: false });
    let options = options(args, glob.as_ref(), start);
    let walk = Walk::new(workspace, &resolved, &dir, options, OPERATION)?;
    let mut listing = Listing { workspace, glob, walk, totals: Totals::default(), skip: args.skip, passed: 0 };
    let mut budget = PageBudget::new(args.limit, crate::text_bytes(workspace, args.unlimited), LINE_BYTES);
    let (mut entries, end) = match args.sort {
        ListSort::Name => listing.by_name(budget, position.map(|position| Sums::at(&position))),
        sort => {
            let skip = usize::try_from(args.skip.min(MAX_SKIPPED)).unwrap_or_default();
            budget.entries += skip;
            let (mut entries, end) = listing.by_rank(sort, Page::new(budget, position.map(rank).transpose()?))?;
            let passed = skip.min(entries.len());
            entries = entries.split_off(passed);
            listing.passed = passed as u64;
            (entries, end)
        }
    };
    let totals = listing.totals.known;
    details::add(workspace, &args.details, &mut entries);
    Ok(response::List {
        path: resolved.path,
        entries,
        total_files: totals.map(|totals| totals.files),
        total_directories: totals.map(|totals| totals.directories),
        total_size: totals.map(|totals| totals.size),
        skipped: listing.walk.skipped,
        truncated: end.is_some(),
        next_cursor: end.map(|end| cursor::seal(&fingerprint, &end)),
        passed: listing.passed,
    })
}

fn options(args: &request::List, glob: Option<&Glob>, start: Option<Start>) -> Options {
    let hidden = args.include_hidden;
    Options {
        hidden: glob.map_or_else(|| Hidden::from_flag(hidden), |glob| glob.hidden(hidden)),
        include_ignored: args.include_ignored,
        max_depth: Some(args.depth),
        prefix: glob.map(|glob| glob.prefix.clone()).unwrap_or_default(),
        start,
        ..Options::default()
    }
}

/// Returns the rank at which a page in any other order than that of the walk ended.
fn rank(position: Position) -> Result<Rank> {
    Rank::at(position).ok_or_else(cursor::no_cursor)
}

/// Totals of a whole listing. The cursor of a listing by name has them, since later pages do not visit all entries.
#[derive(Clone, Copy, Debug)]
struct Sums {
    files: u64,
    directories: u64,
    size: u64,
}

impl Sums {
    /// Returns the totals in the position of a page; `None` if the first page has not counted all entries.
    fn at(position: &Position) -> Option<Self> {
        match *position.numbers.as_slice() {
            [files, directories, size] => Some(Self { files, directories, size }),
            _ => None,
        }
    }
}

struct Totals {
    /// Totals so far, or `None` if not all entries were counted.
    known: Option<Sums>,
}

impl Default for Totals {
    fn default() -> Self {
        Self { known: Some(Sums { files: 0, directories: 0, size: 0 }) }
    }
}

impl Totals {
    fn add(&mut self, kind: Kind, stat: Option<&Stat>) {
        let Some(sums) = &mut self.known else { return };
        match kind {
            Kind::File => {
                sums.files += 1;
                sums.size = sums.size.saturating_add(stat.map_or(0, |stat| stat.size));
            }
            Kind::Directory => sums.directories += 1,
            Kind::Link | Kind::Other => {}
        }
        if sums.files + sums.directories > MAX_TOTALED {
            self.known = None;
        }
    }
}

struct Listing<'w> {
    workspace: &'w Workspace<'w>,
    glob: Option<Glob>,
    walk: Walk<'w>,
    totals: Totals,
    /// Number of entries to leave out, and number left out so far.
    skip: u64,
    passed: u64,
}

impl Listing<'_> {
    /// Returns a page in the order of the walk. The first page continues to the end for the totals; later pages receive
    /// them from the cursor.
    fn by_name(&mut self, mut budget: PageBudget, reported: Option<Option<Sums>>) -> (Vec<Entry>, Option<Position>) {
        let mut entries: Vec<Entry> = Vec::new();
        let (mut last, mut skipped, mut more) = (String::new(), self.walk.skipped, false);
        while let Some(entry) = next_match(&mut self.walk, self.glob.as_ref()) {
            let is_full = more || budget.is_full();
            more = is_full;
            if is_full && (reported.is_some() || self.totals.known.is_none()) {
                break;
            }
            let stat = self.workspace.fs.stat(entry.dir, entry.name).ok();
            self.totals.add(entry.kind, stat.as_ref());
            if self.passed < self.skip {
                self.passed += 1;
            } else if !is_full {
                last.clear();
                last.push_str(entry.below);
                budget.take(entry.path);
                entries.push(rendered_entry(&entry, stat));
                skipped = self.walk.skipped;
            }
        }
        if self.walk.stopped {
            self.totals.known = None;
        }
        if let Some(reported) = reported {
            self.totals.known = reported;
        }
        let path = if more {
            // Entries skipped after this page are reported by later pages.
            self.walk.skipped = skipped;
            last
        } else if self.walk.stopped {
            self.walk.reached().to_owned()
        } else {
            return (entries, None);
        };
        let totals = self.totals.known.map(|totals| vec![totals.files, totals.directories, totals.size]);
        (entries, Some(Position { numbers: totals.unwrap_or_default(), path }))
    }

    fn by_rank(&mut self, sort: ListSort, mut page: Page<Entry>) -> Result<(Vec<Entry>, Option<Position>)> {
        while let Some(entry) = next_match(&mut self.walk, self.glob.as_ref()) {
            let stat = self.workspace.fs.stat(entry.dir, entry.name).ok();
            self.totals.add(entry.kind, stat.as_ref());
            let rank = match sort {
                ListSort::Modified => Rank::by_time(stat.and_then(|stat| stat.modified), entry.below),
                ListSort::Breadth => {
                    Rank { key: Some((u64::from(u32::MAX - entry.depth), 0)), path: entry.below.to_owned() }
                }
                ListSort::Size | ListSort::Name => {
                    let size = stat.filter(|_| entry.kind == Kind::File).map(|stat| (stat.size, 0));
                    Rank { key: size, path: entry.below.to_owned() }
                }
            };
            page.push(rank, rendered_entry(&entry, stat));
        }
        if self.walk.stopped {
            let name = match sort {
                ListSort::Size => "size",
                ListSort::Breadth => "breadth",
                ListSort::Modified | ListSort::Name => "modified",
            };
            return Err(crate::glob::too_many(name, "name"));
        }
        let (entries, end) = page.finish();
        Ok((entries, end.map(Rank::position)))
    }
}

fn next_match<'a>(walk: &'a mut Walk<'_>, glob: Option<&Glob>) -> Option<walk::Entry<'a>> {
    while walk.advance() {
        if glob.is_none_or(|glob| walk.entry().is_some_and(|entry| glob.matches(entry.below))) {
            return walk.entry();
        }
    }
    None
}

fn rendered_entry(entry: &walk::Entry<'_>, stat: Option<Stat>) -> Entry {
    Entry {
        path: entry.path.to_owned(),
        kind: entry.kind,
        size: stat.filter(|_| entry.kind == Kind::File).map(|stat| stat.size),
        modified: stat.and_then(|stat| stat.modified).and_then(time::rfc3339_seconds),
        details: response::Details::default(),
    }
}
