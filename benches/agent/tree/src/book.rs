//! Books: lists of entries.

use std::collections::BTreeMap;

use crate::account::Account;
use crate::amount::{parse_amount, Amount};
use crate::entry::{Date, Entry, Posting};
use crate::error::{Error, Result};
use crate::MAX_ENTRIES;

/// All entries of a file, in its order.
#[derive(Clone, Debug, Default)]
pub struct Book {
    entries: Vec<Entry>,
}

impl Book {
    pub fn new() -> Book {
        Book::default()
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Adds an entry that is balanced.
    pub fn add(&mut self, entry: Entry) -> Result<()> {
        entry.check()?;
        if self.entries.len() >= MAX_ENTRIES {
            return Err(Error::TooMany { max: MAX_ENTRIES });
        }
        self.entries.push(entry);
        Ok(())
    }

    /// Adds a posting to the last entry.
    pub fn post(&mut self, name: &str, amount: &str, line: usize) -> Result<()> {
        let account = Account::new(name, line)?;
        let amount = parse_amount(amount, line)?;
        let entry = self.entries.last_mut().ok_or(Error::NoEntry { line })?;
        entry.postings.push(Posting { account, amount });
        Ok(())
    }

    /// Returns the balance of each account on `date`.
    pub fn balances(&self, date: Date) -> BTreeMap<Account, Amount> {
        let mut balances = BTreeMap::new();
        for entry in self.entries.iter().filter(|entry| entry.date <= date) {
            for posting in &entry.postings {
                let balance = balances.entry(posting.account.clone()).or_insert(Amount::ZERO);
                *balance = *balance + posting.amount;
            }
        }
        balances
    }

    /// Checks every entry, and returns the first error.
    pub fn check(&self) -> Result<()> {
        for entry in &self.entries {
            entry.check()?;
        }
        Ok(())
    }
}
