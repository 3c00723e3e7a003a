//! Bracket expressions of globs, such as `[a-z]`: parsed as git does, and written as globset reads them.

use std::ops::RangeInclusive;

/// A bracket expression.
pub struct Class<'t> {
    /// The text after its `[`, as it was written, with its `]`.
    pub written: &'t str,
    /// The same for globset, in a form that never matches a `/`.
    pub canonical: String,
    /// The text after its `]`.
    pub rest: &'t str,
}

/// Ranges of characters, in any order.
type Ranges = Vec<RangeInclusive<char>>;

/// Characters that have a place of their own in the canonical form, each with the characters before and after it.
const BRACKET: [char; 3] = ['\\', ']', '^'];
const HYPHEN: [char; 3] = [',', '-', '.'];
const SEPARATOR: [char; 3] = ['.', '/', '0'];

/// Splits the text after a `[` into its expression and the rest. Returns `None` if the expression does not end, or names a class
/// that does not exist.
pub fn split_class(text: &str) -> Option<Class<'_>> {
    let (is_negated, members) = match text.strip_prefix(['!', '^']) {
        Some(members) => (true, members),
        None => (false, text),
    };
    let (ranges, rest) = parse(members)?;
    let written = text.get(..text.len() - rest.len())?;
    Some(Class { written, canonical: canonical(is_negated, ranges), rest })
}

/// Returns the members of an expression, and the text after its `]`.
fn parse(members: &str) -> Option<(Ranges, &str)> {
    let (mut ranges, mut rest) = (Vec::new(), members);
    // The start of a range that can follow.
    let mut before = None;
    loop {
        if let Some((named, after)) = posix(rest) {
            ranges.extend(named?);
            (before, rest) = (None, after);
        } else {
            let mut chars = rest.chars();
            let is_range = rest.strip_prefix('-').is_some_and(|end| !end.is_empty() && !end.starts_with(']'));
            match before.filter(|_| is_range) {
                Some(first) => {
                    chars.next();
                    ranges.pop();
                    ranges.push(first..=member(&mut chars)?);
                    before = None;
                }
                None => {
                    let single = member(&mut chars)?;
                    ranges.push(single..=single);
                    before = Some(single);
                }
            }
            rest = chars.as_str();
        }
        if let Some(rest) = rest.strip_prefix(']') {
            return Some((ranges, rest));
        }
    }
}

/// Returns the next character, or the one after a backslash.
fn member(chars: &mut std::str::Chars<'_>) -> Option<char> {
    match chars.next()? {
        '\\' => chars.next(),
        c => Some(c),
    }
}

/// Returns the members of a class such as `[:alpha:]` at the start of a text, and the text after it.
fn posix(text: &str) -> Option<(Option<Ranges>, &str)> {
    let (name, rest) = text.strip_prefix("[:")?.split_once(']')?;
    let name = name.strip_suffix(':')?;
    let members: &[RangeInclusive<char>] = match name {
        "alnum" => &['0'..='9', 'A'..='Z', 'a'..='z'],
        "alpha" => &['A'..='Z', 'a'..='z'],
        "blank" => &[' '..=' ', '\t'..='\t'],
        "cntrl" => &['\0'..='\x1f', '\x7f'..='\x7f'],
        "digit" => &['0'..='9'],
        "graph" => &['!'..='~'],
        "lower" => &['a'..='z'],
        "print" => &[' '..='~'],
        "punct" => &['!'..='/', ':'..='@', '['..='`', '{'..='~'],
        "space" => &[' '..=' ', '\t'..='\r'],
        "upper" => &['A'..='Z'],
        "xdigit" => &['0'..='9', 'A'..='F', 'a'..='f'],
        _ => return Some((None, rest)),
    };
    Some((Some(members.to_vec()), rest))
}

/// Writes an expression without its `[`. globset takes a `]` literally at the start, a `-` at the end, and a `!` or `^` behind
/// another character, for which NUL serves, since no name has it.
fn canonical(is_negated: bool, mut ranges: Ranges) -> String {
    let has_bracket = without(&mut ranges, BRACKET);
    let has_hyphen = without(&mut ranges, HYPHEN);
    without(&mut ranges, SEPARATOR);
    let mut out = String::new();
    out.push_str(if is_negated { "!" } else { "" });
    out.push_str(if has_bracket { "]" } else { "" });
    out.push(if is_negated { '/' } else { '\0' });
    for range in ranges {
        match (*range.start(), *range.end()) {
            (first, last) if first == last => out.push(first),
            (first, last) => out.extend([first, '-', last]),
        }
    }
    out.push_str(if has_hyphen { "-]" } else { "]" });
    out
}

/// Removes a character from ranges, and returns whether one had it. An empty range stays, because globset refuses it.
fn without(ranges: &mut Ranges, [before, removed, after]: [char; 3]) -> bool {
    let has = |range: &RangeInclusive<char>| range.contains(&removed);
    let (with, mut kept): (Ranges, Ranges) = std::mem::take(ranges).into_iter().partition(has);
    for range in &with {
        let parts = [*range.start()..=before, after..=*range.end()];
        kept.extend(parts.into_iter().filter(|part| !part.is_empty()));
    }
    *ranges = kept;
    !with.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_written_for_globset() {
        for (written, expected) in [
            ("a-z]b", "\0a-z]"),
            ("/]b", "\0]"),
            ("a/b]b", "\0ab]"),
            ("--0]b", "\0.0-]"),
            ("%--0]b", "\x000%-,-]"),
            ("/-9]b", "\x000-9]"),
            ("+-/]b", "\0+-,.-]"),
            ("%-/-0]b", "\x000%-,.-]"),
            ("]/]b", "]\0]"),
            ("!a]b", "!/a]"),
            ("!]]b", "!]/]"),
            ("!-a]b", "!/a-]"),
            ("!-.]b", "!/.-]"),
            ("^!]b", "!/!]"),
            ("\\]]b", "]\0]"),
            ("\\/]b", "\0]"),
            ("z-a]b", "\0z-a]"),
            ("[:digit:]-]b", "\x000-9-]"),
            ("[:x]b", "\0[:x]"),
        ] {
            let class = split_class(written).unwrap();
            assert_eq!((class.canonical.as_str(), class.rest), (expected, "b"), "{written}");
            assert_eq!(class.written.len() + 1, written.len());
        }
        for text in ["", "a", "]", "!", "!]", "a-", "[:word:]]", "\\", "a\\]"] {
            assert!(split_class(text).is_none(), "{text}");
        }
    }
}
