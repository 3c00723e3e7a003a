//! Double-entry bookkeeping in plain text files.

pub mod account;
pub mod amount;
pub mod book;
pub mod entry;
pub mod error;
pub mod export;
pub mod parse;
pub mod report;
pub mod tables;

pub use account::Account;
pub use amount::{parse_amount, parse_amount_strict, Amount};
pub use book::Book;
pub use entry::{Entry, Posting};
pub use error::{Error, Result};

/// Largest number of entries of a book.
pub const MAX_ENTRIES: usize = 100_000;
