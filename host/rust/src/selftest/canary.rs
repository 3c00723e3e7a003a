//! What no answer may contain.

use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::hex::hex;

/// Bytes of a file with a canary: a number that no answer has by chance.
const SIZE: usize = 4_861;
/// How many digits of a hash tools tell at least.
const HASH_DIGITS: usize = 16;
/// The first line of a file that every system has, and that attacks name.
const OF_SYSTEM: &str = "root:x:0:0:";

/// A text that is nowhere else, and everything that would give it away.
#[derive(Clone)]
pub(super) struct Canary {
    /// The content of the files outside.
    pub(super) content: String,
    /// A file's name.
    pub(super) name: String,
    marks: Vec<String>,
}

impl Canary {
    /// A new one.
    pub(super) fn new() -> io::Result<Self> {
        let mut random = [0; 24];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let word = hex(&random);
        let text = format!("CANARY-{word}");
        let name = format!("only-{}", word.chars().rev().take(24).collect::<String>());
        let content = format!("{}\n", text.repeat(SIZE / text.len() + 1).chars().take(SIZE - 1).collect::<String>());
        let hash = hex(&Sha256::digest(&content));
        let mut marks = vec![text.clone(), name.clone(), OF_SYSTEM.to_owned()];
        marks.extend(hash.get(..HASH_DIGITS).map(str::to_owned));
        // Base64 of it depends on how many bytes are in front of it.
        marks.extend((0..3).map(|before| {
            let encoded = STANDARD.encode(format!("{}{text}", "-".repeat(before)));
            encoded.chars().skip(4).take(text.len()).collect::<String>()
        }));
        Ok(Self { content, name, marks })
    }

    /// What of it is in a text.
    pub(super) fn in_text(&self, text: &str) -> Option<&str> {
        let mark = self.marks.iter().find(|mark| text.contains(mark.as_str())).map(String::as_str);
        mark.or_else(|| tells_size(text).then_some("the size of a file outside"))
    }

    /// Whether it is in bytes.
    pub(super) fn in_bytes(&self, bytes: &[u8]) -> bool {
        self.marks.first().is_some_and(|text| memchr::memmem::find(bytes, text.as_bytes()).is_some())
    }
}

/// Whether the size is there as a number by itself, and not as part of a time.
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
