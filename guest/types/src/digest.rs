//! Digests of bytes, and the etags that callers compare.

use sha2::{Digest, Sha256};

/// Returns the first 16 hexadecimal digits of the SHA-256 of `bytes`.
pub fn etag(bytes: &[u8]) -> String {
    etag_of(&sha256(bytes))
}

/// Returns the etag for a SHA-256 in hexadecimal.
pub fn etag_of(sha256: &str) -> String {
    sha256.chars().take(16).collect()
}

/// Returns the SHA-256 of `bytes` in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Returns `bytes` in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}
