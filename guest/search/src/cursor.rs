//! Cursors: the position at which a result ended, which the caller passes back. A cursor grants no access: its
//! content is only compared with names.
//!
//! A cursor is a digest of the call and of the position, the numbers of the position, and its path: `Jx3_a9Qk:12:src/lib.rs`.
//! A path is written as it is if no character needs quotes, because that costs a model the fewest tokens.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use paddock_types::digest::{etag, sha256};
use paddock_types::error::{Error, Result, Term};
use paddock_types::phrase;
use serde::Serialize;

/// Version of the format; it increases when the meaning of a position changes.
const VERSION: u32 = 2;
/// Number of bytes of the digest: 8 characters.
const DIGEST_BYTES: usize = 6;
/// Number of hexadecimal digits of the fingerprint of the arguments.
const FINGERPRINT_DIGITS: usize = 16;
/// Maximum number of bytes of a cursor: the longest path and some numbers fit.
const MAX_CURSOR_BYTES: usize = 16 * 1024;
/// Maximum number of numbers in a position.
const MAX_NUMBERS: usize = 8;
/// First character of a path in Base64.
const ENCODED: char = '=';

/// Position at which a result ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Numbers, such as a line or a rank.
    pub numbers: Vec<u64>,
    /// Path of the last entry.
    pub path: String,
}

/// Returns the fingerprint of the request for which a cursor is valid. It covers every serialized argument; the
/// cursor and the limit are not serialized.
pub fn fingerprint(request: &impl Serialize) -> String {
    // Serialization fails only for maps with keys that are not strings, and a request has none.
    let json = serde_json::to_vec(request).unwrap_or_default();
    let mut digits = sha256(&json);
    digits.truncate(FINGERPRINT_DIGITS);
    digits
}

/// Returns the cursor that continues at `position`.
pub fn seal(fingerprint: &str, position: &Position) -> String {
    let mut body = String::new();
    for (index, number) in position.numbers.iter().enumerate() {
        if index > 0 {
            body.push(',');
        }
        body.push_str(&number.to_string());
    }
    body.push(':');
    match position.path.bytes().all(is_plain) {
        true => body.push_str(&position.path),
        false => {
            body.push(ENCODED);
            body.push_str(&URL_SAFE_NO_PAD.encode(&position.path));
        }
    }
    format!("{}:{body}", digest(fingerprint, &body))
}

/// Returns the position of a cursor; `None` without a cursor.
pub fn open(cursor: Option<&str>, fingerprint: &str) -> Result<Option<Position>> {
    let Some(cursor) = cursor else { return Ok(None) };
    let Some((seal, body)) = cursor.split_once(':').filter(|_| cursor.len() <= MAX_CURSOR_BYTES) else {
        return Err(no_cursor());
    };
    let Some(position) = parse(body) else { return Err(no_cursor()) };
    if seal != digest(fingerprint, body) {
        return Err(refuse("it belongs to a call with other arguments, or was changed"));
    }
    Ok(Some(position))
}

fn parse(body: &str) -> Option<Position> {
    let (numbers, path) = body.split_once(':')?;
    let path = match path.strip_prefix(ENCODED) {
        Some(encoded) => String::from_utf8(URL_SAFE_NO_PAD.decode(encoded).ok()?).ok()?,
        None => path.to_owned(),
    };
    let mut position = Position { numbers: Vec::new(), path };
    for number in numbers.split_terminator(',').take(MAX_NUMBERS) {
        position.numbers.push(number.parse().ok()?);
    }
    Some(position)
}

/// Returns whether a character needs no quotes in JSON and in the text of a result.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'_' | b'-' | b'+' | b'@')
}

/// Returns 48 bits of the digest of the call and of the position, as 8 characters.
fn digest(fingerprint: &str, body: &str) -> String {
    let digits = etag(format!("{VERSION} {fingerprint} {body}").as_bytes());
    let bits = u64::from_str_radix(&digits, 16).unwrap_or_default().to_be_bytes();
    URL_SAFE_NO_PAD.encode(bits.get(..DIGEST_BYTES).unwrap_or_default())
}

/// Returns the error of a call with an invalid cursor.
pub fn no_cursor() -> Error {
    refuse("it is not a cursor")
}

fn refuse(cause: &str) -> Error {
    Error::argument(Term::Cursor, cause).hint(phrase![
        "repeat the call without ",
        Term::Cursor,
        ", then pass on each `next_cursor` with the same arguments"
    ])
}

#[cfg(test)]
mod tests {
    use paddock_types::error::Code;

    use super::*;

    fn at(numbers: &[u64], path: &str) -> Position {
        Position { numbers: numbers.to_vec(), path: path.to_owned() }
    }

    #[test]
    fn a_cursor_is_short_and_readable() {
        let cursor = seal("abc", &at(&[12, 40], "src/lib.rs"));
        assert_eq!(cursor.split_once(':').unwrap().1, "12,40:src/lib.rs");
        assert_eq!(seal("abc", &at(&[], "a")).len(), 8 + ":".len() + ":a".len());
        assert!(!seal("abc", &at(&[], "a\n]")).contains(['\n', ']']));
    }

    #[test]
    fn a_cursor_fits_its_arguments_only() {
        let cursor = seal("abc", &at(&[7], "src/ä.rs"));
        assert_eq!(open(Some(&cursor), "abc").unwrap(), Some(at(&[7], "src/ä.rs")));
        assert_eq!(open(None, "abc").unwrap(), None);
        let changed = seal("abc", &at(&[], "src/a.rs")).replace("a.rs", "b.rs");
        for (cursor, key) in [(cursor.as_str(), "abd"), ("", "abc"), ("!!", "abc"), ("a:x:b", "abc"), (&changed, "abc")]
        {
            let error = open(Some(cursor), key).unwrap_err();
            assert_eq!(error.code, Code::InvalidArgument);
            assert!(error.hint_text().unwrap().contains("without `cursor`"));
        }
        assert!(open(Some(&"a".repeat(MAX_CURSOR_BYTES + 1)), "abc").is_err());
    }

    #[test]
    fn every_position_comes_back() {
        let largest = [u64::MAX; MAX_NUMBERS];
        for numbers in [&[][..], &[0], &[0, 0], &[7, 0, u64::MAX], &largest] {
            for path in ["", ":", "=", "a:b", "=YQ", "a b", "a,b", "a/b.c_d-e+f@g", "\u{1}\n\"]ä", "日本"] {
                let position = at(numbers, path);
                assert_eq!(open(Some(&seal("k", &position)), "k").unwrap(), Some(position));
            }
        }
    }
}
