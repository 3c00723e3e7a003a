//! A search by several instances: a leader cuts what is to be searched into
//! shares, helpers search them, and the leader joins what they found in the
//! order of the walk. The answer is the one that the leader alone would give.

use paddock_types::error::{Error, Result};
use paddock_types::request::{PathSort, Request};
use paddock_types::response::{Grep, Response, Skipped};
use paddock_workspace::Workspace;

use crate::{glob, grep};

/// The instance that has the walk and the page.
pub trait Coordinator {
    /// Whether nothing more is to be searched.
    fn is_over(&self) -> bool;

    /// Search for the workers, and their time limit in milliseconds.
    fn order(&self) -> (Request, u64);

    /// The next share, in a form that only a helper reads. None where there is no more.
    fn next_share(&mut self) -> Option<String>;

    /// Adds what was found in the first share that is not joined yet; none where nobody searched it.
    /// True where nothing more is needed.
    fn join(&mut self, findings: Option<PartitionResult>) -> bool;

    /// The answer, when every share is joined or nothing more is needed. What was not given out is searched here.
    fn finish(self: Box<Self>) -> Response;
}

/// An instance that searches shares.
pub trait Worker {
    /// Searches a share.
    fn look(&mut self, partition: &str) -> PartitionResult;
}

/// Result of one partition.
pub struct PartitionResult {
    /// How much of it was searched to its end: by `grep` its first files, by `glob` all of it or
    /// only as much as fills a page.
    pub done: u64,
    /// What was found there; of what was left out, only what no other instance saw.
    pub found: Found,
    /// What of a limit it takes: of `grep` bytes of text, of `glob` entries looked at.
    pub used: u64,
}

/// Matches, as a page of them would be.
pub enum Found {
    /// By `grep`.
    Grep(Grep),
    /// By `glob`.
    Glob(Names),
}

/// Matches of a `glob`.
#[derive(Default)]
pub struct Names {
    /// Each path with a NUL after it: thousands of texts would take long from one instance to another.
    pub paths: String,
    /// The last entry that was looked at, relative to the directory searched.
    pub reached: Option<String>,
    /// Numbers of entries that were left out.
    pub skipped: Skipped,
}

/// Whether several instances can do it.
pub fn can_share(request: &Request) -> bool {
    matches!(request, Request::Grep(_)) || matches!(request, Request::Glob(args) if args.sort == PathSort::Path)
}

/// Begins a search and makes the first part of it, or all of it.
pub fn lead<'w>(workspace: &'w Workspace<'w>, request: &'w Request) -> Result<Box<dyn Coordinator + 'w>> {
    Ok(match request {
        Request::Grep(args) => Box::new(grep::partitions::Coordinator::begin(workspace, args)?),
        Request::Glob(args) => Box::new(glob::partitions::Coordinator::begin(workspace, args)?),
        _ => return Err(no_search()),
    })
}

/// Makes ready for shares of a search.
pub fn help<'w>(workspace: &'w Workspace<'w>, request: &'w Request) -> Result<Box<dyn Worker + 'w>> {
    Ok(match request {
        Request::Grep(args) => Box::new(grep::partitions::Helper::enlist(workspace, args)?),
        Request::Glob(args) => Box::new(glob::partitions::Helper::enlist(workspace, args)?),
        _ => return Err(no_search()),
    })
}

fn no_search() -> Error {
    Error::argument("search", "it is none that instances share")
}
