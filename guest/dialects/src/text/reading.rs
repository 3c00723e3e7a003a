//! Renders the lines of files.

use std::fmt::Write;

use paddock_scan::lines;
use paddock_text::page::{CUT_SUFFIX, RAW_CUT_SUFFIX};
use paddock_types::digest::short_etag;
use paddock_types::error::{Term, Vocabulary, printable};
use paddock_types::response::{Read, ReadMany, ReadOutcome};

use crate::dialect::Names;
use crate::text::hunks;
use crate::text::listing::with_tail;

/// Renders the lines or bytes of a file.
pub fn read(read: &Read, names: &Names) -> String {
    if read.unchanged {
        return format!("{} is unchanged", printable(&read.path));
    }
    let etag = read.etag.as_deref().filter(|_| names.has_argument("if_match")).map(short_etag);
    if let Some(diff) = &read.diff {
        let etag = etag.map(|etag| format!("; etag {etag}")).unwrap_or_default();
        return format!("{} changed{etag}\n{}", printable(&read.path), hunks(diff));
    }
    // The text has no capacity yet: `lines::number` reserves it where the text can grow in its place.
    let mut text = String::new();
    let mut tail = String::new();
    if read.size == 0 {
        let _ = writeln!(text, "{} is empty", printable(&read.path));
    } else if read.encoding == "binary" {
        text.push_str(&read.content);
        text.push('\n');
    } else {
        lines::number(&mut text, &read.content, read.line_count(), read.start_line, "|");
    }
    if let Some(next) = read.next_offset {
        tail = continues(read, "offset", next);
    }
    add_cuts(&mut tail, read, names);
    add_line_endings(&mut tail, read);
    if let Some(etag) = etag {
        add(&mut tail, "etag ");
        tail.push_str(etag);
    }
    if !tail.is_empty() {
        let _ = write!(text, "[{tail}]");
    }
    text
}

/// Adds how to read the parts of lines that the page left out.
fn add_cuts(tail: &mut String, read: &Read, names: &Names) {
    if !read.truncated {
        return;
    }
    let contains = |suffix: &str| memchr::memmem::find(read.content.as_bytes(), suffix.as_bytes()).is_some();
    let (mode, has_cut) = (names.name(Term::Mode), read.next_offset.is_none());
    let is_raw = contains(RAW_CUT_SUFFIX);
    match mode.filter(|_| is_raw || (has_cut && contains(CUT_SUFFIX))) {
        Some(mode) if is_raw => {
            add(tail, &format!("{mode}=base64 with that byte as offset shows the rest of the line"));
        }
        Some(mode) if has_cut => add(tail, &format!("long lines were cut; {mode}=raw shows more of them")),
        None if has_cut => add(tail, "not all of the lines fit"),
        Some(_) | None => {}
    }
}

/// Returns which lines a read returned, and which value of the argument `offset` continues it.
pub fn continuation(read: &Read, offset: &str, next: u64) -> String {
    format!("[{}]", continues(read, offset, next))
}

fn continues(read: &Read, offset: &str, next: u64) -> String {
    let of = read.total_lines.map(|total| format!(" of {total}")).unwrap_or_default();
    let unit = if read.encoding == "binary" { "bytes" } else { "lines" };
    format!("{unit} {}-{}{of}; {offset}={next} continues", read.start_line, read.end_line)
}

/// Returns the note that a read began at or past the end of the file and has no lines; empty if it has lines.
pub fn no_lines(read: &Read) -> String {
    match read.total_lines.filter(|total| *total > 0 && read.end_line == 0) {
        Some(1) => "[no lines: the file has 1 line]".to_owned(),
        Some(total) => format!("[no lines: the file has {total} lines]"),
        None => String::new(),
    }
}

/// Adds the properties of the lines that numbered lines do not show.
fn add_line_endings(tail: &mut String, read: &Read) {
    match read.line_ending {
        _ if read.end_line == 0 => {}
        "crlf" => add(tail, "CRLF line endings"),
        "cr" => add(tail, "CR line endings"),
        "mixed" => add(tail, "mixed line endings"),
        _ => {}
    }
    if read.is_open {
        add(tail, "no newline at the end");
    }
}

fn add(tail: &mut String, words: &str) {
    if !tail.is_empty() {
        tail.push_str("; ");
    }
    tail.push_str(words);
}

/// Returns a line about the line endings that numbered lines do not show; empty if there are none.
pub fn endings(read: &Read) -> String {
    let mut tail = String::new();
    add_line_endings(&mut tail, read);
    if tail.is_empty() { tail } else { format!("\n[{tail}]") }
}

/// Renders the lines of several files.
pub fn read_many(many: &ReadMany, names: &Names) -> String {
    let mut text = String::new();
    for entry in &many.entries {
        let _ = writeln!(text, "== {} ==", printable(&entry.path));
        match &entry.outcome {
            ReadOutcome::Result(result) => text.push_str(&read(result, names)),
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
