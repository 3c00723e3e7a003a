//! Text: encodings, line endings, lines, differences. Pure; touches no file.

pub mod codec;
pub mod document;
pub mod encoding;
pub mod eol;

/// How alike two strings are, from 0 to 1.
pub fn similarity(a: &str, b: &str) -> f32 {
    similar::TextDiff::from_chars(a, b).ratio()
}
