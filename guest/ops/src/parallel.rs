//! Searches that several instances share: the start of a coordinator and of a worker.

use paddock_types::error::{Error, Result};
use paddock_types::request::{PathSort, Request};
use paddock_workspace::Workspace;

use crate::partitions::{Coordinator, Worker};
use crate::{glob, grep};

/// Returns whether the request can be searched in parallel.
pub fn can_be_parallel(request: &Request) -> bool {
    matches!(request, Request::Grep(args) if !args.whole_lines)
        || matches!(request, Request::Glob(args) if args.sort == PathSort::Path)
}

/// Starts a search and completes the first part of it, or all of it.
///
/// # Errors
///
/// `Code::InvalidArgument` if the request is not a search, and the errors of the search itself.
pub fn coordinate<'w>(workspace: &'w Workspace<'w>, request: &'w Request) -> Result<Box<dyn Coordinator + 'w>> {
    Ok(match request {
        Request::Grep(args) => Box::new(grep::partitions::coordinate(workspace, args)?),
        Request::Glob(args) => Box::new(glob::partitions::coordinate(workspace, args)?),
        _ => return Err(no_search()),
    })
}

/// Prepares for partitions of a search.
///
/// # Errors
///
/// `Code::InvalidArgument` if the request is not a search, and the errors of the search itself.
pub fn prepare_worker<'w>(workspace: &'w Workspace<'w>, request: &'w Request) -> Result<Box<dyn Worker + 'w>> {
    Ok(match request {
        Request::Grep(args) => Box::new(grep::partitions::Worker::prepare(workspace, args)?),
        Request::Glob(args) => Box::new(glob::partitions::Worker::prepare(workspace, args)?),
        _ => return Err(no_search()),
    })
}

fn no_search() -> Error {
    Error::argument("search", "instances do not share this kind of search")
}
