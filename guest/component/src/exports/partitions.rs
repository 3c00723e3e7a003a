//! `interface shares`: the state of an instance between the calls of a parallel search.

use std::cell::RefCell;

use paddock_dialects::call;
use paddock_dialects::call::Call;
use paddock_ops::partitions::{Coordinator, PartitionResult, Worker};
use paddock_ops::{audit, partitions as parts};
use paddock_types::error::{Code, Error, Result};
use paddock_types::outcome::Outcome;
use paddock_types::policy::Backend;
use paddock_types::request::{Access, Request};
use paddock_types::response::Response;
use paddock_vfs::Filesystem;
use paddock_vfs::wasi::WasiFs;
use paddock_workspace::Workspace;

use crate::engine;
use crate::exports::bindings::exports::paddock::files::{search, shares, types};
use crate::exports::convert::Convert;
use crate::exports::{Component, DECISION, NO_DIALECT, TOUCHED, policy};

thread_local! {
    /// Role of this instance in a search. An instance takes part in at most one search.
    static PART: RefCell<Part> = const { RefCell::new(Part::None) };
}

enum Part {
    None,
    Coordinator(Box<dyn Coordinator>, SearchOrigin),
    Helper(Box<dyn Worker>),
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
            By::Call(call) => call.dialect.name,
            By::Typed(_) => NO_DIALECT,
        }
    }
}

impl shares::Guest for Component {
    fn begin_grep(args: search::GrepArgs) -> Option<std::result::Result<search::GrepResult, types::Error>> {
        begin_typed(Request::Grep(args.lower())).map(|answer| answer.and_then(grepped))
    }

    fn begin_glob(args: search::GlobArgs) -> Option<std::result::Result<search::GlobResult, types::Error>> {
        begin_typed(Request::Glob(args.lower())).map(|answer| answer.and_then(globbed))
    }

    fn orders() -> std::result::Result<shares::Order, types::Error> {
        leading(|lead, asked| {
            let dialect = asked.dialect().to_owned();
            let (request, time_ms) = lead.order();
            let search = match request {
                Request::Grep(args) => shares::Search::Grep(args.lower()),
                Request::Glob(args) => shares::Search::Glob(args.lower()),
                _ => return Err(no_part().lower()),
            };
            Ok(shares::Order { dialect, search, time_ms })
        })?
    }

    fn next() -> std::result::Result<Option<String>, types::Error> {
        leading(|lead, _| lead.next_share())
    }

    fn join(findings: Option<shares::Findings>) -> std::result::Result<bool, types::Error> {
        leading(|lead, _| lead.join(findings.map(Convert::lower)))
    }

    fn finish_grep() -> std::result::Result<search::GrepResult, types::Error> {
        finish_typed().and_then(grepped)
    }

    fn finish_glob() -> std::result::Result<search::GlobResult, types::Error> {
        finish_typed().and_then(globbed)
    }

    fn enlist(order: shares::Order) -> std::result::Result<(), types::Error> {
        enlist(&order.dialect, order.search.lower(), order.time_ms).map_err(Convert::lower)
    }

    fn look(share: String) -> std::result::Result<shares::Findings, types::Error> {
        let found: Result<PartitionResult> = PART.with_borrow_mut(|part| match part {
            Part::Helper(helper) => Ok(helper.look(&share)),
            _ => Err(no_part()),
        });
        found.map(Convert::lower).map_err(Convert::lower)
    }
}

/// Starts a call. Returns `None` if it is a search that must be continued in partitions.
pub fn begin(dialect: &str, name: &str, arguments: &str) -> Option<Outcome> {
    let call = match Call::decode(dialect, name, arguments) {
        Ok(call) => call,
        Err(outcome) => return Some(*outcome),
    };
    let workspace = if parts::can_share(&call.request) { surroundings(dialect, None) } else { Ok(None) };
    let workspace = match workspace {
        Ok(Some(workspace)) => workspace,
        Ok(None) => {
            let outcome = crate::exports::with_fs(dialect, |fs, policy| Ok(engine::made(fs, policy, &call)));
            return Some(outcome.unwrap_or_else(call::failed));
        }
        Err(error) => return Some(call.outcome(None, Err(error))),
    };
    let call = forever(call);
    let answer = lead(&call.request, SearchOrigin { by: By::Call(call), workspace }).transpose()?;
    Some(call.outcome(Some(workspace), answer))
}

/// Completes a call that [`begin`] started.
pub fn finish() -> Outcome {
    match PART.replace(Part::None) {
        Part::Coordinator(lead, SearchOrigin { by: By::Call(call), workspace }) => {
            call.outcome(Some(workspace), Ok(lead.finish()))
        }
        _ => call::failed(no_part()),
    }
}

/// Starts a typed search. Returns the answer if the search is already complete.
fn begin_typed(request: Request) -> Option<std::result::Result<Response, types::Error>> {
    let found = if parts::can_share(&request) { surroundings(NO_DIALECT, None) } else { Ok(None) };
    let workspace = match found {
        Ok(Some(workspace)) => workspace,
        Ok(None) => return Some(crate::exports::run(request, Some)),
        Err(error) => return Some(Err(error.lower())),
    };
    let request = forever(request);
    let answer = lead(request, SearchOrigin { by: By::Typed(request), workspace }).transpose()?;
    Some(typed(request, workspace, answer))
}

fn finish_typed() -> std::result::Result<Response, types::Error> {
    match PART.replace(Part::None) {
        Part::Coordinator(lead, SearchOrigin { by: By::Typed(request), workspace }) => {
            typed(request, workspace, Ok(lead.finish()))
        }
        _ => Err(no_part().lower()),
    }
}

/// Converts the answer of a typed search and stores its accessed paths.
fn typed(
    request: &Request,
    workspace: &Workspace<'_>,
    answer: Result<Response>,
) -> std::result::Result<Response, types::Error> {
    TOUCHED.set(audit::accessed_paths(workspace, request, &answer));
    answer.map_err(Convert::lower)
}

fn grepped(response: Response) -> std::result::Result<search::GrepResult, types::Error> {
    match response {
        Response::Grep(grep) => Ok(grep.lower()),
        _ => Err(no_part().lower()),
    }
}

fn globbed(response: Response) -> std::result::Result<search::GlobResult, types::Error> {
    match response {
        Response::Glob(glob) => Ok(glob.lower()),
        _ => Err(no_part().lower()),
    }
}

/// Starts a search. Returns the answer if the search is already complete.
fn lead(request: &'static Request, asked: SearchOrigin) -> Result<Option<Response>> {
    let lead = parts::lead(asked.workspace, request)?;
    if lead.is_over() {
        return Ok(Some(lead.finish()));
    }
    PART.set(Part::Coordinator(lead, asked));
    Ok(None)
}

fn enlist(dialect: &str, request: Request, time_ms: u64) -> Result<()> {
    let workspace = surroundings(dialect, Some(time_ms))?.ok_or_else(no_part)?;
    PART.set(Part::Helper(parts::help(workspace, forever(request))?));
    Ok(())
}

fn leading<T>(act: impl FnOnce(&mut dyn Coordinator, SearchOrigin) -> T) -> std::result::Result<T, types::Error> {
    PART.with_borrow_mut(|part| match part {
        Part::Coordinator(lead, asked) => Ok(act(lead.as_mut(), *asked)),
        _ => Err(no_part().lower()),
    })
}

fn no_part() -> Error {
    Error::new(Code::InvalidArgument, "this instance has no such part in a search")
        .hint("the host calls `begin` first in a leader, and `enlist` in a helper")
}

/// Opens the workspace on the host's disk. Returns `None` for the memory backend, whose tree only this instance can
/// search.
pub fn surroundings(dialect: &str, time_ms: Option<u64>) -> Result<Option<&'static Workspace<'static>>> {
    let mut policy = policy(dialect)?;
    if policy.backend == Backend::Memory {
        DECISION.set(policy.host.decision.take());
        crate::exports::keep(dialect, policy);
        return Ok(None);
    }
    let fs: &'static dyn Filesystem = match policy.backend {
        Backend::Overlay => forever(crate::exports::overlay(&policy)?),
        Backend::Wasi | Backend::Memory => WasiFs::of(&policy),
    };
    let mut workspace = paddock_ops::open(fs, forever(policy), Access::Read)?;
    if let Some(time_ms) = time_ms {
        workspace.set_time_left_ms(time_ms);
    }
    Ok(Some(forever(workspace)))
}

/// Leaks a value for the lifetime of the instance, which ends with the search.
pub fn forever<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}
