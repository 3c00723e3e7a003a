//! `paddock snapshot`, `restore-snapshot` and `snapshots`: a workspace moves to another machine.

use std::ffi::OsStr;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;

use paddock::Workspace;
use paddock::snapshots::{
    self, Digest, Limits, Location, Report, RestoreOptions, SnapshotOptions, Stored, restore_snapshot,
};
use paddock::terminal::escape;

use super::status;

/// Maximum number of names in one line of the output.
const MAX_NAMES: usize = 20;

const STORES: &str = "\
A store is a directory, or `s3://BUCKET/PREFIX` if the program was built with the feature `s3`. Credentials, region and \
endpoint of S3 are in AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL.";

/// Store a snapshot of a workspace and of its history; files that the store has are not stored again
#[derive(clap::Args)]
#[command(after_help = format!("\
Examples:
  paddock snapshot ~/project /mnt/backup/project
  paddock snapshot ~/project s3://bucket/project#before-upgrade

{STORES}"))]
pub(crate) struct StoreArgs {
    /// Directory of the workspace
    workspace: PathBuf,

    /// Store, and after `#` the name of the snapshot [default name: the time and a random number]
    #[arg(value_name = "URL[#NAME]", value_parser = LocationParser)]
    url: Location,

    /// Leave out the backups of earlier changes
    #[arg(long)]
    without_history: bool,

    /// State directory of the workspace [default: below the user's state directory]
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,

    #[command(flatten)]
    bounds: Bounds,

    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

/// Restore a snapshot to a directory that does not exist or is empty
#[derive(clap::Args)]
#[command(after_help = format!("\
Examples:
  paddock restore-snapshot /mnt/backup/project#20260102T030405Z-0123abcd ~/project
  paddock restore-snapshot s3://bucket/project#before-upgrade /srv/project

Every file is compared with its digest before the directory appears. After an error there is no directory.

{STORES}"))]
pub(crate) struct RestoreArgs {
    /// Store, and after `#` the name of the snapshot
    #[arg(value_name = "URL#NAME", value_parser = LocationParser)]
    url: Location,

    /// Directory to restore to
    directory: PathBuf,

    /// Leave out the backups of earlier changes
    #[arg(long)]
    without_history: bool,

    /// State directory of the restored workspace [default: below the user's state directory]
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,

    /// Restore only if the manifest has this digest, which `paddock snapshot` has printed: the store cannot replace the
    /// snapshot then
    #[arg(long, value_name = "SHA256")]
    digest: Option<Digest>,

    #[command(flatten)]
    bounds: Bounds,

    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::Args)]
struct Bounds {
    /// Maximum number of files, directories and links
    #[arg(long, value_name = "N", default_value_t = Limits::default().max_entries)]
    max_entries: u64,

    /// Maximum size of all files in bytes
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().max_bytes)]
    max_bytes: u64,
}

/// List or remove the snapshots of a store
#[derive(clap::Args)]
#[command(after_help = format!("\
Examples:
  paddock snapshots list /mnt/backup/project
  paddock snapshots remove /mnt/backup/project#20260102T030405Z-0123abcd
  paddock snapshots collect /mnt/backup/project

{STORES}"))]
pub(crate) struct ManageArgs {
    #[command(subcommand)]
    act: Act,
}

#[derive(clap::Subcommand)]
enum Act {
    /// List the snapshots of a store, one per line: its name, its time, its entries and its bytes
    List {
        /// Store
        #[arg(value_parser = LocationParser)]
        url: Location,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Remove a snapshot; its objects remain until `collect`
    Remove {
        /// Store, and after `#` the name of the snapshot
        #[arg(value_name = "URL#NAME", value_parser = LocationParser)]
        url: Location,
    },
    /// Remove the objects that no snapshot needs
    Collect {
        /// Store
        #[arg(value_parser = LocationParser)]
        url: Location,
    },
}

/// Parses the location of a store. The message of clap would repeat the argument, which can have a password by mistake.
#[derive(Clone)]
struct LocationParser;

impl TypedValueParser for LocationParser {
    type Value = Location;

    fn parse_ref(
        &self,
        command: &clap::Command,
        _: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Location, clap::Error> {
        let location = match value.to_str() {
            None => Err("a store has a name in UTF-8".to_owned()),
            Some(text) => text.parse::<Location>().map_err(|error| error.to_string()),
        };
        location.map_err(|cause| clap::Error::raw(ErrorKind::ValueValidation, format!("{cause}\n")).with_cmd(command))
    }
}

impl Bounds {
    fn limits(self) -> Limits {
        Limits { max_entries: self.max_entries, max_bytes: self.max_bytes }
    }
}

pub(crate) fn store(args: &StoreArgs) -> anyhow::Result<ExitCode> {
    let mut builder = Workspace::builder().root(&args.workspace);
    if let Some(directory) = &args.state_dir {
        builder = builder.state_dir(directory);
    }
    let options = SnapshotOptions { without_history: args.without_history, limits: args.bounds.limits() };
    let stored = builder.build()?.store_snapshot(&args.url, &options)?;
    write!(std::io::stdout(), "{}", if args.json { stored_json(&stored) } else { stored_text(&stored) })?;
    Ok(status(true))
}

fn stored_text(Stored { location, report, overlays }: &Stored) -> String {
    let Report { files, bytes, objects_stored, bytes_stored, files_read, digest, .. } = report;
    let mut text = format!(
        "{}\ndigest: {digest}\n{files} files, {bytes} bytes; read {files_read}, stored {objects_stored} of {bytes_stored} bytes\n",
        escape(&location.to_string())
    );
    if report.skipped_count > 0 {
        let count = report.skipped_count;
        text.push_str(&format!("left out: {}: no files, directories or links\n", listed(&report.skipped, count)));
    }
    if report.special_modes > 0 {
        text.push_str(&format!("left out: the set-ID and sticky bits of {} entries\n", report.special_modes));
    }
    if report.hard_links > 0 {
        text.push_str(&format!("{} files with several hard links will be files of their own\n", report.hard_links));
    }
    if !overlays.is_empty() {
        let count = overlays.len() as u64;
        text.push_str(&format!("left out: the overlays {}\n", listed(overlays, count)));
    }
    text
}

fn listed(names: &[String], count: u64) -> String {
    let mut text = names.iter().take(MAX_NAMES).map(|name| escape(name)).collect::<Vec<_>>().join(", ");
    if let Some(more @ 1..) = count.checked_sub(MAX_NAMES as u64) {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

fn stored_json(Stored { location, report, overlays }: &Stored) -> String {
    let json = serde_json::json!({
        "snapshot": location.to_string(),
        "digest": report.digest.to_string(),
        "entries": report.entries,
        "files": report.files,
        "bytes": report.bytes,
        "files_read": report.files_read,
        "objects_stored": report.objects_stored,
        "bytes_stored": report.bytes_stored,
        "skipped": report.skipped,
        "skipped_count": report.skipped_count,
        "special_modes": report.special_modes,
        "hard_links": report.hard_links,
        "overlays_left_out": overlays,
    });
    format!("{json}\n")
}

pub(crate) fn restore(args: &RestoreArgs) -> anyhow::Result<ExitCode> {
    let options = RestoreOptions {
        without_history: args.without_history,
        state_dir: args.state_dir.clone(),
        digest: args.digest,
        limits: args.bounds.limits(),
    };
    let restored = restore_snapshot(&args.url, &args.directory, &options)?;
    let snapshots::Restored { path, files, bytes, backups } = &restored;
    let path = path.display().to_string();
    let mut stdout = std::io::stdout();
    if args.json {
        let json = serde_json::json!({ "path": path, "files": files, "bytes": bytes, "backups": backups });
        writeln!(stdout, "{json}")?;
    } else {
        writeln!(stdout, "restored to {}: {files} files, {bytes} bytes, {backups} backups", escape(&path))?;
    }
    Ok(status(true))
}

pub(crate) fn manage(args: &ManageArgs) -> anyhow::Result<ExitCode> {
    let mut stdout = std::io::stdout().lock();
    match &args.act {
        Act::List { url, json } => {
            for snapshots::Listed { name, created, entries, bytes } in snapshots::list_snapshots(url)? {
                let line = if *json {
                    serde_json::json!({ "name": name, "created": created, "entries": entries, "bytes": bytes })
                        .to_string()
                } else {
                    format!("{name}  {}  {entries:>9}  {bytes:>14}", escape(&created))
                };
                writeln!(stdout, "{line}")?;
            }
        }
        Act::Remove { url } => {
            snapshots::remove_snapshot(url)?;
            writeln!(stdout, "removed {}", escape(&url.to_string()))?;
        }
        Act::Collect { url } => {
            let snapshots::Collected { objects, bytes, retained } = snapshots::collect_objects(url)?;
            writeln!(stdout, "removed {objects} objects of {bytes} bytes; {retained} remain")?;
        }
    }
    Ok(status(true))
}
