use ledger::parse::{parse_book, parse_date};
use ledger::{parse_amount, parse_amount_strict, Error};

const BOOK: &str = "2024-03-01 \"Rent\"\n    expenses:rent  850.00\n    assets:bank  -850.00\n";

#[test]
fn a_book_is_parsed() {
    let book = parse_book(BOOK).unwrap();
    assert_eq!(book.entries().len(), 1);
    assert_eq!(book.entries()[0].text, "Rent");
}

#[test]
fn commas_are_ignored() {
    assert_eq!(parse_amount("1,250.00", 1).unwrap().hundredths(), 125_000);
    assert!(parse_amount_strict("1,250.00", 1).is_err());
}

#[test]
fn a_posting_needs_an_entry() {
    assert_eq!(parse_book("    assets:bank  1.00\n").unwrap_err(), Error::NoEntry { line: 1 });
}

#[test]
fn a_date_has_three_parts() {
    assert_eq!(parse_date("2024-03-01", 1), Ok((2024, 3, 1)));
    assert!(parse_date("2024-13-01", 1).is_err());
    assert!(parse_date("2024-03", 1).is_err());
}
