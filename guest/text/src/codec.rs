//! Conversion between bytes and text: decoding, encoding without loss, and the bytes from which each character came.

use std::borrow::Cow;

use encoding_rs::{DecoderResult, EncoderResult, Encoding, ISO_2022_JP, UTF_8, UTF_16BE, UTF_16LE};
use paddock_types::error::{Code, Error, Term};
use paddock_types::phrase;

/// The failure to encode a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// First character that the encoding does not have. `None` if the bytes around a change are damaged, so that the
    /// new text would be decoded as another text.
    pub character: Option<char>,
    /// WHATWG name of the encoding.
    pub encoding: &'static str,
}

impl Loss {
    /// Returns the error of an operation on `path` that this loss prevents.
    pub fn at(&self, operation: &str, path: &str) -> Error {
        self.error().on(operation, path)
    }

    /// Returns the error without operation and path.
    pub fn error(&self) -> Error {
        let name = self.encoding;
        match self.character {
            Some(c) => {
                let cause = format!("its encoding {name} has no `{}` (U+{:04X})", c.escape_debug(), u32::from(c));
                Error::new(Code::EncodingLoss, cause)
                    .hint(phrase![
                        "use characters that the encoding has, or rewrite the whole file in another one: ",
                        Term::RewriteTool
                    ])
                    .or_hint("use characters that the encoding has")
            }
            None => {
                let cause =
                    format!("bytes there are not valid {name}, and the change would alter what they are read as");
                Error::new(Code::EncodingLoss, cause)
                    .hint("leave the damaged characters (shown as U+FFFD) and their neighbours unchanged")
            }
        }
    }
}

/// Returns whether the encoding is UTF-16, with units of two bytes.
pub fn is_utf16(encoding: &'static Encoding) -> bool {
    encoding == UTF_16LE || encoding == UTF_16BE
}

/// Decodes `bytes`, which have no byte order mark. Sequences that the encoding does not define become U+FFFD.
pub fn decode<'b>(bytes: &'b [u8], encoding: &'static Encoding) -> Cow<'b, str> {
    match std::str::from_utf8(bytes) {
        // Validation is much faster than a search for invalid sequences, and nearly every text is valid.
        Ok(text) if encoding == UTF_8 => Cow::Borrowed(text),
        _ if encoding == UTF_8 => String::from_utf8_lossy(bytes),
        _ => encoding.decode_without_bom_handling(bytes).0,
    }
}

/// Encodes `text` without a byte order mark. Fails if the bytes would not be decoded to the same text.
pub fn encode<'t>(text: &'t str, encoding: &'static Encoding) -> Result<Cow<'t, [u8]>, Loss> {
    if encoding == UTF_8 {
        return Ok(Cow::Borrowed(text.as_bytes()));
    }
    if encoding == UTF_16LE {
        return Ok(text.encode_utf16().flat_map(u16::to_le_bytes).collect());
    }
    if encoding == UTF_16BE {
        return Ok(text.encode_utf16().flat_map(u16::to_be_bytes).collect());
    }
    let bytes = encode_legacy(text, encoding)?;
    // Some encoders map similar characters: Shift_JIS encodes `¥` as a byte that is decoded as a backslash.
    let back = decode(&bytes, encoding);
    match text.chars().zip(back.chars().map(Some).chain(std::iter::repeat(None))).find(|(c, back)| Some(*c) != *back) {
        Some((c, _)) => Err(Loss { character: Some(c), encoding: encoding.name() }),
        None if back.len() > text.len() => Err(Loss { character: None, encoding: encoding.name() }),
        None => Ok(Cow::Owned(bytes)),
    }
}

fn encode_legacy(text: &str, encoding: &'static Encoding) -> Result<Vec<u8>, Loss> {
    let mut encoder = encoding.new_encoder();
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    loop {
        let max_len = encoder.max_buffer_length_from_utf8_without_replacement(rest.len()).unwrap_or(rest.len());
        bytes.reserve(max_len.min(64 * 1024));
        let (result, read) = encoder.encode_from_utf8_to_vec_without_replacement(rest, &mut bytes, true);
        rest = rest.get(read..).unwrap_or_default();
        match result {
            EncoderResult::InputEmpty => return Ok(bytes),
            EncoderResult::OutputFull => bytes.reserve(64),
            EncoderResult::Unmappable(c) => return Err(Loss { character: Some(c), encoding: encoding.name() }),
        }
    }
}

/// A run of bytes, and the length of its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Number of bytes.
    pub bytes: usize,
    /// Number of bytes of the text in UTF-8.
    pub text: usize,
    /// Whether each byte becomes one byte. Other runs cannot be divided.
    pub linear: bool,
}

/// Returns the runs of `bytes`, in order. ISO-2022-JP has none: there, the meaning of a byte depends on earlier bytes.
pub fn runs(bytes: &[u8], encoding: &'static Encoding) -> impl Iterator<Item = Run> {
    debug_assert!(encoding != ISO_2022_JP, "a stateful encoding has no runs");
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let run = next_run(rest, encoding);
        rest = rest.get(run.bytes..).unwrap_or_default();
        Some(run)
    })
}

/// Returns the number of `bytes` from which the `start` of their text came.
pub fn byte_at(bytes: &[u8], encoding: &'static Encoding, start: &str) -> usize {
    if encoding == ISO_2022_JP {
        return encode(start, encoding).map_or(0, |bytes| bytes.len());
    }
    let mut left = start.len();
    let mut at = 0;
    for run in runs(bytes, encoding) {
        if run.text > left {
            return if run.linear { at + left } else { at };
        }
        left -= run.text;
        at += run.bytes;
    }
    at
}

fn next_run(rest: &[u8], encoding: &'static Encoding) -> Run {
    if is_utf16(encoding) {
        return next_utf16(rest, encoding);
    }
    let linear = match encoding == UTF_8 {
        true => rest.utf8_chunks().next().map_or(0, |chunk| chunk.valid().len()),
        false => Encoding::ascii_valid_up_to(rest),
    };
    if linear > 0 {
        return Run { bytes: linear, text: linear, linear: true };
    }
    if encoding == UTF_8 {
        let invalid = rest.utf8_chunks().next().map_or(1, |chunk| chunk.invalid().len());
        return Run { bytes: invalid.max(1), text: 3, linear: false };
    }
    next_legacy(rest, encoding)
}

/// Reads one character of UTF-16. An incomplete character at the end is one U+FFFD.
fn next_utf16(rest: &[u8], encoding: &'static Encoding) -> Run {
    let unit = |at: usize| {
        let pair = [*rest.get(at)?, *rest.get(at + 1)?];
        Some(if encoding == UTF_16LE { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) })
    };
    let (bytes, text) = match (unit(0), unit(2)) {
        (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (4, 4),
        (Some(0xd800..=0xdbff), None) => (rest.len(), 3),
        (Some(0..=0x7f), _) => (2, 1),
        (Some(0x80..=0x7ff), _) => (2, 2),
        (Some(_), _) => (2, 3),
        (None, _) => (rest.len(), 3),
    };
    Run { bytes, text, linear: false }
}

/// Reads one sequence of a legacy encoding: the shortest prefix that decodes to text or to an error.
fn next_legacy(rest: &[u8], encoding: &'static Encoding) -> Run {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut out = [0; 32];
    for (index, byte) in rest.iter().enumerate() {
        let last = index + 1 == rest.len();
        let (result, _, written) =
            decoder.decode_to_utf8_without_replacement(std::slice::from_ref(byte), &mut out, last);
        if let DecoderResult::Malformed(length, after) = result {
            // The length counts from the first byte: bytes consumed after the malformed bytes are decoded again.
            let consumed = (index + 1).saturating_sub(usize::from(after));
            return Run { bytes: consumed.min(usize::from(length)).max(1), text: 3, linear: false };
        }
        if written > 0 {
            return Run { bytes: index + 1, text: written, linear: false };
        }
    }
    Run { bytes: rest.len(), text: 3, linear: false }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ENCODINGS: &[&Encoding] = &[
        UTF_8,
        UTF_16LE,
        UTF_16BE,
        encoding_rs::WINDOWS_1252,
        encoding_rs::KOI8_R,
        encoding_rs::WINDOWS_1258,
        encoding_rs::X_USER_DEFINED,
        encoding_rs::GBK,
        encoding_rs::GB18030,
        encoding_rs::BIG5,
        encoding_rs::SHIFT_JIS,
        encoding_rs::EUC_JP,
        encoding_rs::EUC_KR,
    ];

    /// Generates bytes that are mostly lead bytes, trail bytes, digits and line endings.
    fn tricky() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![
            any::<u8>(),
            0x81..=0xfe_u8,
            0x30..=0x39_u8,
            Just(b'\n'),
            Just(b'\r'),
            Just(0xd8_u8),
            Just(0xdc_u8),
            Just(0x88_u8),
            Just(0x62_u8),
            Just(0x8f_u8)
        ];
        prop::collection::vec(byte, 0..60)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn runs_equal_the_decoded_text(bytes in tricky(), encoding in prop::sample::select(ENCODINGS)) {
            let text = decode(&bytes, encoding);
            let (mut at, mut text_at) = (0, 0);
            for run in runs(&bytes, encoding) {
                let part = decode(&bytes[at..at + run.bytes], encoding);
                prop_assert_eq!(&part, &text[text_at..text_at + run.text]);
                prop_assert!(!run.linear || run.bytes == run.text);
                at += run.bytes;
                text_at += run.text;
            }
            prop_assert_eq!((at, text_at), (bytes.len(), text.len()));
        }

        #[test]
        fn encoded_text_decodes_to_the_same_text(text in "[a-z\\PC\r\n¥‾éпб中한あ]{0,40}", encoding in prop::sample::select(ENCODINGS)) {
            if let Ok(bytes) = encode(&text, encoding) {
                prop_assert_eq!(decode(&bytes, encoding).into_owned(), text.clone());
            }
        }
    }

    #[test]
    fn characters_that_an_encoding_lacks_are_reported() {
        let lost = |text, encoding: &'static Encoding| encode(text, encoding).unwrap_err().character;
        assert_eq!(lost("a中b", encoding_rs::WINDOWS_1252), Some('中'));
        assert_eq!(lost("5 ¥", encoding_rs::SHIFT_JIS), Some('¥'));
        assert_eq!(encode("é", encoding_rs::WINDOWS_1252).unwrap().as_ref(), b"\xe9");
        let error = Loss { character: Some('中'), encoding: "windows-1252" }.at("edit", "a.txt");
        assert_eq!(error.code, Code::EncodingLoss);
        assert_eq!(error.message(), "cannot edit `a.txt`: its encoding windows-1252 has no `中` (U+4E2D)");
    }
}
