//! Mistakes of the edits of one call, which are reported together.

use std::ops::Range;

use paddock_text::{find, nearest};
use paddock_types::error::{Code, Detail, Error, Phrase, Result, Term, When};
use paddock_types::phrase;
use paddock_types::request::Replacement;
use paddock_workspace::resolved_path::ResolvedPath;

use crate::edit::{MAX_COUNTED, OPERATION};

/// Maximum number of mistakes that an error names.
const MAX_MISTAKES: usize = 10;
/// Maximum number of lines that an error lists if `old_text` is ambiguous.
const MAX_LISTED: usize = 50;

/// The mistakes found so far, each without the operation and the path.
#[derive(Default)]
pub struct Mistakes<'e> {
    all: Option<Error>,
    count: usize,
    /// New texts that are missing in the document, because their edits failed.
    missing: Vec<&'e str>,
}

impl<'e> Mistakes<'e> {
    /// Adds the mistake of an edit. Returns whether to check more edits.
    pub fn add(&mut self, index: usize, edit: &'e Replacement, error: Error) -> bool {
        let is_in = |new: &&str| !find::occurrences(new, &edit.old_text, false, 1).is_empty();
        let is_consequence = error.code == Code::NoMatch && self.missing.iter().any(is_in);
        self.missing.push(&edit.new_text);
        // The mistake to report is that of the edit whose result this edit would change.
        if is_consequence {
            return true;
        }
        let error =
            Error { message: phrase![When(Term::Edits, format!("edit {}: ", index + 1)), error.message], ..error };
        let all = match self.all.take() {
            Some(all) => all.and_error(error),
            None => error,
        };
        self.count += 1;
        let is_last = self.count == MAX_MISTAKES;
        self.all = Some(match is_last {
            true => all.also_hint(format!("edits after edit {} were not checked", index + 1)),
            false => all,
        });
        !is_last
    }

    /// Fails if any mistakes were found.
    pub fn check(self, resolved: &ResolvedPath) -> Result<()> {
        self.all.map_or(Ok(()), |all| Err(all.on(OPERATION, &resolved.requested_path)))
    }
}

pub fn no_edits() -> Error {
    Error::argument(Term::Edits, "the list is empty").hint(phrase![
        "give at least one ",
        Term::OldText,
        " with its ",
        Term::NewText
    ])
}

/// Fails if the edit means nothing in any file.
pub fn check(edit: &Replacement) -> Result<()> {
    if edit.old_text.is_empty() {
        return Err(Error::new(Code::InvalidArgument, phrase![Term::OldText, " is empty"])
            .hint(phrase!["to insert, give the adjacent text as ", Term::OldText, " and repeat it in ", Term::NewText])
            .also_hint(phrase![Term::WriteTool, " replaces a whole file"]));
    }
    if edit.old_text == edit.new_text {
        let cause = phrase![Term::OldText, " and ", Term::NewText, " are the same"];
        return Err(Error::new(Code::InvalidArgument, cause).hint("leave this edit out"));
    }
    Ok(())
}

/// Returns the error of an edit whose text does not occur. `label` names the edit, if there are several.
pub fn no_match(text: &str, edit: &Replacement, label: &str) -> Error {
    let near = nearest::candidates(text, &edit.old_text);
    let cause = match near.first().and_then(|near| Some((near, near.difference?))) {
        Some((near, difference)) => {
            phrase![Term::OldText, format!(" is not there, but line {} differs only in {difference}", near.line)]
        }
        None => phrase![Term::OldText, " is not there"],
    };
    // A shorter text is likely to occur by chance.
    let occurrence = if edit.new_text.trim().chars().count() < 4 {
        Vec::new()
    } else {
        find::occurrences(text, &edit.new_text, false, 1)
    };
    let occurrence = find::line_numbers(text, occurrence.iter().map(|range| range.start)).first().copied();
    let mut error = Error::new(Code::NoMatch, cause);
    let label = || When(Term::Edits, label.to_owned());
    if let Some(line) = occurrence {
        let already = format!(" is already in the file, at line {line}: the edit may have been made before");
        error = error.also_hint(phrase![label(), Term::NewText, already]);
    }
    if near.is_empty() {
        let from = " from it";
        return error.also_hint(phrase![
            label(),
            "the file has no similar text: read it and copy ",
            Term::OldText,
            from
        ]);
    }
    let mut candidates = String::new();
    for near in &near {
        let separator = if candidates.is_empty() { "" } else { "; " };
        let cut = if near.is_cut { " and more" } else { "" };
        candidates.push_str(&format!("{separator}line {}: {}{cut}", near.line, near.json));
    }
    error.also_hint(phrase![label(), format!("nearest: {candidates}")]).also_hint(phrase![
        "copy ",
        Term::OldText,
        " from there: these are JSON strings"
    ])
}

/// Returns the error of an edit whose text occurs several times, as `how` says.
pub fn ambiguous(text: &str, ranges: &[Range<usize>], how: Option<&str>) -> Error {
    let lines = find::line_numbers(text, ranges.iter().map(|range| range.start));
    let listed: Vec<_> = lines.iter().take(MAX_LISTED).map(u64::to_string).collect();
    let count = match ranges.len() {
        count if count > MAX_COUNTED => format!("more than {MAX_COUNTED}"),
        count => count.to_string(),
    };
    let more = if lines.len() > MAX_LISTED { " and more" } else { "" };
    let lines = format!("{}{more}", listed.join(", "));
    let around = "include more of the lines around the intended match";
    let exactly = how.map(|how| format!(" does not occur exactly, and {how} it")).unwrap_or_default();
    let cause = phrase![Term::OldText, format!("{exactly} occurs {count} times, at lines {lines}")];
    let error = Error::new(Code::AmbiguousMatch, cause).detail(Detail::Occurrences(lines));
    match how {
        None => error.hint(phrase![around, ", or set ", Term::ReplaceAll]).or_hint(around),
        Some(_) => error.hint(around),
    }
}

/// Returns the error of an edit that the time of a call does not suffice for.
pub fn out_of_time() -> Error {
    let cause: Phrase = "the time of one call ran out".into();
    Error::new(Code::LimitExceeded, cause).hint("nothing was changed; make fewer edits in one call")
}
