//! Text: encodings, line endings, lines, differences. This crate accesses no files.

pub mod codec;
pub mod compare;
pub mod diff;
pub mod document;
pub mod encoding;
pub mod eol;
pub mod find;
pub mod function;
pub mod glob_class;
pub mod indent;
pub mod lines;
pub mod mime;
pub mod name_folding;
pub mod nearest;
pub mod page;

/// Returns the similarity of two strings, from 0 to 1.
///
/// `strsim` would add a second algorithm to the component.
pub fn similarity(a: &str, b: &str) -> f32 {
    let [a, b] = [a, b].map(|text| text.chars().map(u32::from).collect::<Vec<_>>());
    similar::diff_ratio(&compare::numbers(&a, &b), a.len(), b.len())
}
