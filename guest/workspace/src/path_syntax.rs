//! Checks of a path as text, before it is resolved.

use paddock_types::error::{Code, Error, Result, excerpt};

/// Directories at the top of common systems. An absolute path with one of them is a path of the host, unless the
/// workspace has an entry of that name.
pub(crate) const SYSTEM_DIRECTORIES: &[&str] = &[
    "Applications",
    "Library",
    "System",
    "Users",
    "Volumes",
    "bin",
    "boot",
    "dev",
    "etc",
    "home",
    "lib",
    "lib64",
    "media",
    "mnt",
    "opt",
    "private",
    "proc",
    "root",
    "run",
    "sbin",
    "srv",
    "sys",
    "tmp",
    "usr",
    "var",
];

/// Bytes of a path, and of one name in it, as on Linux.
const MAX_PATH_BYTES: usize = 4_096;
const MAX_NAME_BYTES: usize = 255;

/// Refuses text that is not a path on every host. Hosts differ in the meaning of a backslash.
pub(crate) fn check_path(path: &str, operation: &str) -> Result<()> {
    let invalid = |cause: &str| Error::at(Code::InvalidPath, operation, path, cause);
    if path.is_empty() {
        return Err(invalid("the path is empty").hint("`.` is the top of the workspace"));
    }
    if path.contains('\0') {
        return Err(invalid("a path cannot contain a NUL byte"));
    }
    if path.contains('\\') {
        return Err(invalid("a path cannot contain a backslash").hint("separate directories by `/`"));
    }
    if path.len() > MAX_PATH_BYTES {
        return Err(Error::at(
            Code::InvalidPath,
            operation,
            &excerpt(path),
            format!("the path is longer than {MAX_PATH_BYTES} bytes"),
        ));
    }
    Ok(())
}

pub(crate) fn check_name(name: &str, path: &str, operation: &str) -> Result<()> {
    if name.len() > MAX_NAME_BYTES {
        return Err(Error::at(
            Code::InvalidPath,
            operation,
            path,
            format!("a name in it is longer than {MAX_NAME_BYTES} bytes"),
        ));
    }
    Ok(())
}

/// Refuses `~` at the start of a path if the workspace has no entry of that name: the caller means a home directory. A
/// path that an earlier call stored means the entry.
pub(crate) fn check_home(name: &str, path: &str, operation: &str) -> Result<()> {
    if name != "~" || !path.starts_with('~') || matches!(operation, "restore" | "commit") {
        return Ok(());
    }
    let cause = "`~` is not expanded: paths are relative to the workspace";
    Err(Error::at(Code::OutsideWorkspace, operation, path, cause)
        .hint("leave `~/` out, or write `./~/` for a directory with the name `~`"))
}

/// Returns the components of a path, without empty components and `.`.
pub(crate) fn components(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|component| !component.is_empty() && *component != ".")
}

pub(crate) fn ends_in_dir(path: &str) -> bool {
    path.ends_with('/') || path.ends_with("/.")
}
