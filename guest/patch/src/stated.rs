//! Places of hunks that state their line number.

use paddock_types::request::Matching;

use crate::apply::{Applying, Failure};
use crate::locate::MAX_LOCATIONS;
use crate::nearest::{differs, numbers};
use crate::{Hunk, quoted};

impl Applying<'_> {
    /// Returns the start of a hunk that states its line: the stated line or, if wrong line numbers are corrected, the
    /// only other place of its old lines.
    pub(super) fn stated_or_moved(&self, hunk: &Hunk<'_>, line: usize) -> Result<usize, Failure> {
        let failure = match self.stated(hunk, line) {
            Err(failure) if self.matching == Matching::Corrected && hunk.old().next().is_some() => failure,
            stated => return stated,
        };
        let positions = self.haystack().find(&hunk.old_texts(), self.cursor, MAX_LOCATIONS);
        match positions.as_slice() {
            [position] => self.stated(hunk, position + 1),
            [] => Err(failure),
            positions => Err(Failure::new(
                format!("{}; its old lines occur at {}", failure.cause, numbers(positions)),
                "correct the line number, or add lines of context".to_owned(),
            )),
        }
    }

    /// Returns the start of a hunk that states its line, if the file has the old lines there.
    pub(super) fn stated(&self, hunk: &Hunk<'_>, line: usize) -> Result<usize, Failure> {
        let old = hunk.old().count();
        let start = if old == 0 { line } else { line.saturating_sub(1) };
        let reject = |cause: String| Err(Failure::new(cause, self.hint(hunk, start)));
        if start < self.cursor {
            return Err(Failure::new(
                format!("it starts at line {line}, and the hunk before it extends to line {}", self.cursor),
                "put the hunks in the order of the file, and join those that overlap".to_owned(),
            ));
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

    /// Checks the statements of a hunk about the end of the file.
    fn check_end(&self, hunk: &Hunk<'_>, start: usize, old: usize) -> Result<usize, Failure> {
        let end = start.saturating_add(old);
        if end > self.lines.count() {
            let cause = format!("it adds lines after line {start}, but the file has {} lines", self.lines.count());
            return Err(Failure::new(cause, self.hint(hunk, start)));
        }
        if old == 0 && end == self.lines.count() && self.lines.is_open() {
            return Err(final_newline(end, false));
        }
        if hunk.rows.iter().any(|row| row.open) && end < self.lines.count() {
            return Err(Failure::new(
                format!("it states that the file ends with it, but line {} follows", end + 1),
                "leave `\\ No newline at end of file` out, or make the patch again from the file as it is now"
                    .to_owned(),
            ));
        }
        Ok(start)
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
    Failure::new(format!("line {number} {cause}"), hint)
}
