//! The escape suite: every known way out of a workspace, tried on a host.
//!
//! `tests/escapes/*.json` has the attacks, and `tests/README.md` their format. Each call is made in a temporary
//! directory: a workspace, and around it files whose content is a canary. Three things are asserted of each: the error
//! code, that no byte of a canary came back in any field, and that what is outside is as it was. A sweep then puts
//! hostile text into every argument of every tool of every dialect, as the tools' schemas have them.
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

/// Tries the whole suite on a host, in a temporary directory below `directory`, which is removed at the end. `told` gets
/// each row as soon as it is there. Fails only where the suite itself cannot run.
pub fn run(subject: &mut dyn Subject, directory: &Path, observe: impl FnMut(&Row)) -> io::Result<Report> {
    let suite = Suite::read()?;
    let fixture = Fixture::new(directory, subject.root())?;
    let mut attempts = Attempts::new(subject, fixture, observe);
    for family in &suite.families {
        attempts.family(family, &suite.probes)?;
    }
    sweep::run(&mut attempts, &suite.sweep)?;
    Ok(attempts.report)
}
