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

/// Returns the manifest with these entries, in their order.
pub(crate) fn encode(created: String, entries: &[Entry]) -> Result<Vec<u8>> {
    let count = entries.len() as u64;
    let bytes = entries.iter().map(Entry::size).sum();
    let header = Header { format: FORMAT.to_owned(), version: VERSION, created, entries: count, bytes };
    let mut manifest = Vec::new();
    let mut line = |value: serde_json::Result<Vec<u8>>| {
        manifest.extend_from_slice(&value.map_err(|cause| wrong(0, cause))?);
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

/// Parses a manifest and checks all of it.
pub(crate) fn parse(manifest: &[u8], limits: &Limits) -> Result<Manifest> {
    let text = manifest.strip_suffix(b"\n").ok_or_else(|| wrong(0, "its end is missing"))?;
    let mut lines = text.split(|byte| *byte == b'\n');
    let header = parse_header(lines.next().unwrap_or_default())?;
    limits.check("restore the snapshot", header.entries, header.bytes)?;
    let mut validator = Validator::default();
    // The number in the header reserves no memory: it can be forged.
    let mut entries = Vec::new();
    for (number, line) in lines.enumerate() {
        let number = number as u64 + 2;
        if entries.len() as u64 == header.entries {
            return Err(wrong(number, "the first line has fewer entries"));
        }
        let entry = serde_json::from_slice(line).map_err(|cause| wrong(number, cause))?;
        validator.check(&entry).map_err(|cause| wrong(number, cause))?;
        entries.push(entry);
    }
    match (entries.len() as u64, validator.bytes) {
        (count, bytes) if count == header.entries && bytes == header.bytes => Ok(Manifest { header, entries }),
        (count, bytes) => {
            Err(wrong(1, format!("it has not the totals of its entries: {count} entries, {bytes} bytes")))
        }
    }
}

/// Parses the first line of a manifest.
pub(crate) fn parse_header(line: &[u8]) -> Result<Header> {
    let header: Header = serde_json::from_slice(line).map_err(|cause| wrong(1, cause))?;
    match (header.format.as_str(), header.version) {
        (FORMAT, VERSION) => Ok(header),
        (FORMAT, version) => {
            Err(wrong(1, format!("the format has version {version}, and this program reads version {VERSION}")))
        }
        _ => Err(wrong(1, "it is not that of a snapshot")),
    }
}

fn wrong(line: u64, cause: impl ToString) -> Error {
    // The message can have text of the manifest.
    Error::Manifest { line, cause: cause.to_string().escape_debug().to_string() }
}
