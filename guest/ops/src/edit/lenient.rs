//! Lenient matching of a replacement whose old text differs from the file only in the white space around its lines, for
//! dialects that accept it. The match must be unique.

use paddock_patch::lines::Lines;
use paddock_patch::locate::Haystack;
use paddock_text::document::Splice;
use paddock_text::{eol, find};
use paddock_types::match_pass::Pass;
use paddock_types::request::Replacement;

/// Returns the replacement of whole lines, or `None` if the text occurs exactly, or if its lines do not match exactly
/// once.
pub fn splice(text: &str, edit: &Replacement) -> Option<Splice> {
    if !find::occurrences(text, &edit.old_text, true, 1).is_empty() {
        return None;
    }
    let lines = Lines::new(text);
    let old: Vec<&str> = split(&edit.old_text).collect();
    let resolved_paths = Haystack::new(&lines, Pass::Trimmed).find(&old, 0, 2);
    let [resolved] = resolved_paths.as_slice() else { return None };
    let last = lines.get(resolved + old.len() - 1)?;
    let range = lines.start(*resolved)..lines.start(resolved + old.len()) - last.ending.len();
    let indent = leading(lines.get(*resolved)?.text);
    let new: Vec<_> =
        split(&edit.new_text).enumerate().map(|(index, line)| indented(indent, old.get(index), index, line)).collect();
    let text = eol::with_ending(&new.join("\n"), eol::near(text, range.start)).into_owned();
    Some(Splice { range, text })
}

fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line))
}

fn leading(line: &str) -> &str {
    line.get(..line.len() - line.trim_start().len()).unwrap_or_default()
}

/// Indents a new line: the first line takes the indentation of the file, a later line adds its own excess over the old
/// line.
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
        let splice = splice(text, &edit)?;
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
    fn only_one_place_that_is_not_exact() {
        assert_eq!(edited("a\n", "a", "b"), None);
        assert_eq!(edited(" a\nx\n a\n", "a\n", "b"), None);
        assert_eq!(edited(" a b\n  a  b\n", "\ta b", "c"), Some(" c\n  a  b\n".to_owned()));
        assert_eq!(edited("x\n", "y", "z"), None);
    }
}
