//! The final newline of a text that hunks change.

use paddock_text::document::Splice;

use crate::lines::Lines;

/// Gives the last line of a text without a final newline this ending if the last splice appends lines to it.
pub fn end_last_line(last: &mut Splice, lines: &Lines<'_>, ending: &str) {
    if last.range.start == lines.text().len() && !last.text.is_empty() {
        // A text of one line has no ending of its own.
        let ending = if lines.count() < 2 && last.text.contains("\r\n") { "\r\n" } else { ending };
        last.text.insert_str(0, ending);
    }
}

/// Changes the last splice so that a text without a final newline stays without one.
pub fn keep_open(last: &mut Splice, lines: &Lines<'_>) {
    let text = lines.text();
    if last.range.end < text.len() {
        return;
    }
    let before = last.range.start;
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
