//! Paths of the host in the form that the guest compares with the paths of a call.

use std::path::Path;

use paddock_policy::windows_path;

/// Returns the path for the guest; `None` if it is not UTF-8.
pub(crate) fn for_guest(path: &Path) -> Option<String> {
    path.to_str().map(text_for_guest)
}

/// Returns the text of a path in a setting for the guest.
pub(crate) fn text_for_guest(path: &str) -> String {
    if cfg!(windows) { windows_path::unified(path) } else { path.to_owned() }
}
