//! Line endings.

use std::borrow::Cow;

/// The line endings of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eol {
    /// `\n`.
    Lf,
    /// `\r\n`.
    Crlf,
    /// `\r`.
    Cr,
    /// More than one kind.
    Mixed,
    /// No line ending at all.
    None,
}

impl Eol {
    /// Returns the name in results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "lf",
            Self::Crlf => "crlf",
            Self::Cr => "cr",
            Self::Mixed => "mixed",
            Self::None => "none",
        }
    }

    /// Returns the line endings of two texts together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, one) | (one, Self::None) => one,
            (one, another) if one == another => one,
            _ => Self::Mixed,
        }
    }
}

/// Returns the line endings of `text`.
pub fn detect(text: &str) -> Eol {
    detect_bytes(text.as_bytes())
}

/// Returns the line endings of a text in any encoding except UTF-16.
pub fn detect_bytes(bytes: &[u8]) -> Eol {
    // Most texts have no carriage return. Two searches of them are faster than a look at each line.
    if memchr::memchr(b'\r', bytes).is_none() {
        return memchr::memchr(b'\n', bytes).map_or(Eol::None, |_| Eol::Lf);
    }
    let mut eol = Eol::None;
    for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
        let one = match bytes.get(at) {
            Some(b'\r') if bytes.get(at + 1) == Some(&b'\n') => continue,
            Some(b'\r') => Eol::Cr,
            _ if at > 0 && bytes.get(at - 1) == Some(&b'\r') => Eol::Crlf,
            _ => Eol::Lf,
        };
        eol = eol.and(one);
        if eol == Eol::Mixed {
            break;
        }
    }
    eol
}

/// Returns the line ending for a line that is inserted into `text` at `offset`: that of the previous line break,
/// otherwise of the next; `\n` if there is no line break.
pub fn near(text: &str, offset: usize) -> &'static str {
    let bytes = text.as_bytes();
    let (before, after) = bytes.split_at_checked(offset).unwrap_or((bytes, b""));
    let feed = memchr::memrchr(b'\n', before).or_else(|| memchr::memchr(b'\n', after).map(|at| before.len() + at));
    match feed {
        Some(at) if at > 0 && bytes.get(at - 1) == Some(&b'\r') => "\r\n",
        Some(_) => "\n",
        None if memchr::memchr(b'\r', bytes).is_some() => "\r",
        None => "\n",
    }
}

/// Replaces each `\n` of `text` by `ending`. A `\r\n` stays.
pub fn with_ending<'t>(text: &'t str, ending: &str) -> Cow<'t, str> {
    if ending == "\n" || !text.contains('\n') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    for line in text.split_inclusive('\n') {
        match line.strip_suffix('\n') {
            Some(body) if !body.ends_with('\r') => {
                out.push_str(body);
                out.push_str(ending);
            }
            _ => out.push_str(line),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds() {
        let kinds = ["", "a", "a\nb\n", "a\r\nb\r\n", "a\rb\r", "a\nb\r\n", "a\r\nb\r", "a\n\r\n", "\n\r"];
        let names = ["none", "none", "lf", "crlf", "cr", "mixed", "mixed", "mixed", "mixed"];
        assert_eq!(kinds.map(|text| detect(text).as_str()), names);
    }

    #[test]
    fn nearest() {
        let text = "a\r\nb\nc";
        assert_eq!([0, 3, 5, 6, 99].map(|at| near(text, at)), ["\r\n", "\r\n", "\n", "\n", "\n"]);
        assert_eq!(near("a\rb", 0), "\r");
        assert_eq!(near("", 0), "\n");
    }

    #[test]
    fn converting_doubles_nothing() {
        assert_eq!(with_ending("a\nb\r\nc\n", "\r\n"), "a\r\nb\r\nc\r\n");
        assert_eq!(with_ending("a\nb", "\r"), "a\rb");
        assert_eq!(with_ending("a\nb", "\n"), "a\nb");
    }
}
