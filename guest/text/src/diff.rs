//! Unified diffs between two texts. The splices give the changed ranges, so that a small change of a large text is
//! cheap.
//!
//! `similar::TextDiff` compares the whole texts. Of `similar` only the algorithm is used (see [`mod@compare`]), and `diffy`
//! only merges three texts.

use std::fmt::Write;
use std::ops::Range;

use similar::DiffOp;

use crate::compare;
use crate::document::Splice;

/// Default number of context lines around a change.
pub const CONTEXT: usize = 3;
/// Maximum number of lines of one change that are compared with each other. In a larger change, all lines are changed.
const COMPARED: usize = 4_000;
/// Maximum length in bytes of a line that an abridged diff has whole.
const LONG_LINE: usize = 1_000;
/// Number of unchanged bytes on each side of a change that an abridged diff has of a longer line.
const AROUND: usize = 200;
/// Line after a last line without a line ending.
const NO_NEWLINE: &str = "\\ No newline at end of file\n";

/// A range of the old text that a range of the new text replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Range in the old text.
    pub old: Range<usize>,
    /// Range in the new text.
    pub new: Range<usize>,
}

/// Returns the changes from the first text, if `before` made a second text of it and `splices` apply to the second
/// text.
pub fn compose(before: &[Change], splices: &[Splice]) -> Vec<Change> {
    // Each change is a range of the second text, with its difference in length to the first and the third text.
    // Both lists are in order.
    let mut older = before.iter().map(|c| (c.new.clone(), grown(c.new.len(), c.old.len()), 0)).peekable();
    let mut newer = splices.iter().map(|s| (s.range.clone(), 0, grown(s.text.len(), s.range.len()))).peekable();
    let mut next = || match (older.peek(), newer.peek()) {
        (Some((old, ..)), Some((new, ..))) if (new.start, new.end) < (old.start, old.end) => newer.next(),
        (None, _) => newer.next(),
        (Some(_), _) => older.next(),
    };

    let (mut old_shift, mut new_shift) = (0, 0);
    let mut changes: Vec<Change> = Vec::new();
    let mut middle_end = None;
    while let Some((range, from_old, to_new)) = next() {
        let joined = changes.last_mut().filter(|_| middle_end.is_some_and(|end| range.start <= end));
        let end = middle_end.filter(|_| joined.is_some()).map_or(range.end, |end: usize| end.max(range.end));
        let old_start = range.start.saturating_add_signed(-old_shift);
        let new_start = range.start.saturating_add_signed(new_shift);
        old_shift += from_old;
        new_shift += to_new;
        let old_end = end.saturating_add_signed(-old_shift);
        let new_end = end.saturating_add_signed(new_shift);
        match joined {
            Some(change) => (change.old.end, change.new.end) = (old_end, new_end),
            None => changes.push(Change { old: old_start..old_end, new: new_start..new_end }),
        }
        middle_end = Some(end);
    }
    changes
}

fn grown(new: usize, old: usize) -> isize {
    isize::try_from(new).unwrap_or(isize::MAX).saturating_sub_unsigned(old)
}

/// Returns the range in which two texts differ; `None` if they are equal.
pub fn between(old: &str, new: &str) -> Option<Change> {
    let same = |pair: &(char, char)| pair.0 == pair.1;
    let head: usize = old.chars().zip(new.chars()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let (old_rest, new_rest) = (old.get(head..)?, new.get(head..)?);
    let ends = old_rest.chars().rev().zip(new_rest.chars().rev());
    let tail: usize = ends.take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let change = Change { old: head..old.len() - tail, new: head..new.len() - tail };
    (!change.old.is_empty() || !change.new.is_empty()).then_some(change)
}

/// A change of whole lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineChange {
    /// Byte ranges of the lines in both texts.
    pub bytes: Change,
    /// Number of the first line in the old text, and number of lines.
    pub old: (u64, u64),
    /// Number of the first line in the new text, and number of lines.
    pub new: (u64, u64),
}

/// Returns the lines that `changes` changed.
pub fn line_changes(old: &str, new: &str, changes: &[Change]) -> Vec<LineChange> {
    let mut line_changes = Vec::new();
    let (mut at, mut old_line, mut new_line) = (Change { old: 0..0, new: 0..0 }, 1, 1);
    for block in whole_lines(old, new, changes) {
        old_line += count(old, at.old.end..block.old.start);
        new_line += count(new, at.new.end..block.new.start);
        let (old_lines, new_lines) = (lines(old, &block.old), lines(new, &block.new));
        let mut old_at = (block.old.start, old_line);
        let mut new_at = (block.new.start, new_line);
        for op in compare(&old_lines, &new_lines) {
            let old_next = advance(old_at, old_lines.get(op.old_range()));
            let new_next = advance(new_at, new_lines.get(op.new_range()));
            if !matches!(op, DiffOp::Equal { .. }) {
                line_changes.push(LineChange {
                    bytes: Change { old: old_at.0..old_next.0, new: new_at.0..new_next.0 },
                    old: (old_at.1, old_next.1 - old_at.1),
                    new: (new_at.1, new_next.1 - new_at.1),
                });
            }
            (old_at, new_at) = (old_next, new_next);
        }
        (old_line, new_line) = (old_at.1, new_at.1);
        at = block;
    }
    line_changes
}

/// Extends the changes to whole lines, and joins changes that share a line.
fn whole_lines(old: &str, new: &str, changes: &[Change]) -> Vec<Change> {
    let ends_well = |change: &Change| is_line_start(old, change.old.end) && is_line_start(new, change.new.end);
    let mut joined: Vec<Change> = Vec::new();
    for change in changes {
        // The text between two changes is equal in both texts, so a line ending in it separates them.
        let parts = |last: &Change| ends_well(last) || count(old, last.old.end..change.old.start) > 0;
        match joined.last_mut() {
            Some(last) if !parts(last) => (last.old.end, last.new.end) = (change.old.end, change.new.end),
            _ => joined.push(change.clone()),
        }
    }
    let widen = |change: Change| {
        let head = old.get(..change.old.start).unwrap_or_default();
        let before = head.len() - head.rfind('\n').map_or(0, |at| at + 1);
        let rest = old.get(change.old.end..).unwrap_or_default();
        let tail = if ends_well(&change) { 0 } else { rest.find('\n').map_or(rest.len(), |at| at + 1) };
        Change {
            old: change.old.start - before..change.old.end + tail,
            new: change.new.start.saturating_sub(before)..change.new.end + tail,
        }
    };
    joined.into_iter().map(widen).collect()
}

fn is_line_start(text: &str, at: usize) -> bool {
    at == 0 || text.as_bytes().get(at - 1) == Some(&b'\n')
}

fn compare(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    if old.len() + new.len() > COMPARED {
        return vec![DiffOp::Replace { old_index: 0, old_len: old.len(), new_index: 0, new_len: new.len() }];
    }
    compare::lines(old, new)
}

fn lines<'t>(text: &'t str, range: &Range<usize>) -> Vec<&'t str> {
    text.get(range.clone()).unwrap_or_default().split_inclusive('\n').collect()
}

fn advance((at, line): (usize, u64), passed: Option<&[&str]>) -> (usize, u64) {
    let passed = passed.unwrap_or_default();
    (at + passed.iter().map(|line| line.len()).sum::<usize>(), line + passed.len() as u64)
}

fn count(text: &str, range: Range<usize>) -> u64 {
    memchr::memchr_iter(b'\n', text.as_bytes().get(range).unwrap_or_default()).count() as u64
}

/// Returns the unified diff of the file `path`, cut at a line if it is longer than `max` bytes.
pub fn unified(path: &str, texts: (&str, &str), changes: &[LineChange], context: usize, max: usize) -> String {
    render(path, texts, changes, (context, false), max)
}

/// Returns the unified diff of the file `path` for a person. Of a long line it has the part that changes, followed by a
/// line that starts with `\`, as no line of the texts does, and gives the number of bytes that are left out.
pub fn abridged(path: &str, texts: (&str, &str), changes: &[LineChange]) -> String {
    render(path, texts, changes, (CONTEXT, true), usize::MAX)
}

fn render(
    path: &str,
    texts: (&str, &str),
    changes: &[LineChange],
    (context, is_abridged): (usize, bool),
    max: usize,
) -> String {
    let mut out = format!("--- a/{path}\n+++ b/{path}\n");
    let mut rest = changes;
    while let Some(first) = rest.first() {
        let near = |pair: &&[LineChange]| match pair {
            [one, next] => next.old.0 - (one.old.0 + one.old.1) <= 2 * context as u64,
            _ => false,
        };
        let size = 1 + rest.windows(2).take_while(near).count();
        let (hunk, later) = rest.split_at_checked(size).unwrap_or((rest, &[]));
        push_hunk(&mut out, texts, (context, is_abridged), first, hunk);
        rest = later;
        if out.len() > max {
            let end =
                out.get(..out.floor_char_boundary(max)).and_then(|start| start.rfind('\n')).map_or(0, |at| at + 1);
            out.truncate(end);
            out.push_str("… [truncated diff]\n");
            break;
        }
    }
    if changes.is_empty() { String::new() } else { out }
}

fn push_hunk(
    out: &mut String,
    (old, new): (&str, &str),
    (context, is_abridged): (usize, bool),
    first: &LineChange,
    hunk: &[LineChange],
) {
    let last = hunk.last().unwrap_or(first);
    let head = old.get(..first.bytes.old.start).unwrap_or_default();
    let context_before: Vec<_> = head.split_inclusive('\n').rev().take(context).collect();
    let tail: Vec<_> = old.get(last.bytes.old.end..).unwrap_or_default().split_inclusive('\n').take(context).collect();
    let around = (context_before.len() + tail.len()) as u64;
    let span = |first: (u64, u64), last: (u64, u64)| {
        let count = last.0 + last.1 - first.0 + around;
        let start = first.0 - context_before.len() as u64;
        match count {
            0 => format!("{},0", start - 1),
            1 => start.to_string(),
            count => format!("{start},{count}"),
        }
    };
    let _ = writeln!(out, "@@ -{} +{} @@", span(first.old, last.old), span(first.new, last.new));
    let unchanged = is_abridged.then_some(0..0);
    context_before.iter().rev().for_each(|line| push_lines(out, ' ', line, unchanged.as_ref()));
    let mut at = first.bytes.old.start;
    for change in hunk {
        let LineChange { bytes: Change { old: old_range, new: new_range }, .. } = change;
        let [between_changes, before, after] = [(old, &(at..old_range.start)), (old, old_range), (new, new_range)]
            .map(|(text, range)| text.get(range.clone()).unwrap_or_default());
        let changed = if is_abridged { between(before, after) } else { None };
        push_lines(out, ' ', between_changes, unchanged.as_ref());
        push_lines(out, '-', before, changed.as_ref().map(|changed| &changed.old));
        push_lines(out, '+', after, changed.as_ref().map(|changed| &changed.new));
        at = old_range.end;
    }
    tail.iter().for_each(|line| push_lines(out, ' ', line, unchanged.as_ref()));
}

/// Appends lines. If `changed` is given, it is the range of the text that changes, and long lines are abridged to it.
fn push_lines(out: &mut String, sign: char, text: &str, changed: Option<&Range<usize>>) {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        match changed {
            Some(changed) if line.len() > LONG_LINE => {
                push_part(out, sign, line, changed.start.saturating_sub(start)..changed.end.saturating_sub(start))
            }
            _ => push_line(out, sign, line),
        }
        start += line.len();
    }
}

/// Appends the part of a line that changes, with some text around it.
fn push_part(out: &mut String, sign: char, line: &str, changed: Range<usize>) {
    let body = line.strip_suffix('\n').unwrap_or(line);
    let from = body.floor_char_boundary(changed.start.min(body.len()).saturating_sub(AROUND));
    let to = body.ceil_char_boundary(changed.end.saturating_add(AROUND));
    if (from, to) == (0, body.len()) {
        return push_line(out, sign, line);
    }
    let (part, after) = (body.get(from..to).unwrap_or_default(), body.len() - to);
    let _ =
        writeln!(out, "{sign}{part}\n\\ {from} bytes before this part of the line and {after} after it do not change");
    if body.len() == line.len() {
        out.push_str(NO_NEWLINE);
    }
}

fn push_line(out: &mut String, sign: char, line: &str) {
    out.push(sign);
    out.push_str(line);
    if !line.ends_with('\n') {
        out.push('\n');
        out.push_str(NO_NEWLINE);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn apply(text: &str, splices: &[Splice]) -> String {
        let mut text = text.to_owned();
        for splice in splices.iter().rev() {
            text.replace_range(splice.range.clone(), &splice.text);
        }
        text
    }

    fn diff(old: &str, splices: &[Splice]) -> String {
        let new = apply(old, splices);
        unified("f", (old, &new), &line_changes(old, &new, &compose(&[], splices)), CONTEXT, 10_000)
    }

    fn splice(range: Range<usize>, text: &str) -> Splice {
        Splice { range, text: text.to_owned() }
    }

    #[test]
    fn a_hunk_has_three_lines_around() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        assert_eq!(
            diff(old, &[splice(8..9, "x")]),
            "--- a/f\n+++ b/f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n"
        );
        assert_eq!(diff(old, &[splice(0..2, "")]), "--- a/f\n+++ b/f\n@@ -1,4 +1,3 @@\n-1\n 2\n 3\n 4\n");
        assert_eq!(diff(old, &[splice(4..4, "x\n")]), "--- a/f\n+++ b/f\n@@ -1,5 +1,6 @@\n 1\n 2\n+x\n 3\n 4\n 5\n");
        assert_eq!(diff(old, &[splice(0..1, "a"), splice(16..17, "b")]).matches("@@ -").count(), 2);
        assert_eq!(diff(old, &[splice(0..1, "a"), splice(14..15, "b")]).matches("@@ -").count(), 1);
        assert_eq!(diff(old, &[splice(0..1, "1")]), "");
    }

    #[test]
    fn a_common_prefix_and_suffix_are_not_part_of_the_change() {
        assert_eq!(between("aéb", "aèb"), Some(Change { old: 1..3, new: 1..3 }));
        assert_eq!(between("aa", "aaa"), Some(Change { old: 2..2, new: 2..3 }));
        assert_eq!(between("a\n", "a\n"), None);
        let (old, new) = ("1\n2\n3\n", "1\nx\n2\n3\n");
        let changes = line_changes(old, new, &[between(old, new).unwrap()]);
        assert_eq!(unified("f", (old, new), &changes, 0, 1_000), "--- a/f\n+++ b/f\n@@ -1,0 +2 @@\n+x\n");
    }

    #[test]
    fn no_newline_at_the_end() {
        assert_eq!(
            diff("a\nb", &[splice(2..3, "c")]),
            "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"
        );
        assert_eq!(
            diff("a", &[splice(1..1, "\n")]),
            "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"
        );
        assert_eq!(diff("", &[splice(0..0, "a\n")]), "--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+a\n");
        assert_eq!(diff("a\n", &[splice(0..2, "")]), "--- a/f\n+++ b/f\n@@ -1 +0,0 @@\n-a\n");
    }

    /// Applies a unified diff as strictly as `patch(1)`.
    fn patched(old: &str, diff: &str) -> Option<String> {
        let old: Vec<_> = old.split_inclusive('\n').collect();
        let (mut out, mut at) = (String::new(), 0);
        let mut lines = diff.split_inclusive('\n').skip(2).peekable();
        while let Some(line) = lines.next() {
            let none = lines.next_if(|next| next.starts_with('\\')).is_some();
            let body = if none { line[1..].strip_suffix('\n')? } else { &line[1..] };
            match line.chars().next()? {
                '@' => {
                    let (start, count) = line[4..].split(' ').next()?.split_once(',').unwrap_or((&line[4..5], "1"));
                    let start = start.parse::<usize>().ok()? - usize::from(count != "0");
                    out.push_str(&old[at..start].concat());
                    at = start;
                }
                '+' => out.push_str(body),
                sign => {
                    (*old.get(at)? == body).then_some(())?;
                    out.push_str(if sign == ' ' { body } else { "" });
                    at += 1;
                }
            }
        }
        out.push_str(&old[at..].concat());
        Some(out)
    }

    fn splices(text: &str, cuts: &[prop::sample::Index], new: &[String]) -> Vec<Splice> {
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.sort_unstable();
        cuts.as_chunks::<2>().0.iter().zip(new).map(|([a, b], new)| splice(*a..*b, new)).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn the_diff_of_edits_in_turn_makes_the_new_text(
            old in "([ab]{0,2}\n){0,9}[ab]?",
            turns in prop::collection::vec(
                (prop::collection::vec(any::<prop::sample::Index>(), 0..6), prop::collection::vec("[abc\n]{0,3}", 3)), 1..4),
        ) {
            let (mut text, mut changes) = (old.clone(), Vec::new());
            for (cuts, new) in &turns {
                let splices = splices(&text, cuts, new);
                changes = compose(&changes, &splices);
                text = apply(&text, &splices);
            }
            let diff = unified("f", (&old, &text), &line_changes(&old, &text, &changes), CONTEXT, usize::MAX);
            prop_assert_eq!(patched(&old, &diff), Some(text), "{}", diff);
        }
    }
}
