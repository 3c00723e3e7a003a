//! Line-number prefixes.

use paddock_scan::lines::number;
use paddock_text::page::CUT_SUFFIX;

/// Maximum number of characters of a line that a model is shown.
const LINE_CHARS: usize = 2_000;

/// Returns the first `lines` lines of `text`, each as number, `separator` and line, without a final newline; empty if
/// there are no lines. The first line has the number `first`. The number of lines tells a blank last line from the end
/// of the last line.
pub fn numbered(text: &str, lines: u64, first: u64, separator: &str) -> String {
    let mut out = String::new();
    number(&mut out, text, lines, first, separator);
    out.pop();
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

#[cfg(test)]
mod tests {
    use super::numbered;

    #[test]
    fn a_blank_last_line_is_a_line_and_a_final_newline_is_none() {
        assert_eq!(numbered("a\n\n", 3, 1, ": "), "1: a\n2: \n3: ");
        assert_eq!(numbered("a\r\nb\r\n", 2, 9, "|"), "9|a\n10|b");
        assert_eq!(numbered("", 1, 4, "|"), "4|");
        assert_eq!(numbered("", 0, 4, "|"), "");
    }
}
