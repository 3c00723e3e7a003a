//! Runs the same tasks with Paddock and comparable programs; `README.md` describes the measurements.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

mod answers;
mod charts;
mod directories;
mod line_process;
mod mcp;
mod measure;
mod paddock;
mod peers;
mod process;
mod regression_check;
mod report;
mod svg;
mod text;
mod trees;
mod work;

use crate::measure::Row;
use crate::peers::Peers;
use crate::trees::{Kind, Tree};
use crate::work::Bench;

/// Measure paddock and its peers at the same work, in turns
#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    command: Option<Hidden>,

    /// The binary to measure [default: built with cargo]
    #[arg(long, value_name = "PATH")]
    paddock: Option<PathBuf>,

    /// Numbers of generated files, and `registry`
    #[arg(long, value_delimiter = ',', default_value = "1000,10000,100000,registry")]
    trees: Vec<Kind>,

    /// Rounds that are measured, after one that is not
    #[arg(long, default_value_t = 7)]
    rounds: usize,

    /// Only compare a few ratios with those on record: under a minute, needs ripgrep on the `PATH`
    #[arg(long)]
    quick: bool,

    /// With --quick: put this run's ratios on record
    #[arg(long, requires = "quick")]
    record: bool,
}

#[derive(Subcommand)]
enum Hidden {
    /// Run a command and print its peak memory in KiB
    #[command(hide = true)]
    Peak {
        #[arg(last = true)]
        command: Vec<OsString>,
    },
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(cause) => {
            eprintln!("error: {cause:#}");
            ExitCode::from(2)
        }
    }
}

/// Runs the benchmark. Returns whether all answers and ratios are as expected.
fn run(args: &Args) -> Result<bool> {
    if let Some(Hidden::Peak { command }) = &args.command {
        return process::report_peak(command).map(|()| true);
    }
    let paddock = match &args.paddock {
        Some(path) => std::path::absolute(path)?,
        None => peers::build_paddock()?,
    };
    if args.quick {
        return regression_check::run(paddock, args.record);
    }
    let peers = Peers::prepare()?;
    let bench = Bench { paddock, peers, rounds: args.rounds.max(1), load: report::load(), only: &[] };
    let mut rows = Vec::new();
    let mut sizes = Vec::new();
    work::read::rows(&bench, &mut rows)?;
    work::change::rows(&bench, &mut rows)?;
    work::servers::rows(&bench, &mut rows)?;
    for &kind in &args.trees {
        let tree = Tree::prepare(kind)?;
        work::grep::rows(&bench, &tree, &mut rows)?;
        work::names::rows(&bench, &tree, &mut rows)?;
        work::servers::rows_of_tree(&bench, &tree, &mut rows)?;
        sizes.push(report::Size { kind, files: tree.files, bytes: tree.bytes });
    }
    let charts = charts::write(&rows, &sizes)?;
    report::write(&bench, &rows, &sizes, &charts)?;
    Ok(has_agreed(&rows))
}

fn has_agreed(rows: &[Row]) -> bool {
    let mut agreed = true;
    for row in rows {
        if let Some(difference) = &row.mismatch {
            agreed = false;
            eprintln!("DIFFERENT ANSWERS: {}, {}: {difference}", row.tree, row.work);
        }
    }
    agreed
}
