//! Errors of this crate.

use thiserror::Error;

/// An error with the line at which it was found.
#[derive(Debug, Error, PartialEq)]
pub enum Error {
    #[error("line {line}: `{text}` is no amount")]
    Amount { line: usize, text: String },
    #[error("line {line}: `{text}` is no date")]
    Date { line: usize, text: String },
    #[error("line {line}: `{name}` is no account")]
    Account { line: usize, name: String },
    #[error("line {line}: the postings add up to {sum}, not to zero")]
    Unbalanced { line: usize, sum: String },
    #[error("line {line}: a posting without an entry")]
    NoEntry { line: usize },
    #[error("more than {max} entries")]
    TooMany { max: usize },
}

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
