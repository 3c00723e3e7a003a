//! `paddock history`: lists the backups of earlier changes.

use std::io::Write;
use std::process::ExitCode;

use paddock::Outcome;
use paddock::terminal::escape;
use paddock::types::{HistoryArgs, HistoryEntry};

use super::{status, workspace};

/// List the changes that tools made, the newest first; each can be undone
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  paddock history
  paddock history --root ~/project --limit 5 --json

Each line has the backup, its time, the operation, the stored bytes, and the paths.")]
pub(crate) struct Args {
    #[command(flatten)]
    workspace: workspace::Options,

    /// Maximum number of entries
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u32,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut stdout = std::io::stdout().lock();
    match args.workspace.open()?.history(&HistoryArgs { limit: args.limit }) {
        Ok(history) => {
            for entry in &history.entries {
                writeln!(stdout, "{}", if args.json { json(entry) } else { line(entry) })?;
            }
            if history.truncated {
                stdout.flush()?;
                let next = args.limit.saturating_mul(2);
                eprintln!("paddock: there are changes before these: `--limit {next}` lists more");
            }
            Ok(status(true))
        }
        Err(error) => {
            writeln!(stdout, "{}", serde_json::to_string(&Outcome::from(error))?)?;
            Ok(status(false))
        }
    }
}

fn line(entry: &HistoryEntry) -> String {
    // Escaped, since a path can contain line breaks and control characters.
    let paths: Vec<_> = entry.paths.iter().map(|path| path.escape_debug().to_string()).collect();
    let [backup, time, operation] = [&entry.backup, &entry.time, &entry.operation].map(|text| escape(text));
    format!("{backup}  {time}  {operation:<7} {:>9}  {}", entry.size, paths.join(", "))
}

fn json(entry: &HistoryEntry) -> String {
    let HistoryEntry { backup, time, operation, paths, size } = entry;
    serde_json::json!({ "backup": backup, "time": time, "operation": operation, "paths": paths, "size": size })
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_the_history_reaches_the_terminal_as_a_command() {
        let forged = "a\n\u{1b}[2J".to_owned();
        let entry = HistoryEntry {
            backup: forged.clone(),
            time: forged.clone(),
            operation: forged.clone(),
            paths: vec![forged],
            size: 1,
        };
        assert!(!line(&entry).contains(char::is_control), "{:?}", line(&entry));
    }
}
