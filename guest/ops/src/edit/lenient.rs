//! Lenient matching of a replacement whose old text does not occur exactly. The place must be unique.

use std::ops::Range;

use paddock_patch::lines::Lines;
use paddock_patch::locate::Haystack;
use paddock_text::document::Splice;
use paddock_text::{compare, eol, find};
use paddock_types::match_pass::Pass;
use paddock_types::request::Replacement;
use similar::DiffOp;

use crate::edit::MAX_COUNTED;

/// Maximum number of words and characters of an edit whose punctuation may differ, because the comparison of the old with
/// the new text takes quadratic time.
const MAX_UNITS: usize = 10_000;

/// Returns the splices for a text at `range` that differs from the old text only in the kind of its spaces, quotes and
/// dashes. Parts that the old and the new text have in common keep the characters of the file. Returns `None` if
/// nothing changes, or if the edit is too large.
pub fn alike(text: &str, range: &Range<usize>, edit: &Replacement) -> Option<Vec<Splice>> {
    let text_of_range = text.get(range.clone())?;
    let (old, new) = (units(&edit.old_text), units(&edit.new_text));
    if old.len() + new.len() > MAX_UNITS {
        return None;
    }
    // Offsets of the file's characters that correspond to those of the old text; a line feed corresponds to a whole
    // line ending.
    let has_pairs = !edit.old_text.contains('\r');
    let mut before = '\0';
    let mut starts = Vec::with_capacity(text_of_range.len() + 1);
    for (at, c) in text_of_range.char_indices() {
        if !(has_pairs && before == '\r' && c == '\n') {
            starts.push(range.start + at);
        }
        before = c;
    }
    starts.push(range.end);
    let offset = |unit: usize| {
        let characters: usize = old.get(..unit)?.iter().map(|unit| unit.chars().count()).sum();
        starts.get(characters).copied()
    };
    let mut splices = Vec::new();
    for op in compare::lines(&old, &new) {
        if matches!(op, DiffOp::Equal { .. }) {
            continue;
        }
        let range = offset(op.old_range().start)?..offset(op.old_range().end)?;
        let new = new.get(op.new_range())?.concat();
        let new = find::localize(text, &range, &new).into_owned();
        if text.get(range.clone())? != new {
            splices.push(Splice { range, text: new });
        }
    }
    (!splices.is_empty()).then_some(splices)
}

/// Splits a text into words and the single characters between them.
fn units(text: &str) -> Vec<&str> {
    let (mut units, mut start, mut was_word) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        let is_word = c.is_alphanumeric();
        if at > start && !(is_word && was_word) {
            units.extend(text.get(start..at));
            start = at;
        }
        was_word = is_word;
    }
    units.extend(text.get(start..).filter(|rest| !rest.is_empty()));
    units
}

/// Returns the replacement of whole lines, if only the white space around them differs; `None` if the text occurs
/// exactly, or if no lines match.
///
/// # Errors
///
/// The ranges of the lines that match, if there are several.
pub fn splice(text: &str, edit: &Replacement) -> Result<Option<Splice>, Vec<Range<usize>>> {
    if !find::occurrences(text, &edit.old_text, true, 1).is_empty() {
        return Ok(None);
    }
    let lines = Lines::new(text);
    let old: Vec<&str> = split(&edit.old_text).collect();
    let starts = Haystack::new(&lines, Pass::Trimmed).find(&old, 0, MAX_COUNTED + 1);
    let end = |start: usize| {
        let ending = lines.get(start + old.len() - 1).map_or(0, |last| last.ending.len());
        lines.start(start + old.len()) - ending
    };
    let start = match starts.as_slice() {
        [] => return Ok(None),
        [start] => *start,
        starts => return Err(starts.iter().map(|start| lines.start(*start)..end(*start)).collect()),
    };
    let range = lines.start(start)..end(start);
    let indent = lines.get(start).map_or("", |line| leading(line.text));
    let new: Vec<_> =
        split(&edit.new_text).enumerate().map(|(index, line)| indented(indent, old.get(index), index, line)).collect();
    let text = eol::with_ending(&new.join("\n"), eol::near(text, range.start)).into_owned();
    Ok(Some(Splice { range, text }))
}

fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line))
}

fn leading(line: &str) -> &str {
    line.get(..line.len() - line.trim_start().len()).unwrap_or_default()
}

/// Indents a new line: the first line gets the indentation of the file, and a later line also its own additional
/// indentation relative to the old line.
fn indented(indent: &str, old: Option<&&str>, index: usize, line: &str) -> String {
    if index == 0 {
        return format!("{indent}{}", line.trim_start());
    }
    match (old.map(|old| leading(old)), leading(line)) {
        (Some(old), new) if !old.is_empty() && !new.is_empty() => {
            format!("{indent}{}{}", " ".repeat(new.len().saturating_sub(old.len())), line.trim_start())
        }
        _ => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(text: &str, old: &str, new: &str) -> Option<String> {
        let edit = Replacement { old_text: old.to_owned(), new_text: new.to_owned(), replace_all: false };
        let splice = splice(text, &edit).ok()??;
        let mut text = text.to_owned();
        text.replace_range(splice.range, &splice.text);
        Some(text)
    }

    #[test]
    fn white_space_around_lines_may_differ() {
        let text = "fn f() {\n    if x {\n        y();\n    }\n}\n";
        let new = edited(text, "if x {\n  y();\n}", "if z {\n  y();\n    w();\n}").unwrap();
        assert_eq!(new, "fn f() {\n    if z {\n    y();\n    w();\n}\n}\n");
        assert_eq!(edited("  a\r\nb\r\n", "\ta", "c\nd"), Some("  c\r\nd\r\nb\r\n".to_owned()));
    }

    #[test]
    fn only_one_inexact_location() {
        assert_eq!(edited("a\n", "a", "b"), None);
        assert_eq!(edited(" a\nx\n a\n", "a\n", "b"), None);
        assert_eq!(edited(" a b\n  a  b\n", "\ta b", "c"), Some(" c\n  a  b\n".to_owned()));
        assert_eq!(edited("x\n", "y", "z"), None);
    }

    #[test]
    fn several_locations_are_returned() {
        let edit = Replacement { old_text: "\ta".to_owned(), new_text: "b".to_owned(), replace_all: false };
        assert_eq!(splice(" a\r\nx\n  a", &edit).err(), Some(vec![0..2, 6..9]));
    }

    #[test]
    fn an_edit_with_other_punctuation_is_bounded() {
        let edit = |new: String| Replacement { old_text: "\"a\"".to_owned(), new_text: new, replace_all: false };
        assert_eq!(
            alike("“a”", &(0..7), &edit("-".repeat(MAX_UNITS - 3))).map(|splices| splices.is_empty()),
            Some(false)
        );
        assert_eq!(alike("“a”", &(0..7), &edit("-".repeat(MAX_UNITS - 2))), None);
        assert_eq!(units("ab c_1é\n\n"), ["ab", " ", "c", "_", "1é", "\n", "\n"]);
        assert_eq!(units(""), [""; 0]);
    }
}
