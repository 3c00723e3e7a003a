//! Export to other formats.

pub mod csv;
pub mod json;

use crate::book::Book;

/// A format of export.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Format {
    Csv,
    Json,
}

impl Format {
    pub fn of(name: &str) -> Option<Format> {
        match name {
            "csv" => Some(Format::Csv),
            "json" => Some(Format::Json),
            _ => None,
        }
    }
}

/// Returns the book in `format`.
pub fn export(book: &Book, format: Format) -> String {
    match format {
        Format::Csv => csv::write(book),
        Format::Json => json::write(book),
    }
}
