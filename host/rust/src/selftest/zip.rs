//! Creates archives with arbitrary entry names, for attacks.
//!
//! With the crate `zip`, every binary would contain it for these few lines.

use serde::Deserialize;

/// An entry of an archive.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Member {
    pub(super) name: String,
    #[serde(default)]
    pub(super) text: String,
    /// The target, if the entry is a symbolic link.
    pub(super) link: Option<String>,
}

/// Returns the bytes of an archive with uncompressed entries.
pub(super) fn archive(members: &[Member], fill: impl Fn(&str) -> String) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for member in members {
        let name = fill(&member.name);
        let data = fill(member.link.as_ref().unwrap_or(&member.text));
        let mode: u32 = if member.link.is_some() { 0o120_777 } else { 0o100_644 };
        let start = size(bytes.len());
        bytes.extend(b"PK\x03\x04\x14\0");
        bytes.extend(shared(&data));
        bytes.extend(short(name.len()));
        bytes.extend([0; 2]);
        bytes.extend(name.as_bytes());
        bytes.extend(data.as_bytes());
        directory.extend(b"PK\x01\x02\x14\x03\x14\0");
        directory.extend(shared(&data));
        directory.extend(short(name.len()));
        directory.extend([0; 8]);
        directory.extend((mode << 16).to_le_bytes());
        directory.extend(start);
        directory.extend(name.as_bytes());
    }
    let (start, length) = (size(bytes.len()), size(directory.len()));
    bytes.extend(directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend(short(members.len()));
    bytes.extend(short(members.len()));
    bytes.extend(length);
    bytes.extend(start);
    bytes.extend([0; 2]);
    bytes
}

/// Returns the fields that both headers of an entry contain: flags (names are UTF-8), compression method (none),
/// date, checksum and sizes.
fn shared(data: &str) -> Vec<u8> {
    let mut bytes = vec![0, 8, 0, 0, 0, 0, 0x21, 0];
    bytes.extend(checksum(data.as_bytes()).to_le_bytes());
    bytes.extend(size(data.len()));
    bytes.extend(size(data.len()));
    bytes
}

fn checksum(data: &[u8]) -> u32 {
    let step = |sum: u32, _| if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 };
    !data.iter().fold(u32::MAX, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), step))
}

fn size(length: usize) -> [u8; 4] {
    u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes()
}

fn short(length: usize) -> [u8; 2] {
    u16::try_from(length).unwrap_or(u16::MAX).to_le_bytes()
}
