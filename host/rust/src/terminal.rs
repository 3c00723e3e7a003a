//! Rendering of the component's text for a terminal, without characters that control the terminal.

use crate::types::Plan;

/// Maximum number of rendered lines of a plan. A person reads no more at once; a last line reports the number of the
/// others.
const LINES: usize = 200;

/// Maximum number of characters of a rendered line. A longer line of the plan continues on the next.
const COLUMNS: usize = 500;

/// Renders the start of the summary of a plan: control characters are escaped, and a prefix on each line distinguishes it
/// from the program's own text. The last lines say how many lines are not shown, and how many bytes the summary lacks.
pub fn render_plan(plan: &Plan) -> String {
    let lines = lines_of_plan(&plan.summary);
    let mut text: String = lines.iter().take(LINES).map(String::as_str).collect();
    if lines.len() > LINES {
        text.push_str(&format!("  … {} more lines are not shown\n", lines.len() - LINES));
    }
    if plan.omitted_bytes > 0 {
        text.push_str(&format!("  … the last {} bytes of the plan cannot be shown\n", plan.omitted_bytes));
    }
    text
}

/// Renders the lines of the summary that [`render_plan`] does not show; `None` if it shows all.
pub fn render_rest_of_plan(plan: &Plan) -> Option<String> {
    let lines = lines_of_plan(&plan.summary);
    lines.get(LINES..).filter(|rest| !rest.is_empty()).map(<[String]>::concat)
}

/// Returns the rendered lines. A carriage return before a line feed is part of the line, since it can be what changes.
fn lines_of_plan(summary: &str) -> Vec<String> {
    let mut rendered = Vec::new();
    for line in summary.strip_suffix('\n').unwrap_or(summary).split('\n') {
        let (mut prefix, mut rest) = ("  | ", line);
        loop {
            let end = rest.char_indices().nth(COLUMNS).map_or(rest.len(), |(at, _)| at);
            let (part, later) = rest.split_at(end);
            rendered.push(format!("{prefix}{}\n", escape(part)));
            (prefix, rest) = ("  : ", later);
            if rest.is_empty() {
                break;
            }
        }
    }
    rendered
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

    fn plan(summary: &str, omitted_bytes: u64) -> Plan {
        Plan { digest: String::new(), summary: summary.to_owned(), omitted_bytes, paths: Vec::new() }
    }

    #[test]
    fn nothing_in_a_plan_reaches_the_terminal_as_a_command() {
        let text = render_plan(&plan("delete `a`\n+\u{1b}[2J\u{1b}[H\rDo this? \u{202e}[y/N]\ttab\n", 0));
        assert_eq!(text, "  | delete `a`\n  | +\\u{1b}[2J\\u{1b}[H\\rDo this? \\u{202e}[y/N]\ttab\n");
    }

    #[test]
    fn a_long_plan_says_how_much_is_not_shown() {
        let long = format!("{}1\n2\n{}\u{1b}\n", "line\n".repeat(LINES), "x".repeat(COLUMNS));
        let text = render_plan(&plan(&long, 7));
        let notes = "  … 4 more lines are not shown\n  … the last 7 bytes of the plan cannot be shown\n";
        assert!(text.ends_with(&format!("line\n{notes}")), "{text}");
        let rest = format!("  | 1\n  | 2\n  | {}\n  : \\u{{1b}}\n", "x".repeat(COLUMNS));
        assert_eq!(render_rest_of_plan(&plan(&long, 7)).as_deref(), Some(rest.as_str()));
        assert_eq!(render_rest_of_plan(&plan(&"line\n".repeat(LINES), 0)), None);
    }

    #[test]
    fn a_changed_line_ending_is_shown() {
        assert_eq!(render_plan(&plan("-a\r\n+a\n", 0)), "  | -a\\r\n  | +a\n");
    }
}
