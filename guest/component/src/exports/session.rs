//! `interface session`: operations on the whole tree of the memory or overlay backend.

use paddock_ops::audit;
use paddock_ops::overlay::{CommitArgs, DiffArgs, Transaction};
use paddock_types::error::{Code, Error, Result};
use paddock_types::policy::{Backend, Policy};
use paddock_types::request::Access;
use paddock_vfs::memory::MemoryFs;
use paddock_vfs::memory_tar;
use paddock_vfs::overlay::OverlayFs;
use paddock_vfs::wasi::WasiFs;
use paddock_workspace::Workspace;
use paddock_workspace::change::journal;
use paddock_workspace::export;
use paddock_workspace::export::{Choice, Collected};

use crate::exports::bindings::exports::paddock::files::{session, types};
use crate::exports::convert::Convert;
use crate::exports::{ACCESSED_PATHS, Component, MEMORY, NO_DIALECT, first_growth, policy, with_fs};

impl session::Guest for Component {
    fn load(archive: Vec<u8>) -> std::result::Result<(), types::Error> {
        with_memory(|memory| memory_tar::load(memory, &archive)).map_err(Convert::lower)
    }

    fn snapshot() -> std::result::Result<Vec<u8>, types::Error> {
        with_memory(memory_tar::snapshot).map_err(Convert::lower)
    }

    fn collect(choice: session::Choice) -> std::result::Result<session::Collected, types::Error> {
        let session::Choice { include_glob, exclude_glob, max_bytes } = choice;
        let choice = Choice { include: include_glob, exclude: exclude_glob, max_bytes };
        let collected =
            with_fs(NO_DIALECT, |fs, policy| export::collect(&paddock_ops::open(fs, policy, Access::Read)?, &choice));
        let Collected { archive, files, bytes, absolute_links, skipped } = collected.map_err(Convert::lower)?;
        Ok(session::Collected { archive, files, bytes, absolute_links, skipped: skipped.lower() })
    }

    fn add(archive: Vec<u8>, path: String) -> std::result::Result<(), types::Error> {
        with_memory(|memory| memory_tar::add(memory, &archive, &path)).map_err(Convert::lower)
    }

    fn checkpoint(name: String) -> std::result::Result<(), types::Error> {
        with_either(|memory| memory.checkpoint(&name), |overlay| overlay.checkpoint(&name)).map_err(Convert::lower)
    }

    fn rollback(name: String) -> std::result::Result<(), types::Error> {
        with_either(|memory| memory.rollback(&name), |overlay| overlay.rollback(&name)).map_err(Convert::lower)
    }

    fn checkpoints() -> std::result::Result<Vec<String>, types::Error> {
        with_either(|memory| Ok(memory.checkpoints()), |overlay| overlay.checkpoints()).map_err(Convert::lower)
    }

    fn diff(args: session::DiffArgs) -> std::result::Result<session::DiffResult, types::Error> {
        let session::DiffArgs { paths, patch, executable_before, executable_after } = args;
        let args = DiffArgs { paths, patch, executable: (executable_before, executable_after) };
        with_overlay(|overlay| overlay.diff(&args)).map(Convert::lower).map_err(Convert::lower)
    }

    fn commit(args: session::CommitArgs) -> std::result::Result<session::CommitResult, types::Error> {
        let session::CommitArgs { overlay, paths, merge } = args;
        let args = CommitArgs { overlay, paths, merge };
        let commit = over_base(|overlay| {
            let commit =
                overlay.commit(&paddock_ops::open(overlay.base(), overlay.policy(), Access::Change)?, &args)?;
            ACCESSED_PATHS.set(audit::changed_paths(overlay.policy(), "commit", &commit.changes));
            Ok(commit)
        });
        commit.map(Convert::lower).map_err(Convert::lower)
    }

    fn recover() -> std::result::Result<(), types::Error> {
        let recovered =
            over_base(|overlay| paddock_ops::open(overlay.base(), overlay.policy(), Access::Change).map(drop));
        recovered.map_err(Convert::lower)
    }

    fn settle(merged: Vec<String>) -> std::result::Result<(), types::Error> {
        with_overlay(|overlay| overlay.settle(&merged)).map_err(Convert::lower)
    }

    fn discard(paths: Vec<String>) -> std::result::Result<Vec<String>, types::Error> {
        with_overlay(|overlay| overlay.discard(&paths)).map_err(Convert::lower)
    }
}

fn with_memory<T>(call: impl FnOnce(&MemoryFs) -> Result<T>) -> Result<T> {
    with_either(call, |_| {
        Err(Error::new(Code::Io, "only the memory backend has a tree to load and save")
            .hint("the host has to set `\"backend\": \"memory\"` in the policy"))
    })
}

fn with_overlay<T>(call: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
    with_either(|_| Err(only_overlay()), call)
}

/// Calls the function for the overlay of a guest whose state directory is that of the base.
fn over_base<T>(call: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
    first_growth();
    let policy: Policy = policy(NO_DIALECT)?;
    match policy.backend {
        Backend::Overlay => call(&Transaction::open(WasiFs::of(&policy), &policy)?),
        Backend::Memory | Backend::Wasi => Err(only_overlay()),
    }
}

fn only_overlay() -> Error {
    Error::new(Code::Io, "only an overlay can be compared, committed or discarded")
        .hint("the host has to set `\"backend\": \"overlay\"` in the policy")
}

/// Calls the function for the current backend, if it is one of the two.
fn with_either<T>(
    in_memory: impl FnOnce(&MemoryFs) -> Result<T>,
    in_overlay: impl FnOnce(&Transaction<'_>) -> Result<T>,
) -> Result<T> {
    first_growth();
    let policy: Policy = policy(NO_DIALECT)?;
    match policy.backend {
        Backend::Memory => MEMORY.with(|memory| {
            memory.set_limit(policy.limits.max_tree_bytes);
            in_memory(memory)
        }),
        Backend::Overlay => {
            recover(&policy)?;
            in_overlay(&Transaction::open(WasiFs::of(&policy), &policy)?)
        }
        Backend::Wasi => Err(Error::new(Code::Io, "a plain directory has no checkpoints; use an overlay")
            .hint("the host has to set `\"backend\"` to `memory` or `overlay` in the policy")),
    }
}

/// Completes or undoes a call in the overlay that was cut off.
fn recover(policy: &Policy) -> Result<()> {
    let overlay = OverlayFs::open(WasiFs::of(policy), policy).map_err(|fault| fault.at("open", "the overlay"))?;
    journal::recover(&Workspace::open(&overlay, policy)?)
}
