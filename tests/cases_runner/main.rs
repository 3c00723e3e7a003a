//! Every folder below `tests/cases/<operation>/` is a case. It runs natively over the memory backend, through the
//! component over the memory backend, on a directory, in an overlay over a directory, and in a container; all must
//! return the same results and leave the same tree.
//!
//! `tests/README.md` describes how to add a case.

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use libtest_mimic::{Arguments, Failed, Trial};

mod backend;
mod case;
#[cfg(target_os = "linux")]
mod container;
#[cfg(not(target_os = "linux"))]
#[path = "no_container.rs"]
mod container;
mod expect;
mod layers;
mod outcome;
mod setup;
mod system;
mod tidy;
mod tree;

use backend::Backend;
use case::Case;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    match prepare(&arguments) {
        Ok(trials) => {
            let conclusion = libtest_mimic::run(&arguments, trials);
            container::end();
            conclusion.exit_code()
        }
        Err(cause) => {
            eprintln!("{cause:#}");
            ExitCode::FAILURE
        }
    }
}

fn prepare(arguments: &Arguments) -> Result<Vec<Trial>> {
    let folder = folder();
    let cases = Case::all(&folder)?;
    if env::var_os("BLESS").is_some() {
        for case in cases.iter().filter(|case| named(arguments, &case.name)) {
            expect::bless(case).with_context(|| case.name.clone())?;
        }
    }
    let mut trials = vec![Trial::test("tidy", {
        let folder = folder.clone();
        move || tidy::check(&folder).map_err(failed)
    })];
    let no_container = container::unavailable()?;
    let on_all = |case: Arc<Case>| Backend::ALL.map(|backend| trial(&case, backend, no_container));
    trials.extend(cases.into_iter().map(Arc::new).flat_map(on_all));
    Ok(trials)
}

/// Returns the test of a case on a backend. `no_container` is the reason why no container is available.
fn trial(case: &Arc<Case>, backend: Backend, no_container: Option<&str>) -> Trial {
    let name = format!("{}::{}", case.name, backend.name());
    let load = case.runs_on(backend).and_then(|()| match no_container {
        Some(reason) if backend == Backend::Container => Err(reason.to_owned()),
        _ => Ok(()),
    });
    let case_of_trial = Arc::clone(case);
    let trial = Trial::test(name, move || {
        let observed = backend::run(&case_of_trial, backend).map_err(failed)?;
        expect::compare(&case_of_trial, &observed).map_err(failed)
    });
    match load {
        Ok(()) => trial,
        Err(reason) => trial.with_kind(format!("skipped: {reason}")).with_ignored_flag(true),
    }
}

/// Returns whether the command line's filter can select the case. A filter may also name a backend.
fn named(arguments: &Arguments, case: &str) -> bool {
    arguments.filter.as_ref().is_none_or(|filter| case.contains(filter.split("::").next().unwrap_or_default()))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases")
}

fn failed(cause: anyhow::Error) -> Failed {
    format!("{cause:#}").into()
}
