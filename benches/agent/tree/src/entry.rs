//! Entries and their postings.

use crate::account::Account;
use crate::amount::Amount;
use crate::error::{Error, Result};

/// A date, as year, month and day.
pub type Date = (u16, u8, u8);

/// One line of an entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Posting {
    pub account: Account,
    pub amount: Amount,
}

/// One transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub line: usize,
    pub date: Date,
    pub text: String,
    pub postings: Vec<Posting>,
}

impl Entry {
    pub fn new(line: usize, date: Date, text: String) -> Entry {
        Entry { line, date, text, postings: Vec::new() }
    }

    pub fn sum(&self) -> Amount {
        self.postings.iter().map(|posting| posting.amount).sum()
    }

    /// Checks that the postings add up to zero.
    pub fn check(&self) -> Result<()> {
        let sum = self.sum();
        if sum.is_zero() {
            return Ok(());
        }
        Err(Error::Unbalanced { line: self.line, sum: sum.to_string() })
    }
}
