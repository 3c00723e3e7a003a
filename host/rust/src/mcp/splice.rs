//! Placeholders for structured content in answers. The `rmcp` library gets a placeholder for the JSON that the
//! component has produced, and the transport replaces the placeholder by this JSON. A large result is therefore neither
//! parsed nor serialised again.
//!
//! In `rmcp`, structured content is a `serde_json::Value`, so that a `RawValue` cannot be passed.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use memchr::memmem;
use serde::Serialize;
use serde_json::{Value, json};

use super::load::MAX_REQUESTS;

/// Start and end of a placeholder in JSON. No string can contain them, because a quote in a JSON string is escaped.
const PLACEHOLDER: &str = r#"{"$paddock":""#;
const PLACEHOLDER_END: &[u8] = br#""}"#;

/// Number of placeholders at which those of cancelled requests are removed. It exceeds the number of requests in
/// flight.
const MAX_WAITING: usize = 2 * MAX_REQUESTS;

/// JSON texts that wait to be written, by the number of their placeholder.
#[derive(Clone, Default)]
pub(super) struct Placeholders(Arc<Mutex<Waiting>>);

#[derive(Default)]
struct Waiting {
    next: u64,
    json: HashMap<u64, Entry>,
}

struct Entry {
    json: String,
    /// Whether the client has cancelled the request.
    is_cancelled: Box<dyn Fn() -> bool + Send>,
}

impl Placeholders {
    /// Returns a placeholder that is written as `json` in the answer to a request. `is_cancelled` tells whether the
    /// client has cancelled the request.
    pub(super) fn put(&self, json: String, is_cancelled: impl Fn() -> bool + Send + 'static) -> Value {
        let mut waiting = self.lock();
        // The `rmcp` library drops the answer to a cancelled request, so that its placeholder is never written.
        if waiting.json.len() >= MAX_WAITING {
            waiting.json.retain(|_, entry| !(entry.is_cancelled)());
        }
        let number = waiting.next;
        waiting.next += 1;
        waiting.json.insert(number, Entry { json, is_cancelled: Box::new(is_cancelled) });
        json!({ "$paddock": number.to_string() })
    }

    /// Serialises a message as a line, with the JSON texts in place of their placeholders.
    pub(super) fn line(&self, message: &impl Serialize) -> io::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(message)?;
        // The text of a result, which comes first, is not copied.
        if let Some(at) = memmem::find(&line, PLACEHOLDER.as_bytes()) {
            let rest = line.split_off(at);
            self.replace(&rest, &mut line);
        }
        line.push(b'\n');
        Ok(line)
    }

    /// Appends `message` to `out`, with the JSON texts in place of their placeholders.
    fn replace(&self, mut message: &[u8], out: &mut Vec<u8>) {
        let mut waiting = self.lock();
        while !waiting.json.is_empty()
            && let Some(at) = memmem::find(message, PLACEHOLDER.as_bytes())
            && let Some((before, rest)) = message.split_at_checked(at)
            && let Some(number) = rest.get(PLACEHOLDER.len()..)
            && let Some(length) = memmem::find(number, PLACEHOLDER_END)
            && let Some((number, after)) = number.split_at_checked(length)
        {
            out.extend_from_slice(before);
            let number = std::str::from_utf8(number).ok().and_then(|number| number.parse().ok());
            match number.and_then(|number: u64| waiting.json.remove(&number)) {
                Some(entry) => out.extend_from_slice(entry.json.as_bytes()),
                None => out.extend_from_slice(b"null"),
            }
            message = after.get(PLACEHOLDER_END.len()..).unwrap_or_default();
        }
        out.extend_from_slice(message);
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(placeholders: &Placeholders, message: &Value) -> String {
        let mut out = Vec::new();
        placeholders.replace(message.to_string().as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_placeholder_is_written_as_what_it_stands_for() {
        let placeholders = Placeholders::default();
        let (first, second) =
            (placeholders.put(r#"{"b":1}"#.to_owned(), || false), placeholders.put("[2]".to_owned(), || false));
        let message = json!({"result": {"one": first, "two": second, "text": "x"}});
        assert_eq!(written(&placeholders, &message), r#"{"result":{"one":{"b":1},"two":[2],"text":"x"}}"#);
        assert!(placeholders.lock().json.is_empty());
    }

    #[test]
    fn placeholders_of_cancelled_requests_are_discarded() {
        let placeholders = Placeholders::default();
        let placeholder = placeholders.put("1".to_owned(), || false);
        for _ in 0..10 * MAX_WAITING {
            placeholders.put("2".to_owned(), || true);
            assert!(placeholders.lock().json.len() <= MAX_WAITING);
        }
        assert_eq!(written(&placeholders, &placeholder), "1");
    }

    #[test]
    fn a_text_that_looks_like_a_placeholder_stays_a_text() {
        let placeholders = Placeholders::default();
        let placeholder = placeholders.put("true".to_owned(), || false);
        let message = json!({"a": r#"{"$paddock":"0"}"#, "b": placeholder});
        let written_message: Value = serde_json::from_str(&written(&placeholders, &message)).unwrap();
        assert_eq!(written_message, json!({"a": r#"{"$paddock":"0"}"#, "b": true}));
    }
}
