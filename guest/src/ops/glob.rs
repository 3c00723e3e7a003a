//! Finds files by name.

use serde::{Deserialize, Serialize};

use crate::error::{Code, Error, Result};
use crate::fs::Kind;
use crate::fs::walk::{Entry, Options, Start, Walk};
use crate::request::{self, PathSort};
use crate::response;
use crate::search::glob::{self, Glob};
use crate::search::page::{self, Page, Rank};
use crate::search::{self, cursor};
use crate::workspace::Workspace;

const VERB: &str = "search";

/// Finds files by name.
pub fn run(workspace: &Workspace<'_>, args: &request::Glob) -> Result<response::Glob> {
    if args.limit == 0 {
        return Err(Error::argument("limit", "it has to be at least 1"));
    }
    let glob = Glob::parse(&args.pattern, "pattern", workspace)?;
    let fingerprint = cursor::fingerprint(&request::Glob { cursor: None, limit: 0, ..args.clone() });
    let position = cursor::open::<Position>(args.cursor.as_deref(), &fingerprint)?;
    let (place, dir) = search::directory(workspace, &args.path, VERB)?;
    let (start, after) = match position {
        None => (None, None),
        Some(Position::After(path)) => (Some(Start { path, inclusive: false }), None),
        Some(Position::Ranked(rank)) => (None, Some(rank)),
    };
    let options = Options {
        hidden: glob.hidden(args.include_hidden),
        include_ignored: args.include_ignored,
        max_depth: glob.max_depth,
        exclude: glob::exclusion(&args.exclude, "exclude", workspace)?,
        prefix: glob.prefix.clone(),
        start,
    };
    let mut walk = Walk::new(workspace, &place, &dir, options, VERB)?;
    let find = Find { glob: &glob, directories: args.directories };
    let size = page::size(args.limit);
    let (paths, end) = match args.sort {
        PathSort::Path => by_path(&mut walk, &find, size),
        PathSort::Modified => by_time(workspace, &mut walk, &find, Page::new(size, after))?,
    };
    let next_cursor = end.as_ref().and_then(|end| cursor::seal(&fingerprint, end));
    Ok(response::Glob { paths, skipped: walk.skipped, truncated: end.is_some(), next_cursor })
}

/// Where a page ended.
#[derive(Serialize, Deserialize)]
enum Position {
    /// In the order of the walk.
    After(String),
    /// In order of time.
    Ranked(Rank),
}

/// What is found.
struct Find<'a> {
    glob: &'a Glob,
    directories: bool,
}

fn by_path(walk: &mut Walk<'_>, find: &Find<'_>, size: usize) -> (Vec<String>, Option<Position>) {
    let mut paths = Vec::new();
    let (mut last, mut skipped) = (String::new(), walk.skipped);
    while let Some(entry) = next_match(walk, find) {
        if paths.len() == size {
            // What is left out between two pages is for the second to say.
            walk.skipped = skipped;
            return (paths, Some(Position::After(last)));
        }
        last.clear();
        last.push_str(entry.below);
        paths.push(entry.path.to_owned());
        skipped = walk.skipped;
    }
    let end = walk.stopped.then(|| Position::After(walk.reached().to_owned()));
    (paths, end)
}

fn by_time(
    workspace: &Workspace<'_>,
    walk: &mut Walk<'_>,
    find: &Find<'_>,
    mut page: Page<String>,
) -> Result<(Vec<String>, Option<Position>)> {
    while let Some(entry) = next_match(walk, find) {
        let modified = workspace.fs.stat(entry.dir, entry.name).ok().and_then(|stat| stat.modified);
        page.push(Rank::by_time(modified, entry.below), entry.path.to_owned());
    }
    if walk.stopped {
        return Err(too_many("modified", "path"));
    }
    let (paths, end) = page.finish();
    Ok((paths, end.map(Position::Ranked)))
}

/// The failure of a call whose order needs more entries than one call can look at.
pub(super) fn too_many(sort: &str, other: &str) -> Error {
    Error::new(Code::LimitExceeded, format!("cannot sort by `{sort}`: the walk reached its limit of entries or time"))
        .hint(format!("name a directory further down, or pass `sort: {other}`, which goes on page by page"))
}

fn next_match<'a>(walk: &'a mut Walk<'_>, find: &Find<'_>) -> Option<Entry<'a>> {
    loop {
        let entry = walk.next()?;
        if (entry.kind == Kind::Directory && !find.directories) || !find.glob.matches(entry.below) {
            continue;
        }
        match entry.kind {
            Kind::Link => walk.skipped.links += 1,
            Kind::Other => walk.skipped.special += 1,
            Kind::File | Kind::Directory => return walk.entry(),
        }
    }
}
