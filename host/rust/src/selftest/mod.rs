//! The escape suite: tries every known escape from a workspace on a host.
//!
//! `tests/escapes/*.json` contains the attacks, and `tests/README.md` describes their format. Each call is made in
//! a temporary directory: a workspace, and around it files whose content is a canary. The suite asserts three
//! things for each call: the error code, that no field of the answer contains a canary, and that the files outside
//! are unchanged. A sweep then puts hostile text into every argument of every tool of every dialect, according to
//! the tools' schemas.
//!
//! ```
//! use paddock::selftest::{self, Own};
//!
//! # let run = || -> std::io::Result<()> {
//! let report = selftest::run(&mut Own::directory(), &std::env::temp_dir(), |_row| {})?;
//! assert!(report.holds(), "{report}");
//! # Ok(()) };
//! ```

mod attempts;
mod canary;
mod files;
mod fixture;
mod lines;
mod own;
mod plant;
mod report;
mod subject;
mod suite;
mod sweep;
pub(crate) mod witness;
mod zip;

use std::io;
use std::path::Path;

use attempts::Attempts;
pub use fixture::Fixture;
pub use lines::Lines;
pub use own::Own;
pub use report::{Failure, Report, Row, Skipped};
pub use subject::{Answer, Call, Subject};
use suite::Suite;

use crate::catalog;
use crate::types::ToolError;

/// Runs the whole suite on a host, in a temporary directory below `directory`, which is removed at the end. Calls
/// `observe` with each row as soon as it is complete.
///
/// # Errors
///
/// An error in words if the suite itself cannot run.
pub fn run(subject: &mut dyn Subject, directory: &Path, observe: impl FnMut(&Row)) -> io::Result<Report> {
    run_with(subject, directory, &catalog::dialects().map_err(to_io_error)?, observe)
}

/// Runs the suite as [`run`] does, with the sweep for these dialects only.
///
/// # Errors
///
/// As those of [`run`], and one for the name of a dialect that does not exist.
pub fn run_with(
    subject: &mut dyn Subject,
    directory: &Path,
    dialects: &[String],
    observe: impl FnMut(&Row),
) -> io::Result<Report> {
    for dialect in dialects {
        catalog::tools(dialect).map_err(to_io_error)?;
    }
    let suite = Suite::read()?;
    let fixture = Fixture::new(directory, subject.root())?;
    let mut attempts = Attempts::new(subject, fixture, observe);
    for family in &suite.families {
        attempts.family(family, &suite.probes)?;
    }
    sweep::run(&mut attempts, &suite.sweep, dialects)?;
    Ok(attempts.report)
}

fn to_io_error(error: ToolError) -> io::Error {
    io::Error::other(error.message)
}
