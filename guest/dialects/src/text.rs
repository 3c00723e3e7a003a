//! Renders results as compact text for the model, with omissions and the continuation at the end.

use std::fmt::Write;

use paddock_types::digest::short_etag;
use paddock_types::entry::Kind;
use paddock_types::error::printable;
use paddock_types::response::{
    ApplyPatch, Delete, Edit, History, MakeDir, Pack, PatchAction, Replace, ReplacedLine, Response, Restore, Stat,
    Transfer, Unpack,
};

use crate::commands;
use crate::dialect::Names;
use crate::text::listing::with_tail;

pub mod listing;
pub mod reading;

pub use crate::text::listing::left_out;
pub use crate::text::reading::{continuation, endings, no_lines};

/// Renders a result as text, in the caller's names of arguments.
pub fn render(response: &Response, names: &Names) -> String {
    let text = match response {
        Response::Read(read) => reading::read(read, names),
        Response::ReadMany(many) => reading::read_many(many, names),
        Response::Write(write) => {
            let action = match (write.created, write.appended) {
                (true, _) => "created",
                (false, true) => "appended to",
                (false, false) => "wrote",
            };
            with_notes(format!("{action} {} ({} bytes)", printable(&write.path), write.bytes_written), &write.notes)
        }
        Response::Edit(edit) => edit_text(edit),
        Response::ApplyPatch(patch) => patch_text(patch, names),
        Response::MakeDir(make_dir) => make_dir_text(make_dir),
        Response::Copy(transfer) => transfer_text("copied", transfer),
        Response::Move(transfer) => transfer_text("moved", transfer),
        Response::Delete(delete) => delete_text(delete),
        Response::Restore(restore) => restore_text(restore),
        Response::History(history) => history_text(history),
        Response::Pack(pack) => pack_text(pack),
        Response::Unpack(unpack) => unpack_text(unpack),
        Response::Stat(stat) => stat_text(stat),
        Response::List(list) => listing::list(list, names),
        Response::Tree(tree) => listing::tree(tree, names),
        Response::Glob(glob) => listing::glob(glob, names),
        Response::Grep(grep) => listing::grep(grep, names),
        Response::Replace(replace) => replace_text(replace, names),
        Response::Changes(changes) => listing::changes(changes, names),
        Response::Ran(ran) => commands::text(ran, names),
        Response::Sessions(sessions) => commands::sessions(sessions),
    };
    with_version(text, response, names)
}

/// Appends the etag of a changed file and the backup that undoes the change, in short forms, if the caller's tools have
/// an argument for them.
fn with_version(mut text: String, response: &Response, names: &Names) -> String {
    let (etag, backup) = match response {
        Response::Write(write) => (write.etag.as_deref(), &write.backup),
        Response::Edit(edit) if edit.dry_run => (None, &None),
        Response::Edit(edit) => (Some(edit.etag.as_str()), &edit.backup),
        Response::ApplyPatch(patch) => (None, &patch.backup),
        Response::MakeDir(make_dir) => (None, &make_dir.backup),
        Response::Copy(transfer) | Response::Move(transfer) => (None, &transfer.backup),
        Response::Delete(delete) => (None, &delete.backup),
        Response::Restore(restore) => (None, &restore.backup),
        Response::Replace(replace) => (None, &replace.backup),
        Response::Pack(pack) => (None, &pack.backup),
        Response::Unpack(unpack) => (None, &unpack.backup),
        Response::Read(_) | Response::ReadMany(_) | Response::Stat(_) | Response::History(_) => return text,
        Response::List(_) | Response::Tree(_) | Response::Glob(_) | Response::Grep(_) | Response::Changes(_) => {
            return text;
        }
        Response::Ran(_) | Response::Sessions(_) => return text,
    };
    let mut version = String::new();
    if let Some(etag) = etag.filter(|_| names.has_argument("if_match")) {
        version = format!("etag {}", short_etag(etag));
    }
    if let Some(id) = backup.as_deref().filter(|_| names.has_argument("backup")) {
        let separator = if version.is_empty() { "" } else { "; " };
        let _ = write!(version, "{separator}backup {}", short_backup(id));
    }
    if !version.is_empty() {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let _ = write!(text, "{end}[{version}]");
    }
    text
}

/// Returns the short form of a backup's id: its time, and its number within the millisecond unless that is 0.
pub fn short_backup(id: &str) -> String {
    let mut parts = id.split('-');
    let time = parts.next().unwrap_or_default();
    match parts.next().map_or("", |number| number.trim_start_matches('0')) {
        "" => time.to_owned(),
        number => format!("{time}-{number}"),
    }
}

fn edit_text(edit: &Edit) -> String {
    let noun = if edit.edits_applied == 1 { "place" } else { "places" };
    let action = if edit.dry_run { "nothing was changed; this would edit" } else { "edited" };
    let head = format!("{action} {} ({} {noun})\n{}", printable(&edit.path), edit.edits_applied, hunks(&edit.diff));
    with_notes(head, &edit.notes)
}

/// Returns the hunks of the diff of one file, whose name the text has already.
pub fn hunks(diff: &str) -> &str {
    let mut rest = diff;
    for start in ["--- ", "+++ "] {
        if let Some((_, following)) = rest.split_once('\n').filter(|(line, _)| line.starts_with(start)) {
            rest = following;
        }
    }
    rest
}

fn patch_text(patch: &ApplyPatch, names: &Names) -> String {
    let mut text = String::new();
    if patch.dry_run {
        text.push_str("nothing was changed; this would change\n");
    }
    for file in &patch.files {
        let (letter, from) = match (file.action, &file.moved_from) {
            (PatchAction::Add, _) => ('A', String::new()),
            (PatchAction::Delete, _) => ('D', String::new()),
            (PatchAction::Move, Some(from)) => ('R', format!("{} -> ", printable(from))),
            (PatchAction::Update | PatchAction::Move, _) => ('M', String::new()),
        };
        let (added, removed) = (file.lines_added, file.lines_removed);
        let etag = file.etag.as_deref().filter(|_| !patch.dry_run && names.has_argument("if_match"));
        let etag = etag.map(|etag| format!(" etag {}", short_etag(etag))).unwrap_or_default();
        let _ = writeln!(text, "{letter} {from}{} +{added} -{removed}{etag}", printable(&file.path));
    }
    with_notes(text, &patch.notes)
}

fn make_dir_text(make_dir: &MakeDir) -> String {
    let action = if make_dir.created { "made" } else { "already there:" };
    format!("{action} {}/", printable(&make_dir.path))
}

fn transfer_text(action: &str, transfer: &Transfer) -> String {
    let (source, destination) = (printable(&transfer.source), printable(&transfer.destination));
    let head = format!(
        "{action} {source} -> {destination} ({}, {})",
        counted(transfer.files, "file"),
        counted(transfer.bytes, "byte")
    );
    with_notes(head, &transfer.notes)
}

/// Returns a number with its noun, in the plural unless it is 1.
pub fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn delete_text(delete: &Delete) -> String {
    let count = match delete.entries_deleted {
        1 => String::new(),
        count => format!(" ({count} entries)"),
    };
    let head = format!("deleted {}{count}", printable(&delete.path));
    with_notes(head, &delete.notes)
}

fn pack_text(pack: &Pack) -> String {
    let contents = format!("{}, {}", counted(pack.files, "file"), counted(pack.bytes, "byte"));
    with_notes(
        format!("packed {contents} into {} ({})", printable(&pack.path), counted(pack.size, "byte")),
        &pack.notes,
    )
}

fn unpack_text(unpack: &Unpack) -> String {
    let contents = format!("{}, {}", counted(unpack.files, "file"), counted(unpack.bytes, "byte"));
    with_notes(format!("unpacked {contents} into {}", printable(&unpack.destination)), &unpack.notes)
}

fn restore_text(restore: &Restore) -> String {
    let paths: Vec<_> = restore.restored.iter().take(20).map(|path| printable(path)).collect();
    let more = restore.restored.len().saturating_sub(paths.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    with_notes(format!("undid {}: {}{more}", restore.operations.join(", "), paths.join(", ")), &restore.notes)
}

fn history_text(history: &History) -> String {
    let mut text = String::new();
    for entry in &history.entries {
        let paths: Vec<_> = entry.paths.iter().take(3).map(|path| printable(path)).collect();
        let more = if entry.paths.len() > 3 { ", …" } else { "" };
        let backup = short_backup(&entry.backup);
        let _ = writeln!(text, "{backup} {} {} {}{more}", entry.time, entry.operation, paths.join(", "));
    }
    if history.entries.is_empty() {
        text.push_str("[no backups]\n");
    } else if history.truncated {
        text.push_str("[older ones are not listed]\n");
    }
    text
}

fn stat_text(stat: &Stat) -> String {
    let mut text = format!("{}: {}", printable(&stat.path), kind_name(stat.kind));
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            let _ = write!(text, "\n{name}: {value}");
        }
    };
    add("size", stat.size.map(|size| format!("{size} bytes")));
    add("modified", stat.modified.clone());
    add("lines", stat.lines.map(|lines| lines.to_string()));
    add("encoding", stat.encoding.clone());
    add("mime", stat.mime.clone());
    add("link target", stat.link_target.as_deref().map(|target| printable(target).into_owned()));
    add("hard links", (stat.hard_links > 1).then(|| stat.hard_links.to_string()));
    add("etag", stat.etag.clone());
    add("sha256", stat.sha256.clone());
    text
}

fn replace_text(replace: &Replace, names: &Names) -> String {
    let action = if replace.applied { "replaced" } else { "would replace" };
    let matches = if replace.total_replacements == 1 { "match" } else { "matches" };
    let mut text = match replace.total_files {
        0 => format!("[nothing to replace in {}]\n", counted(replace.files_searched, "file")),
        files => format!("{action} {} {matches} in {}\n", replace.total_replacements, counted(files, "file")),
    };
    if replace.applied {
        for file in &replace.files {
            let _ = writeln!(text, "{}:{}", printable(&file.path), file.replacements);
        }
        if replace.truncated {
            let _ = writeln!(text, "[and {} more files]", replace.total_files - replace.files.len() as u64);
        }
    }
    text.push_str(&ReplacedLine::text(&replace.lines));
    // The result of the plan has reported the left-out entries, and the plan is applied only if they are still the
    // same.
    if !replace.applied || replace.total_files == 0 {
        text = with_tail(text, &replace.skipped, replace.next_cursor.as_deref(), names);
    }
    text = with_notes(text, &replace.notes);
    if let Some(plan) = &replace.plan {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let _ = write!(text, "{end}[nothing is changed yet; the same call with plan={plan} does it]");
    }
    text
}

/// Appends notes to `text`, one line each.
pub fn with_notes(mut text: String, notes: &[String]) -> String {
    for note in notes {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let _ = write!(text, "[{note}]");
    }
    text
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "file",
        Kind::Directory => "directory",
        Kind::Link => "symbolic link",
        Kind::Other => "FIFO, socket or device",
    }
}
