//! The rules by which paths are compared: each has one implementation, because access rules rest on them.

pub use paddock_policy::windows_path;

/// Returns the part of `path` below the directory `top`, without a leading `/`; an empty string if both are the same,
/// `None` if the path is elsewhere.
///
/// The comparison is by components: `/ws-evil` is not below `/ws`. Every path is below an empty `top` and below `/`.
/// Neither path is normalized or folded: callers pass both in the same form.
pub fn below<'p>(path: &'p str, top: &str) -> Option<&'p str> {
    let top = top.trim_end_matches('/');
    let rest = path.strip_prefix(top)?;
    match rest.strip_prefix('/') {
        Some(rest) => Some(rest),
        None => (top.is_empty() || rest.is_empty()).then_some(rest),
    }
}

/// Returns whether `path` is `top` or lies below it, as [`below`] compares them.
pub fn is_at_or_below(path: &str, top: &str) -> bool {
    below(path, top).is_some()
}

/// Returns whether `name` is one entry name: not empty, not `.` or `..`, and without a separator of any system or NUL.
pub fn is_entry_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '\\', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_compared_by_components() {
        assert_eq!(below("/ws/a/b", "/ws"), Some("a/b"));
        assert_eq!(below("/ws", "/ws/"), Some(""));
        assert_eq!(below("/ws-evil/a", "/ws"), None);
        assert_eq!(below("/w", "/ws"), None);
        assert_eq!(below("/a", "/"), Some("a"));
        assert_eq!(below("a/b", ""), Some("a/b"));
        assert_eq!(below("a/bc", "a/b"), None);
        assert!(is_at_or_below("a/b", "a/b") && !is_at_or_below("a", "a/b"));
    }

    #[test]
    fn separators_of_every_system_are_refused_in_names() {
        assert!(["a", "..a", "a b", "..."].into_iter().all(is_entry_name));
        assert!(!["", ".", "..", "a/b", "a\\b", "a\0"].into_iter().any(is_entry_name));
    }
}
