//! Which encoding a text is in (being written).

use encoding_rs::Encoding;

/// Whether the first bytes of a file (8 KiB are enough) are not text: a NUL byte that no UTF-16 explains.
pub fn is_binary(_head: &[u8]) -> bool {
    false
}

/// What the bytes say of their encoding: a byte order mark, then UTF-8 validity, then a guess.
pub fn detect(_head: &[u8]) -> Detected {
    Detected { encoding: encoding_rs::UTF_8, bom: 0 }
}

/// An encoding and how it was marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detected {
    /// The encoding.
    pub encoding: &'static Encoding,
    /// Bytes of the byte order mark at the start; 0 without one.
    pub bom: usize,
}
