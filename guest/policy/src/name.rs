//! Names that users give to overlays and checkpoints.

/// Characters of a name.
const MAX_NAME: usize = 64;

/// Returns whether a name is plain: 1 to 64 ASCII letters, digits, `-`, `_` and `.`, no `.` first. Such a name is valid
/// for a directory on every system and is printed unchanged.
pub fn is_plain(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    (1..=MAX_NAME).contains(&name.len()) && !name.starts_with('.') && name.chars().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        let long = "x".repeat(MAX_NAME);
        for name in ["a", "A-1_b.c", "refactor", long.as_str()] {
            assert!(is_plain(name), "{name}");
        }
        let too_long = "x".repeat(MAX_NAME + 1);
        for name in ["", ".", "..", ".a", "a/b", "a b", "ä", "a\\b", "a\0", too_long.as_str()] {
            assert!(!is_plain(name), "{name}");
        }
    }
}
