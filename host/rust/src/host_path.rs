//! Paths of the host in the form that the guest compares with the paths of a call.

use std::path::Path;

use paddock_policy::windows_path;

/// Returns the path for the guest; `None` if it is not UTF-8.
pub(crate) fn for_guest(path: &Path) -> Option<String> {
    path.to_str().map(text_for_guest)
}

/// Returns the text of a path in a setting for the guest.
pub(crate) fn text_for_guest(path: &str) -> String {
    if cfg!(windows) { windows_path::slashed(&without_prefix(path)) } else { path.to_owned() }
}

/// Returns the path of Windows without `\\?\`, by which the same entry is named.
fn without_prefix(path: &str) -> String {
    let Some(plain) = path.strip_prefix(r"\\?\") else { return path.to_owned() };
    plain.strip_prefix(r"UNC\").map_or_else(|| plain.to_owned(), |share| format!(r"\\{share}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_named_without_the_prefix() {
        for (path, expected) in [
            (r"C:\ws", "/C:/ws"),
            (r"\\?\C:\ws", "/C:/ws"),
            (r"\\?\UNC\server\share\ws", "//server/share/ws"),
            (r"\\server\share\ws", "//server/share/ws"),
        ] {
            assert_eq!(windows_path::slashed(&without_prefix(path)), expected);
        }
    }
}
