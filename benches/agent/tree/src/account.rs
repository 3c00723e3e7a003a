//! Names of accounts.

use std::fmt;

use crate::error::{Error, Result};

/// Kinds of accounts: the first name of an account.
pub const KINDS: [&str; 5] = ["assets", "liabilities", "income", "expenses", "equity"];

/// The name of an account, such as `expenses:rent`.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Account(String);

impl Account {
    /// Checks a name; `line` is for the error.
    pub fn new(name: &str, line: usize) -> Result<Account> {
        let kind = name.split(':').next().unwrap_or("");
        if !KINDS.contains(&kind) || name.split(':').any(str::is_empty) {
            return Err(Error::Account { line, name: name.to_owned() });
        }
        Ok(Account(name.to_owned()))
    }

    pub fn kind(&self) -> &str {
        self.0.split(':').next().unwrap_or("")
    }

    pub fn parent(&self) -> Option<Account> {
        self.0.rsplit_once(':').map(|(parent, _)| Account(parent.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
