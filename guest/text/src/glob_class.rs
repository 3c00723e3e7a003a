//! Bracket expressions of globs, such as `[a-z]`.

/// Splits the text after a `[` into the expression up to its `]` and the rest. Adds `/` to a negated class, which globset
/// would otherwise let match a `/`.
pub fn split_class(rest: &str) -> (String, &str) {
    let (class, after) = rest.split_at(class_length(rest));
    let front = match class.strip_prefix(['!', '^']) {
        None => return (class.to_owned(), after),
        Some(members) => 1 + usize::from(members.starts_with(']')),
    };
    let (front, members) = class.split_at(front);
    (format!("{front}/{members}"), after)
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
