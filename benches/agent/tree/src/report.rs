//! Reports of balances.

use std::fmt::Write;

use crate::amount::{parse_amount, Amount};
use crate::book::Book;
use crate::entry::Date;
use crate::error::Result;

/// What a report contains.
#[derive(Clone, Debug)]
pub struct Options {
    pub date: Date,
    pub all: bool,
    pub least: Option<String>,
}

/// Returns the balances at the end of a day, one line an account.
pub fn balances(book: &Book, options: &Options) -> Result<String> {
    let least = match &options.least {
        Some(text) => parse_amount(text, 0)?,
        None => Amount::ZERO,
    };
    let mut report = String::new();
    for (account, balance) in book.balances(options.date) {
        if balance.is_zero() && !options.all {
            continue;
        }
        if balance.hundredths().abs() < least.hundredths() {
            continue;
        }
        let _ = writeln!(report, "{:<32}{:>16}", account.as_str(), balance.to_string());
    }
    Ok(report)
}

/// Returns the total of each kind of account.
pub fn totals(book: &Book, options: &Options) -> String {
    let mut report = String::new();
    for kind in crate::account::KINDS {
        let balances = book.balances(options.date);
        let total: Amount = balances.iter().filter(|(account, _)| account.kind() == kind).map(|(_, amount)| *amount).sum();
        let _ = writeln!(report, "{kind:<32}{:>16}", total.to_string());
    }
    report
}

/// Returns the number of entries of each month.
pub fn months(book: &Book) -> String {
    let mut report = String::new();
    let mut months: Vec<(u16, u8)> = book.entries().iter().map(|entry| (entry.date.0, entry.date.1)).collect();
    months.sort();
    for group in months.chunk_by(|a, b| a == b) {
        if let Some((year, month)) = group.first() {
            let _ = writeln!(report, "{year}-{month:02}{:>8}", group.len());
        }
    }
    report
}
