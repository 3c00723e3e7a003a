//! Names with a special meaning for the system. Linux has none.

use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

/// Fails if the system does not take the name of an entry literally.
pub(super) fn check(name: &str) -> Result<(), ErrorCode> {
    #[cfg(windows)]
    if !super::windows_names::is_literal(name) {
        return Err(ErrorCode::IllegalByteSequence);
    }
    let _ = name;
    Ok(())
}
