//! A text and the bytes it was decoded from, so that a change is spliced into
//! the bytes and leaves every other byte alone (being written).

use std::ops::Range;

use encoding_rs::Encoding;

/// A decoded text over its bytes.
pub struct Document {
    /// The text, without a byte order mark; sequences that the encoding does not know are U+FFFD.
    pub text: String,
    /// The encoding.
    pub encoding: &'static Encoding,
    /// Whether a byte order mark is at the start of the bytes.
    pub bom: bool,
    bytes: Vec<u8>,
}

/// A change of a document: `range` of its text (in bytes of the UTF-8 `text`) becomes `text`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splice {
    /// What to replace.
    pub range: Range<usize>,
    /// What to put there, as it is: line endings are the caller's business.
    pub text: String,
}

/// A character that the document's encoding does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The first such character.
    pub character: char,
    /// The encoding's WHATWG name.
    pub encoding: &'static str,
}

impl Document {
    /// Decodes `bytes`, by detection unless the encoding is given.
    pub fn decode(bytes: Vec<u8>, encoding: Option<&'static Encoding>) -> Self {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Self { text, encoding: encoding.unwrap_or(encoding_rs::UTF_8), bom: false, bytes }
    }

    /// The bytes with the splices made; those are in order and do not overlap.
    pub fn splice(&self, _splices: &[Splice]) -> Result<Vec<u8>, Loss> {
        Ok(self.bytes.clone())
    }
}
