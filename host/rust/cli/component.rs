//! `paddock component`: writes the component, for use in another host.

use std::fs;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};

/// Write the WebAssembly component, for use in another host
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  paddock component -o paddock.wasm")]
pub(crate) struct Args {
    /// File to write to, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.output {
        Some(file) => {
            fs::write(file, paddock::component()).with_context(|| format!("cannot write `{}`", file.display()))?;
        }
        None if std::io::stdout().is_terminal() => bail!("a component cannot be printed to a terminal; use `-o FILE`"),
        None => std::io::stdout().write_all(paddock::component())?,
    }
    Ok(ExitCode::SUCCESS)
}
