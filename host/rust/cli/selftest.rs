//! `paddock selftest`: runs the escape suite on this machine.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use paddock::selftest::{self, Lines, Own, Report, Row, Subject};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use serde::Serialize;

use super::status;

/// Try every known escape from a workspace on this machine, in a temporary directory, and print the results
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  paddock selftest
  paddock selftest --in ~/project --overlay
  paddock selftest --no-absolute-links --host 'python -P -m paddock_files batch --root {root} --state-dir {state}'

An attempt is one call of a tool. The exit status is 1 where anything escaped or was not as it has to be.")]
pub(crate) struct Args {
    /// Directory for the temporary directory, for example on another file system [default: the system's own]
    #[arg(long = "in", value_name = "DIR")]
    directory: Option<PathBuf>,

    /// Run the suite in an overlay
    #[arg(long)]
    overlay: bool,

    /// Test another host: the process that this command starts reads one call per line and writes one answer per
    /// line, as `paddock batch` does; `{root}` and `{state}` stand for the directories
    #[arg(long, value_name = "COMMAND", conflicts_with = "overlay")]
    host: Option<String>,

    /// The runtime of that host reports no absolute target of a symbolic link, so that the host has to refuse such links
    #[arg(long, requires = "host")]
    no_absolute_links: bool,

    /// Put hostile text in the arguments of this dialect's tools only; may be given several times [default: all dialects]
    #[arg(long = "dialect", value_name = "NAME")]
    dialects: Vec<String>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Reply<'r> {
    version: &'static str,
    openat2: bool,
    holds: bool,
    total: Row,
    #[serde(flatten)]
    report: &'r Report,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let directory = args.directory.clone().unwrap_or_else(std::env::temp_dir);
    let mut subject: Box<dyn Subject> = match &args.host {
        Some(command) => Box::new(Lines::new(command, !args.no_absolute_links)),
        None if args.overlay => Box::new(Own::overlay()),
        None => Box::new(Own::directory()),
    };
    let mut stdout = std::io::stdout();
    if !args.json {
        writeln!(stdout, "{}", Row::head())?;
    }
    let observe = |row: &Row| {
        if !args.json {
            // A closed pipe is detected at the end.
            let _closed = writeln!(std::io::stdout(), "{row}");
        }
    };
    let dialects = if args.dialects.is_empty() { paddock::dialects()? } else { args.dialects.clone() };
    let report = selftest::run_with(subject.as_mut(), &directory, &dialects, observe)
        .with_context(|| format!("cannot run the suite in `{}`", directory.display()))?;
    if args.json {
        let (holds, total) = (report.holds(), report.total());
        let version = env!("CARGO_PKG_VERSION");
        let reply = Reply { version, openat2: has_openat2(), holds, total, report: &report };
        writeln!(stdout, "{}", serde_json::to_string(&reply)?)?;
    } else {
        writeln!(stdout, "{}", report.total())?;
        write!(stdout, "{}", report.rest())?;
        writeln!(stdout, "{}", verdict(&report))?;
    }
    Ok(status(report.holds()))
}

fn verdict(report: &Report) -> String {
    let openat2 = if has_openat2() { "with" } else { "without" };
    let what = if report.holds() { "nothing escaped" } else { "NOT SAFE HERE: please report this" };
    format!("paddock {}, {openat2} openat2: {what}", env!("CARGO_PKG_VERSION"))
}

/// Returns whether the kernel has the system call that the runtime uses to resolve paths where it is available.
fn has_openat2() -> bool {
    openat2(CWD, ".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::BENEATH).is_ok()
}
