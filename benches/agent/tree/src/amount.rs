//! Amounts of money, in hundredths.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Neg};

use crate::error::{Error, Result};

/// Largest number of digits of an amount.
const MAX_DIGITS: usize = 15;

/// An amount of money.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct Amount {
    hundredths: i64,
}

impl Amount {
    pub const ZERO: Amount = Amount { hundredths: 0 };

    pub fn new(hundredths: i64) -> Amount {
        Amount { hundredths }
    }

    pub fn is_zero(self) -> bool {
        self.hundredths == 0
    }

    pub fn hundredths(self) -> i64 {
        self.hundredths
    }
}

/// Parses an amount such as `1,250.00` or `-3.50`; commas are ignored.
pub fn parse_amount(text: &str, line: usize) -> Result<Amount> {
    parse_amount_strict(&text.replace(',', ""), line)
}

/// Parses an amount such as `1250.00` or `-3.50`.
pub fn parse_amount_strict(text: &str, line: usize) -> Result<Amount> {
    let wrong = || Error::Amount { line, text: text.to_owned() };
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "00"));
    if whole.is_empty() || part.len() != 2 || whole.len() + part.len() > MAX_DIGITS {
        return Err(wrong());
    }
    let whole: i64 = whole.parse().map_err(|_| wrong())?;
    let part: i64 = part.parse().map_err(|_| wrong())?;
    Ok(Amount::new(sign * (whole * 100 + part)))
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.hundredths < 0 { "-" } else { "" };
        let value = self.hundredths.unsigned_abs();
        write!(f, "{sign}{}.{:02}", value / 100, value % 100)
    }
}

impl Add for Amount {
    type Output = Amount;

    fn add(self, other: Amount) -> Amount {
        Amount::new(self.hundredths + other.hundredths)
    }
}

impl Neg for Amount {
    type Output = Amount;

    fn neg(self) -> Amount {
        Amount::new(-self.hundredths)
    }
}

impl Sum for Amount {
    fn sum<I: Iterator<Item = Amount>>(amounts: I) -> Amount {
        amounts.fold(Amount::ZERO, Add::add)
    }
}
