//! Comma-separated values.

use crate::amount::{parse_amount, Amount};
use crate::book::Book;
use crate::error::Result;

/// Writes one row a posting.
pub fn write(book: &Book) -> String {
    let mut out = String::from("date,text,account,amount\n");
    for entry in book.entries() {
        let (year, month, day) = entry.date;
        for posting in &entry.postings {
            let text = quote(&entry.text);
            out.push_str(&format!("{year}-{month:02}-{day:02},{text},{},{}\n", posting.account, posting.amount));
        }
    }
    out
}

/// Reads the rates of exchange: a currency and a rate in each row.
pub fn rates(text: &str) -> Result<Vec<(String, Amount)>> {
    let mut rates = Vec::new();
    for (index, row) in text.lines().enumerate().skip(1) {
        if let Some((currency, rate)) = row.split_once(';') {
            rates.push((currency.to_owned(), parse_amount(rate, index + 1)?));
        }
    }
    Ok(rates)
}

fn quote(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.to_owned()
}
