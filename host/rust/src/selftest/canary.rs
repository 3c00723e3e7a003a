//! Texts that no answer may contain.

use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::hex::hex;

/// Size in bytes of a file with a canary. Answers do not contain this number by chance.
const SIZE: usize = 4_861;
/// Minimum number of hash digits that tools report.
const HASH_DIGITS: usize = 16;
/// First line of `/etc/passwd`, a file that every system has and that attacks name.
const OF_SYSTEM: &str = "root:x:0:0:";

/// A unique text, with all forms in which an answer could reveal it.
#[derive(Clone)]
pub(super) struct Canary {
    /// Content of the files outside.
    pub(super) content: String,
    /// Name of a file outside.
    pub(super) name: String,
    traces: Vec<String>,
}

impl Canary {
    /// Creates a canary with a random text.
    pub(super) fn new() -> io::Result<Self> {
        let mut random = [0; 24];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let word = hex(&random);
        let text = format!("CANARY-{word}");
        let name = format!("only-{}", word.chars().rev().take(24).collect::<String>());
        let content = format!("{}\n", text.repeat(SIZE / text.len() + 1).chars().take(SIZE - 1).collect::<String>());
        let hash = hex(&Sha256::digest(&content));
        let mut traces = vec![text.clone(), name.clone(), OF_SYSTEM.to_owned()];
        traces.extend(hash.get(..HASH_DIGITS).map(str::to_owned));
        // The Base64 form depends on the number of bytes before the text, modulo 3.
        traces.extend((0..3).map(|before| {
            let encoded = STANDARD.encode(format!("{}{text}", "-".repeat(before)));
            encoded.chars().skip(4).take(text.len()).collect::<String>()
        }));
        Ok(Self { content, name, traces })
    }

    /// Returns the form of the canary that a text contains, if any.
    pub(super) fn in_text(&self, text: &str) -> Option<&str> {
        let trace = self.traces.iter().find(|trace| text.contains(trace.as_str())).map(String::as_str);
        trace.or_else(|| tells_size(text).then_some("the size of a file outside"))
    }

    /// Returns whether bytes contain the text of the canary.
    pub(super) fn in_bytes(&self, bytes: &[u8]) -> bool {
        self.traces.first().is_some_and(|text| memchr::memmem::find(bytes, text.as_bytes()).is_some())
    }
}

/// Returns whether a text contains the size as a number of its own, rather than as part of a time.
fn tells_size(text: &str) -> bool {
    let size = SIZE.to_string();
    let apart = |byte: Option<&u8>| byte.is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'.');
    text.match_indices(&size).any(|(at, _)| {
        let bytes = text.as_bytes();
        apart(at.checked_sub(1).and_then(|before| bytes.get(before))) && apart(bytes.get(at + size.len()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_canary_is_found_in_every_form() {
        let canary = Canary::new().unwrap();
        for before in ["", "a", "ab", "abc"] {
            let encoded = STANDARD.encode(format!("{before}{}", canary.content));
            assert!(canary.in_text(&encoded).is_some(), "{before}");
        }
        let hash = hex(&Sha256::digest(&canary.content));
        for text in [canary.content.clone(), format!("\"{}\"", canary.name), hash, "\"size\":4861,".to_owned()] {
            assert!(canary.in_text(&text).is_some(), "{text}");
        }
        for other in ["CANARY", "only-", "2026-01-01T00:00:00.4861Z", "48610", "a4861"] {
            assert_eq!(canary.in_text(other), None, "{other}");
        }
        assert_eq!(canary.content.len(), SIZE);
    }
}
