//! Names of workspaces.

/// Maximum length of a name in bytes.
const MAX_NAME: usize = 64;

/// Rule for names of workspaces, as the cause of an error.
pub(super) const NAME_RULE: &str =
    "a name has 1 to 64 characters: lower-case letters, digits, `-`, `_` and `.`, the first a letter or a digit";

/// Returns whether a text is the name of a workspace. No such name is a path or hidden.
pub(super) fn is_name(name: &str) -> bool {
    let is_alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.len() <= MAX_NAME
        && name.as_bytes().first().is_some_and(is_alphanumeric)
        && name.bytes().all(|byte| is_alphanumeric(&byte) || matches!(byte, b'.' | b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_path() {
        for name in ["a", "0", "notes", "team-1.x_y", "a..b", &"a".repeat(64)] {
            assert!(is_name(name), "{name}");
        }
        let names =
            ["", ".", "..", ".a", "-a", "_a", "A", "a/b", "a\\b", "a\0", "a b", "ä", "a\n", "a%2e", &"a".repeat(65)];
        for name in names {
            assert!(!is_name(name), "{name:?}");
        }
    }
}
