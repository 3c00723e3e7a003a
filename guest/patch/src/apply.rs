//! Applies hunks to a text: returns the splices, or why a hunk does not apply.
//!
//! `diffy` and `patch` apply a hunk at the nearest place, report only its number, and have none of the lenient passes.

use std::cell::OnceCell;

use paddock_text::document::Splice;
use paddock_types::error::Detail;
use paddock_types::match_pass::Pass;
use paddock_types::request::Matching;

use crate::final_newline::{end_last_line, keep_open};
use crate::lines::Lines;
use crate::locate::{Haystack, MAX_LOCATIONS};
use crate::nearest::{hint, numbers};
use crate::{Hunk, Row, RowKind, Where, quoted, unified};

/// Changes that hunks make in a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The replacements, in order.
    pub splices: Vec<Splice>,
    /// Number of lines added.
    pub added: u64,
    /// Number of lines removed.
    pub removed: u64,
    /// The most lenient matching pass that a hunk needed.
    pub pass: Pass,
    /// Corrected mistakes of hunk headers, and chunks with several places, each as a sentence.
    pub corrections: Vec<String>,
}

/// The reason why a hunk does not apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reject {
    /// Number of the hunk, from 1.
    pub hunk: usize,
    /// Line of the patch at which the hunk begins, from 1.
    pub line: usize,
    /// The cause, as a clause about the hunk.
    pub cause: String,
    /// The change to the patch that would work.
    pub hint: String,
    /// Subject of the failure.
    pub detail: Option<Detail>,
}

/// Maximum number of hunks of one patch whose failures are reported.
pub const MAX_REJECTS: usize = 10;

/// Returns the changes that `hunks` make in `text`, or every hunk that does not apply, at most [`MAX_REJECTS`].
pub fn change(text: &str, hunks: &[Hunk<'_>], matching: Matching) -> Result<Change, Vec<Reject>> {
    let mut applying = Applying {
        lines: Lines::new(text),
        matching,
        haystacks: Default::default(),
        cursor: 0,
        change: Change::default(),
        keeps_open: false,
    };
    let mut rejects = Vec::new();
    for (index, hunk) in hunks.iter().enumerate() {
        match applying.hunk(hunk) {
            Ok(start) => applying.report(index + 1, hunk, start),
            // After a hunk that does not apply, the next hunk may apply both before and after the failed one.
            Err(_) if !rejects.is_empty() && applying.is_repeated(hunk) => {}
            Err(failure) => rejects.push(Reject {
                hunk: index + 1,
                line: hunk.line,
                cause: failure.cause,
                hint: failure.hint,
                detail: failure.detail,
            }),
        }
        if rejects.len() == MAX_REJECTS {
            break;
        }
    }
    if rejects.is_empty() { Ok(applying.finish()) } else { Err(rejects) }
}

pub(super) struct Failure {
    pub(super) cause: String,
    pub(super) hint: String,
    pub(super) detail: Option<Detail>,
}

impl Failure {
    pub(super) fn new(cause: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { cause: cause.into(), hint: hint.into(), detail: None }
    }
}

pub(super) struct Applying<'t> {
    pub(super) lines: Lines<'t>,
    pub(super) matching: Matching,
    /// Prepared lines of the file, one set for each matching pass.
    haystacks: [OnceCell<Haystack>; Pass::ALL.len()],
    /// Index of the line after the last applied hunk, from 0.
    pub(super) cursor: usize,
    pub(super) change: Change,
    /// Whether a file without a final newline stays without one, even if its last line changes.
    keeps_open: bool,
}

impl Applying<'_> {
    /// Applies a hunk and returns the index of its first line.
    fn hunk(&mut self, hunk: &Hunk<'_>) -> Result<usize, Failure> {
        let (start, shorter) = match &hunk.position {
            Where::Line(line) => {
                self.keeps_open = false;
                (self.stated_or_moved(hunk, *line)?, None)
            }
            Where::Search { anchors, at_end } if matches!(self.matching, Matching::Strict | Matching::Corrected) => {
                // A hunk of a unified diff can state the end of the file, with or without line numbers.
                let states_end = hunk.rows.iter().any(|row| row.open);
                self.keeps_open = self.lines.is_open() && !states_end;
                let start = self.sought(hunk, anchors, *at_end || states_end)?;
                (if states_end { self.stated(hunk, start + 1)? } else { start }, None)
            }
            Where::Search { anchors, at_end } => {
                self.keeps_open = self.matching == Matching::V4a && self.lines.is_open();
                self.locate_lenient(hunk, anchors, *at_end)?
            }
        };
        let (whole_hunk, hunk) = (hunk, shorter.as_ref().unwrap_or(hunk));
        let is_insertion_at_end = start == self.lines.count() && hunk.old().next().is_none();
        self.splice(hunk, start);
        if self.matching == Matching::V4a {
            // The cursor also passes a blank line that represents the end of the text.
            self.cursor = start + whole_hunk.old().count();
        } else if !is_insertion_at_end {
            self.cursor = start + hunk.old().count();
        }
        Ok(start)
    }

    /// Returns whether the old lines of a hunk occur more than once.
    fn is_repeated(&self, hunk: &Hunk<'_>) -> bool {
        let old = hunk.old_texts();
        !old.is_empty() && self.haystack().find(&old, self.cursor, 2).len() == 2
    }

    /// Adds a sentence about a mistake in a hunk that was applied at the line with index `start`.
    fn report(&mut self, number: usize, hunk: &Hunk<'_>, start: usize) {
        let other =
            self.other_position(hunk, start).map(|line| format!("its old lines occur at line {} too", line + 1));
        let mistake = match hunk.position {
            Where::Line(line) if start + 1 != line && hunk.old().next().is_some() => Some("its line number is wrong"),
            _ => hunk.mistake,
        };
        if let Some(remark) = other.or_else(|| mistake.map(str::to_owned)) {
            let (line, at) = (hunk.line, start + 1);
            let correction = format!("hunk {number} (patch line {line}): {remark}; it was applied at line {at}");
            self.change.corrections.push(correction);
        }
    }

    /// Returns the next place of the old lines of a chunk, if nothing in the chunk says that the first place is meant.
    fn other_position(&self, hunk: &Hunk<'_>, start: usize) -> Option<usize> {
        let Where::Search { anchors, at_end: false } = &hunk.position else { return None };
        let old = hunk.old_texts();
        let takes_first = self.matching == Matching::Codex && anchors.is_empty() && !old.is_empty();
        takes_first.then(|| self.haystack().find(&old, start + 1, 1).first().copied()).flatten()
    }

    /// Returns the only location of the old lines of a chunk.
    fn sought(&self, hunk: &Hunk<'_>, anchors: &[&str], at_end: bool) -> Result<usize, Failure> {
        let count = self.lines.count();
        let old = hunk.old_texts();
        // The applier of unified diffs, which gets such a chunk, accepts no other line.
        if let (&[anchor], Matching::Strict) = (anchors, self.matching)
            && let Some(line) = unified::stated_line(anchor)
        {
            let start = if old.is_empty() { line } else { line.saturating_sub(1) };
            let is_there = old.is_empty() || self.haystack().find(&old, start, 1) == [start];
            return Some(start)
                .filter(|start| is_there && (self.cursor..=count).contains(start))
                .ok_or_else(|| self.not_found(hunk, &old, &format!("its old lines are not at line {line}")));
        }
        let after = self.anchored(anchors)?;
        if old.is_empty() {
            return match after.as_slice() {
                _ if at_end || anchors.is_empty() => Ok(count),
                [position] => Ok(*position),
                positions => Err(ambiguous_anchor(anchors, positions)),
            };
        }
        let find = |from: usize, max: usize| self.haystack().find(&old, from, max);
        if at_end {
            let start = count.checked_sub(old.len()).filter(|start| *start >= self.cursor);
            return start
                .filter(|start| find(*start, 1) == [*start])
                .ok_or_else(|| self.not_found(hunk, &old, "its old lines are not the last of the file"));
        }
        let mut positions = if anchors.is_empty() {
            find(self.cursor, MAX_LOCATIONS)
        } else {
            after.iter().filter_map(|from| find(*from, 1).first().copied()).collect()
        };
        positions.dedup();
        match positions.as_slice() {
            [position] => Ok(*position),
            [] if anchors.is_empty() && self.cursor == 0 => {
                Err(self.not_found(hunk, &old, "its old lines are not in the file"))
            }
            [] => Err(self.not_found(hunk, &old, &format!("its old lines are not in the file {}", self.after(&after)))),
            positions => Err(Failure::new(
                format!("its old lines occur at {}", numbers(positions)),
                "add lines of context, or `@@ ` and a line that is above only one of the places".to_owned(),
            )),
        }
    }

    /// Returns the line after each location at which the anchors follow each other.
    fn anchored(&self, anchors: &[&str]) -> Result<Vec<usize>, Failure> {
        let Some((first, inner)) = anchors.split_first() else { return Ok(vec![self.cursor]) };
        let starts = self.anchor(first, self.cursor, MAX_LOCATIONS);
        let mut missing = *first;
        let mut positions = Vec::new();
        for start in starts {
            let end = inner.iter().try_fold(start + 1, |from, anchor| {
                missing = anchor;
                self.anchor(anchor, from, 1).first().map(|position| position + 1)
            });
            positions.extend(end);
        }
        positions.dedup();
        if positions.is_empty() {
            let cause = format!("its anchor {} is not in the file {}", quoted(missing), self.after(&[self.cursor]));
            let hint = match hint(&self.lines, self.haystack(), &[missing], self.cursor) {
                hint if missing.starts_with('-') => format!("`@@` takes a line of the file, no line numbers; {hint}"),
                hint => hint,
            };
            return Err(Failure::new(cause, hint));
        }
        Ok(positions)
    }

    /// Returns the lines that equal `anchor`. If no line does, white space at both ends is ignored: an anchor only limits
    /// the search.
    fn anchor(&self, anchor: &str, from: usize, max: usize) -> Vec<usize> {
        let exact = self.haystack().find(&[anchor], from, max);
        if !exact.is_empty() {
            return exact;
        }
        let wanted = anchor.trim();
        let is_it = |index: &usize| self.lines.get(*index).is_some_and(|line| line.text.trim() == wanted);
        (from..self.lines.count()).filter(is_it).take(max).collect()
    }

    fn after(&self, positions: &[usize]) -> String {
        match positions {
            [0] => "at all".to_owned(),
            [position] => format!("after line {position}"),
            _ => "after its anchors".to_owned(),
        }
    }

    pub(super) fn not_found(&self, hunk: &Hunk<'_>, old: &[&str], cause: &str) -> Failure {
        let elsewhere = self.cursor > 0 && !self.haystack().find(old, 0, 1).is_empty();
        let hint = self.hint(hunk, self.cursor);
        let hint = if elsewhere { format!("chunks have to be in the order of the file; {hint}") } else { hint };
        Failure::new(cause, hint)
    }

    pub(super) fn hint(&self, hunk: &Hunk<'_>, meant: usize) -> String {
        let old = hunk.old_texts();
        hint(&self.lines, self.haystack(), &old, meant)
    }

    pub(super) fn haystack(&self) -> &Haystack {
        self.folded(Pass::Exact)
    }

    /// Returns the lines as a pass compares them. They are prepared at the first search of the pass.
    pub(super) fn folded(&self, pass: Pass) -> &Haystack {
        let [exact, trailing, trimmed, punctuation] = &self.haystacks;
        let haystack = match pass {
            Pass::Exact => exact,
            Pass::TrailingSpace => trailing,
            Pass::Trimmed => trimmed,
            Pass::Punctuation => punctuation,
        };
        haystack.get_or_init(|| Haystack::new(&self.lines, pass))
    }

    /// Adds the splices of a hunk that applies at the line with index `start`, one for each run of changed lines.
    fn splice(&mut self, hunk: &Hunk<'_>, start: usize) {
        let states_endings = match self.matching {
            Matching::Codex => false,
            Matching::V4a => self.lines.get(0).is_none_or(|line| line.ending.is_empty()),
            Matching::Strict | Matching::Corrected => true,
        };
        let fits_as_stated = states_endings && self.has_own_endings(hunk, start);
        let mut line = start;
        for run in hunk.rows.chunk_by(|a, b| (a.kind == RowKind::Keep) == (b.kind == RowKind::Keep)) {
            let old = run.iter().filter(|row| row.kind != RowKind::Add).count();
            if run.first().is_some_and(|row| row.kind != RowKind::Keep) {
                let added = run.iter().filter(|row| row.kind == RowKind::Add);
                let mut text = String::new();
                for (index, row) in added.enumerate() {
                    text.push_str(row.text);
                    text.push_str(if fits_as_stated { own_ending(row) } else { self.ending(line, old, index, row) });
                    self.change.added += 1;
                }
                self.change.removed += old as u64;
                self.change.splices.push(Splice { range: self.lines.start(line)..self.lines.start(line + old), text });
            }
            line += old;
        }
    }

    /// Returns whether the hunk states line endings, and the file has these endings.
    fn has_own_endings(&self, hunk: &Hunk<'_>, start: usize) -> bool {
        let fits = |(index, row): (usize, &Row<'_>)| {
            self.lines
                .get(start + index)
                .is_some_and(|line| line.ending.is_empty() || (line.ending == "\r\n") == row.crlf)
        };
        hunk.rows.iter().any(|row| row.crlf) && hunk.old().enumerate().all(fits)
    }

    /// Returns the line ending of an added line: that of the replaced line, or else of a neighbouring line; in Codex, that
    /// of the first line.
    fn ending(&self, line: usize, removed: usize, index: usize, row: &Row<'_>) -> &'static str {
        if row.open {
            return "";
        }
        if self.matching == Matching::Codex {
            return self.ending_near(&[Some(0)]);
        }
        let replaced = removed.checked_sub(1).map(|last| line + index.min(last));
        let above = |line: Option<usize>| line.and_then(|line| line.checked_sub(1));
        self.ending_near(&[replaced, above(replaced), above(Some(line)), Some(line + removed), Some(0)])
    }

    /// Returns the ending of the first of these lines that has one.
    fn ending_near(&self, lines: &[Option<usize>]) -> &'static str {
        lines
            .iter()
            .flatten()
            .filter_map(|near| self.lines.get(*near))
            .find_map(|near| match near.ending {
                "\r\n" => Some("\r\n"),
                "\r" => Some("\r"),
                "\n" => Some("\n"),
                _ => None,
            })
            .unwrap_or("\n")
    }

    fn finish(mut self) -> Change {
        let before_last = self.lines.count().checked_sub(2);
        let ending =
            self.ending_near(&[before_last.map(|line| if self.matching == Matching::Codex { 0 } else { line })]);
        let splices = &mut self.change.splices;
        splices.sort_by_key(|splice| splice.range.start);
        let mut joined: Vec<Splice> = Vec::with_capacity(splices.len());
        for splice in splices.drain(..) {
            match joined.last_mut() {
                Some(last) if last.range.end == splice.range.start => {
                    last.range.end = splice.range.end;
                    last.text.push_str(&splice.text);
                }
                _ => joined.push(splice),
            }
        }
        if self.lines.is_open()
            && let Some(last) = joined.last_mut()
        {
            end_last_line(last, &self.lines, ending);
            if self.keeps_open {
                keep_open(last, &self.lines);
            }
        }
        joined.retain(|splice| !splice.range.is_empty() || !splice.text.is_empty());
        self.change.splices = joined;
        self.change
    }
}

fn own_ending(row: &Row<'_>) -> &'static str {
    match (row.open, row.crlf) {
        (true, _) => "",
        (false, true) => "\r\n",
        (false, false) => "\n",
    }
}

fn ambiguous_anchor(anchors: &[&str], positions: &[usize]) -> Failure {
    let above: Vec<_> = positions.iter().map(|position| position.saturating_sub(1)).collect();
    let last = anchors.last().copied().unwrap_or_default();
    Failure::new(
        format!("its anchor {} is at {}", quoted(last), numbers(&above)),
        "put another `@@ ` line before it that is above only one of the places, or add lines of context".to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Action, parse_strictly as parse};

    fn apply(text: &str, patch: &str) -> Result<String, Reject> {
        let files = parse(patch).unwrap();
        let hunks = match &files[0].action {
            Action::Add(hunks) | Action::Update(hunks) | Action::Delete(Some(hunks)) => hunks,
            Action::Move { hunks, .. } => hunks,
            Action::Delete(None) => return Ok(String::new()),
        };
        let change = change(text, hunks, Matching::Strict).map_err(|mut rejects| rejects.remove(0))?;
        let mut result = text.to_owned();
        for splice in change.splices.iter().rev() {
            result.replace_range(splice.range.clone(), &splice.text);
        }
        Ok(result)
    }

    fn chunk(text: &str, chunks: &str) -> Result<String, Reject> {
        apply(text, &format!("*** Begin Patch\n*** Update File: f\n{chunks}\n*** End Patch\n"))
    }

    fn hunk(text: &str, hunks: &str) -> Result<String, Reject> {
        apply(text, &format!("--- a/f\n+++ b/f\n{hunks}\n"))
    }

    #[track_caller]
    fn fits(result: Result<String, Reject>, expected: &str) {
        assert_eq!(result.as_deref(), Ok(expected));
    }

    #[track_caller]
    fn fails(result: Result<String, Reject>, cause: &str, hint: &str) {
        let reject = result.unwrap_err();
        assert_eq!(reject.cause, cause);
        assert!(reject.hint.contains(hint), "{}", reject.hint);
    }

    #[test]
    fn chunks_apply_in_order() {
        fits(chunk("a\nb\nc\nd\n", "@@\n-b\n+B\n@@\n-d\n+D"), "a\nB\nc\nD\n");
        fits(chunk("a\nb\n", " a\n+x\n b"), "a\nx\nb\n");
        fits(chunk("a\n\nb\n", "@@\n a\n\n-b"), "a\n\n");
        fits(chunk("a\nb\nc\n", "-a\n\n@@\n-c\n\n"), "b\n");
        fails(
            chunk("a\nb\n", "@@\n-b\n@@\n-a"),
            "its old lines are not in the file after line 2",
            "in the order of the file",
        );
    }

    #[test]
    fn a_chunk_that_fits_twice_is_ambiguous_without_an_anchor() {
        let text = "class A\n def f\n  x\nclass B\n def f\n  x\n";
        fails(chunk(text, "@@\n-  x\n+  y"), "its old lines occur at lines 3 and 6", "add lines of context");
        fits(chunk(text, "@@ class B\n-  x\n+  y"), "class A\n def f\n  x\nclass B\n def f\n  y\n");
        fits(chunk(text, "@@ class A\n@@ def f\n-  x\n+  y"), "class A\n def f\n  y\nclass B\n def f\n  x\n");
        fails(chunk(text, "@@ def f\n-  x"), "its old lines occur at lines 3 and 6", "above only one");
        fits(chunk(text, "@@ def f\n-class B"), "class A\n def f\n  x\n def f\n  x\n");
        fails(chunk(text, "@@ class C\n-  x"), "its anchor `class C` is not in the file at all", "`class A`");
        fails(chunk(text, "@@ class B\n-class A"), "its old lines are not in the file after line 4", "occur at line 1");
        fits(chunk("x\nx\nx\n", "@@\n-x\n-x\n-x\n+y"), "y\n");
        fails(chunk("x\nx\nx\n", "@@\n-x\n-x"), "its old lines occur at lines 1 and 2", "context");
    }

    #[test]
    fn every_hunk_that_does_not_apply_is_reported() {
        let rejected = |text: &str, chunks: &str| {
            let patch = format!("*** Begin Patch\n*** Update File: f\n{chunks}\n*** End Patch\n");
            let files = parse(&patch).unwrap();
            let Action::Update(hunks) = &files[0].action else { panic!() };
            change(text, hunks, Matching::Corrected).unwrap_err().iter().map(|reject| reject.hunk).collect::<Vec<_>>()
        };
        assert_eq!(rejected("a\nb\nc\n", "@@\n-x\n@@\n-b\n+B\n@@\n-y\n@@ z\n-c"), [1, 3, 4]);
        // Only the previous hunk decides which of the two places is meant.
        assert_eq!(rejected("a\nb\nb\n", "@@\n-x\n@@\n-b"), [1]);
        assert_eq!(rejected("b\nb\n", "@@\n-b\n@@\n-x"), [1, 2]);
        assert_eq!(rejected("a\n", &"@@\n-x\n".repeat(1_000)), (1..=MAX_REJECTS).collect::<Vec<_>>());
    }

    #[test]
    fn if_the_first_location_is_taken_the_next_is_reported() {
        let reported = |text: &str, chunks: &str| {
            let patch = format!("*** Begin Patch\n*** Update File: f\n{chunks}\n*** End Patch\n");
            let files = parse(&patch).unwrap();
            let Action::Update(hunks) = &files[0].action else { panic!() };
            change(text, hunks, Matching::Codex).unwrap_or_else(|_| panic!("{chunks}")).corrections
        };
        assert_eq!(
            reported("x\na\nb\na\n", "@@\n-a\n+A"),
            ["hunk 1 (patch line 3): its old lines occur at line 4 too; it was applied at line 2"]
        );
        for (text, chunks) in [
            ("a\nb\na\n", "@@ b\n-a"),
            ("a\nb\na\n", "@@\n-a\n b\n a"),
            ("a\na\n", "@@\n-a\n*** End of File"),
            ("a\nb\n", "@@\n+a"),
        ] {
            assert_eq!(reported(text, chunks), [""; 0], "{chunks}");
        }
    }

    #[test]
    fn lines_are_added_at_the_end_or_after_an_anchor() {
        fits(chunk("a\nb\n", "@@\n+c"), "a\nb\nc\n");
        fits(chunk("a\nb", "@@\n+c\n+d"), "a\nb\nc\nd");
        fits(chunk("a\r\nb", "@@\n+c"), "a\r\nb\r\nc");
        fits(chunk("", "@@\n+c"), "c\n");
        fits(chunk("a\nb\n", "@@ a\n+c"), "a\nc\nb\n");
        fits(chunk("a\nb\n", "@@\n+c\n@@\n-a\n+A"), "A\nb\nc\n");
        fails(chunk("a\na\n", "@@ a\n+c"), "its anchor `a` is at lines 1 and 2", "another `@@ `");
    }

    #[test]
    fn the_end_of_file_marker_is_a_location() {
        fits(chunk("x\na\nx\n", "@@\n-x\n+y\n*** End of File"), "x\na\ny\n");
        fails(
            chunk("x\na\n", "@@\n-x\n*** End of File"),
            "its old lines are not the last of the file",
            "occur at line 1",
        );
    }

    #[test]
    fn an_envelope_keeps_the_final_newline_as_it_is() {
        fits(chunk("a\nb", "@@\n-b\n+c"), "a\nc");
        fits(chunk("a\nb", "@@\n-b"), "a");
        fits(chunk("a\nb\nc", "@@\n-b\n+x\n@@\n-c"), "a\nx");
        fits(chunk("a\r\nb", "@@\n a\n-b"), "a");
        fits(chunk("a", "@@\n-a"), "");
        fits(chunk("a", "@@\n-a\n+b\n+"), "b\n");
        fits(chunk("a\nb\n", "@@\n-b\n+c"), "a\nc\n");
    }

    #[test]
    fn added_lines_take_the_endings_around_them() {
        fits(chunk("a\r\nb\r\n", "@@\n-a\n+x\n+y"), "x\r\ny\r\nb\r\n");
        fits(chunk("a\r\nb\nc\n", "@@\n a\n+x\n b"), "a\r\nx\r\nb\nc\n");
        fits(chunk("a\r\nb\n", "@@\n-a\n-b\n+x\n+y"), "x\r\ny\n");
        fits(hunk("a\rb\r", "@@ -2 +2 @@\n-b\n+c"), "a\rc\r");
        fits(apply("a\r\nb\r\n", "--- a/f\r\n+++ b/f\r\n@@ -1 +1 @@\r\n-a\r\n+x\r\n"), "x\r\nb\r\n");
        fits(apply("a\nb\n", "--- a/f\r\n+++ b/f\r\n@@ -1 +1 @@\r\n-a\r\n+x\r\n"), "x\nb\n");
    }

    #[test]
    fn a_diff_that_writes_out_its_endings_changes_them() {
        fits(hunk("a\nb\n", "@@ -1 +1 @@\n-a\n+a\r"), "a\r\nb\n");
        fits(hunk("a\r\nb\r\n", "@@ -1 +1 @@\n-a\r\n+a"), "a\nb\r\n");
        fits(hunk("a\nb\n", "@@ -1 +1 @@\n-a\r\n+x\r"), "x\nb\n");
    }

    #[test]
    fn a_stated_line_is_honoured_exactly() {
        fits(hunk("a\nb\nc\n", "@@ -2,2 +2,2 @@\n-b\n+B\n c"), "a\nB\nc\n");
        fits(hunk("a\nb\n", "@@ -1,0 +2 @@\n+x"), "a\nx\nb\n");
        fits(hunk("a\nb\n", "@@ -0,0 +1 @@\n+x"), "x\na\nb\n");
        fits(hunk("a\nb\n", "@@ -2,0 +3 @@\n+x"), "a\nb\nx\n");
        fails(
            hunk("z\na\nb\n", "@@ -1,2 +1,2 @@\n-a\n+x\n b"),
            "line 1 is `z`, not `a`",
            "the old lines occur at line 2;",
        );
        fails(hunk("a\nb\n", "@@ -2,2 +2 @@\n b\n-c"), "line 3 should be `c`, but the file has 2 lines", "nearest");
        fails(
            hunk("a\n", "@@ -3,0 +4 @@\n+c"),
            "it adds lines after line 3, but the file has 1 lines",
            "read the file",
        );
        fails(
            hunk("a\nb\n", "@@ -2 +2 @@\n-b\n+c\n@@ -1 +1 @@\n-a\n+b"),
            "it starts at line 1, and the hunk before it extends to line 2",
            "order",
        );
        fails(
            hunk("\ta\n", "@@ -1 +1 @@\n-    a\n+b"),
            "line 1 is `\\ta`, not `    a` (only white space differs)",
            "nearest",
        );
        let huge = format!("@@ -{},0 +1 @@\n+x", usize::MAX);
        assert!(hunk("a\n", &huge).is_err());
    }

    #[test]
    fn the_marker_of_a_missing_newline_is_honoured_exactly() {
        const OPEN: &str = "\\ No newline at end of file";
        fits(hunk("a\nb", &format!("@@ -2 +2 @@\n-b\n{OPEN}\n+c")), "a\nc\n");
        fits(hunk("a\nb\n", &format!("@@ -2 +2 @@\n-b\n+c\n{OPEN}")), "a\nc");
        fits(hunk("a\nb", &format!("@@ -1,2 +1,2 @@\n-a\n+x\n b\n{OPEN}")), "x\nb");
        fits(hunk("a\nb", &format!("@@ -2 +2 @@\n-b\n{OPEN}\n+c\n{OPEN}")), "a\nc");
        fails(
            hunk("a\nb", "@@ -2 +2 @@\n-b\n+c"),
            "line 2 ends the file without a newline, and the patch does not say so",
            "No newline",
        );
        fails(
            hunk("a\nb\n", &format!("@@ -2 +2 @@\n-b\n{OPEN}\n+c")),
            "line 2 ends in a newline, and the patch says that it does not",
            "out",
        );
        fails(
            hunk("a\nb\n", &format!("@@ -1 +1 @@\n-a\n+c\n{OPEN}")),
            "it states that the file ends with it, but line 2 follows",
            "out",
        );
        fails(
            hunk("a", "@@ -1,0 +2 @@\n+c"),
            "line 1 ends the file without a newline, and the patch does not say so",
            "No newline",
        );
    }

    #[test]
    fn a_hunk_without_line_numbers_can_state_the_end_of_the_file() {
        const OPEN: &str = "\\ No newline at end of file";
        let corrected = |text: &str, hunks: &str| {
            let patch = format!("--- a/f\n+++ b/f\n{hunks}\n");
            let files = crate::parse(&patch, Matching::Corrected).unwrap();
            let Action::Update(hunks) = &files[0].action else { panic!("{patch}") };
            let change = change(text, hunks, Matching::Corrected).map_err(|mut rejects| rejects.remove(0))?;
            let mut result = text.to_owned();
            change.splices.iter().rev().for_each(|splice| result.replace_range(splice.range.clone(), &splice.text));
            Ok(result)
        };
        fits(corrected("a\nb", &format!("@@ @@\n a\n-b\n{OPEN}\n+b")), "a\nb\n");
        fits(corrected("a\nb", &format!("@@ @@\n a\n-b\n{OPEN}\n+c")), "a\nc\n");
        fits(corrected("a\nb\n", &format!("@@ @@\n-b\n+b\n{OPEN}")), "a\nb");
        fits(corrected("b\na\nb", &format!("@@ @@\n-b\n{OPEN}\n+c\n{OPEN}")), "b\na\nc");
        fits(corrected("a\nb\nc", &format!("@@ @@\n-a\n+A\n@@ -3 +3 @@\n-c\n{OPEN}\n+c")), "A\nb\nc\n");
        // Without a marker, the end of the file stays as it is.
        fits(corrected("a\nb", "@@ @@\n a\n-b\n+c"), "a\nc");
        fails(
            corrected("a\nb\n", &format!("@@ @@\n-b\n{OPEN}\n+b")),
            "line 2 ends in a newline, and the patch says that it does not",
            "out",
        );
        fails(corrected("a\nb\n", &format!("@@ @@\n-a\n+c\n{OPEN}")), "its old lines are not the last of the file", "");
    }
}
