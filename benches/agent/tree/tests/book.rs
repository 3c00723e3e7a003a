use ledger::{parse_amount, Account, Book, Entry, Posting};

fn entry(amounts: &[(&str, &str)]) -> Entry {
    let mut entry = Entry::new(1, (2024, 3, 1), "Rent".to_owned());
    for (name, amount) in amounts {
        let account = Account::new(name, 1).unwrap();
        entry.postings.push(Posting { account, amount: parse_amount(amount, 1).unwrap() });
    }
    entry
}

#[test]
fn a_balanced_entry_is_added() {
    let mut book = Book::new();
    book.add(entry(&[("expenses:rent", "850.00"), ("assets:bank", "-850.00")])).unwrap();
    assert_eq!(book.entries().len(), 1);
}

#[test]
fn an_unbalanced_entry_is_refused() {
    let mut book = Book::new();
    let error = book.add(entry(&[("expenses:rent", "850.00"), ("assets:bank", "-85.00")])).unwrap_err();
    assert_eq!(error.to_string(), "line 1: the postings add up to 765.00, not to zero");
}

#[test]
fn balances_are_those_of_the_day() {
    let mut book = Book::new();
    book.add(entry(&[("expenses:rent", "850.00"), ("assets:bank", "-850.00")])).unwrap();
    assert!(book.balances((2024, 2, 29)).is_empty());
    assert_eq!(book.balances((2024, 3, 1)).len(), 2);
}
