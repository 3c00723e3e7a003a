//! Rendering of the component's text for a terminal, without characters that control the terminal.

/// Maximum number of rendered lines of a plan. A person reads no more; a last line reports the number of omitted
/// lines.
const LINES: usize = 200;

/// Renders the summary of a [`Plan`](crate::types::Plan): control characters are escaped, and a prefix on each line
/// distinguishes it from the program's own text.
pub fn render_plan(summary: &str) -> String {
    let lines: Vec<_> = summary.lines().collect();
    let mut text: String = lines.iter().take(LINES).map(|line| format!("  | {}\n", escape(line))).collect();
    if lines.len() > LINES {
        text.push_str(&format!("  … and {} more lines\n", lines.len() - LINES));
    }
    text
}

/// Escapes the characters of a line that control a terminal or change the order of its text. A tab stays.
pub fn escape(line: &str) -> String {
    line.chars()
        .map(|c| if c == '\t' || !is_active(c) { c.to_string() } else { c.escape_default().to_string() })
        .collect()
}

/// Returns whether the character controls a terminal, or changes the order of the text.
fn is_active(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_plan_reaches_the_terminal_as_a_command() {
        let text = render_plan("delete `a`\n+\u{1b}[2J\u{1b}[H\rDo this? \u{202e}[y/N]\ttab\n");
        assert_eq!(text, "  | delete `a`\n  | +\\u{1b}[2J\\u{1b}[H\\rDo this? \\u{202e}[y/N]\ttab\n");
    }

    #[test]
    fn a_long_plan_says_how_much_is_not_render_plan() {
        let text = render_plan(&"line\n".repeat(LINES + 3));
        assert!(text.ends_with("… and 3 more lines\n"), "{text}");
    }
}
