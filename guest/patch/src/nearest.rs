//! Finds the lines of a file that are most similar to lines that do not occur in it. Errors use the result, so the time is
//! bounded and the best location may be missed.

use std::collections::HashMap;

use crate::lines::Lines;
use crate::locate::{Haystack, MAX_LOCATIONS};
use crate::quoted;

/// Number of lines examined around the expected location if no line is equal.
const WINDOW: usize = 100;
/// Maximum number of votes counted.
const MAX_VOTES: usize = 50_000;
/// Maximum number of lines of the patch examined.
const MAX_OLD_LINES: usize = 500;
/// Maximum number of characters of a line that are compared one by one.
const MAX_CHARS: usize = 200;

/// Hint for old lines without a clear nearest place.
pub const AGAIN: &str = "read the file, and make the patch again from its present content";

/// Returns the remark on where `old` would fit; `meant` is the index of the line at which the patch expects it.
pub fn hint(lines: &Lines<'_>, haystack: &Haystack, old: &[&str], meant: usize) -> String {
    let positions = haystack.find(old, 0, MAX_LOCATIONS);
    if !positions.is_empty() && !old.is_empty() {
        return format!("the old lines occur at {}; {AGAIN}", numbers(&positions));
    }
    let Some(position) = nearest(lines, old, meant) else { return AGAIN.to_owned() };
    let differing = old.iter().enumerate().find_map(|(index, want)| {
        let have = lines.get(position + index).map(|line| line.text);
        (have != Some(want)).then(|| (position + index + 1, have, *want))
    });
    match differing {
        Some((number, Some(have), want)) => {
            format!("the nearest place is line {}, where line {number} {}; {AGAIN}", position + 1, differs(have, want))
        }
        Some((_, None, want)) => {
            format!("the nearest place is line {}, where the file ends before {}; {AGAIN}", position + 1, quoted(want))
        }
        None => AGAIN.to_owned(),
    }
}

/// Formats ``is `have`, not `want` ``, with differences that are hard to see.
pub fn differs(have: &str, want: &str) -> String {
    let squeeze = |line: &str| line.split_whitespace().collect::<String>();
    let same = have.len() < 10_000 && squeeze(have) == squeeze(want);
    let why = if same { " (only white space differs)" } else { "" };
    format!("is {}, not {}{why}", quoted(have), quoted(want))
}

/// Formats indices from 0 as `line 3` or `lines 3, 7 and 9`.
pub fn numbers(positions: &[usize]) -> String {
    let mut numbers: Vec<_> = positions.iter().map(|position| (position + 1).to_string()).collect();
    let last = numbers.pop().unwrap_or_default();
    match numbers.as_slice() {
        [] => format!("line {last}"),
        _ if positions.len() >= MAX_LOCATIONS => format!("lines {}, {last} and more", numbers.join(", ")),
        _ => format!("lines {} and {last}", numbers.join(", ")),
    }
}

fn nearest(lines: &Lines<'_>, old: &[&str], meant: usize) -> Option<usize> {
    by_votes(lines, old, meant).or_else(|| by_likeness(lines, old, meant))
}

/// Returns the most likely start of `old`: each line of the file that equals a line of `old` votes for one start.
fn by_votes(lines: &Lines<'_>, old: &[&str], meant: usize) -> Option<usize> {
    let mut known: HashMap<&str, usize> = HashMap::new();
    let telling = |line: &&str| line.trim().len() > 2;
    // Braces and blank lines occur everywhere, so they count only if no other line is equal.
    let any = old.iter().take(MAX_OLD_LINES).any(telling);
    for (index, line) in old.iter().take(MAX_OLD_LINES).enumerate() {
        if telling(line) || (!any && !line.trim().is_empty()) {
            known.entry(line.trim()).or_insert(index);
        }
    }
    let mut votes: HashMap<usize, u32> = HashMap::new();
    for (number, line) in lines.iter().enumerate() {
        if let Some(position) = known.get(line.text.trim()).and_then(|index| number.checked_sub(*index))
            && (votes.len() < MAX_VOTES || votes.contains_key(&position))
        {
            *votes.entry(position).or_default() += 1;
        }
    }
    let best = votes
        .into_iter()
        .max_by_key(|(position, count)| (*count, std::cmp::Reverse((position.abs_diff(meant), *position))));
    best.map(|(position, _)| position)
}

/// Returns the line around `meant` that is most similar to the first distinctive line of `old`.
fn by_likeness(lines: &Lines<'_>, old: &[&str], meant: usize) -> Option<usize> {
    let (index, want) = old.iter().enumerate().find(|(_, line)| line.trim().len() > 2)?;
    let want = clipped(want);
    let middle = meant.saturating_add(index).min(lines.count());
    let around = middle.saturating_sub(WINDOW)..middle.saturating_add(WINDOW).min(lines.count());
    let scored = around.filter_map(|number| {
        let have = clipped(lines.get(number)?.text);
        Some((paddock_text::similarity(have, want), number.checked_sub(index)?))
    });
    let nearer = |position: usize| std::cmp::Reverse(position.abs_diff(meant));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| nearer(a.1).cmp(&nearer(b.1))))?;
    (best.0 >= 0.6).then_some(best.1)
}

fn clipped(line: &str) -> &str {
    let line = line.trim();
    line.char_indices().nth(MAX_CHARS).and_then(|(end, _)| line.get(..end)).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use paddock_types::match_pass::Pass;

    use super::*;

    fn reported(text: &str, old: &[&str], meant: usize) -> String {
        let lines = Lines::new(text);
        let hint = hint(&lines, &Haystack::new(&lines, Pass::Exact), old, meant);
        hint.split("; read the file").next().unwrap().to_owned()
    }

    #[test]
    fn the_same_lines_elsewhere_come_first() {
        assert_eq!(reported("x\nfoo\nbar\nx\nfoo\nbar\n", &["foo", "bar"], 0), "the old lines occur at lines 2 and 5");
    }

    #[test]
    fn then_the_location_with_most_lines_in_common() {
        assert_eq!(
            reported("foo\nx\ny\nfoo\nbaz\nend\n", &["foo", "bar", "end"], 0),
            "the nearest place is line 4, where line 5 is `baz`, not `bar`"
        );
        assert_eq!(
            reported("one\n\tfoo\n", &["foo"], 0),
            "the nearest place is line 2, where line 2 is `\\tfoo`, not `foo` (only white space differs)"
        );
        assert_eq!(
            reported("one\nfoo", &["foo", "bar"], 0),
            "the nearest place is line 2, where the file ends before `bar`"
        );
    }

    #[test]
    fn then_the_line_most_alike() {
        assert_eq!(
            reported("a\nlet total = 1;\nb\n", &["let totals = 1;"], 0),
            "the nearest place is line 2, where line 2 is `let total = 1;`, not `let totals = 1;`"
        );
        assert!(reported("a\nb\n", &["something else"], 0).starts_with("read the file"));
    }

    #[test]
    fn a_large_file_is_searched_in_little_time() {
        let text = "some line of text\n".repeat(500_000);
        let old = vec!["some line of text "; 5_000];
        let start = std::time::Instant::now();
        assert!(reported(&text, &old, 0).contains("only white space"));
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }
}
