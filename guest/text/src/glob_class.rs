//! Bracket expressions of globs, such as `[a-z]`.

/// A class in which no name of a file has a character.
const NOTHING: &str = "\0]";

/// Splits the text after a `[` into the expression up to its `]` and the rest. The expression never matches a `/`, which
/// globset would otherwise let it match: a negated one has `/` as a member, and another one has not.
pub fn split_class(rest: &str) -> (String, &str) {
    let (class, after) = rest.split_at(class_length(rest));
    let front = match class.strip_prefix(['!', '^']) {
        None => return (without_separator(class), after),
        Some(members) => 1 + usize::from(members.starts_with(']')),
    };
    let (front, members) = class.split_at(front);
    (format!("{front}/{members}"), after)
}

/// Removes `/` from a class that is not negated, and from its ranges.
fn without_separator(class: &str) -> String {
    let Some(members) = class.strip_suffix(']').filter(|members| !members.is_empty()) else { return class.to_owned() };
    let mut out = String::with_capacity(class.len() + 4);
    let mut rest = members;
    while let Some(first) = rest.chars().next() {
        let mut following = rest.chars().skip(1);
        let last = (following.next() == Some('-')).then(|| following.next()).flatten();
        let last = last.filter(|last| (first..=*last).contains(&'/'));
        match last {
            // The characters before and after `/`.
            Some(last) => {
                if first < '/' {
                    out.extend([first, '-', '.']);
                }
                if last > '/' {
                    out.extend(['0', '-', last]);
                }
            }
            None if first == '/' => {}
            None => out.push(first),
        }
        let taken = last.map_or(first.len_utf8(), |last| first.len_utf8() + 1 + last.len_utf8());
        rest = rest.get(taken..).unwrap_or_default();
    }
    if out.is_empty() { NOTHING.to_owned() } else { out + "]" }
}

/// Returns the length in bytes of the expression after a `[`, its `]` included; 0 if it is not closed.
fn class_length(rest: &str) -> usize {
    let negated = usize::from(rest.starts_with(['!', '^']));
    let mut at = negated;
    loop {
        let Some(tail) = rest.get(at..) else { return 0 };
        let posix = tail.strip_prefix("[:").and_then(|name| name.find(":]"));
        match (tail.chars().next(), posix) {
            (None, _) => return 0,
            (Some('['), Some(end)) => at += end + 4,
            (Some(']'), _) if at > negated => return at + 1,
            (Some(c), _) => at += c.len_utf8(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::split_class;

    #[test]
    fn no_class_matches_a_separator() {
        for (class, expected) in [
            ("a-z]b", "a-z]"),
            ("/]b", "\0]"),
            ("a/b]b", "ab]"),
            ("--0]b", "--.0-0]"),
            ("/-9]b", "0-9]"),
            ("+-/]b", "+-.]"),
            ("]/]b", "]]"),
            ("!a]b", "!/a]"),
            ("!]]b", "!]/]"),
            ("[:alpha:]/]b", "[:alpha:]]"),
            ("a-", ""),
        ] {
            let (own, rest) = split_class(class);
            assert_eq!(
                (own.as_str(), rest.len()),
                (expected, if expected.is_empty() { class.len() } else { 1 }),
                "{class}"
            );
        }
    }
}
