//! Exports of the component. This module and its submodules are the only code that sees the WIT bindings; they convert
//! values and call [`crate::engine`].

#[expect(unsafe_code, reason = "generated from wit/")]
mod bindings {
    wit_bindgen::generate!({ path: "../../wit", world: "file-tools" });
    use super::Component;
    export!(Component);
}

mod commands;
mod convert;
mod index;
mod partitions;
mod session;

use std::cell::Cell;

use paddock_dialects::call::Call;
use paddock_dialects::dialect::spec::ToolTraits;
use paddock_dialects::dialect::toolset::{Tool, Toolset};
use paddock_dialects::registry::DIALECTS;
use paddock_dialects::{call, registry, schema};
use paddock_ops::{audit, overlay};
use paddock_types::accessed_paths::AccessedPaths;
use paddock_types::approval_plan::{Decision, Plan};
use paddock_types::error::{Code, Error, NameCase, Result};
use paddock_types::outcome::Outcome;
use paddock_types::policy::{Backend, Policy};
use paddock_types::request;
use paddock_types::request::{Move, Request};
use paddock_types::response::Response;
use paddock_vfs::memory::MemoryFs;
use paddock_vfs::overlay::OverlayFs;
use paddock_vfs::wasi::{WasiFs, wall_time};
use paddock_vfs::{Filesystem, STATE_GUEST_PATH};

use crate::engine;
use crate::exports::convert::Convert;
use bindings::exports::paddock::files::{approval as approval_interface, files, search, tools, types};

struct Component;

thread_local! {
    /// Policy of the last call, and its dialect. The host sets the policy at the start of the instance, so it stays
    /// valid.
    static POLICY: Cell<Option<(String, Policy)>> = const { Cell::new(None) };
    /// Letter case of the host's names, from the policy.
    static NAME_CASE: Cell<NameCase> = const { Cell::new(NameCase::Kebab) };
    /// Tree of the memory backend, which persists between calls.
    static MEMORY: MemoryFs = MemoryFs::new(&["/workspace", STATE_GUEST_PATH], wall_time, 0);
    /// The host's approval decision for the next call.
    static DECISION: Cell<Option<Decision>> = const { Cell::new(None) };
    /// Plan of the last call if it needs an approval, until the host takes it.
    static PENDING: Cell<Option<Plan>> = const { Cell::new(None) };
    /// Accessed paths of the last call, until the host takes them.
    static ACCESSED_PATHS: Cell<Option<AccessedPaths>> = const { Cell::new(None) };
}

impl tools::Guest for Component {
    fn dialects() -> Vec<String> {
        DIALECTS.iter().map(|dialect| dialect.name.to_owned()).collect()
    }

    fn describe(dialect: String) -> std::result::Result<Vec<tools::Tool>, types::Error> {
        let tools = registry::find(&dialect).map_err(Convert::lower)?;
        let policy = policy(&dialect).map_err(Convert::lower)?;
        Ok(tools.listed(policy.commands.enabled).into_iter().map(|tool| describe(&tools, tool)).collect())
    }

    fn changes(dialect: String, name: String) -> Option<bool> {
        let tool = registry::find(&dialect).ok()?.tool(&name)?;
        Some(tool.traits.changes())
    }

    fn call(dialect: String, name: String, arguments: String) -> tools::Outcome {
        let outcome = with_fs(&dialect, |fs, policy| Ok(engine::call(fs, policy, &dialect, &name, &arguments)));
        into_outcome(outcome.unwrap_or_else(call::failed))
    }

    fn begin(dialect: String, name: String, arguments: String) -> Option<tools::Outcome> {
        partitions::begin(&dialect, &name, &arguments).map(into_outcome)
    }

    fn finish() -> tools::Outcome {
        into_outcome(partitions::finish())
    }

    fn get_accessed_paths() -> Option<tools::AccessedPaths> {
        ACCESSED_PATHS.take().lower()
    }

    fn get_requested_paths(dialect: String, name: String, arguments: String) -> Option<tools::AccessedPaths> {
        let call = Call::decode(&dialect, &name, &arguments, &|| false).ok()?;
        with_fs(&dialect, |fs, policy| Ok(audit::requested_paths(fs, policy, &call.request, None))).ok()?.lower()
    }
}

/// Performs a request, and converts the response of its operation.
macro_rules! typed {
    ($operation:ident($args:expr)) => {
        run(Request::$operation($args), |response| {
            let Response::$operation(result) = response else { return None };
            Some(result.lower())
        })
    };
}

impl files::Guest for Component {
    fn read(args: files::ReadArgs) -> std::result::Result<files::ReadResult, types::Error> {
        typed!(Read(args.lower()))
    }

    fn read_many(args: files::ReadManyArgs) -> std::result::Result<files::ReadManyResult, types::Error> {
        typed!(ReadMany(args.lower()))
    }

    fn write(args: files::WriteArgs) -> std::result::Result<files::WriteResult, types::Error> {
        typed!(Write(args.lower()))
    }

    fn edit(args: files::EditArgs) -> std::result::Result<files::EditResult, types::Error> {
        typed!(Edit(args.lower()))
    }

    fn apply_patch(args: files::ApplyPatchArgs) -> std::result::Result<files::ApplyPatchResult, types::Error> {
        typed!(ApplyPatch(args.lower()))
    }

    fn make_directory(args: files::MakeDirectoryArgs) -> std::result::Result<files::MakeDirectoryResult, types::Error> {
        typed!(MakeDir(args.lower()))
    }

    fn copy(args: files::TransferArgs) -> std::result::Result<files::TransferResult, types::Error> {
        typed!(Copy(args.lower()))
    }

    fn move_entry(args: files::TransferArgs) -> std::result::Result<files::TransferResult, types::Error> {
        typed!(Move(Move(args.lower())))
    }

    fn delete(args: files::DeleteArgs) -> std::result::Result<files::DeleteResult, types::Error> {
        typed!(Delete(args.lower()))
    }

    fn replace(args: files::ReplaceArgs) -> std::result::Result<files::ReplaceResult, types::Error> {
        typed!(Replace(args.lower()))
    }

    fn restore(args: files::RestoreArgs) -> std::result::Result<files::RestoreResult, types::Error> {
        typed!(Restore(args.lower()))
    }

    fn history(args: files::HistoryArgs) -> std::result::Result<files::HistoryResult, types::Error> {
        typed!(History(args.lower()))
    }

    fn pack(args: files::PackArgs) -> std::result::Result<files::PackResult, types::Error> {
        typed!(Pack(args.lower()))
    }

    fn unpack(args: files::UnpackArgs) -> std::result::Result<files::UnpackResult, types::Error> {
        typed!(Unpack(args.lower()))
    }

    fn stat(args: files::StatArgs) -> std::result::Result<files::StatResult, types::Error> {
        let stat: request::Stat = args.lower();
        let stat = request::Stat { hints: !stat.brief, ..stat };
        typed!(Stat(stat))
    }
}

impl search::Guest for Component {
    fn list(args: search::ListArgs) -> std::result::Result<search::ListResult, types::Error> {
        typed!(List(args.lower()))
    }

    fn tree(args: search::TreeArgs) -> std::result::Result<search::TreeResult, types::Error> {
        typed!(Tree(args.lower()))
    }

    fn glob(args: search::GlobArgs) -> std::result::Result<search::GlobResult, types::Error> {
        typed!(Glob(args.lower()))
    }

    fn grep(args: search::GrepArgs) -> std::result::Result<search::GrepResult, types::Error> {
        typed!(Grep(args.lower()))
    }

    fn changes(args: search::ChangesArgs) -> std::result::Result<search::ChangesResult, types::Error> {
        typed!(Changes(args.lower()))
    }
}

impl approval_interface::Guest for Component {
    fn pending() -> Option<approval_interface::Plan> {
        let Plan { digest, summary, omitted_bytes, paths } = PENDING.take()?;
        Some(approval_interface::Plan { digest, summary, omitted_bytes, paths })
    }

    fn decide(decision: approval_interface::Decision) {
        DECISION.set(Some(match decision {
            approval_interface::Decision::Approved(signed) => Decision::Approved(signed),
            approval_interface::Decision::Refused(reason) => Decision::Refused(reason),
        }));
    }
}

fn keep_pending(plan: Option<&Plan>) {
    PENDING.set(plan.cloned());
}

/// Performs the request of a typed function; `take` unwraps the response variant.
fn run<T>(request: Request, take: impl FnOnce(Response) -> Option<T>) -> std::result::Result<T, types::Error> {
    let ran = with_fs(NO_DIALECT, |fs, policy| Ok(engine::run(fs, policy, &request)));
    let (answer, accessed_paths) = ran.unwrap_or_else(|error| (Err(error), None));
    ACCESSED_PATHS.set(accessed_paths);
    keep_pending(answer.as_ref().err().and_then(|error| error.plan.as_deref()));
    let answer = answer.and_then(|response| {
        take(response).ok_or_else(|| Error::new(Code::Io, "the component returned the response of another operation"))
    });
    answer.map_err(Convert::lower)
}

/// Converts an outcome, and keeps its accessed paths and plan until the host takes them.
fn into_outcome(mut outcome: Outcome) -> tools::Outcome {
    ACCESSED_PATHS.set(outcome.accessed_paths.take());
    keep_pending(outcome.error.as_ref().and_then(|error| error.plan.as_deref()));
    outcome.lower()
}

/// Size of the memory growth at the start of a call: each growth is a call into the host and its operating system.
const FIRST_GROWTH_BYTES: usize = 512 * 1024;

/// Calls `call` with the policy and the file system that it selects.
fn with_fs<T>(dialect: &str, call: impl FnOnce(&dyn Filesystem, &Policy) -> Result<T>) -> Result<T> {
    first_growth();
    let policy = policy(dialect)?;
    let result = match policy.backend {
        Backend::Wasi => call(WasiFs::of(&policy), &policy),
        Backend::Memory => MEMORY.with(|memory| {
            memory.set_limit(policy.limits.max_tree_bytes);
            call(memory, &policy)
        }),
        Backend::Overlay => overlay(&policy).and_then(|overlay| call(&overlay, &policy)),
    };
    keep(dialect, policy);
    result
}

/// Opens the overlay over the host's preopens.
fn overlay(policy: &Policy) -> Result<OverlayFs<'static>> {
    OverlayFs::open(WasiFs::of(policy), policy).map_err(|fault| overlay::failed("open", &fault))
}

fn first_growth() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(FIRST_GROWTH_BYTES)));
}

/// Dialect whose policy defaults apply to typed functions.
const NO_DIALECT: &str = "paddock";

/// Returns the policy of the host for a call in `dialect`.
fn policy(dialect: &str) -> Result<Policy> {
    let mut policy = match POLICY.take() {
        Some((of, policy)) if of == dialect => policy,
        _ => Policy::parse(std::env::var("PADDOCK_POLICY").as_deref().unwrap_or("{}"), dialect)?,
    };
    policy.host.decision = DECISION.take();
    NAME_CASE.set(policy.host.name_case);
    Ok(policy)
}

/// Stores the policy for the next call.
fn keep(dialect: &str, policy: Policy) {
    POLICY.set(Some((dialect.to_owned(), policy)));
}

fn describe(tools: &Toolset, tool: Tool) -> tools::Tool {
    let description = tools.description(tool);
    let tool = tool.spec;
    let (read_only, destructive, idempotent) = match tool.traits {
        ToolTraits::Reads => (true, false, true),
        ToolTraits::Notes => (true, false, false),
        ToolTraits::Adds { idempotent } => (false, false, idempotent),
        ToolTraits::Replaces { idempotent } => (false, true, idempotent),
        ToolTraits::Runs { changes } => (!changes, changes, !changes),
    };
    tools::Tool {
        name: tool.name.to_owned(),
        description,
        input_schema: schema::input(tool.params).to_string(),
        output_schema: schema::result(&tool.output),
        annotations: tools::Annotations { title: tool.title.to_owned(), read_only, destructive, idempotent },
    }
}
