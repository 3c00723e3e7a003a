//! WASI programs. They run on every system, in wasmtime, with access to the roots only; the rules of the file tools
//! apply to each path.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use wasmtime::{Store, UpdateDeadline};
use wasmtime_wasi::p2::bindings::CommandPre;
use wasmtime_wasi::p2::pipe::MemoryInputPipe;
use wasmtime_wasi::{I32Exit, WasiCtxBuilder};

use super::authorizer::Authorizer;
use super::spec::ProgramSpec;
use super::undo_staging::UndoStaging;
use super::{Commands, How, WAITING, environment, unknown_program};
use crate::bindings::exports::paddock::files::commands::{Captured, Ran, Recorded};
use crate::budget::{CallBudget, Interruption};
use crate::clock::TICK;
use crate::error::Error;
use crate::limits::limiter;
use crate::mount::Mount;
use crate::named_file::NamedFile;
use crate::options::Progress;
use crate::policy::Commands as Policy;
use crate::types::{ErrorCode, ToolError};
use crate::wasi::access_control::AccessControl;

mod changes;
mod engine;
mod files;
mod names;
mod output;
mod paths;
mod resolved_path;
mod rights;
mod state;
mod unshare;

use changes::Changes;
use output::Output;
use resolved_path::ResolvedPath;
use rights::Rights;
use state::State;

/// Name of the confinement of programs in results.
const CONFINEMENT: &str = "wasi";

/// Signals reported for a program that reached its time limit or was cancelled, and for one that failed.
const KILLED: &str = "SIGKILL";
const TRAP: &str = "trap";

/// Maximum number of threads that read and write files for one program.
const MAX_THREADS: usize = 8;

/// Opens the programs that the policy names.
pub(super) fn open(policy: &Policy, roots: &[Mount]) -> Result<BTreeMap<String, NamedFile>, Error> {
    let file = |path: &String| {
        let fail = |cause| Error::Setting { setting: "commands.programs", cause: format!("`{path}`: {cause}") };
        NamedFile::new(Path::new(path), roots).map_err(fail)
    };
    policy.programs.iter().map(|(name, path)| Ok((name.clone(), file(path)?))).collect()
}

/// Runs a program to its end.
pub(super) fn run(commands: &Commands, how: &How<'_>, spec: &ProgramSpec<'_>) -> Result<Ran, ToolError> {
    // The program gets its own thread: the caller's thread can belong to an asynchronous runtime, which could not wait
    // for another.
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("paddock program".to_owned());
        let running = thread.spawn_scoped(scope, || attend(commands, how, spec)).map_err(|cause| failed(&cause))?;
        running.join().unwrap_or_else(|_| Err(failed(&"a defect of the host")))
    })
}

fn attend(commands: &Commands, how: &How<'_>, spec: &ProgramSpec<'_>) -> Result<Ran, ToolError> {
    if how.is_contained() {
        return Err(contained(spec.name));
    }
    let file = commands.programs.get(spec.name).ok_or_else(|| unknown_program(&commands.policy, spec.name))?;
    let (stdout, stderr) = (Output::new(WAITING), Output::new(WAITING));
    let runtime = engine::runtime()?;
    let program = runtime.program(spec.name, file)?;
    let waiting = waiting().map_err(|cause| failed(&cause))?;
    let started = Instant::now();
    // A time limit that overflows the clock becomes about a century.
    let deadline = started.checked_add(spec.time).unwrap_or(started + Duration::from_secs(3_000_000_000));
    let budget = CallBudget { deadline, cancel: how.cancel.clone(), progress: Progress::default() };
    let state = state(commands, how, spec, (&budget, [&stdout, &stderr]))?;
    let mut store = Store::new(&runtime.engine, state);
    let ticking = runtime.tick();
    let end = waiting.block_on(until_ended(&program, &mut store, &budget));
    drop(ticking);
    let after = started.elapsed();
    if let End::Trapped(cause) = &end {
        stderr.capture().push(format!("{}: {cause}\n", spec.name).as_bytes());
    }
    let caps = commands.caps(spec.max_output_tokens);
    let [(stdout, out), (stderr, err)] = [stdout, stderr].map(|output| output.capture().take(caps, false));
    let mut ran = ran(store.data(), end, after, [stdout, stderr]);
    if out.is_some() || err.is_some() {
        commands.retained.keep(&mut ran, [out, err], (commands.next_id(), &AtomicU64::new(0)));
    }
    Ok(ran)
}

/// Creates the asynchronous runtime of a program.
fn waiting() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_all().max_blocking_threads(MAX_THREADS).build()
}

/// End of a program.
enum End {
    Exited(i32),
    Trapped(String),
    Stopped(Interruption),
}

async fn until_ended(program: &CommandPre<State>, store: &mut Store<State>, budget: &CallBudget) -> End {
    store.limiter(|state| &mut state.limiter);
    // At each tick the program yields, so that the time limit is checked.
    store.epoch_deadline_callback(|_| Ok(UpdateDeadline::Yield(1)));
    store.set_epoch_deadline(1);
    let running = async {
        let command = program.instantiate_async(&mut *store).await?;
        command.wasi_cli_run().call_run(&mut *store).await
    };
    let ended = tokio::select! {
        biased;
        interruption = stopped(budget) => return End::Stopped(interruption),
        ended = running => ended,
    };
    match ended {
        Ok(Ok(())) => End::Exited(0),
        Ok(Err(())) => End::Exited(1),
        Err(cause) => match (cause.downcast_ref::<I32Exit>(), cause.downcast_ref::<Interruption>()) {
            (Some(I32Exit(status)), _) => End::Exited(*status),
            (_, Some(interruption)) => End::Stopped(*interruption),
            _ => End::Trapped(cause.root_cause().to_string()),
        },
    }
}

async fn stopped(budget: &CallBudget) -> Interruption {
    loop {
        if let Some(interruption) = budget.interruption() {
            return interruption;
        }
        tokio::time::sleep(TICK).await;
    }
}

/// Returns the result of a program, with its output and changes.
fn ran(state: &State, end: End, after: Duration, [stdout, stderr]: [Captured; 2]) -> Ran {
    let changes = &state.rights.changes;
    let mut notes = changes.notes();
    if state.limiter.exceeded {
        notes.push("it was refused more memory than `commands.max_memory_bytes` of the policy".to_owned());
    }
    let recorded = match changes.before.as_slice() {
        [] => None,
        before => state.rights.authorizer.record(before).map_err(|error| notes.push(not_recorded(&error))).ok(),
    };
    let none = Recorded { changes: Vec::new(), backup: None, notes: Vec::new() };
    let Recorded { changes: changed, backup, notes: more } = recorded.unwrap_or(none);
    let (exit_code, signal, timed_out) = match end {
        End::Exited(status) => (Some(status), None, false),
        End::Trapped(_) => (None, Some(TRAP.to_owned()), false),
        End::Stopped(interruption) => (None, Some(KILLED.to_owned()), matches!(interruption, Interruption::Deadline)),
    };
    Ran {
        exit_code,
        signal,
        timed_out,
        session: None,
        duration_ms: u64::try_from(after.as_millis()).unwrap_or(u64::MAX),
        stdout,
        stderr,
        unread: None,
        confinement: CONFINEMENT.to_owned(),
        changes: changed,
        ignored: changes.ignored,
        backup,
        refused: changes.refused.clone(),
        notes: more.into_iter().chain(notes).collect(),
    }
}

fn state(
    commands: &Commands,
    how: &How<'_>,
    spec: &ProgramSpec<'_>,
    (budget, [stdout, stderr]): (&CallBudget, [&Output; 2]),
) -> Result<State, ToolError> {
    let mounts = &how.guests.roots.mounts;
    let (root, below) = how.guests.roots.locate(spec.workdir)?;
    let workdir = ResolvedPath { root, path: below.to_owned() };
    let policy = &commands.policy;
    let mut wasi = WasiCtxBuilder::new();
    // The setting must precede the directories, which copy it.
    wasi.allow_blocking_current_thread(true);
    wasi.allow_tcp(false).allow_udp(false);
    wasi.stdin(MemoryInputPipe::new(spec.stdin.to_owned())).stdout(stdout.clone()).stderr(stderr.clone());
    wasi.arg(spec.name).args(spec.arguments).envs(&environment(policy, mounts, &workdir));
    let tops = mounts.iter().map(|mount| mount.preopen().map(|(dir, _)| dir)).collect::<Result<_, _>>();
    let tops = tops.map_err(|cause| failed(&cause))?;
    let rights = Rights {
        roots: mounts.iter().map(host_path).collect::<Result<_, _>>()?,
        authorizer: Authorizer::new(Arc::downgrade(how.guests), budget.cancel.clone()),
        git_data: commands.changes_git_data(),
        changes: Changes::new(UndoStaging::new(&commands.scratch, &how.guests.roots)?, commands.stored_bytes),
        budget: budget.clone(),
        hard_links: commands.hard_links,
        max_file_bytes: policy.max_file_bytes,
    };
    let access_control = AccessControl::new(&how.guests.roots.guarded);
    let limiter = limiter(policy.max_memory_bytes);
    Ok(State::new(
        wasi.build(),
        (tops, preopens(mounts, workdir)),
        (rights, access_control),
        limiter,
        policy.max_file_bytes,
    ))
}

/// Returns the preopened directories of a program: its working directory, and every root by its guest path.
fn preopens(mounts: &[Mount], workdir: ResolvedPath) -> Vec<(ResolvedPath, String)> {
    let top = |(root, mount): (usize, &Mount)| (ResolvedPath { root, path: String::new() }, mount.guest.clone());
    std::iter::once((workdir, ".".to_owned())).chain(mounts.iter().enumerate().map(top)).collect()
}

/// Returns the environment of a program: the variables of the policy, and `PWD`.
fn environment(policy: &Policy, mounts: &[Mount], workdir: &ResolvedPath) -> Vec<(String, String)> {
    let guest = mounts.get(workdir.root).map_or("", |mount| mount.guest.as_str());
    let below = if workdir.path.is_empty() { "" } else { "/" };
    let own = [("PWD".to_owned(), format!("{guest}{below}{}", workdir.path))];
    environment::over(own.into(), policy)
}

fn host_path(mount: &Mount) -> Result<String, ToolError> {
    mount.host().to_str().map(str::to_owned).ok_or_else(|| failed(&"the name of a root is not UTF-8"))
}

fn contained(name: &str) -> ToolError {
    let message = format!("cannot run the program `{name}`: in a container its own commands are run");
    ToolError::new(ErrorCode::Denied, message).hint("use a command that the container has, or the file tools")
}

fn not_recorded(error: &ToolError) -> String {
    format!("its changes could not be recorded: {}", error.message)
}

fn failed(cause: &dyn std::fmt::Display) -> ToolError {
    ToolError::new(ErrorCode::Io, format!("cannot run the program: {cause}"))
}
