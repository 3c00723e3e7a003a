//! Parses the text of a book.

use crate::account::Account;
use crate::amount::parse_amount;
use crate::book::Book;
use crate::entry::{Date, Entry, Posting};
use crate::error::{Error, Result};

/// Parses a whole book.
pub fn parse_book(text: &str) -> Result<Book> {
    let mut book = Book::new();
    let mut open: Option<Entry> = None;
    for (index, row) in text.lines().enumerate() {
        let line = index + 1;
        if row.trim().is_empty() || row.starts_with('#') {
            continue;
        }
        if row.starts_with(' ') {
            let entry = open.as_mut().ok_or(Error::NoEntry { line })?;
            entry.postings.push(parse_posting(row, line)?);
            continue;
        }
        if let Some(entry) = open.replace(parse_header(row, line)?) {
            book.add(entry)?;
        }
    }
    if let Some(entry) = open {
        book.add(entry)?;
    }
    Ok(book)
}

/// Parses `2024-03-01 "Rent"`.
fn parse_header(row: &str, line: usize) -> Result<Entry> {
    let (date, text) = row.split_once(' ').unwrap_or((row, ""));
    let date = parse_date(date, line)?;
    Ok(Entry::new(line, date, text.trim().trim_matches('"').to_owned()))
}

/// Parses an account and an amount, with two or more spaces between them.
fn parse_posting(row: &str, line: usize) -> Result<Posting> {
    let (name, amount) = row.trim().split_once("  ").unwrap_or((row.trim(), ""));
    let account = Account::new(name, line)?;
    let amount = parse_amount(amount.trim(), line)?;
    Ok(Posting { account, amount })
}

/// Parses `2024-03-01`.
pub fn parse_date(text: &str, line: usize) -> Result<Date> {
    let wrong = || Error::Date { line, text: text.to_owned() };
    let mut parts = text.split('-');
    let mut next = || parts.next().ok_or_else(wrong);
    let year: u16 = next()?.parse().map_err(|_| wrong())?;
    let month: u8 = next()?.parse().map_err(|_| wrong())?;
    let day: u8 = next()?.parse().map_err(|_| wrong())?;
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return Err(wrong());
    }
    Ok((year, month, day))
}
