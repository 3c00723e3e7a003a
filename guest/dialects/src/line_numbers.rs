//! Line-number prefixes.

use paddock_text::page::CUT_SUFFIX;

/// Maximum number of characters of a line that a model is shown.
const LINE_CHARS: usize = 2_000;

/// Appends each line of `text` as number, `separator` and line; the first line has number `first`.
pub fn number(into: &mut String, text: &str, first: u64, separator: &str) {
    let lines = text.strip_suffix('\n').unwrap_or(text).split('\n');
    let mut digits = itoa::Buffer::new();
    for (line, number) in lines.zip(first..) {
        into.push_str(digits.format(number));
        into.push_str(separator);
        into.push_str(line.strip_suffix('\r').unwrap_or(line));
        into.push('\n');
    }
}

/// Returns [`number`] as a new string without a final newline; empty if there are no lines.
pub fn numbered(text: &str, lines: u64, first: u64, separator: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8 + 16);
    if lines > 0 {
        number(&mut out, text, first, separator);
        out.pop();
    }
    out
}

/// Cuts lines that are too long for a model.
pub fn cut_lines(content: &str) -> String {
    let cut = |line: &str| match line.char_indices().nth(LINE_CHARS) {
        Some((end, _)) => format!("{}{CUT_SUFFIX}", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    };
    content.split('\n').map(cut).collect::<Vec<_>>().join("\n")
}
