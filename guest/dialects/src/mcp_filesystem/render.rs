//! Names, sizes, times and diffs in the format of the reference server.

use std::fmt::Write;

use paddock_types::entry::Kind;
use paddock_types::error::{Term, Vocabulary};
use paddock_types::response::{Entry, List, Stat, TreeNode};
use serde_json::{Value, json};

use crate::dialect::answer::CallContext;

/// Returns the allowed directories by their names on the host: the one that the caller gave, and the one without links.
pub fn roots(context: &CallContext<'_>) -> Vec<String> {
    let mut names = Vec::new();
    for root in context.roots {
        names.extend_from_slice(root.host_names());
    }
    if names.is_empty() {
        names.push(".".to_owned());
    }
    names
}

/// Adds a line to a listing that a limit cut short.
pub fn with_rest(context: &CallContext<'_>, text: String, is_cut: bool) -> String {
    if !is_cut {
        return text;
    }
    let other = match context.names.name(Term::FindTool) {
        Some(find) => format!("`{find}` with a narrower pattern finds others"),
        None => "name a directory below this one".to_owned(),
    };
    format!("{text}\n[there are more entries than one call lists: {other}]")
}

fn name(entry: &Entry) -> &str {
    entry.path.rsplit('/').next().unwrap_or_default()
}

fn kind_prefix(entry: &Entry) -> &'static str {
    if entry.kind == Kind::Directory { "[DIR]" } else { "[FILE]" }
}

/// Renders entries as `[DIR] name` or `[FILE] name`.
pub fn names(list: &List) -> String {
    let lines: Vec<_> = list.entries.iter().map(|entry| format!("{} {}", kind_prefix(entry), name(entry))).collect();
    lines.join("\n")
}

/// Renders entries with sizes, followed by the totals, or their minimum if entries are missing.
pub fn sizes(list: &List, by_size: bool) -> String {
    let mut entries: Vec<_> = list.entries.iter().collect();
    if by_size {
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.size.unwrap_or_default()));
    }
    let mut out = String::new();
    for entry in &entries {
        let size = match entry.kind {
            Kind::Directory => String::new(),
            _ => format!("{:>10}", size(entry.size.unwrap_or_default())),
        };
        let _ = writeln!(out, "{} {:<30} {size}", kind_prefix(entry), name(entry));
    }
    let directories = entries.iter().filter(|entry| entry.kind == Kind::Directory).count();
    let total: u64 = entries.iter().filter_map(|entry| entry.size).sum();
    let files = entries.len() - directories;
    let least = if list.truncated { "at least " } else { "" };
    let total = size(total);
    let _ =
        write!(out, "\nTotal: {least}{files} files, {least}{directories} directories\nCombined size: {least}{total}");
    out
}

/// Formats a size, such as `0 B`, `12 B`, `1.50 KB`.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    #[expect(clippy::cast_precision_loss, reason = "shown with two decimals")]
    let mut size = bytes as f64 / 1024.0;
    let mut units = UNITS.iter();
    let mut unit = units.next();
    while size >= 1024.0
        && let Some(next) = units.next()
    {
        size /= 1024.0;
        unit = Some(next);
    }
    format!("{size:.2} {}", unit.copied().unwrap_or_default())
}

/// Renders `key: value` lines. WASI reports neither creation time nor mode bits.
pub fn info(stat: &Stat) -> String {
    let time = |time: &Option<String>| time.as_deref().map_or_else(|| "unknown".to_owned(), date);
    let lines = [
        ("size", stat.size.unwrap_or_default().to_string()),
        ("created", "unknown".to_owned()),
        ("modified", time(&stat.modified)),
        ("accessed", time(&stat.accessed)),
        ("isDirectory", (stat.kind == Kind::Directory).to_string()),
        ("isFile", (stat.kind == Kind::File).to_string()),
        ("permissions", "unknown".to_owned()),
    ];
    lines.map(|(key, value)| format!("{key}: {value}")).join("\n")
}

/// Formats an RFC 3339 time in UTC like JavaScript's `Date`.
fn date(rfc3339: &str) -> String {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
    let number = |range: std::ops::Range<usize>| rfc3339.get(range).and_then(|digits| digits.parse::<usize>().ok());
    let (Some(year), Some(month), Some(day)) = (number(0..4), number(5..7), number(8..10)) else {
        return rfc3339.to_owned();
    };
    let time = rfc3339.get(11..19).unwrap_or_default();
    // Sakamoto's method: the offset of each month in a year that starts in March.
    const OFFSETS: [usize; 12] = [0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4];
    let from = if month < 3 { year.saturating_sub(1) } else { year };
    let offset = month.checked_sub(1).and_then(|month| OFFSETS.get(month)).copied().unwrap_or_default();
    let weekday = (from + from / 4 - from / 100 + from / 400 + offset + day) % 7;
    let weekday = DAYS.get(weekday).copied().unwrap_or_default();
    let month = month.checked_sub(1).and_then(|month| MONTHS.get(month)).copied().unwrap_or_default();
    format!("{weekday} {month} {day:02} {year} {time} GMT+0000 (Coordinated Universal Time)")
}

/// Wraps the diff in a code fence longer than any fence that it contains.
pub fn diff(path: &str, unified: &str) -> String {
    let unified = unified.replace("\r\n", "\n");
    let hunks = unified.split_inclusive('\n').skip_while(|line| !line.starts_with("@@"));
    let mut diff = format!("Index: {path}\n{}\n--- {path}\toriginal\n+++ {path}\tmodified\n", "=".repeat(67));
    for line in hunks {
        // In a hunk header, the reference server also writes the count of a range of one line.
        let is_header = line.starts_with("@@");
        let mut has_count = true;
        for character in line.chars() {
            match character {
                '-' | '+' if is_header => has_count = false,
                ',' => has_count = true,
                ' ' if !has_count => {
                    diff.push_str(",1");
                    has_count = true;
                }
                _ => {}
            }
            diff.push(character);
        }
    }
    let mut fence = "```".to_owned();
    while diff.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}diff\n{diff}{fence}\n\n")
}

/// Returns the media type that the reference assigns to a name.
///
/// The types differ from those of `paddock_text::mime`, and are those of the reference.
pub fn media_type(path: &str) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or_default();
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_lowercase()).unwrap_or_default();
    match extension.as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "bmp" => "image/bmp",
        "svg" => "image/svg+xml",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "ogg" => "audio/ogg",
        "flac" => "audio/flac",
        _ => "application/octet-stream",
    }
}

/// Returns the `file:` URI of an absolute path.
///
/// `percent-encoding` is not linked in the component, and would be for this loop only.
pub fn uri(path: &str) -> String {
    let mut uri = "file://".to_owned();
    for byte in path.bytes() {
        match byte {
            _ if byte.is_ascii_alphanumeric() || b"/!$&'()*+,-.:;=@_".contains(&byte) => uri.push(char::from(byte)),
            other => {
                let _ = write!(uri, "%{other:02X}");
            }
        }
    }
    uri
}

/// Renders an entry of a tree as the JSON of the reference.
pub(super) fn node(node: &TreeNode) -> Value {
    match node.kind {
        Kind::Directory => {
            let children: Vec<_> = node.children.iter().flatten().map(self::node).collect();
            json!({ "name": node.name, "type": "directory", "children": children })
        }
        _ => json!({ "name": node.name, "type": "file" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_as_javascript_shows_them() {
        assert_eq!(date("2023-11-14T22:13:20Z"), "Tue Nov 14 2023 22:13:20 GMT+0000 (Coordinated Universal Time)");
        assert_eq!(date("2024-02-29T00:00:00.5Z"), "Thu Feb 29 2024 00:00:00 GMT+0000 (Coordinated Universal Time)");
        assert_eq!(date("1970-01-01T00:00:00Z"), "Thu Jan 01 1970 00:00:00 GMT+0000 (Coordinated Universal Time)");
    }

    #[test]
    fn sizes_have_two_decimals() {
        let sizes = [0, 12, 1023, 1024, 1536, 5 * 1024 * 1024, u64::MAX].map(size);
        assert_eq!(sizes, ["0 B", "12 B", "1023 B", "1.00 KB", "1.50 KB", "5.00 MB", "16777216.00 TB"]);
    }

    #[test]
    fn a_fence_is_longer_than_any_in_the_diff() {
        let rendered = diff("/w/a", "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-```\n+x\n");
        assert!(rendered.starts_with("````diff\nIndex: /w/a\n==="), "{rendered}");
        assert!(rendered.ends_with("\n@@ -1,1 +1,1 @@\n-```\n+x\n````\n\n"), "{rendered}");
        let rendered = diff("/w/a", "--- a/a\n+++ b/a\n@@ -0,0 +1 @@\n+@@ -1 +1 @@\n");
        assert!(rendered.ends_with("\n@@ -0,0 +1,1 @@\n+@@ -1 +1 @@\n```\n\n"), "{rendered}");
        assert_eq!(uri("/a b/é"), "file:///a%20b/%C3%A9");
    }
}
