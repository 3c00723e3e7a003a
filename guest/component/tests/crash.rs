//! A change that stops at any point, by an error or by a crash, leaves the old tree or the new one. Every scenario
//! stops once at each of its file system calls, and its recovery once at each call of the recovery, both in a directory
//! and in an overlay over a directory.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::cell::Cell;

use paddock_types::error::Code;
use paddock_types::outcome::Outcome;
use paddock_types::policy::{Backend, Policy};
use paddock_vfs::memory::MemoryFs;

use scenarios::{Scenario, called, fresh, policies, read_everything, run, scenarios, tree_in};
use stopping::Stopping;
use tree::{Tree, tree_of};

mod scenarios;
mod stopping;
mod tree;

fn names(tree: &Tree) -> Vec<&String> {
    tree.keys().collect()
}

/// Runs `check` with a file system that stops at call 1, 2, 3 and so on, until the scenario completes.
fn for_every_fault(crash: bool, mut check: impl FnMut(&Scenario, &Policy, &MemoryFs, &Outcome, &Tree, &Tree)) {
    for policy in policies() {
        for scenario in scenarios() {
            let start = fresh();
            let old = tree_in(&start, &policy);
            let finished = start.clone_tree();
            let outcome = run(&finished, &policy, &scenario);
            assert!(outcome.error.is_none(), "{}: {:?}", scenario.name, outcome.error);
            let new = tree_in(&finished, &policy);
            assert_ne!(old, new, "{}", scenario.name);
            for fault_at in 1.. {
                let memory = start.clone_tree();
                let stopping =
                    Stopping { inner: &memory, left: Cell::new(fault_at), crash, meanwhile: None, also: Vec::new() };
                let outcome = run(&stopping, &policy, &scenario);
                let reached = if crash { stopping.left.get() == 0 } else { stopping.left.get() > fault_at };
                if !reached {
                    assert!(outcome.error.is_none());
                    break;
                }
                check(&scenario, &policy, &memory, &outcome, &old, &new);
                if policy.backend == Backend::Overlay {
                    assert!(tree_of(&memory) == old, "{}: the base was changed", scenario.name);
                }
            }
        }
    }
}

#[test]
fn a_crash_at_any_call_leaves_the_old_tree_or_the_new_one() {
    let mut states = 0;
    for_every_fault(true, |scenario, policy, memory, _, old, new| {
        states += 1;
        read_everything(memory, policy);
        let after = tree_in(memory, policy);
        let names = || format!("{}: {:?}", scenario.name, names(&after));
        assert!(after == *old || after == *new, "neither old nor new after {}", names());
    });
    assert!(states > 500, "{states}");
}

#[test]
fn a_crash_during_recovery_is_recovered_from() {
    let mut states = 0;
    let mut crashes = 0;
    for_every_fault(true, |scenario, policy, memory, _, old, new| {
        let is_overlay = policy.backend == Backend::Overlay;
        crashes += 1;
        // Recovery of an overlay makes several calls for each step; checking every call would take minutes.
        if is_overlay && crashes % 23 != 0 {
            return;
        }
        let crashed = tree_in(memory, policy);
        for fault_at in (1..).step_by(if is_overlay { 11 } else { 3 }) {
            // The archive does not contain the state directory, so each stop starts from a fresh copy of the crashed
            // tree.
            let again = memory.clone_tree();
            assert_eq!(tree_in(&again, policy), crashed);
            let stopping =
                Stopping { inner: &again, left: Cell::new(fault_at), crash: true, meanwhile: None, also: Vec::new() };
            called(&stopping, policy, "stat", r#"{"path": "."}"#);
            if stopping.left.get() > 0 {
                break;
            }
            states += 1;
            read_everything(&again, policy);
            let after = tree_in(&again, policy);
            assert!(after == *old || after == *new, "{} twice: {:?}", scenario.name, names(&after));
        }
    });
    assert!(states > 500, "{states}");
}

#[test]
fn an_error_at_any_call_is_reported_and_leaves_the_old_tree() {
    let mut states = 0;
    for_every_fault(false, |scenario, policy, memory, outcome, old, new| {
        states += 1;
        let reported = outcome.error.is_some();
        let before = tree_in(memory, policy);
        read_everything(memory, policy);
        let after = tree_in(memory, policy);
        // A durable change may leave its cleanup to the next call.
        if reported {
            assert_eq!(names(&before), names(&after), "{}: something was left for later", scenario.name);
        }
        let expected = if reported { old } else { new };
        // A tree that was half deleted at the time of the error cannot be restored.
        if scenario.name != "delete tree" {
            assert!(after == *expected, "{} ({:?}): {:?}", scenario.name, outcome.error, names(&after));
        }
    });
    assert!(states > 500, "{states}");
}

#[test]
fn a_failed_undo_is_reported() {
    let mut reported_failures = 0;
    for_every_fault(true, |scenario, _, _, outcome, _, _| {
        let Some(error) = outcome.error.as_ref().filter(|error| error.message.contains("undoing the partial change"))
        else {
            return;
        };
        reported_failures += 1;
        let causes = ["no space left on the file system", "crashed"];
        let is_reported =
            causes.iter().any(|cause| error.message.contains(&format!("`: {cause}; undoing the partial change")));
        assert!(is_reported, "{}: {error:?}", scenario.name);
        let hint = error.hint.as_deref().unwrap_or_default();
        assert!(hint.contains("a later call finishes or undoes the change"), "{}: {error:?}", scenario.name);
    });
    assert!(reported_failures > 100, "{reported_failures}");
}

#[test]
fn a_recovery_that_fails_says_so_and_is_done_by_the_next_call() {
    let policy = &policies()[0];
    let patch = scenarios().into_iter().find(|scenario| scenario.name == "patch").unwrap();
    let start = fresh();
    let mut failed = 0;
    for fault_at in (1..).step_by(7) {
        let crashed = start.clone_tree();
        let stopping =
            Stopping { inner: &crashed, left: Cell::new(fault_at), crash: true, meanwhile: None, also: Vec::new() };
        run(&stopping, policy, &patch);
        if stopping.left.get() > 0 {
            break;
        }
        for error_at in (1..).step_by(5) {
            let memory = crashed.clone_tree();
            let stopping =
                Stopping { inner: &memory, left: Cell::new(error_at), crash: false, meanwhile: None, also: Vec::new() };
            let error = called(&stopping, policy, "make_dir", r#"{"path": "dir2"}"#).error;
            if stopping.left.get() <= error_at {
                break;
            }
            let Some(error) = error.filter(|error| error.message.contains("recover the unfinished change")) else {
                continue;
            };
            failed += 1;
            assert_eq!(error.code, Code::Io, "{error:?}");
            assert!(error.hint.unwrap().contains("then call again"));
            read_everything(&memory, policy);
        }
    }
    assert!(failed > 20, "{failed}");
}
