//! Paths of Windows in the form of other systems, which the component compares with the names of roots.

/// Returns the path with `/` for `\`, and `/C:/` for an absolute path on a drive. A path that is relative to the current
/// directory of a drive, `C:a`, is not absolute and remains as it is: no file can have that name.
pub fn slashed(path: &str) -> String {
    let mut slashed = path.replace('\\', "/");
    if slashed.as_bytes().get(1..3) == Some(b":/") {
        slashed.insert(0, '/');
    }
    slashed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_paths_begin_with_a_slash_and_others_do_not() {
        for (path, expected) in [
            (r"C:\ws\a.txt", "/C:/ws/a.txt"),
            ("c:/ws/a.txt", "/c:/ws/a.txt"),
            (r"C:\", "/C:/"),
            (r"\\server\share\a", "//server/share/a"),
            (r"\Windows", "/Windows"),
            (r"\\.\PhysicalDrive0", "//./PhysicalDrive0"),
            (r"\\?\C:\a", "//?/C:/a"),
            (r"src\main.rs", "src/main.rs"),
            (r"..\a", "../a"),
            ("a/b", "a/b"),
            ("C:", "C:"),
            ("C:a", "C:a"),
            ("é:a", "é:a"),
            ("", ""),
        ] {
            assert_eq!(slashed(path), expected);
        }
    }
}
