//! Files that another program has open without sharing them, as is usual on Windows. The runtime reports the same error
//! as for a lack of rights.

use wasmtime_wasi::filesystem::Dir;
use wasmtime_wasi::p2::FsResult;

/// Returns the result of an operation on these entries, with `busy` as the error if another program has one of them
/// open.
#[cfg(not(windows))]
pub(super) fn explain<T>(result: FsResult<T>, _: &[(&Dir, &str)]) -> FsResult<T> {
    result
}

/// Returns the result of an operation on these entries, with `busy` as the error if another program has one of them
/// open.
#[cfg(windows)]
pub(super) fn explain<T>(result: FsResult<T>, entries: &[(&Dir, &str)]) -> FsResult<T> {
    use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

    let is_refused = |code: &ErrorCode| matches!(code, ErrorCode::Access | ErrorCode::NotPermitted);
    result.map_err(|error| match error.downcast_ref() {
        Some(code) if is_refused(code) && entries.iter().any(|(dir, name)| is_open_elsewhere(dir, name)) => {
            ErrorCode::Busy.into()
        }
        _ => error,
    })
}

/// Returns whether an open with all rights fails because another program has the entry open. Nothing is changed.
#[cfg(windows)]
fn is_open_elsewhere(dir: &Dir, name: &str) -> bool {
    use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
    use cap_primitives::fs::{OpenOptions, OpenOptionsExt};

    const READ_WRITE_DELETE: u32 = 0x8000_0000 | 0x4000_0000 | 0x0001_0000;
    const BACKUP_SEMANTICS: u32 = 0x0200_0000;
    let mut options = OpenOptions::new();
    options.follow(FollowSymlinks::No).access_mode(READ_WRITE_DELETE).custom_flags(BACKUP_SEMANTICS);
    let opened = cap_primitives::fs::open(&dir.dir, name.as_ref(), &options);
    opened.is_err_and(|cause| is_violation(&cause))
}

/// Returns whether an operation failed because another program has the entry open.
#[cfg(windows)]
pub(super) fn is_violation(cause: &std::io::Error) -> bool {
    const ERROR_SHARING_VIOLATION: i32 = 32;
    cause.raw_os_error() == Some(ERROR_SHARING_VIOLATION)
}
