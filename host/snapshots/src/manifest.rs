//! The manifest of a snapshot: a line of JSON with the totals, then a line for each entry.

use serde::{Deserialize, Serialize};

use crate::entry::Entry;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::validate::Validator;

/// Maximum size of a manifest in bytes: 256 MiB.
pub(crate) const MAX_BYTES: u64 = 256 << 20;

const FORMAT: &str = "paddock-snapshot";
const VERSION: u32 = 1;

/// The first line of a manifest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) format: String,
    pub(crate) version: u32,
    /// Time at which the snapshot was begun, in the form of RFC 3339.
    pub(crate) created: String,
    /// Number of entries.
    pub(crate) entries: u64,
    /// Sum of the sizes of all files in bytes.
    pub(crate) bytes: u64,
}

/// A manifest whose entries were checked.
#[derive(Debug)]
pub(crate) struct Manifest {
    pub(crate) header: Header,
    pub(crate) entries: Vec<Entry>,
}

/// Maximum size of the first line in bytes.
pub(crate) const MAX_HEADER: u64 = 4096;

/// Returns the manifest with these entries, in their order.
pub(crate) fn encode(created: String, entries: &[Entry]) -> Result<Vec<u8>> {
    let count = entries.len() as u64;
    let bytes = entries.iter().map(Entry::size).sum();
    let header = Header { format: FORMAT.to_owned(), version: VERSION, created, entries: count, bytes };
    let mut manifest = Vec::new();
    let mut line = |value: serde_json::Result<Vec<u8>>| {
        manifest.extend_from_slice(&value.map_err(|cause| Error::Task { cause: cause.to_string() })?);
        manifest.push(b'\n');
        match manifest.len() as u64 {
            0..=MAX_BYTES => Ok(()),
            _ => Err(Error::Limit {
                operation: "store the snapshot",
                what: "the bytes of its manifest".to_owned(),
                limit: MAX_BYTES,
            }),
        }
    };
    line(serde_json::to_vec(&header))?;
    entries.iter().try_for_each(|entry| line(serde_json::to_vec(entry)))?;
    Ok(manifest)
}

/// Parses the manifest of the snapshot `name` and checks all of it.
pub(crate) fn parse(name: &str, manifest: &[u8], limits: &Limits) -> Result<Manifest> {
    // The number in the header reserves no memory: it can be forged.
    let mut entries = Vec::new();
    let header = for_each(name, manifest, limits, |entry| entries.push(entry))?;
    Ok(Manifest { header, entries })
}

/// Parses a manifest, calls `action` with each entry, and checks all of the manifest.
pub(crate) fn for_each(name: &str, manifest: &[u8], limits: &Limits, mut action: impl FnMut(Entry)) -> Result<Header> {
    let wrong = |line, cause: String| wrong(name, line, &cause);
    let text = manifest.strip_suffix(b"\n").ok_or_else(|| wrong(1, "the end of the manifest is missing".to_owned()))?;
    let mut lines = text.split(|byte| *byte == b'\n');
    let header = parse_header(name, lines.next().unwrap_or_default())?;
    limits.check("restore the snapshot", header.entries, header.bytes)?;
    let mut validator = Validator::default();
    let mut count = 0;
    for (number, line) in lines.enumerate() {
        let number = number as u64 + 2;
        if count == header.entries {
            return Err(wrong(number, "the first line has fewer entries".to_owned()));
        }
        let entry = serde_json::from_slice(line).map_err(|cause| wrong(number, cause.to_string()))?;
        validator.check(&entry).map_err(|cause| wrong(number, cause))?;
        action(entry);
        count += 1;
    }
    if (count, validator.bytes) != (header.entries, header.bytes) {
        let bytes = validator.bytes;
        return Err(wrong(1, format!("it has not the totals of its entries: {count} entries, {bytes} bytes")));
    }
    Ok(header)
}

/// Parses the first line of a manifest.
pub(crate) fn parse_header(name: &str, line: &[u8]) -> Result<Header> {
    let header: Header = serde_json::from_slice(line).map_err(|cause| wrong(name, 1, &cause.to_string()))?;
    match (header.format.as_str(), header.version) {
        (FORMAT, VERSION) => Ok(header),
        (FORMAT, version) => {
            let cause = format!("the format has version {version}, and this program reads version {VERSION}");
            Err(wrong(name, 1, &cause))
        }
        _ => Err(wrong(name, 1, "it is not that of a snapshot")),
    }
}

fn wrong(name: &str, line: u64, cause: &str) -> Error {
    // The message can have text of the manifest.
    Error::Manifest { name: name.to_owned(), line, cause: cause.escape_debug().to_string() }
}
