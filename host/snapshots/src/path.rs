//! Paths in a snapshot: names separated by `/`, the first of which is that of a tree.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ffi::{OsStr, OsString};
use std::fmt;

use serde::{Deserialize, Serialize};

/// Maximum length of a name in bytes, as on Linux and macOS.
const MAX_NAME: usize = 255;
/// Maximum length of a path in bytes, and of a link's target.
pub(crate) const MAX_PATH: usize = 4096;
/// Maximum number of names in a path, that of the tree included. Each level takes an open descriptor.
pub(crate) const MAX_DEPTH: usize = 256;

/// A path in a snapshot. On Unix it can have bytes that are not UTF-8.
///
/// Paths are ordered name by name, so that a directory comes directly before all that is in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Text", into = "Text")]
pub(crate) struct SnapshotPath(Vec<u8>);

/// A byte string in JSON: text if it is UTF-8, and otherwise an object with hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Text {
    Utf8(String),
    Bytes { hex: String },
}

impl From<Vec<u8>> for Text {
    fn from(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self::Utf8(text),
            Err(error) => Self::Bytes { hex: error.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect() },
        }
    }
}

impl TryFrom<Text> for Vec<u8> {
    type Error = String;

    fn try_from(text: Text) -> Result<Self, String> {
        match text {
            Text::Utf8(text) => Ok(text.into_bytes()),
            Text::Bytes { hex } => {
                let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
                let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                let byte = |[high, low]: &[u8; 2]| Some((digit(*high)? << 4) | digit(*low)?);
                let bytes: Option<Self> = pairs.iter().map(byte).collect();
                bytes.filter(|_| rest.is_empty()).ok_or_else(|| "`hex` has other digits than 0 to f".to_owned())
            }
        }
    }
}

impl From<SnapshotPath> for Text {
    fn from(path: SnapshotPath) -> Self {
        path.0.into()
    }
}

impl TryFrom<Text> for SnapshotPath {
    type Error = String;

    fn try_from(text: Text) -> Result<Self, String> {
        let path = Self(text.try_into()?);
        path.check().map(|()| path)
    }
}

impl SnapshotPath {
    /// Returns the path of a tree.
    pub(crate) fn tree(name: &str) -> Self {
        Self(name.as_bytes().to_vec())
    }

    /// Returns the path of the entry with this name in the directory. Fails if no snapshot can have the path.
    pub(crate) fn join(&self, name: &OsStr) -> Result<Self, String> {
        let path = Self([&*self.0, b"/", &*name_bytes(name)?].concat());
        path.check().map(|()| path)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.0.split(|byte| *byte == b'/')
    }

    /// Returns the path of the directory that contains the entry; `None` for a tree.
    pub(crate) fn parent(&self) -> Option<&[u8]> {
        self.split().map(|(parent, _)| parent)
    }

    /// Returns the last name.
    pub(crate) fn name(&self) -> Result<OsString, String> {
        os_name(self.split().map_or(&self.0, |(_, name)| name))
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    fn split(&self) -> Option<(&[u8], &[u8])> {
        let at = self.0.iter().rposition(|byte| *byte == b'/')?;
        let (parent, name) = self.0.split_at_checked(at)?;
        Some((parent, name.get(1..)?))
    }

    /// Checks that each name is one that a directory can have, on this system.
    fn check(&self) -> Result<(), String> {
        if self.0.len() > MAX_PATH {
            return Err(format!("a path has more than {MAX_PATH} bytes"));
        }
        if self.names().count() > MAX_DEPTH {
            return Err(format!("a path has more than {MAX_DEPTH} names"));
        }
        self.names().try_for_each(|name| match check_name(name) {
            Some(cause) => Err(format!("the path `{self}` {cause}")),
            None => Ok(()),
        })
    }
}

/// Returns the reason why no entry can have this name.
fn check_name(name: &[u8]) -> Option<&'static str> {
    match name {
        b"" => Some("has an empty name"),
        b"." | b".." => Some("has a name `.` or `..`"),
        _ if name.contains(&0) => Some("has a NUL byte"),
        _ if name.len() > MAX_NAME => Some("has a name of more than 255 bytes"),
        _ if cfg!(windows) && !is_windows_name(name) => Some("has a name that Windows does not permit"),
        _ => None,
    }
}

/// Returns whether Windows has files of this name, and the name means nothing else there: `:` separates a stream, and
/// devices have names such as `NUL`.
fn is_windows_name(name: &[u8]) -> bool {
    let is_plain = |byte: &u8| *byte >= 0x20 && !b"<>:\"|?*\\".contains(byte);
    let stem = name.split(|byte| *byte == b'.').next().unwrap_or_default().trim_ascii().to_ascii_uppercase();
    let is_device = matches!(&*stem, b"CON" | b"PRN" | b"AUX" | b"NUL" | b"CONIN$" | b"CONOUT$")
        || (stem.len() == 4 && (stem.starts_with(b"COM") || stem.starts_with(b"LPT")));
    name.iter().all(is_plain) && !is_device && !name.ends_with(b".") && !name.ends_with(b" ")
}

impl Ord for SnapshotPath {
    fn cmp(&self, other: &Self) -> Ordering {
        self.names().cmp(other.names())
    }
}

impl PartialOrd for SnapshotPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Shows the path without the name of the tree, escaped; `.` for the tree itself.
impl fmt::Display for SnapshotPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let below = self.0.iter().position(|byte| *byte == b'/').and_then(|at| self.0.get(at + 1..));
        write!(f, "{}", String::from_utf8_lossy(below.unwrap_or(b".")).escape_debug())
    }
}

/// Returns the bytes of a name or of a link's target.
#[cfg(unix)]
pub(crate) fn name_bytes(name: &OsStr) -> Result<Cow<'_, [u8]>, String> {
    Ok(Cow::Borrowed(std::os::unix::ffi::OsStrExt::as_bytes(name)))
}

/// Returns the bytes of a name or of a link's target.
#[cfg(not(unix))]
pub(crate) fn name_bytes(name: &OsStr) -> Result<Cow<'_, [u8]>, String> {
    let text = name.to_str().ok_or_else(|| format!("the name `{}` is not Unicode", name.display()))?;
    Ok(Cow::Borrowed(text.as_bytes()))
}

/// Returns the name, or the link's target, with these bytes.
#[cfg(unix)]
pub(crate) fn os_name(bytes: &[u8]) -> Result<OsString, String> {
    Ok(std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec()))
}

/// Returns the name, or the link's target, with these bytes.
#[cfg(not(unix))]
pub(crate) fn os_name(bytes: &[u8]) -> Result<OsString, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "a name is not UTF-8, which this system needs".to_owned())?;
    Ok(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<SnapshotPath, serde_json::Error> {
        serde_json::from_str(json)
    }

    #[test]
    fn no_path_leads_out_of_its_directory() {
        for json in [
            "\"\"",
            "\"/\"",
            "\"/etc\"",
            "\"w/..\"",
            "\"w/../x\"",
            "\"w/.\"",
            "\"w//a\"",
            "\"w/\"",
            "\"w/a\\u0000\"",
            "{\"hex\":\"772f2e2e\"}",
            "{\"hex\":\"7\"}",
            "{\"hex\":\"zz\"}",
            "{\"hex\":\"+1\"}",
            "7",
            "null",
        ] {
            assert!(parse(json).is_err(), "{json}");
        }
        let long = format!("\"w/{}\"", "a".repeat(256));
        assert!(parse(&long).is_err());
        assert!(parse(&format!("\"w{}\"", "/a".repeat(MAX_DEPTH - 1))).is_ok());
        assert!(parse(&format!("\"w{}\"", "/a".repeat(MAX_DEPTH))).is_err());
        assert!(parse(&format!("\"w{}\"", format!("/{}", "a".repeat(200)).repeat(21))).is_err());
        assert!(parse("\"w/..a\"").is_ok() && parse("\"w/a b\\n\"").is_ok());
    }

    #[test]
    fn names_that_mean_something_else_on_windows_are_known() {
        for name in ["a:b", "a\\b", "NUL", "nul.txt", "COM1", "lpt9.x", "a.", "a ", "a?", "a\u{1}"] {
            assert!(!is_windows_name(name.as_bytes()), "{name:?}");
        }
        assert!(is_windows_name(b"a b.txt") && is_windows_name(b".git") && is_windows_name(b"command"));
    }

    #[test]
    fn a_directory_comes_directly_before_what_is_in_it() {
        let mut paths: Vec<_> = ["w/a-b", "w/a", "w/a/z", "w", "w/b"].map(|path| SnapshotPath(path.into())).into();
        paths.sort();
        let paths: Vec<_> = paths.iter().map(|path| std::str::from_utf8(&path.0).unwrap()).collect();
        assert_eq!(paths, ["w", "w/a", "w/a/z", "w/a-b", "w/b"]);
    }

    #[cfg(unix)]
    #[test]
    fn bytes_that_are_not_utf_8_return() {
        let path = SnapshotPath(b"w/\xff".to_vec());
        let json = serde_json::to_string(&path).unwrap();
        assert_eq!(json, "{\"hex\":\"772fff\"}");
        assert_eq!(parse(&json).unwrap(), path);
    }
}
