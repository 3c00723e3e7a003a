//! What a call would do, as a person is shown it.

/// Lines of a plan that are shown; a person reads no more of it, and has to know that there is more.
const LINES: usize = 200;

/// The plan with nothing in it that a terminal would obey, each line set off from what this program says.
pub(crate) fn shown(summary: &str) -> String {
    let lines: Vec<_> = summary.lines().collect();
    let mut text: String = lines.iter().take(LINES).map(|line| format!("  | {}\n", plain(line))).collect();
    if lines.len() > LINES {
        text.push_str(&format!("  … and {} more lines\n", lines.len() - LINES));
    }
    text
}

/// A line of the component's with nothing in it that a terminal would obey.
pub(crate) fn plain(line: &str) -> String {
    line.chars()
        .map(|c| if c == '\t' || !is_command(c) { c.to_string() } else { c.escape_default().to_string() })
        .collect()
}

/// Whether a terminal would do something at this character, or show a text in another order.
fn is_command(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_plan_reaches_the_terminal_as_a_command() {
        let text = shown("delete `a`\n+\u{1b}[2J\u{1b}[H\rDo this? \u{202e}[y/N]\ttab\n");
        assert_eq!(text, "  | delete `a`\n  | +\\u{1b}[2J\\u{1b}[H\\rDo this? \\u{202e}[y/N]\ttab\n");
    }

    #[test]
    fn a_long_plan_says_how_much_is_not_shown() {
        let text = shown(&"line\n".repeat(LINES + 3));
        assert!(text.ends_with("… and 3 more lines\n"), "{text}");
    }
}
