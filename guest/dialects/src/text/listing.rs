//! Renders listings and searches, and the part of them that was left out.

use std::fmt::Write;

use paddock_types::entry::Kind;
use paddock_types::error::{Term, Vocabulary, printable};
use paddock_types::response::{Changes, ContextLine, Glob, Grep, GrepMatch, List, Skipped, Tree, TreeNode};

use crate::dialect::Names;
use crate::text::{counted, with_notes};

/// Renders a directory listing.
pub fn list(list: &List, names: &Names) -> String {
    let mut text = String::new();
    let mut lines = Vec::new();
    for entry in &list.entries {
        let mut end = kind_suffix(entry.kind).to_owned();
        if let Some(size) = entry.size {
            let _ = write!(end, " {size}");
        }
        lines.push((entry.path.as_str(), end));
    }
    path_lines(&mut text, &lines);
    if list.entries.is_empty() {
        text.push_str("[no entries]\n");
    }
    if let (true, Some(files), Some(directories)) = (list.truncated, list.total_files, list.total_directories) {
        let _ = writeln!(text, "[{files} files and {directories} directories in all]");
    }
    with_tail(text, &list.skipped, list.next_cursor.as_deref(), names)
}

/// Number of lines after which a directory gets a heading, though the heading above it covers it too.
const OWN_HEADING_LINES: usize = 8;
/// Minimum number of lines whose common directory becomes a heading.
const COMMON_LINES: usize = 4;

/// Appends a line for each path, with its suffix. Paths below one directory follow a heading with the directory, each
/// with the rest of its path after one space, which adds no token.
fn path_lines(text: &mut String, lines: &[(&str, String)]) {
    let mut heading: Option<&str> = None;
    for (index, (path, end)) in lines.iter().enumerate() {
        let following = lines.get(index..).unwrap_or_default();
        let covered = heading.and_then(|heading| rest_below(path, heading));
        let directory = match covered {
            Some(rest) if !rest.contains('/') => None,
            Some(_) => Some(directory_of(path)).filter(|own| has_many_lines(own, following)),
            None => Some(common_directory(following)).filter(|common| !common.is_empty()),
        };
        if let Some(directory) = directory {
            let _ = writeln!(text, "{}/", printable(directory));
        }
        heading = directory.or(heading.filter(|_| covered.is_some()));
        match directory.map_or(covered, |directory| rest_below(path, directory)) {
            Some(rest) => text.extend([" ", printable(rest).as_ref(), end, "\n"]),
            None => {
                // A name that begins with a space must not look like a path below a heading.
                let start = if path.starts_with(' ') { "./" } else { "" };
                let _ = writeln!(text, "{start}{}{end}", printable(path));
                heading = Some(*path).filter(|_| end == "/");
            }
        }
    }
}

/// Returns the rest of a path below a directory.
fn rest_below<'p>(path: &'p str, directory: &str) -> Option<&'p str> {
    path.strip_prefix(directory)?.strip_prefix('/')
}

fn directory_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

fn has_many_lines(directory: &str, lines: &[(&str, String)]) -> bool {
    lines.iter().take_while(|(path, _)| rest_below(path, directory).is_some()).count() >= OWN_HEADING_LINES
}

/// Returns the directory that the next lines have in common; empty if there is only one line.
fn common_directory<'p>(lines: &[(&'p str, String)]) -> &'p str {
    let (Some((first, _)), true) = (lines.first(), lines.len() > 1) else { return "" };
    let mut common = directory_of(first);
    for (path, _) in lines.iter().take(COMMON_LINES) {
        while !common.is_empty() && rest_below(path, common).is_none() {
            let shorter = directory_of(common);
            if shorter.is_empty() {
                break;
            }
            common = shorter;
        }
        if rest_below(path, common).is_none() {
            break;
        }
    }
    let covers_next = lines.get(1).is_some_and(|(next, _)| rest_below(next, common).is_some());
    if covers_next { common } else { "" }
}

/// Renders a tree, with a mark at each directory whose entries are not listed.
pub fn tree(tree: &Tree, names: &Names) -> String {
    let mut text = format!("{}/\n", printable(&tree.path));
    let has_cut = branches(&mut text, &tree.tree, 1);
    if tree.truncated {
        text.push_str("[there is more: ");
        match names.name(Term::ListTool).filter(|_| tree.is_largest) {
            Some(list) => {
                let _ = writeln!(text, "name a directory below, or list one with `{list}`]");
            }
            None => text.push_str("raise `limit`, or name a directory below]\n"),
        }
    } else if let Some(depth) = names.name(Term::Depth).filter(|_| has_cut) {
        let _ = writeln!(text, "[…: not listed, raise {depth}]");
    }
    with_tail(text, &tree.skipped, None, names)
}

/// Appends the entries below a node, and returns whether one is a directory whose entries were not listed.
fn branches(text: &mut String, node: &TreeNode, depth: usize) -> bool {
    let mut has_cut = false;
    for child in node.children.iter().flatten() {
        let is_cut = child.kind == Kind::Directory && child.children.is_none();
        let more = if is_cut { " …" } else { "" };
        let _ = writeln!(text, "{:depth$}{}{}{more}", "", printable(&child.name), kind_suffix(child.kind));
        has_cut |= branches(text, child, depth + 1) || is_cut;
    }
    has_cut
}

/// Renders paths that match a glob.
pub fn glob(glob: &Glob, names: &Names) -> String {
    let mut text = String::new();
    let mut lines = Vec::new();
    for path in &glob.paths {
        lines.push((path.as_str(), String::new()));
    }
    path_lines(&mut text, &lines);
    if glob.paths.is_empty() {
        text.push_str("[no files match]\n");
    }
    with_notes(with_tail(text, &glob.skipped, glob.next_cursor.as_deref(), names), &glob.notes)
}

/// Renders matches, or files with matches.
pub fn grep(grep: &Grep, names: &Names) -> String {
    let mut text = String::new();
    let mut lines: Vec<(&str, String)> = Vec::new();
    for hit in &grep.matches {
        match lines.last_mut().filter(|(path, _)| *path == hit.path) {
            Some((_, matches)) => match_text(matches, hit),
            None => {
                let mut matches = String::new();
                match_text(&mut matches, hit);
                lines.push((&hit.path, matches));
            }
        }
    }
    for file in &grep.files {
        let mut end = String::new();
        if let Some(count) = file.count {
            let (one, many) = if grep.counts_matches { ("match", "matches") } else { ("line", "lines") };
            let _ = write!(end, ": {count} {}", if count == 1 { one } else { many });
        }
        lines.push((&file.path, end));
    }
    path_lines(&mut text, &lines);
    if grep.matches.is_empty() && grep.files.is_empty() {
        let _ = writeln!(text, "[no match in {} files]", grep.files_searched);
    }
    with_notes(with_tail(text, &grep.skipped, grep.next_cursor.as_deref(), names), &grep.notes)
}

/// Appends a match as `12:text` and its context as `11-text`, each on a new line.
fn match_text(text: &mut String, hit: &GrepMatch) {
    let context = |text: &mut String, lines: &[ContextLine]| {
        for line in lines {
            let _ = write!(text, "\n{}-{}", line.line, line.text);
        }
    };
    context(text, &hit.before);
    let start = if hit.text_start > 0 { "…" } else { "" };
    for (line, number) in hit.text.split('\n').zip(hit.line..) {
        let start = if number == hit.line { start } else { "" };
        let _ = write!(text, "\n{number}:{start}{line}");
    }
    context(text, &hit.after);
}

/// Renders changes since a token.
pub fn changes(changes: &Changes, names: &Names) -> String {
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

/// Appends the number of entries left out, and the cursor that continues a result.
pub fn with_tail(mut text: String, skipped: &Skipped, cursor: Option<&str>, names: &Names) -> String {
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
        Some(name) => format!("{word} ({name})"),
        None => word.to_owned(),
    };
    let (ignored, hidden) = (reason("ignored", Term::IncludeIgnored), reason("hidden", Term::IncludeHidden));
    let reasons = [
        (skipped.ignored, ignored.as_str()),
        (skipped.hidden, hidden.as_str()),
        (skipped.denied, "excluded by .agentignore or the policy"),
        (skipped.unreadable, "unreadable"),
        (skipped.too_deep, "too deep"),
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

/// Returns the type indicator of `ls -F`.
fn kind_suffix(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "",
        Kind::Directory => "/",
        Kind::Link => "@",
        Kind::Other => "?",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn lines(paths: &[&'static str], expected: &str) {
        let split = |path: &&'static str| match path.strip_suffix('/') {
            Some(directory) => (directory, "/".to_owned()),
            None => (*path, String::new()),
        };
        let mut text = String::new();
        path_lines(&mut text, &paths.iter().map(split).collect::<Vec<_>>());
        assert_eq!(text, expected);
    }

    #[test]
    fn a_directory_is_named_once_for_the_paths_that_follow() {
        lines(&["a.rs", "d/b.rs", "e/c.rs", "e/d.rs", "f.rs"], "a.rs\nd/b.rs\ne/\n c.rs\n d.rs\nf.rs\n");
        lines(&["d/", "d/b.rs", "d/e/", "d/e/f.rs", "d/g.rs"], "d/\n b.rs\n e/\n e/f.rs\n g.rs\n");
        lines(&["d/e/a", "d/e/b", "d/c", "d/f", "g/h/a"], "d/\n e/a\n e/b\n c\n f\ng/h/a\n");
        lines(&["d/a", "db/c", "d/b"], "d/a\ndb/c\nd/b\n");
        let many: Vec<_> = (1..=8).map(|number| format!("d/e/{number}")).collect();
        let paths = ["d/a", "d/b"].into_iter().chain(many.iter().map(String::as_str)).map(|path| (path, String::new()));
        let mut text = String::new();
        path_lines(&mut text, &paths.collect::<Vec<_>>());
        assert_eq!(text, "d/\n a\n b\nd/e/\n 1\n 2\n 3\n 4\n 5\n 6\n 7\n 8\n");
    }

    #[test]
    fn a_name_never_looks_like_a_path_below_a_heading() {
        lines(&["d/a", "d/b", " c"], "d/\n a\n b\n./ c\n");
        lines(&["d/a", "d/b\n c", "d/e"], "d/\n a\n b\\n c\n e\n");
    }
}
