//! Names that the system gives a meaning of its own. On Linux there are none.

use wasmtime_wasi::filesystem::Dir;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

/// Fails if the system does not take the name of an entry literally, or if the entry in the directory has another name.
#[cfg(not(windows))]
pub(super) fn check(_: &Dir, _: &str) -> Result<(), ErrorCode> {
    Ok(())
}

/// Fails if the system does not take the name of an entry literally, or if the entry in the directory has another name.
#[cfg(windows)]
pub(super) fn check(dir: &Dir, name: &str) -> Result<(), ErrorCode> {
    use super::windows_names::{can_be_short, is_literal};

    let is_taken = || can_be_short(name) && exists(dir, name) && !is_listed(dir, name);
    if is_literal(name) && !is_taken() { Ok(()) } else { Err(ErrorCode::IllegalByteSequence) }
}

#[cfg(windows)]
fn exists(dir: &Dir, name: &str) -> bool {
    use cap_primitives::fs::{FollowSymlinks, stat};

    !matches!(stat(&dir.dir, name.as_ref(), FollowSymlinks::No), Err(cause) if cause.kind() == std::io::ErrorKind::NotFound)
}

/// Returns whether a listing of the directory contains the name. It contains no short names.
#[cfg(windows)]
fn is_listed(dir: &Dir, name: &str) -> bool {
    let entries = cap_primitives::fs::read_base_dir(&dir.dir);
    entries.is_ok_and(|mut entries| {
        entries.any(|entry| {
            entry.is_ok_and(|entry| entry.file_name().to_str().is_some_and(|listed| is_same(listed, name)))
        })
    })
}

#[cfg(windows)]
fn is_same(name: &str, other: &str) -> bool {
    name.chars().flat_map(char::to_uppercase).eq(other.chars().flat_map(char::to_uppercase))
}
