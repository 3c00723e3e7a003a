//! `interface partitions`: the state of an instance between the calls of a parallel search.

use std::cell::RefCell;

use paddock_dialects::call;
use paddock_dialects::call::Call;
use paddock_ops::index::with_listings_after;
use paddock_ops::partitions::{Coordinator, PartitionResult, Worker};
use paddock_ops::{audit, parallel};
use paddock_types::error::{Code, Error, Result};
use paddock_types::outcome::Outcome;
use paddock_types::policy::Backend;
use paddock_types::request::{Access, Request};
use paddock_types::response::Response;
use paddock_vfs::Filesystem;
use paddock_vfs::wasi::WasiFs;
use paddock_workspace::Workspace;

use crate::engine;
use crate::exports::bindings::exports::paddock::files::{partitions, search, types};
use crate::exports::convert::Convert;
use crate::exports::{ACCESSED_PATHS, Component, DECISION, NO_DIALECT, policy};

thread_local! {
    /// Role of this instance in a search. An instance takes part in at most one search.
    static ROLE: RefCell<Role> = const { RefCell::new(Role::None) };
}

enum Role {
    None,
    Coordinator(Box<dyn Coordinator>, SearchOrigin),
    Worker(Box<dyn Worker>),
}

/// The call that started a search, and its workspace.
#[derive(Clone, Copy)]
struct SearchOrigin {
    by: By,
    workspace: &'static Workspace<'static>,
}

#[derive(Clone, Copy)]
enum By {
    Call(&'static Call),
    Typed(&'static Request),
}

impl SearchOrigin {
    fn dialect(&self) -> &'static str {
        match self.by {
            By::Call(call) => &call.tools.name,
            By::Typed(_) => NO_DIALECT,
        }
    }
}

impl partitions::Guest for Component {
    fn begin_grep(args: search::GrepArgs) -> Option<std::result::Result<search::GrepResult, types::Error>> {
        begin_typed(Request::Grep(args.lower())).map(|answer| answer.and_then(grep_result))
    }

    fn begin_glob(args: search::GlobArgs) -> Option<std::result::Result<search::GlobResult, types::Error>> {
        begin_typed(Request::Glob(args.lower())).map(|answer| answer.and_then(glob_result))
    }

    fn job() -> std::result::Result<partitions::SearchJob, types::Error> {
        with_coordinator(|coordinator, origin| {
            let dialect = origin.dialect().to_owned();
            let (request, time_ms) = coordinator.job();
            let (search, links) = match request {
                Request::Grep(args) => (partitions::Search::Grep(args.lower()), false),
                Request::Glob(args) => {
                    let links = args.links;
                    (partitions::Search::Glob(args.lower()), links)
                }
                _ => return Err(wrong_role().lower()),
            };
            Ok(partitions::SearchJob { dialect, search, links, time_ms })
        })?
    }

    fn next_partition() -> std::result::Result<Option<String>, types::Error> {
        with_coordinator(|coordinator, _| coordinator.next_partition())
    }

    fn join(result: Option<partitions::PartitionResult>) -> std::result::Result<bool, types::Error> {
        with_coordinator(|coordinator, _| coordinator.join(result.map(Convert::lower)))
    }

    fn finish_grep() -> std::result::Result<search::GrepResult, types::Error> {
        finish_typed().and_then(grep_result)
    }

    fn finish_glob() -> std::result::Result<search::GlobResult, types::Error> {
        finish_typed().and_then(glob_result)
    }

    fn prepare_worker(job: partitions::SearchJob) -> std::result::Result<(), types::Error> {
        let mut request: Request = job.search.lower();
        if let Request::Glob(args) = &mut request {
            args.links = job.links;
        }
        prepare_worker(&job.dialect, request, job.time_ms).map_err(Convert::lower)
    }

    fn search_partition(partition: String) -> std::result::Result<partitions::PartitionResult, types::Error> {
        let result: Result<PartitionResult> = ROLE.with_borrow_mut(|role| match role {
            Role::Worker(worker) => Ok(worker.search_partition(&partition)),
            _ => Err(wrong_role()),
        });
        result.map(Convert::lower).map_err(Convert::lower)
    }
}

/// Starts a call. Returns `None` if it is a search that must be continued in partitions.
pub fn begin(dialect: &str, name: &str, arguments: &str) -> Option<Outcome> {
    let call =
        match Call::decode(dialect, name, arguments, &|| policy(dialect).is_ok_and(|policy| policy.commands.enabled)) {
            Ok(call) => call,
            Err(outcome) => return Some(*outcome),
        };
    let workspace = if parallel::can_be_parallel(&call.request) { open_workspace(dialect, None) } else { Ok(None) };
    let workspace = match workspace {
        Ok(Some(workspace)) => workspace,
        Ok(None) => {
            let outcome = crate::exports::with_fs(dialect, |fs, policy| Ok(engine::execute(fs, policy, &call)));
            return Some(outcome.unwrap_or_else(call::failed));
        }
        Err(error) => return Some(call.outcome(None, Err(error))),
    };
    let call = leak(call);
    let answer = start(&call.request, SearchOrigin { by: By::Call(call), workspace }).transpose()?;
    Some(call.outcome(Some(workspace), answer))
}

/// Completes a call that [`begin`] started.
pub fn finish() -> Outcome {
    match ROLE.replace(Role::None) {
        Role::Coordinator(coordinator, SearchOrigin { by: By::Call(call), workspace }) => {
            call.outcome(Some(workspace), Ok(coordinator.finish()))
        }
        _ => call::failed(wrong_role()),
    }
}

/// Starts a typed search. Returns the answer if the search is already complete.
fn begin_typed(request: Request) -> Option<std::result::Result<Response, types::Error>> {
    let opened_workspace =
        if parallel::can_be_parallel(&request) { open_workspace(NO_DIALECT, None) } else { Ok(None) };
    let workspace = match opened_workspace {
        Ok(Some(workspace)) => workspace,
        Ok(None) => return Some(crate::exports::run(request, Some)),
        Err(error) => return Some(Err(error.lower())),
    };
    let request = leak(request);
    let answer = start(request, SearchOrigin { by: By::Typed(request), workspace }).transpose()?;
    Some(record_answer(request, workspace, answer))
}

fn finish_typed() -> std::result::Result<Response, types::Error> {
    match ROLE.replace(Role::None) {
        Role::Coordinator(coordinator, SearchOrigin { by: By::Typed(request), workspace }) => {
            record_answer(request, workspace, Ok(coordinator.finish()))
        }
        _ => Err(wrong_role().lower()),
    }
}

/// Converts the answer of a typed search and stores its accessed paths.
fn record_answer(
    request: &Request,
    workspace: &Workspace<'_>,
    answer: Result<Response>,
) -> std::result::Result<Response, types::Error> {
    ACCESSED_PATHS.set(audit::accessed_paths(workspace, request, &answer));
    answer.map_err(Convert::lower)
}

fn grep_result(response: Response) -> std::result::Result<search::GrepResult, types::Error> {
    match response {
        Response::Grep(grep) => Ok(grep.lower()),
        _ => Err(wrong_role().lower()),
    }
}

fn glob_result(response: Response) -> std::result::Result<search::GlobResult, types::Error> {
    match response {
        Response::Glob(glob) => Ok(glob.lower()),
        _ => Err(wrong_role().lower()),
    }
}

/// Starts a search. Returns the answer if the search is already complete.
fn start(request: &'static Request, origin: SearchOrigin) -> Result<Option<Response>> {
    let coordinator = parallel::coordinate(origin.workspace, request)?;
    if coordinator.is_over() {
        return Ok(Some(coordinator.finish()));
    }
    ROLE.set(Role::Coordinator(coordinator, origin));
    Ok(None)
}

fn prepare_worker(dialect: &str, request: Request, time_ms: u64) -> Result<()> {
    let workspace = open_workspace(dialect, Some(time_ms))?.ok_or_else(wrong_role)?;
    ROLE.set(Role::Worker(parallel::prepare_worker(workspace, leak(request))?));
    Ok(())
}

fn with_coordinator<T>(
    act: impl FnOnce(&mut dyn Coordinator, SearchOrigin) -> T,
) -> std::result::Result<T, types::Error> {
    ROLE.with_borrow_mut(|role| match role {
        Role::Coordinator(coordinator, origin) => Ok(act(coordinator.as_mut(), *origin)),
        _ => Err(wrong_role().lower()),
    })
}

fn wrong_role() -> Error {
    Error::new(Code::InvalidArgument, "this instance has no such part in a search")
        .hint("the host calls `begin` first in a coordinator, and `prepare-worker` in a worker")
}

/// Opens the workspace on the host's disk. Returns `None` for the memory backend, whose tree only this instance can
/// search.
pub fn open_workspace(dialect: &str, time_ms: Option<u64>) -> Result<Option<&'static Workspace<'static>>> {
    let mut policy = policy(dialect)?;
    if policy.backend == Backend::Memory {
        DECISION.set(policy.host.decision.take());
        crate::exports::keep(dialect, policy);
        return Ok(None);
    }
    let fs: &'static dyn Filesystem = match policy.backend {
        Backend::Overlay => leak(crate::exports::overlay(&policy)?),
        Backend::Wasi | Backend::Memory => WasiFs::of(&policy),
    };
    let mut workspace = paddock_ops::open(fs, leak(policy), Access::Read)?;
    if let Some(time_ms) = time_ms {
        workspace.set_time_left_ms(time_ms);
        // Workers are for long searches.
        workspace = with_listings_after(workspace, 0);
    }
    Ok(Some(leak(workspace)))
}

/// Leaks a value for the lifetime of the instance, which ends with the search.
pub fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}
