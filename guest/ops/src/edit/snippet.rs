//! Lines around a change, for answers that include them.

use encoding_rs::UTF_8;
use paddock_text::lines::{Ender, Lines};
use paddock_text::page::{Layout, page};
use paddock_types::policy::Limits;
use paddock_types::response::{LineRange, Snippet};

/// Returns the changed lines of `text` with `around` lines on each side, with their endings; `None` if no line remains.
pub fn of(text: &str, changed: &LineRange, around: u64, limits: &Limits) -> Option<Snippet> {
    let start = changed.start.saturating_sub(around).max(1);
    let count = (changed.end.max(changed.start).saturating_sub(start) + 1).saturating_add(around);
    let bytes = text.as_bytes();
    let mut lines = Lines::from(bytes, Ender::of(bytes, UTF_8), 0);
    let Ok(_) = lines.skip(start - 1);
    let layout = Layout {
        lines: count.min(limits.max_lines),
        line_chars: limits.max_line_chars,
        bytes: limits.max_result_bytes,
        raw: true,
        last: false,
        encoding: UTF_8,
    };
    let Ok(page) = page(&mut lines, start, &layout);
    (page.end > 0).then_some(Snippet { start_line: start, text: page.content })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_on_both_sides() {
        let snippet_of = |start, end, text: &str| {
            let snippet = of(text, &LineRange { start, end }, 1, &Limits::default())?;
            Some((snippet.start_line, snippet.text))
        };
        let text = "a\nb\r\nc\nd\ne";
        assert_eq!(snippet_of(3, 3, text), Some((2, "b\r\nc\nd\n".to_owned())));
        assert_eq!(snippet_of(1, 1, text), Some((1, "a\nb\r\n".to_owned())));
        assert_eq!(snippet_of(5, 5, text), Some((4, "d\ne".to_owned())));
        // A range that ends before it starts stands for deleted lines.
        assert_eq!(snippet_of(3, 2, text), Some((2, "b\r\nc\nd\n".to_owned())));
        assert_eq!(snippet_of(1, 0, ""), None);
    }
}
