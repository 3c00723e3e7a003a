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

/// Number of hexadecimal digits of the short form of an etag, which texts have: 48 bits.
const SHORT_DIGITS: usize = 12;

/// Returns the short form of an etag.
pub fn short_etag(etag: &str) -> &str {
    etag.get(..SHORT_DIGITS).unwrap_or(etag)
}

/// Returns whether a caller's etag names this etag: at least the digits of the short form are needed.
pub fn is_etag(etag: &str, requested: &str) -> bool {
    requested.len() >= SHORT_DIGITS && etag.starts_with(requested)
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
