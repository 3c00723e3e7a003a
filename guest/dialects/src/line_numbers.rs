//! Lines with their numbers before them.

/// Appends each line of `text` as its number, `separator` and the line; the first is number `first`.
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

/// [`number`] as a text of its own, without a newline at the end; empty where there are no lines.
pub fn numbered(text: &str, lines: u64, first: u64, separator: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8 + 16);
    if lines > 0 {
        number(&mut out, text, first, separator);
        out.pop();
    }
    out
}
