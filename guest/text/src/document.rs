//! A text and the bytes from which it was decoded. A change is spliced into the bytes, and every other byte is kept.

use std::borrow::Cow;
use std::ops::Range;

use encoding_rs::{Encoding, ISO_2022_JP, UTF_8};

use crate::codec;
pub use crate::codec::Loss;
use crate::codec::Run;
use crate::encoding;
use crate::encoding::Detected;
use crate::eol;
use crate::eol::Eol;

/// A decoded text with its bytes.
pub struct Document {
    /// The text, without a byte order mark. Sequences that the encoding does not define are U+FFFD.
    pub text: String,
    /// The encoding.
    pub encoding: &'static Encoding,
    /// Whether the bytes start with a byte order mark.
    pub bom: bool,
    /// Bytes after the mark; `None` if they are the bytes of `text`.
    bytes: Option<Vec<u8>>,
}

/// A change of a document: `text` replaces `range`, which counts bytes of the UTF-8 text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splice {
    /// Range to replace.
    pub range: Range<usize>,
    /// Replacement. The caller has converted its line endings.
    pub text: String,
}

impl Document {
    /// Decodes `bytes`, and detects the encoding unless it is given.
    pub fn decode(bytes: Vec<u8>, encoding: Option<&'static Encoding>) -> Self {
        let detected = match encoding {
            Some(encoding) => encoding::declared(encoding, &bytes),
            None => encoding::detect(&bytes),
        };
        Self::decode_as(bytes, detected)
    }

    /// Decodes `bytes` in a known encoding, with or without a byte order mark.
    pub fn decode_as(mut bytes: Vec<u8>, detected: Detected) -> Self {
        let Detected { encoding, bom } = detected;
        bytes.drain(..bom.min(bytes.len()));
        let bom = bom > 0;
        if encoding != UTF_8 {
            let text = codec::decode(&bytes, encoding).into_owned();
            return Self { text, encoding, bom, bytes: Some(bytes) };
        }
        match String::from_utf8(bytes) {
            Ok(text) => Self { text, encoding, bom, bytes: None },
            Err(error) => {
                let bytes = error.into_bytes();
                Self { text: String::from_utf8_lossy(&bytes).into_owned(), encoding, bom, bytes: Some(bytes) }
            }
        }
    }

    /// Decodes other bytes with the same encoding and mark, such as the result of `splice`.
    pub fn decode_like(&self, bytes: Vec<u8>) -> Self {
        Self::decode_as(bytes, Detected { encoding: self.encoding, bom: self.bom_bytes().len() })
    }

    /// Returns the bytes with the byte order mark.
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        match self.bom {
            true => Cow::Owned([self.bom_bytes(), self.body()].concat()),
            false => Cow::Borrowed(self.body()),
        }
    }

    /// Returns the bytes, without a copy if they are the bytes of the text.
    pub fn into_bytes(self) -> Vec<u8> {
        match self {
            Self { bom: false, bytes: None, text, .. } => text.into_bytes(),
            Self { bom: false, bytes: Some(bytes), .. } => bytes,
            Self { bom: true, .. } => self.bytes().into_owned(),
        }
    }

    /// Returns the line ending of the document.
    pub fn line_ending(&self) -> Eol {
        eol::detect(&self.text)
    }

    /// Encodes another text in the same encoding, with a byte order mark if this document has one.
    pub fn encode_like(&self, text: &str) -> Result<Vec<u8>, Loss> {
        let body = codec::encode(text, self.encoding)?;
        Ok([self.bom_bytes(), body.as_ref()].concat())
    }

    /// Returns the bytes after the splices, which are in order, on character boundaries, and do not overlap.
    ///
    /// Every byte outside of the ranges is kept, and inside of a range the common prefix and suffix of the old and
    /// the new text. A change that would not be decoded to the same text is a loss.
    pub fn splice(&self, splices: &[Splice]) -> Result<Vec<u8>, Loss> {
        let trimmed: Option<Vec<_>> = splices.iter().map(|splice| self.trim(splice)).collect();
        let trimmed = trimmed.ok_or_else(|| self.damaged())?;
        let edges = || trimmed.iter().flat_map(|(range, _)| [range.start, range.end]);
        if !edges().is_sorted() {
            return Err(self.damaged());
        }
        let text = || {
            let parts = trimmed.iter().map(|(range, text)| (range.clone(), text.as_bytes()));
            replace(b"", self.text.as_bytes(), parts)
        };
        if self.bytes.is_none() {
            return Ok(replace(
                self.bom_bytes(),
                self.text.as_bytes(),
                trimmed.iter().map(|(r, t)| (r.clone(), t.as_bytes())),
            ));
        }
        if trimmed.iter().any(|(_, new)| new.contains('\u{fffd}')) {
            // U+FFFD stands for bytes that are not in the text, so it cannot be encoded.
            return Err(self.damaged());
        }
        let bytes = match self.encoding == ISO_2022_JP {
            true => self.encode_stateful(&text())?,
            false => self.splice_bytes(&trimmed, &locate(self.body(), &self.text, self.encoding, edges()))?,
        };
        let body = bytes.get(self.bom_bytes().len()..).unwrap_or_default();
        match codec::decode(body, self.encoding).as_bytes() == text() {
            true => Ok(bytes),
            false => Err(self.damaged()),
        }
    }

    fn splice_bytes(&self, trimmed: &[(Range<usize>, &str)], boundaries: &[BoundaryPair]) -> Result<Vec<u8>, Loss> {
        let mut parts = Vec::with_capacity(trimmed.len());
        let mut end_before = 0;
        for ((range, new), [start, end]) in trimmed.iter().zip(boundaries.as_chunks::<2>().0) {
            // A sequence of bytes that decodes to two characters is encoded again as a whole.
            let (from, to) = (start.before, end.after);
            let old_text = |range: Range<usize>| self.text.get(range).ok_or_else(|| self.damaged());
            let new = match (from.text == range.start, to.text == range.end) {
                (true, true) => Cow::Borrowed(*new),
                _ => Cow::Owned([old_text(from.text..range.start)?, *new, old_text(range.end..to.text)?].concat()),
            };
            if from.byte < end_before {
                return Err(self.damaged());
            }
            end_before = to.byte;
            parts.push((from.byte..to.byte, codec::encode(&new, self.encoding)?.into_owned()));
        }
        Ok(replace(self.bom_bytes(), self.body(), parts.iter().map(|(range, new)| (range.clone(), new.as_slice()))))
    }

    /// Splices in a stateful encoding, in which a character has no bytes of its own. The whole text is encoded again,
    /// which keeps other lines if the encoder returns the same bytes for them.
    fn encode_stateful(&self, text: &[u8]) -> Result<Vec<u8>, Loss> {
        if codec::encode(&self.text, self.encoding)? != self.body() {
            return Err(self.damaged());
        }
        self.encode_like(&String::from_utf8_lossy(text))
    }

    /// Returns the splice without the common prefix and suffix; `None` if its range is not a range of this text.
    fn trim<'s>(&self, splice: &'s Splice) -> Option<(Range<usize>, &'s str)> {
        let old = self.text.get(splice.range.clone())?;
        let new = splice.text.as_str();
        let same = |(a, b): &(char, char)| a == b;
        let head: usize = old.chars().zip(new.chars()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
        let (old, new) = (old.get(head..)?, new.get(head..)?);
        let tail: usize = old.chars().rev().zip(new.chars().rev()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
        let range = splice.range.start + head..splice.range.end - tail;
        Some((range, new.get(..new.len() - tail)?))
    }

    fn bom_bytes(&self) -> &'static [u8] {
        if self.bom { encoding::bom(self.encoding) } else { b"" }
    }

    fn body(&self) -> &[u8] {
        self.bytes.as_deref().unwrap_or(self.text.as_bytes())
    }

    fn damaged(&self) -> Loss {
        Loss { character: None, encoding: self.encoding.name() }
    }
}

/// Returns `bom` and `old` with the parts replaced.
fn replace<'n>(bom: &[u8], old: &[u8], parts: impl Iterator<Item = (Range<usize>, &'n [u8])>) -> Vec<u8> {
    let mut out = Vec::with_capacity(bom.len() + old.len());
    out.extend_from_slice(bom);
    let mut at = 0;
    for (range, new) in parts {
        out.extend_from_slice(old.get(at..range.start).unwrap_or_default());
        out.extend_from_slice(new);
        at = range.end;
    }
    out.extend_from_slice(old.get(at..).unwrap_or_default());
    out
}

/// A boundary, in the bytes and in the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Boundary {
    byte: usize,
    text: usize,
}

/// The boundaries around an offset of the text; both are equal if the offset is a boundary.
struct BoundaryPair {
    before: Boundary,
    after: Boundary,
}

/// Returns the boundaries in the bytes around ascending offsets of the text.
fn locate(
    bytes: &[u8],
    text: &str,
    encoding: &'static Encoding,
    offsets: impl Iterator<Item = usize>,
) -> Vec<BoundaryPair> {
    let mut at = Boundary::default();
    offsets
        .map(|offset| {
            if !codec::is_utf16(encoding) {
                at = skip_lines(bytes, text, at, offset);
            }
            for run in codec::runs(bytes.get(at.byte..).unwrap_or_default(), encoding) {
                let next = Boundary { byte: at.byte + run.bytes, text: at.text + run.text };
                match offset {
                    _ if offset >= next.text => at = next,
                    _ if offset == at.text => break,
                    _ => return within(at, next, run, offset),
                }
            }
            BoundaryPair { before: at, after: at }
        })
        .collect()
}

fn within(at: Boundary, next: Boundary, run: Run, offset: usize) -> BoundaryPair {
    match run.linear {
        true => {
            let here = Boundary { byte: at.byte + (offset - at.text), text: offset };
            BoundaryPair { before: here, after: here }
        }
        false => BoundaryPair { before: at, after: next },
    }
}

/// Returns the start of the line that contains `offset`. In every encoding except UTF-16, the byte of a line feed is
/// always a line feed, so that earlier lines need no decoding.
fn skip_lines(bytes: &[u8], text: &str, at: Boundary, offset: usize) -> Boundary {
    let between = text.as_bytes().get(at.text..offset).unwrap_or_default();
    let Some(last) = memchr::memrchr(b'\n', between) else { return at };
    let count = memchr::memchr_iter(b'\n', between).count();
    let rest = bytes.get(at.byte..).unwrap_or_default();
    match memchr::memchr_iter(b'\n', rest).nth(count - 1) {
        Some(end) => Boundary { byte: at.byte + end + 1, text: at.text + last + 1 },
        None => at,
    }
}

#[cfg(test)]
mod tests {
    use encoding_rs::{BIG5, EUC_KR, GB18030, GBK, SHIFT_JIS, UTF_16BE, UTF_16LE, WINDOWS_1252};
    use proptest::prelude::*;

    use super::*;

    fn splice(range: Range<usize>, text: &str) -> Splice {
        Splice { range, text: text.to_owned() }
    }

    /// Replaces the only occurrence of `old` by `new`.
    fn change(bytes: &[u8], encoding: &'static Encoding, old: &str, new: &str) -> Result<Vec<u8>, Loss> {
        let document = Document::decode(bytes.to_vec(), Some(encoding));
        let at = document.text.find(old).unwrap();
        document.splice(&[splice(at..at + old.len(), new)])
    }

    #[test]
    fn a_byte_order_mark_stays_and_is_no_text() {
        let document = Document::decode(b"\xef\xbb\xbfa\r\nb".to_vec(), None);
        assert_eq!((document.text.as_str(), document.bom, document.line_ending()), ("a\r\nb", true, Eol::Crlf));
        assert_eq!(document.splice(&[splice(0..1, "x")]).unwrap(), b"\xef\xbb\xbfx\r\nb");
        assert_eq!(document.bytes().as_ref(), b"\xef\xbb\xbfa\r\nb");
        assert_eq!(document.encode_like("é").unwrap(), b"\xef\xbb\xbf\xc3\xa9");
        assert_eq!(change(b"\xff\xfea\0", UTF_16LE, "a", "😀").unwrap(), b"\xff\xfe\x3d\xd8\x00\xde");
    }

    #[test]
    fn damaged_bytes_stay() {
        assert_eq!(change(b"a\xffb\n\xe4\xb8c", UTF_8, "b", "é").unwrap(), b"a\xff\xc3\xa9\n\xe4\xb8c");
        assert_eq!(change(b"\x00\xd8a\0b\0\0", UTF_16LE, "a", "z").unwrap(), b"\x00\xd8z\0b\0\0");
        // The text has U+FFFD, a search finds it, and no write encodes it.
        assert_eq!(change(b"a\xffb", UTF_8, "a\u{fffd}b", "a\u{fffd}c").unwrap(), b"a\xffc");
        assert!(change(b"a\xffb", UTF_8, "a\u{fffd}b", "x\u{fffd}c").is_err());
    }

    #[test]
    fn a_change_that_would_read_differently_is_a_loss() {
        // A lead byte without its trail byte would absorb text that follows it.
        assert!(change(b"\x81\n\x81 a", GBK, " a", "中").is_err());
        assert_eq!(change(b"\x81\n\xd6\xd0a", GBK, "a", "b").unwrap(), b"\x81\n\xd6\xd0b");
        assert_eq!(change(b"caf\xe9", WINDOWS_1252, "caf", "中").unwrap_err().character, Some('中'));
    }

    #[test]
    fn two_characters_of_one_sequence() {
        // 0x8862 is U+00CA and U+0304 in Big5, and neither can be encoded alone.
        assert_eq!(change(b"\x88\x62.", BIG5, "\u{ca}\u{304}", "x").unwrap(), b"x.");
        assert!(change(b"\x88\x62.", BIG5, "\u{304}", "").is_err());
    }

    #[test]
    fn a_stateful_encoding_is_changed_where_it_is_canonical() {
        let bytes = codec::encode("日本\nabc\n", ISO_2022_JP).unwrap().into_owned();
        let new = change(&bytes, ISO_2022_JP, "abc", "語").unwrap();
        assert_eq!(codec::decode(&new, ISO_2022_JP), "日本\n語\n");
        assert!(change(b"\x1b(B\x1b(Babc", ISO_2022_JP, "abc", "x").is_err());
    }

    #[test]
    fn ranges_that_are_none() {
        let document = Document::decode("aé".into(), None);
        for bad in [vec![splice(2..3, "")], vec![splice(0..9, "")], vec![splice(1..3, ""), splice(0..1, "")]] {
            assert!(document.splice(&bad).is_err());
        }
    }

    const ENCODINGS: &[&Encoding] = &[UTF_8, UTF_16LE, UTF_16BE, WINDOWS_1252, GBK, GB18030, BIG5, SHIFT_JIS, EUC_KR];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn splicing_leaves_every_other_byte(
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), 0x81..=0xfe_u8, Just(b'\n'), 0x20..0x7f_u8], 0..80),
            encoding in prop::sample::select(ENCODINGS),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..7),
            new in "[a-zé\r\n中]{0,5}",
        ) {
            let document = Document::decode(bytes.clone(), Some(encoding));
            prop_assert_eq!(document.bytes().into_owned(), bytes.clone());
            prop_assert_eq!(document.splice(&[]).unwrap(), &bytes[..]);
            let text = &document.text;
            let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(text.len() + 1)).filter(|at| text.is_char_boundary(*at)).collect();
            cuts.sort_unstable();
            let splices: Vec<_> = cuts.as_chunks::<2>().0.iter().map(|[a, b]| splice(*a..*b, &new)).collect();
            if let Ok(spliced) = document.splice(&splices) {
                let mut expected = text.clone();
                for splice in splices.iter().rev() {
                    expected.replace_range(splice.range.clone(), &splice.text);
                }
                prop_assert_eq!(&document.decode_like(spliced.clone()).text, &expected);
                if let (Some(first), Some(last)) = (splices.first(), splices.last()) && encoding != BIG5 {
                    let head = locate(&bytes, text, encoding, [first.range.start].into_iter())[0].before.byte;
                    let tail = bytes.len() - locate(&bytes, text, encoding, [last.range.end].into_iter())[0].after.byte;
                    // A byte order mark is not part of the text.
                    if !document.bom {
                        prop_assert!(spliced.starts_with(&bytes[..head]));
                        prop_assert!(spliced.ends_with(&bytes[bytes.len() - tail..]));
                    }
                }
            } else {
                // UTF-8 can encode every text.
                prop_assert!(encoding != UTF_8 || std::str::from_utf8(&bytes).is_err());
            }
        }
    }
}
