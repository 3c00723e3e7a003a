//! Hunks on a text: what has to be spliced in, or why a hunk does not apply.

use std::cell::OnceCell;

use crate::text::document::Splice;

use super::lines::Lines;
use super::nearest::{differs, hint, numbers};
use super::seek::{Haystack, MOST, Pass};
use super::{Hunk, Row, RowKind, Where, quoted};

/// What hunks change in a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The replacements, in order.
    pub splices: Vec<Splice>,
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
}

/// Why a hunk does not apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reject {
    /// Which one, from 1.
    pub hunk: usize,
    /// The line of the patch.
    pub line: usize,
    /// What is wrong.
    pub cause: String,
    /// What would work.
    pub hint: String,
}

/// What `hunks` change in `text`.
pub fn change(text: &str, hunks: &[Hunk<'_>]) -> Result<Change, Reject> {
    let mut applying = Applying {
        lines: Lines::new(text),
        haystack: OnceCell::new(),
        cursor: 0,
        change: Change::default(),
        keeps_open: false,
    };
    for (index, hunk) in hunks.iter().enumerate() {
        applying.hunk(hunk).map_err(|failure| Reject {
            hunk: index + 1,
            line: hunk.line,
            cause: failure.cause,
            hint: failure.hint,
        })?;
    }
    Ok(applying.finish())
}

struct Failure {
    cause: String,
    hint: String,
}

struct Applying<'t> {
    lines: Lines<'t>,
    haystack: OnceCell<Haystack>,
    /// The 0-based line after the last hunk's place.
    cursor: usize,
    change: Change,
    /// A file without a final newline stays so, whatever becomes its last line.
    keeps_open: bool,
}

impl Applying<'_> {
    fn hunk(&mut self, hunk: &Hunk<'_>) -> Result<(), Failure> {
        let start = match &hunk.place {
            Where::Line(line) => self.stated(hunk, *line)?,
            Where::Search { anchors, at_end } => {
                self.keeps_open = self.lines.is_open();
                self.sought(hunk, anchors, *at_end)?
            }
        };
        let is_insertion_at_end = start == self.lines.count() && hunk.old().next().is_none();
        self.splice(hunk, start);
        if !is_insertion_at_end {
            self.cursor = start + hunk.old().count();
        }
        Ok(())
    }

    /// The place of a hunk that states it, where the file is there as the hunk says.
    fn stated(&self, hunk: &Hunk<'_>, line: usize) -> Result<usize, Failure> {
        let old = hunk.old().count();
        let start = if old == 0 { line } else { line.saturating_sub(1) };
        let reject = |cause: String| Err(Failure { cause, hint: self.hint(hunk, start) });
        if start < self.cursor {
            return Err(Failure {
                cause: format!("it starts at line {line}, and the hunk before it goes on to line {}", self.cursor),
                hint: "put the hunks in the order of the file, and join those that overlap".to_owned(),
            });
        }
        for (index, row) in hunk.old().enumerate() {
            let number = start.saturating_add(index).saturating_add(1);
            match self.lines.get(number - 1) {
                None => {
                    let count = self.lines.count();
                    return reject(format!(
                        "line {number} should be {}, but the file has {count} lines",
                        quoted(row.text)
                    ));
                }
                Some(have) if have.text != row.text => {
                    return reject(format!("line {number} {}", differs(have.text, row.text)));
                }
                Some(have) if have.ending.is_empty() != row.open => return Err(final_newline(number, row.open)),
                Some(_) => {}
            }
        }
        self.check_end(hunk, start, old)
    }

    /// What a hunk says of the end of the file has to hold too.
    fn check_end(&self, hunk: &Hunk<'_>, start: usize, old: usize) -> Result<usize, Failure> {
        let end = start.saturating_add(old);
        if end > self.lines.count() {
            let cause = format!("it adds lines after line {start}, but the file has {} lines", self.lines.count());
            return Err(Failure { cause, hint: self.hint(hunk, start) });
        }
        if old == 0 && end == self.lines.count() && self.lines.is_open() {
            return Err(final_newline(end, false));
        }
        if hunk.rows.iter().any(|row| row.open) && end < self.lines.count() {
            return Err(Failure {
                cause: format!("it says that the file ends with it, but line {} follows", end + 1),
                hint: "leave `\\ No newline at end of file` out, or make the patch again from the file as it is now"
                    .to_owned(),
            });
        }
        Ok(start)
    }

    /// The one place where the old lines of a chunk occur.
    fn sought(&self, hunk: &Hunk<'_>, anchors: &[&str], at_end: bool) -> Result<usize, Failure> {
        let count = self.lines.count();
        let old: Vec<_> = hunk.old().map(|row| row.text).collect();
        let after = self.anchored(anchors)?;
        if old.is_empty() {
            return match after.as_slice() {
                _ if at_end || anchors.is_empty() => Ok(count),
                [place] => Ok(*place),
                places => Err(ambiguous_anchor(anchors, places)),
            };
        }
        let find = |from: usize, most: usize| self.haystack().find(old.iter().copied(), from, most);
        if at_end {
            let start = count.checked_sub(old.len()).filter(|start| *start >= self.cursor);
            return start
                .filter(|start| find(*start, 1) == [*start])
                .ok_or_else(|| self.not_found(hunk, &old, "its old lines are not the last of the file"));
        }
        let mut places = if anchors.is_empty() {
            find(self.cursor, MOST)
        } else {
            after.iter().filter_map(|from| find(*from, 1).first().copied()).collect()
        };
        places.dedup();
        match places.as_slice() {
            [place] => Ok(*place),
            [] if anchors.is_empty() && self.cursor == 0 => {
                Err(self.not_found(hunk, &old, "its old lines are not in the file"))
            }
            [] => Err(self.not_found(hunk, &old, &format!("its old lines are not in the file {}", self.after(&after)))),
            places => Err(Failure {
                cause: format!("its old lines occur at {}", numbers(places)),
                hint: "add lines of context, or `@@ ` and a line that stands above only one of the places".to_owned(),
            }),
        }
    }

    /// The lines after each place where the anchors stand one after another.
    fn anchored(&self, anchors: &[&str]) -> Result<Vec<usize>, Failure> {
        let Some((first, inner)) = anchors.split_first() else { return Ok(vec![self.cursor]) };
        let starts = self.anchor(first, self.cursor, MOST);
        let mut missing = *first;
        let mut places = Vec::new();
        for start in starts {
            let end = inner.iter().try_fold(start + 1, |from, anchor| {
                missing = anchor;
                self.anchor(anchor, from, 1).first().map(|place| place + 1)
            });
            places.extend(end);
        }
        places.dedup();
        if places.is_empty() {
            let cause = format!("its anchor {} is not in the file {}", quoted(missing), self.after(&[self.cursor]));
            let hint = match hint(&self.lines, self.haystack(), &[missing], self.cursor) {
                hint if missing.starts_with('-') => format!("`@@` takes a line of the file, no line numbers; {hint}"),
                hint => hint,
            };
            return Err(Failure { cause, hint });
        }
        Ok(places)
    }

    /// Where a line is `anchor`; where none is exactly, white space around it
    /// aside, for an anchor only says where to look.
    fn anchor(&self, anchor: &str, from: usize, most: usize) -> Vec<usize> {
        let exact = self.haystack().find(std::iter::once(anchor), from, most);
        if !exact.is_empty() {
            return exact;
        }
        let wanted = anchor.trim();
        let is_it = |index: &usize| self.lines.get(*index).is_some_and(|line| line.text.trim() == wanted);
        (from..self.lines.count()).filter(is_it).take(most).collect()
    }

    fn after(&self, places: &[usize]) -> String {
        match places {
            [0] => "at all".to_owned(),
            [place] => format!("after line {place}"),
            _ => "after its anchors".to_owned(),
        }
    }

    fn not_found(&self, hunk: &Hunk<'_>, old: &[&str], cause: &str) -> Failure {
        let elsewhere = self.cursor > 0 && !self.haystack().find(old.iter().copied(), 0, 1).is_empty();
        let hint = self.hint(hunk, self.cursor);
        let hint = if elsewhere { format!("chunks have to be in the order of the file; {hint}") } else { hint };
        Failure { cause: cause.to_owned(), hint }
    }

    fn hint(&self, hunk: &Hunk<'_>, meant: usize) -> String {
        let old: Vec<_> = hunk.old().map(|row| row.text).collect();
        hint(&self.lines, self.haystack(), &old, meant)
    }

    fn haystack(&self) -> &Haystack {
        self.haystack.get_or_init(|| Haystack::new(&self.lines, Pass::Exact))
    }

    /// Adds the splices of a hunk that applies at the 0-based line `start`: one a run of changed lines.
    fn splice(&mut self, hunk: &Hunk<'_>, start: usize) {
        let as_given = self.has_own_endings(hunk, start);
        let mut line = start;
        for run in hunk.rows.chunk_by(|a, b| (a.kind == RowKind::Keep) == (b.kind == RowKind::Keep)) {
            let old = run.iter().filter(|row| row.kind != RowKind::Add).count();
            if run.first().is_some_and(|row| row.kind != RowKind::Keep) {
                let added = run.iter().filter(|row| row.kind == RowKind::Add);
                let mut text = String::new();
                for (index, row) in added.enumerate() {
                    text.push_str(row.text);
                    text.push_str(if as_given { own_ending(row) } else { self.ending(line, old, index, row) });
                    self.change.added += 1;
                }
                self.change.removed += old as u64;
                self.change.splices.push(Splice { range: self.lines.start(line)..self.lines.start(line + old), text });
            }
            line += old;
        }
    }

    /// Whether the hunk writes out its line endings, and the file has those that it says.
    fn has_own_endings(&self, hunk: &Hunk<'_>, start: usize) -> bool {
        let fits = |(index, row): (usize, &Row<'_>)| {
            self.lines
                .get(start + index)
                .is_some_and(|line| line.ending.is_empty() || (line.ending == "\r\n") == row.crlf)
        };
        hunk.rows.iter().any(|row| row.crlf) && hunk.old().enumerate().all(fits)
    }

    /// The ending of an added line: that of the line which it replaces, or of its neighbours.
    fn ending(&self, line: usize, removed: usize, index: usize, row: &Row<'_>) -> &'static str {
        if row.open {
            return "";
        }
        let replaced = removed.checked_sub(1).map(|last| line + index.min(last));
        let near = [replaced, line.checked_sub(1), Some(line + removed)];
        near.into_iter()
            .flatten()
            .filter_map(|near| self.lines.get(near))
            .find_map(|near| match near.ending {
                "\r\n" => Some("\r\n"),
                "\r" => Some("\r"),
                "\n" => Some("\n"),
                _ => None,
            })
            .unwrap_or("\n")
    }

    fn finish(mut self) -> Change {
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
        if self.keeps_open
            && let Some(last) = joined.last_mut()
        {
            keep_open(last, &self.lines);
        }
        let text = self.lines.text();
        joined.iter_mut().for_each(|splice| shrink(splice, text));
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

fn final_newline(number: usize, open: bool) -> Failure {
    let (cause, hint) = if open {
        ("ends in a newline, and the patch says that it does not", "leave `\\ No newline at end of file` out after it")
    } else {
        (
            "ends the file without a newline, and the patch does not say so",
            "put `\\ No newline at end of file` after it",
        )
    };
    Failure { cause: format!("line {number} {cause}"), hint: hint.to_owned() }
}

fn ambiguous_anchor(anchors: &[&str], places: &[usize]) -> Failure {
    let above: Vec<_> = places.iter().map(|place| place.saturating_sub(1)).collect();
    let last = anchors.last().copied().unwrap_or_default();
    Failure {
        cause: format!("its anchor {} stands at {}", quoted(last), numbers(&above)),
        hint: "put another `@@ ` line before it, that stands above only one of the places, or add lines of context"
            .to_owned(),
    }
}

/// Makes the last splice of a text without final newline leave none behind.
fn keep_open(last: &mut Splice, lines: &Lines<'_>) {
    let text = lines.text();
    if last.range.end < text.len() {
        return;
    }
    let before = last.range.start;
    let ending = lines.count().checked_sub(2).and_then(|line| lines.get(line)).map_or("\n", |line| line.ending);
    if before == text.len() {
        // Something comes after the last line, which now needs an ending.
        last.text.insert_str(0, ending);
    }
    let stripped = ["\r\n", "\n", "\r"].iter().find_map(|ending| last.text.strip_suffix(ending)).map(str::len);
    match stripped {
        Some(length) => last.text.truncate(length),
        None if last.text.is_empty() => {
            let head = text.get(..before).unwrap_or_default();
            let open = ["\r\n", "\n", "\r"].iter().find_map(|ending| head.strip_suffix(ending)).unwrap_or(head);
            last.range.start = open.len();
        }
        None => {}
    }
}

/// Leaves out what a splice would replace by itself, so that its bytes stay as they are.
fn shrink(splice: &mut Splice, text: &str) {
    let old = text.get(splice.range.clone()).unwrap_or_default();
    let same = |(a, b): &(char, char)| a == b;
    let prefix: usize = old.chars().zip(splice.text.chars()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let (old, new) = (old.get(prefix..).unwrap_or_default(), splice.text.get(prefix..).unwrap_or_default());
    let suffix: usize = old.chars().rev().zip(new.chars().rev()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let text = new.get(..new.len() - suffix).unwrap_or_default().to_owned();
    *splice = Splice { range: splice.range.start + prefix..splice.range.end - suffix, text };
}
