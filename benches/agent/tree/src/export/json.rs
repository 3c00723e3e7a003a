//! JSON, written by hand.

use crate::amount::parse_amount;
use crate::book::Book;
use crate::error::Result;

/// Writes a list of entries.
pub fn write(book: &Book) -> String {
    let entries: Vec<String> = book.entries().iter().map(entry).collect();
    format!("[{}]", entries.join(","))
}

fn entry(entry: &crate::Entry) -> String {
    let (year, month, day) = entry.date;
    let postings: Vec<String> =
        entry.postings.iter().map(|posting| format!("{{\"account\":{},\"amount\":\"{}\"}}", quote(posting.account.as_str()), posting.amount)).collect();
    format!("{{\"date\":\"{year}-{month:02}-{day:02}\",\"text\":{},\"postings\":[{}]}}", quote(&entry.text), postings.join(","))
}

fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Returns the hundredths of an amount that JSON has as a string.
pub fn hundredths(text: &str) -> Result<i64> {
    Ok(parse_amount(text, 0)?.hundredths())
}
