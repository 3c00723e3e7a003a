//! Renders results as compact text for the model, with omissions and the continuation at the end.

use std::fmt::Write;

use paddock_types::entry::Kind;
use paddock_types::error::{Term, Vocabulary, printable};
use paddock_types::response::{
    ApplyPatch, Changes, ContextLine, Delete, Edit, Glob, Grep, GrepMatch, History, List, MakeDir, Pack, PatchAction,
    Read, ReadMany, ReadOutcome, Replace, ReplacedLine, Response, Restore, Skipped, Stat, Transfer, Tree, TreeNode,
    Unpack,
};

use crate::{Names, commands, line_numbers};

/// Renders a result as text, in the caller's names of arguments.
pub fn render(response: &Response, names: &Names) -> String {
    match response {
        Response::Read(read) => read_text(read),
        Response::ReadMany(many) => read_many_text(many, names),
        Response::Write(write) => {
            let verb = if write.created { "created" } else { "wrote" };
            with_notes(format!("{verb} {} ({} bytes)", printable(&write.path), write.bytes_written), &write.notes)
        }
        Response::Edit(edit) => edit_text(edit),
        Response::ApplyPatch(patch) => patch_text(patch),
        Response::MakeDir(made) => make_dir_text(made),
        Response::Copy(transfer) => transfer_text("copied", transfer),
        Response::Move(transfer) => transfer_text("moved", transfer),
        Response::Delete(delete) => delete_text(delete),
        Response::Restore(restore) => restore_text(restore),
        Response::History(history) => history_text(history),
        Response::Pack(pack) => pack_text(pack),
        Response::Unpack(unpack) => unpack_text(unpack),
        Response::Stat(stat) => stat_text(stat),
        Response::List(list) => list_text(list, names),
        Response::Tree(tree) => tree_text(tree, names),
        Response::Glob(glob) => glob_text(glob, names),
        Response::Grep(grep) => grep_text(grep, names),
        Response::Replace(replace) => replace_text(replace, names),
        Response::Changes(changes) => changes_text(changes, names),
        Response::Ran(ran) => commands::text(ran, names),
        Response::Sessions(sessions) => commands::sessions(sessions),
    }
}

fn read_text(read: &Read) -> String {
    if read.unchanged {
        return format!("{} is unchanged", printable(&read.path));
    }
    if let Some(diff) = &read.diff {
        let etag = read.etag.as_deref().unwrap_or_default();
        return format!("{} changed; its etag is now {etag}\n{diff}", printable(&read.path));
    }
    if read.size == 0 {
        return format!("{} is empty", printable(&read.path));
    }
    let mut text = String::with_capacity(read.content.len() + read.content.len() / 8 + 80);
    if read.encoding == "binary" {
        text.push_str(&read.content);
        text.push('\n');
    } else {
        line_numbers::number(&mut text, &read.content, read.start_line, "|");
    }
    if let Some(next) = read.next_offset {
        text.push_str(&continuation(read, "offset", next));
    } else if read.truncated {
        text.push_str("[long lines were cut; mode=raw shows them whole]");
    }
    text
}

/// Says which lines a read returned, and which value of the argument `offset` continues it.
pub fn continuation(read: &Read, offset: &str, next: u64) -> String {
    let of = read.total_lines.map(|total| format!(" of {total}")).unwrap_or_default();
    let unit = if read.encoding == "binary" { "bytes" } else { "lines" };
    format!("[{unit} {}-{}{of}; {offset}={next} continues]", read.start_line, read.end_line)
}

/// Says that a read returned no lines because it began at the end of the file or past it; empty if it returned lines.
pub fn no_lines(read: &Read) -> String {
    match read.total_lines.filter(|total| *total > 0 && read.end_line == 0) {
        Some(1) => "[no lines: the file has 1 line]".to_owned(),
        Some(total) => format!("[no lines: the file has {total} lines]"),
        None => String::new(),
    }
}

fn read_many_text(many: &ReadMany, names: &Names) -> String {
    let mut text = String::new();
    for entry in &many.entries {
        let _ = writeln!(text, "== {} ==", printable(&entry.path));
        match &entry.outcome {
            ReadOutcome::Result(read) => text.push_str(&read_text(read)),
            ReadOutcome::Error(error) => {
                let _ = write!(text, "[{error}]");
            }
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    if many.truncated && many.remaining.is_empty() {
        text.push_str("[a limit ended the search before all files were found: narrow the glob]\n");
    } else if many.entries.is_empty() {
        text.push_str("[no files match]\n");
    }
    let mut text = with_tail(text, &many.skipped, None, names);
    if !many.remaining.is_empty() {
        let names: Vec<_> = many.remaining.iter().take(20).map(|path| printable(path)).collect();
        let _ = write!(text, "[{} more files do not fit: {}]", many.remaining.len(), names.join(", "));
    }
    text
}

fn edit_text(edit: &Edit) -> String {
    let places = if edit.edits_applied == 1 { "place" } else { "places" };
    let verb = if edit.dry_run { "nothing was changed; this would edit" } else { "edited" };
    let head = format!("{verb} {} ({} {places})\n{}", printable(&edit.path), edit.edits_applied, edit.diff);
    with_notes(head, &edit.notes)
}

fn patch_text(patch: &ApplyPatch) -> String {
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
        let _ = writeln!(text, "{letter} {from}{} +{added} -{removed}", printable(&file.path));
    }
    with_notes(text, &patch.notes)
}

fn make_dir_text(made: &MakeDir) -> String {
    let verb = if made.created { "made" } else { "already there:" };
    format!("{verb} {}/", printable(&made.path))
}

fn transfer_text(verb: &str, transfer: &Transfer) -> String {
    let (source, destination) = (printable(&transfer.source), printable(&transfer.destination));
    let head = format!(
        "{verb} {source} -> {destination} ({}, {})",
        counted(transfer.files, "file"),
        counted(transfer.bytes, "byte")
    );
    with_notes(head, &transfer.notes)
}

fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn delete_text(delete: &Delete) -> String {
    let entries = if delete.entries_deleted == 1 { "entry" } else { "entries" };
    let head = format!("deleted {} ({} {entries})", printable(&delete.path), delete.entries_deleted);
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
    with_notes(format!("restored {}{more}", paths.join(", ")), &restore.notes)
}

fn history_text(history: &History) -> String {
    let mut text = String::new();
    for entry in &history.entries {
        let paths: Vec<_> = entry.paths.iter().take(3).map(|path| printable(path)).collect();
        let more = if entry.paths.len() > 3 { ", …" } else { "" };
        let _ = writeln!(text, "{}  {}  {}  {}{more}", entry.backup, entry.time, entry.verb, paths.join(", "));
    }
    if history.entries.is_empty() {
        text.push_str("[no backups]\n");
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

fn list_text(list: &List, names: &Names) -> String {
    let mut text = String::new();
    for entry in &list.entries {
        let size = entry.size.map(|size| format!("  {size}")).unwrap_or_default();
        let _ = writeln!(text, "{}{}{size}", printable(&entry.path), mark(entry.kind));
    }
    if list.entries.is_empty() {
        text.push_str("[no entries]\n");
    }
    if let (true, Some(files), Some(directories)) = (list.truncated, list.total_files, list.total_directories) {
        let _ = writeln!(text, "[{files} files and {directories} directories in all]");
    }
    with_tail(text, &list.skipped, list.next_cursor.as_deref(), names)
}

fn tree_text(tree: &Tree, names: &Names) -> String {
    let mut text = format!("{}/\n", printable(&tree.path));
    branches(&mut text, &tree.tree, 1);
    if tree.truncated {
        text.push_str("[there is more: raise `limit`, or name a directory below]\n");
    }
    with_tail(text, &tree.skipped, None, names)
}

fn branches(text: &mut String, node: &TreeNode, depth: usize) {
    for child in node.children.iter().flatten() {
        let _ = writeln!(text, "{:indent$}{}{}", "", printable(&child.name), mark(child.kind), indent = depth * 2);
        branches(text, child, depth + 1);
    }
}

fn glob_text(glob: &Glob, names: &Names) -> String {
    let mut text = String::new();
    for path in &glob.paths {
        text.push_str(&printable(path));
        text.push('\n');
    }
    if glob.paths.is_empty() {
        text.push_str("[no files match]\n");
    }
    with_notes(with_tail(text, &glob.skipped, glob.next_cursor.as_deref(), names), &glob.notes)
}

fn grep_text(grep: &Grep, names: &Names) -> String {
    let mut text = String::new();
    let mut path = None;
    for found in &grep.matches {
        if path != Some(&found.path) {
            let _ = writeln!(text, "{}", printable(&found.path));
            path = Some(&found.path);
        }
        match_text(&mut text, found);
    }
    for file in &grep.files {
        let count = file.count.map(|count| format!(":{count}")).unwrap_or_default();
        let _ = writeln!(text, "{}{count}", printable(&file.path));
    }
    if grep.matches.is_empty() && grep.files.is_empty() {
        let _ = writeln!(text, "[no match in {} files]", grep.files_searched);
    }
    with_notes(with_tail(text, &grep.skipped, grep.next_cursor.as_deref(), names), &grep.notes)
}

fn replace_text(replace: &Replace, names: &Names) -> String {
    let verb = if replace.applied { "replaced" } else { "would replace" };
    let matches = if replace.total_replacements == 1 { "match" } else { "matches" };
    let mut text = match replace.total_files {
        0 => format!("[nothing to replace in {}]\n", counted(replace.files_searched, "file")),
        files => format!("{verb} {} {matches} in {}\n", replace.total_replacements, counted(files, "file")),
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
    let cursor = replace.next_cursor.as_deref();
    let mut text = with_notes(with_tail(text, &replace.skipped, cursor, names), &replace.notes);
    if let Some(plan) = &replace.plan {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let _ = write!(text, "{end}[nothing is changed yet: the same call with plan={plan} does it]");
    }
    text
}

fn changes_text(changes: &Changes, names: &Names) -> String {
    let mut text = String::new();
    for (letter, paths) in [('A', &changes.created), ('M', &changes.modified), ('D', &changes.deleted)] {
        for path in paths {
            let _ = writeln!(text, "{letter} {}", printable(path));
        }
    }
    if changes.truncated {
        let _ = writeln!(text, "[{} changes in all; the same `since` with a higher `limit` shows more]", changes.total);
    } else if changes.total == 0 {
        let _ = writeln!(text, "[nothing to tell of {}]", counted(changes.watched, "file"));
    }
    let mut text = with_tail(text, &changes.skipped, None, names);
    let _ = write!(text, "[next: since={}]", changes.token);
    text
}

/// Appends a match as `12:text` and its context as `11-text`.
fn match_text(text: &mut String, found: &GrepMatch) {
    let context = |text: &mut String, lines: &[ContextLine]| {
        for line in lines {
            let _ = writeln!(text, "{}-{}", line.line, line.text);
        }
    };
    context(text, &found.before);
    let start = if found.text_start > 0 { "…" } else { "" };
    for (line, number) in found.text.split('\n').zip(found.line..) {
        let start = if number == found.line { start } else { "" };
        let _ = writeln!(text, "{number}:{start}{line}");
    }
    context(text, &found.after);
}

fn with_tail(mut text: String, skipped: &Skipped, cursor: Option<&str>, names: &Names) -> String {
    if let Some(skipped) = left_out(skipped, names) {
        let _ = writeln!(text, "[left out: {skipped}]");
    }
    if let Some(cursor) = cursor {
        let _ = match names.name(Term::Cursor) {
            Some(name) => writeln!(text, "[more: {name}={cursor}]"),
            None => writeln!(text, "[there are more: a narrower path or pattern shows others]"),
        };
    }
    text
}

/// Renders the skipped entries, if any. A reason names the argument that includes the entries, if the tool has it.
pub fn left_out(skipped: &Skipped, names: &Names) -> Option<String> {
    let reason = |word: &str, term: Term| match names.name(term) {
        Some(name) => format!("{word} ({name}=true)"),
        None => word.to_owned(),
    };
    let (ignored, hidden) = (reason("ignored", Term::IncludeIgnored), reason("hidden", Term::IncludeHidden));
    let reasons = [
        (skipped.ignored, ignored.as_str()),
        (skipped.hidden, hidden.as_str()),
        (skipped.denied, "excluded by .agentignore"),
        (skipped.unreadable, "unreadable or too deep"),
        (skipped.unnamed, "with names that are not UTF-8"),
        (skipped.links, "symbolic links"),
        (skipped.special, "FIFOs, sockets or devices"),
        (skipped.binary, "binary"),
        (skipped.too_large, "too large"),
        (skipped.long_lines, "lines over 16 MiB, searched in parts"),
    ];
    let reported: Vec<_> =
        reasons.iter().filter(|(count, _)| *count > 0).map(|(count, reason)| format!("{count} {reason}")).collect();
    (!reported.is_empty()).then(|| reported.join(", "))
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

/// Returns the type indicator of `ls -F`.
fn mark(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "",
        Kind::Directory => "/",
        Kind::Link => "@",
        Kind::Other => "?",
    }
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "file",
        Kind::Directory => "directory",
        Kind::Link => "symbolic link",
        Kind::Other => "FIFO, socket or device",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_are_summarised() {
        let pack = Pack { path: "new/a.zip".to_owned(), entries: 7, files: 5, bytes: 11, size: 900, ..Pack::default() };
        assert_eq!(
            render(&Response::Pack(pack), &crate::paddock::DIALECT.names(None)),
            "packed 5 files, 11 bytes into new/a.zip (900 bytes)"
        );
        let notes = vec!["1 new files can be executed".to_owned()];
        let unpack = Unpack { destination: "out".to_owned(), files: 4, bytes: 13, notes, ..Unpack::default() };
        assert!(
            render(&Response::Unpack(unpack), &crate::paddock::DIALECT.names(None))
                .starts_with("unpacked 4 files, 13 bytes into out\n")
        );
    }
}
