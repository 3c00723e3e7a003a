//! Names with a special meaning on Windows: some are devices, and others mean the entry of another name. The rules of
//! the policy are compared with names, so each name must mean the entry that it spells.

/// Returns whether all functions of Windows take a name literally. Some of them remove dots and spaces at its end, open
/// a device, or take the part after a `:` for a stream of the file.
pub(super) fn is_literal(name: &str) -> bool {
    let is_special = |c: char| c < ' ' || matches!(c, '"' | '*' | ':' | '<' | '>' | '?' | '\\' | '|');
    !name.contains(is_special) && !name.ends_with(['.', ' ']) && !is_device(name)
}

/// Returns whether the name is that of a device, with any extension.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end_matches(' ').to_uppercase();
    let is_port = |prefix| {
        let number =
            stem.strip_prefix(prefix).and_then(|rest| rest.chars().next().filter(|c| rest.len() == c.len_utf8()));
        number.is_some_and(|number| number.is_ascii_digit() || matches!(number, '¹' | '²' | '³'))
    };
    matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$" | "CLOCK$")
        || is_port("COM")
        || is_port("LPT")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_streams_and_trailing_dots_are_no_names() {
        for name in [
            "CON",
            "con",
            "NUL.txt",
            "nul.tar.gz",
            "COM1",
            "com0",
            "COM¹",
            "lpt³.log",
            "LPT9",
            "CONIN$",
            "conout$",
            "AUX .txt",
            "prn",
            "clock$",
            "a.",
            "a ",
            "a. .",
            "...",
            "f:stream",
            ".git::$INDEX_ALLOCATION",
            "C:",
            "C:a",
            "a\\b",
            "a<b",
            "a>b",
            "a|b",
            "a?b",
            "a*b",
            "a\"b",
            "a\u{1}b",
            "a\tb",
        ] {
            assert!(!is_literal(name), "{name:?}");
        }
        for name in [
            "CONSOLE", "con_", "NULL", "COM", "COM10", "COMA", "COM⁴", "lpt", ".con", "a.con", "a.b", ".git", "~",
            "a~1", "a b", " a", "é", "a'b", "a;b", "a,b", "[a]", "{a}",
        ] {
            assert!(is_literal(name), "{name:?}");
        }
    }
}
