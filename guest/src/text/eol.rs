//! Line endings (being written).

/// The line endings of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eol {
    /// `\n`.
    Lf,
    /// `\r\n`.
    Crlf,
    /// `\r`.
    Cr,
    /// More than one kind.
    Mixed,
    /// No line ending at all.
    None,
}
