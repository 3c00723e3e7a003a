//! `interface shares`: what an instance keeps between the calls of one search.

use std::cell::RefCell;

use super::bindings::exports::paddock::files::{search, shares, types};
use super::convert::Lower;
use super::{Component, NO_DIALECT, policy};
use crate::dialect::call::Call;
use crate::engine::{self, Outcome};
use crate::error::{Code, Error, Result};
use crate::fs::wasi::WasiFs;
use crate::ops::grep::shares::{Findings, Helper, Lead};
use crate::policy::Backend;
use crate::request::{self, Access, Request};
use crate::response::{Grep, Response};
use crate::workspace::Workspace;

thread_local! {
    /// The part of this instance in a search, of which it has one in its life.
    static PART: RefCell<Part> = const { RefCell::new(Part::None) };
}

enum Part {
    None,
    Lead(Box<Lead<'static>>, Option<Asked>),
    Helper(Box<Helper<'static>>),
}

/// The call that a search answers, and where it was made.
#[derive(Clone, Copy)]
struct Asked {
    call: &'static Call,
    workspace: &'static Workspace<'static>,
}

impl shares::Guest for Component {
    fn begin_grep(args: search::GrepArgs) -> Option<std::result::Result<search::GrepResult, types::Error>> {
        if !is_on_disk() {
            return Some(<Component as search::Guest>::grep(args));
        }
        let args = forever(args.lower());
        let answer = surroundings(NO_DIALECT, None).and_then(|workspace| lead(workspace, args, None)).transpose()?;
        Some(answer.map(Lower::lower).map_err(Lower::lower))
    }

    fn orders() -> std::result::Result<shares::Order, types::Error> {
        leading(|lead| {
            let (args, time_ms) = lead.order();
            shares::Order { args: args.lower(), time_ms }
        })
    }

    fn next() -> std::result::Result<Option<String>, types::Error> {
        leading(Lead::next_share)
    }

    fn join(findings: shares::Findings) -> std::result::Result<bool, types::Error> {
        leading(|lead| lead.join(findings.lower()))
    }

    fn finish_grep() -> std::result::Result<search::GrepResult, types::Error> {
        match PART.replace(Part::None) {
            Part::Lead(lead, None) => Ok(lead.finish().lower()),
            _ => Err(no_part().lower()),
        }
    }

    fn enlist(order: shares::Order) -> std::result::Result<(), types::Error> {
        enlist(order.args.lower(), order.time_ms).map_err(Lower::lower)
    }

    fn look(share: String) -> std::result::Result<shares::Findings, types::Error> {
        let found: Result<Findings> = PART.with_borrow_mut(|part| match part {
            Part::Helper(helper) => Ok(helper.look(&share)),
            _ => Err(no_part()),
        });
        found.map(Lower::lower).map_err(Lower::lower)
    }
}

/// Makes a call. None where it is a search that goes on.
pub fn begin(dialect: &str, name: &str, arguments: &str) -> Option<Outcome> {
    let call = match Call::decode(dialect, name, arguments) {
        Ok(call) => call,
        Err(outcome) => return Some(*outcome),
    };
    if !matches!(call.request, Request::Grep(_)) || !is_on_disk() {
        let outcome = super::with_fs(dialect, |fs, policy| Ok(engine::made(fs, policy, &call)));
        return Some(outcome.unwrap_or_else(Outcome::failed));
    }
    let call = forever(call);
    let workspace = match surroundings(dialect, None) {
        Ok(workspace) => workspace,
        Err(error) => return Some(call.outcome(None, Err(error))),
    };
    let answer = match &call.request {
        Request::Grep(args) => lead(workspace, args, Some(Asked { call, workspace })).transpose()?,
        _ => Err(no_part()),
    };
    Some(call.outcome(Some(workspace), answer.map(Response::Grep)))
}

/// Ends a call that [`begin`] began.
pub fn finish() -> Outcome {
    match PART.replace(Part::None) {
        Part::Lead(lead, Some(Asked { call, workspace })) => {
            call.outcome(Some(workspace), Ok(Response::Grep(lead.finish())))
        }
        _ => Outcome::failed(no_part()),
    }
}

/// Begins a search. The answer, where it is all there.
fn lead(
    workspace: &'static Workspace<'static>,
    args: &'static request::Grep,
    asked: Option<Asked>,
) -> Result<Option<Grep>> {
    let lead = Lead::begin(workspace, args)?;
    if lead.is_over() {
        return Ok(Some(lead.finish()));
    }
    PART.set(Part::Lead(Box::new(lead), asked));
    Ok(None)
}

/// A helper looks only where its leader sends it, so the leader's dialect decides what is barred.
fn enlist(args: request::Grep, time_ms: u64) -> Result<()> {
    let (workspace, args) = (surroundings(NO_DIALECT, Some(time_ms))?, forever(args));
    PART.set(Part::Helper(Box::new(Helper::enlist(workspace, args)?)));
    Ok(())
}

fn leading<T>(act: impl FnOnce(&mut Lead<'static>) -> T) -> std::result::Result<T, types::Error> {
    PART.with_borrow_mut(|part| match part {
        Part::Lead(lead, _) => Ok(act(lead)),
        _ => Err(no_part().lower()),
    })
}

fn no_part() -> Error {
    Error::new(Code::InvalidArgument, "this instance has no such part in a search")
        .hint("the host calls `begin` first in a leader, and `enlist` in a helper")
}

fn is_on_disk() -> bool {
    policy(NO_DIALECT).is_ok_and(|policy| policy.backend == Backend::Wasi)
}

fn surroundings(dialect: &str, time_ms: Option<u64>) -> Result<&'static Workspace<'static>> {
    let mut workspace = engine::open(&WasiFs, forever(policy(dialect)?), Access::Read)?;
    if let Some(time_ms) = time_ms {
        workspace.set_time_left_ms(time_ms);
    }
    Ok(forever(workspace))
}

/// For as long as the instance lives, which ends with the search.
fn forever<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}
