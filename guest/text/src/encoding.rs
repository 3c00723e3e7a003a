//! Detection of text encodings.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE};
use paddock_types::error::{Error, Result, Term};

/// Number of bytes at the start of a file that decide whether it is text.
pub const HEAD_SIZE: usize = 8 * 1024;
/// Number of bytes that the statistical guess examines, from about the first byte that is not ASCII.
const GUESS_SIZE: usize = 64 * 1024;

/// An encoding, and its byte order mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detected {
    /// The encoding.
    pub encoding: &'static Encoding,
    /// Length of the byte order mark at the start in bytes; 0 if there is none.
    pub bom: usize,
}

/// Returns whether the first bytes of a file (8 KiB suffice) are not text: they contain a NUL byte and are not UTF-16, or
/// they are all of the file, with a byte order mark of UTF-16 and half a unit at the end.
pub fn is_binary(head: &[u8]) -> bool {
    let head = head.get(..HEAD_SIZE).unwrap_or(head);
    let is_marked = head.starts_with(bom(UTF_16LE)) || head.starts_with(bom(UTF_16BE));
    if is_marked && head.len() % 2 == 1 {
        return true;
    }
    memchr::memchr(0, head).is_some() && utf16(head).is_none()
}

/// Detects the encoding of the bytes: by a byte order mark, else by UTF-8 validity, else by a statistical guess.
///
/// The bytes may be a prefix of longer content, cut at any byte.
pub fn detect(head: &[u8]) -> Detected {
    if let Some((encoding, bom)) = Encoding::for_bom(head) {
        return Detected { encoding, bom };
    }
    let encoding = utf16(head).unwrap_or_else(|| if is_utf8(head) { UTF_8 } else { guess(head) });
    Detected { encoding, bom: 0 }
}

/// Returns the encoding that the caller names for these bytes, with the byte order mark if it is the mark of that
/// encoding.
pub fn declared(encoding: &'static Encoding, head: &[u8]) -> Detected {
    let bom = bom(encoding);
    Detected { encoding, bom: if head.starts_with(bom) { bom.len() } else { 0 } }
}

/// Returns the encoding with this WHATWG label, in any letter case.
pub fn by_label(label: &str) -> Result<&'static Encoding> {
    Encoding::for_label(label.as_bytes()).filter(|encoding| *encoding != REPLACEMENT).ok_or_else(|| {
        Error::argument(
            Term::Encoding,
            format!("`{}` is not a WHATWG encoding label", paddock_types::error::printable(label)),
        )
        .hint(
            "common ones: `utf-8`, `utf-16le`, `utf-16be`, `windows-1252` (`latin1`), `iso-8859-2`, `windows-1251`, \
             `koi8-r`, `shift_jis`, `euc-jp`, `gbk`, `gb18030`, `big5`, `euc-kr`",
        )
    })
}

/// Returns the byte order mark of the encoding; empty if the encoding has none.
pub fn bom(encoding: &'static Encoding) -> &'static [u8] {
    if encoding == UTF_8 {
        b"\xef\xbb\xbf"
    } else if encoding == UTF_16LE {
        b"\xff\xfe"
    } else if encoding == UTF_16BE {
        b"\xfe\xff"
    } else {
        b""
    }
}

/// Detects UTF-16 by its mark. Without a mark, the high byte of most units must be NUL, and no unit a control
/// character.
fn utf16(bytes: &[u8]) -> Option<&'static Encoding> {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return Some(encoding).filter(|encoding| *encoding != UTF_8);
    }
    let bytes = bytes.get(..HEAD_SIZE).unwrap_or(bytes);
    let plausible = |to_unit: fn([u8; 2]) -> u16| {
        let (pairs, _odd) = bytes.as_chunks::<2>();
        let units = || pairs.iter().map(|pair| to_unit(*pair));
        let is_control = |unit| matches!(unit, 0..=8 | 0xb | 0xe..=0x1f | 0x7f..=0x9f | 0xfffe | 0xffff);
        let latin = units().filter(|unit| *unit < 0x100).count();
        pairs.len() >= 2 && latin * 10 >= pairs.len() * 7 && !units().any(is_control)
    };
    if memchr::memchr(0, bytes).is_none() {
        None
    } else if plausible(u16::from_le_bytes) {
        Some(UTF_16LE)
    } else if plausible(u16::from_be_bytes) {
        Some(UTF_16BE)
    } else {
        None
    }
}

/// Returns whether the bytes are UTF-8, or UTF-8 with a few damaged characters: multi-byte characters rarely occur by
/// accident in a legacy encoding.
fn is_utf8(bytes: &[u8]) -> bool {
    if simdutf8::basic::from_utf8(bytes).is_ok() {
        return true;
    }
    let Err(error) = std::str::from_utf8(bytes) else { return true };
    // An incomplete last character of a long sample was cut by the sampling.
    if error.error_len().is_none() && bytes.len() >= HEAD_SIZE {
        return true;
    }
    let (mut valid, mut invalid) = (0_usize, 0_usize);
    for chunk in bytes.utf8_chunks() {
        valid += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        invalid += usize::from(!chunk.invalid().is_empty());
    }
    valid > invalid.saturating_mul(8)
}

/// Returns the most likely legacy encoding.
fn guess(bytes: &[u8]) -> &'static Encoding {
    let start = Encoding::ascii_valid_up_to(bytes).saturating_sub(1024);
    let sample = bytes.get(start..).unwrap_or_default();
    let sample = sample.get(..GUESS_SIZE).unwrap_or(sample);
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(sample, start + sample.len() == bytes.len());
    detector.guess(None, Utf8Detection::Deny)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16le(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    #[test]
    fn a_byte_order_mark_decides() {
        assert_eq!(detect(b"\xef\xbb\xbfa"), Detected { encoding: UTF_8, bom: 3 });
        assert_eq!(detect(b"\xff\xfea\0"), Detected { encoding: UTF_16LE, bom: 2 });
        assert_eq!(detect(b"\xfe\xff\0a"), Detected { encoding: UTF_16BE, bom: 2 });
        assert!(!is_binary(b"\xff\xfea\0"));
    }

    #[test]
    fn validity_decides_before_a_guess() {
        assert_eq!(detect(b"").encoding, UTF_8);
        assert_eq!(detect("größe".as_bytes()).encoding, UTF_8);
        assert_eq!(detect(b"caf\xe9").encoding.name(), "windows-1252");
        assert_eq!(detect(b"caf\xe9 au lait\n").encoding.name(), "windows-1252");
        let russian = encoding_rs::KOI8_R.encode("Привет, как дела? Это обычный текст.").0.into_owned();
        assert_eq!(detect(&russian).encoding.name(), "KOI8-U");
        let japanese = encoding_rs::SHIFT_JIS.encode("こんにちは、世界。これは文章です。").0.into_owned();
        assert_eq!(detect(&japanese).encoding.name(), "Shift_JIS");
    }

    #[test]
    fn a_cut_sample_and_a_damaged_character_stay_utf8() {
        let mut long = "ä".repeat(HEAD_SIZE).into_bytes();
        long.truncate(HEAD_SIZE + 1);
        assert_eq!(detect(&long).encoding, UTF_8);
        let mut first_is_cut = vec![b'a'; HEAD_SIZE];
        first_is_cut.push(0xc3);
        assert_eq!(detect(&first_is_cut).encoding, UTF_8);
        assert_eq!(detect("äöüäöüäöüß\u{20ac}".as_bytes().split_last().unwrap().1).encoding, UTF_8);
    }

    #[test]
    fn nul_is_binary_unless_utf16_explains_it() {
        assert!(is_binary(b"\x7fELF\x02\x01\x01\0\0\0\0\0"));
        assert!(is_binary(b"\0"));
        assert!(is_binary(&[0; 9000]));
        assert!(is_binary(b"text\0text"));
        assert!(!is_binary(b"text"));
        assert!(is_binary(b"\xff\xfea\0b") && is_binary(b"\xfe\xffa") && !is_binary(b"\xff\xfe"));
        assert!(!is_binary(&utf16le("text\r\nmore")));
        assert_eq!(detect(&utf16le("text\r\nmore")).encoding, UTF_16LE);
        let be: Vec<u8> = "größe\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(detect(&be).encoding, UTF_16BE);
    }

    #[test]
    fn labels() {
        assert_eq!(by_label(" Latin1 ").unwrap().name(), "windows-1252");
        assert_eq!(by_label("utf-16").unwrap().name(), "UTF-16LE");
        for label in ["utf8000", "", "replacement", "iso-2022-kr"] {
            assert!(by_label(label).unwrap_err().hint_text().unwrap().contains("`utf-8`"), "{label}");
        }
    }

    #[test]
    fn a_requested_encoding_takes_only_its_own_byte_order_mark() {
        assert_eq!(declared(UTF_8, b"\xef\xbb\xbfa").bom, 3);
        assert_eq!(declared(UTF_16LE, b"\xef\xbb\xbfa").bom, 0);
        assert_eq!(declared(encoding_rs::GBK, b"\xef\xbb\xbfa").bom, 0);
    }
}
