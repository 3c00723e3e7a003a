//! Cursors: the position at which a result ended, which the caller passes back. A cursor grants no access: its
//! content is only compared with names.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use paddock_types::error::{Error, Result, Term};
use paddock_types::phrase;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Version of the format; it increases when the meaning of a position changes.
const VERSION: u32 = 1;
/// Number of hexadecimal digits of the fingerprint of the arguments.
const FINGERPRINT_DIGITS: usize = 16;
/// Maximum number of bytes of a cursor: the longest path and some numbers fit.
const MAX_CURSOR_BYTES: usize = 16 * 1024;

/// Returns the fingerprint of the request for which a cursor is valid. It covers every serialized argument; the
/// cursor and the limit are not serialized.
pub fn fingerprint(request: &impl Serialize) -> String {
    // Serialization fails only for maps with keys that are not strings, and a request has none.
    let json = serde_json::to_vec(request).unwrap_or_default();
    let mut digits = paddock_types::digest::sha256(&json);
    digits.truncate(FINGERPRINT_DIGITS);
    digits
}

/// Returns the cursor that continues at `position`.
pub fn seal(fingerprint: &str, position: &impl Serialize) -> Option<String> {
    let json = serde_json::to_vec(&(VERSION, fingerprint, position)).ok()?;
    Some(URL_SAFE_NO_PAD.encode(json))
}

/// Returns the position of a cursor; `None` without a cursor.
pub fn open<P: DeserializeOwned>(cursor: Option<&str>, fingerprint: &str) -> Result<Option<P>> {
    let Some(cursor) = cursor else { return Ok(None) };
    let sealed = Some(cursor).filter(|cursor| cursor.len() <= MAX_CURSOR_BYTES);
    let json = sealed.and_then(|cursor| URL_SAFE_NO_PAD.decode(cursor).ok());
    let parsed = json.and_then(|json| serde_json::from_slice::<(u32, String, serde_json::Value)>(&json).ok());
    let Some((version, made_for, position)) = parsed else { return Err(no_cursor()) };
    if version != VERSION {
        return Err(refuse("it is from another version"));
    }
    if made_for != fingerprint {
        return Err(refuse("it belongs to a call with other arguments"));
    }
    serde_json::from_value(position).map(Some).map_err(|_| no_cursor())
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

    #[test]
    fn a_cursor_comes_back_and_fits_its_arguments_only() {
        let cursor = seal("abc", &("src/ä.rs", 7)).unwrap();
        assert_eq!(open(Some(&cursor), "abc").unwrap(), Some(("src/ä.rs".to_owned(), 7)));
        assert_eq!(open::<(String, u8)>(None, "abc").unwrap(), None);
        for (cursor, key) in [(cursor.as_str(), "abd"), ("", "abc"), ("!!", "abc"), ("bnVsbA", "abc")] {
            let error = open::<(String, u8)>(Some(cursor), key).unwrap_err();
            assert_eq!(error.code, Code::InvalidArgument);
            assert!(error.hint_text().unwrap().contains("without `cursor`"));
        }
        assert!(open::<u8>(Some(&cursor), "abc").is_err());
    }
}
