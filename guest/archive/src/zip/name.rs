//! Names of entries: checks that they are paths with the same meaning on every system, inside the destination.

use paddock_text::name_folding::visible;
use paddock_types::error::Code;

/// Bytes of a name, and of one component of it, as for every path.
const MAX_NAME_BYTES: usize = 4_096;
const MAX_COMPONENT_BYTES: usize = 255;

/// Reason why a name is refused, as the end of a sentence about the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Code of the error.
    pub code: Code,
    /// The mistake.
    pub cause: &'static str,
}

/// Returns the path of a name: without `.` components and without the final `/` of a directory; empty for the top
/// itself.
pub fn path(name: &str) -> Result<String, Refused> {
    let invalid = |cause| Err(Refused { code: Code::InvalidPath, cause });
    let outside = |cause| Err(Refused { code: Code::OutsideWorkspace, cause });
    match name.as_bytes() {
        [] => return invalid("has no name"),
        [b'/', ..] => return outside("has an absolute name"),
        [letter, b':', ..] if letter.is_ascii_alphabetic() => return outside("has a name with a drive letter"),
        bytes if bytes.contains(&0) => return invalid("has a NUL byte in its name"),
        bytes if bytes.contains(&b'\\') => return invalid("has a backslash in its name"),
        bytes if bytes.len() > MAX_NAME_BYTES => return invalid("has a name of more than 4096 bytes"),
        _ => {}
    }
    let mut path = String::with_capacity(name.len());
    for component in name.strip_suffix('/').unwrap_or(name).split('/') {
        match component {
            "" => return invalid("has an empty component in its name"),
            "." => continue,
            ".." => return outside("has `..` in its name"),
            // Some file systems leave such characters out of a name, so that it becomes `..` or nothing.
            _ if visible(component).is_empty() => {
                return invalid("has a component without a visible letter in its name");
            }
            _ if component.len() > MAX_COMPONENT_BYTES => return invalid("has a component of more than 255 bytes"),
            _ => {}
        }
        if !path.is_empty() {
            path.push('/');
        }
        path.push_str(component);
    }
    Ok(path)
}

/// Returns a key that is equal for all spellings of a component that a file system may treat as equal: it may ignore
/// case, and dots and spaces at the end.
pub fn key(component: &str) -> String {
    // Through upper case, so that `ſ` and the Kelvin sign become ASCII too.
    let folded: String = component.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    match folded.trim_end_matches(['.', ' ']) {
        "" => folded,
        trimmed => trimmed.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_paths() {
        let cases = [
            ("a", "a"),
            ("a/b.txt", "a/b.txt"),
            ("./a/./b/", "a/b"),
            (".", ""),
            ("./", ""),
            ("..a/b..", "..a/b.."),
            (".env", ".env"),
            ("at 12:30", "at 12:30"),
            ("ü/日本", "ü/日本"),
        ];
        for (name, expected) in cases {
            assert_eq!(path(name).as_deref(), Ok(expected), "{name}");
        }
    }

    #[test]
    fn names_that_lead_out() {
        for name in ["/", "/a", "//a", "C:", "c:/a", "z:a", "..", "../a", "a/..", "a/../b", "a/b/../../../c", "../"] {
            assert_eq!(path(name).unwrap_err().code, Code::OutsideWorkspace, "{name}");
        }
    }

    #[test]
    fn names_that_mean_nothing_everywhere() {
        let long = ["x".repeat(256), format!("{}a", "ab/".repeat(1_400))];
        let names =
            ["", "a//b", "a//", "a\0b", "a\\b", "..\\a", ".. /a", "...", "a/. ./b", "\u{200b}", ".\u{200d}./x", " "];
        for name in names.into_iter().chain(long.iter().map(String::as_str)) {
            assert_eq!(path(name).unwrap_err().code, Code::InvalidPath, "{name}");
        }
    }

    #[test]
    fn keys_of_spellings() {
        assert_eq!([key("README"), key("\u{17f}"), key("a. ."), key("\u{212a}")], ["readme", "s", "a", "k"]);
        assert_ne!(key("12:30"), key("12:31"));
        assert_ne!(key("ü"), key("u"));
    }
}
