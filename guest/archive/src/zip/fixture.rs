//! Archives with forged headers, for tests.

use miniz_oxide::deflate::compress_to_vec;

/// An entry of an archive, with true or false headers.
#[derive(Clone)]
pub struct Forged {
    /// The name in the directory.
    pub name: Vec<u8>,
    /// Name in the local header, if it differs.
    pub local_name: Option<Vec<u8>>,
    /// The stored bytes.
    pub data: Vec<u8>,
    /// Compression method: 0 is stored, 8 is deflated.
    pub method: u16,
    /// General purpose bit flags.
    pub flags: u16,
    /// CRC-32 in the headers.
    pub checksum: u32,
    /// Uncompressed size in the headers, in bytes.
    pub size: u32,
    /// Unix mode, with the file type.
    pub mode: u32,
    /// Size of the data according to the directory, in bytes.
    pub packed: u32,
    /// Offset of the header in the directory, if it differs from the real one.
    pub offset: Option<u32>,
}

/// Returns a compressed file.
pub fn file(name: &str, content: &[u8]) -> Forged {
    let data = compress_to_vec(content, 6);
    Forged { method: 8, packed: data.len() as u32, data, ..stored(name, content) }
}

/// Returns an uncompressed file.
pub fn stored(name: &str, content: &[u8]) -> Forged {
    Forged {
        name: name.as_bytes().to_vec(),
        local_name: None,
        data: content.to_vec(),
        method: 0,
        flags: 1 << 11,
        checksum: rawzip::crc32(content),
        size: content.len() as u32,
        mode: 0o100_644,
        packed: content.len() as u32,
        offset: None,
    }
}

/// Returns an archive with these entries.
pub fn archive(entries: &[Forged]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut directory = Vec::new();
    for entry in entries {
        let offset = entry.offset.unwrap_or(bytes.len() as u32);
        let local = entry.local_name.as_ref().unwrap_or(&entry.name);
        bytes.extend(b"PK\x03\x04\x14\0");
        bytes.extend(common(entry));
        bytes.extend((local.len() as u16).to_le_bytes());
        bytes.extend([0; 2]);
        bytes.extend(local);
        bytes.extend(&entry.data);
        directory.extend(b"PK\x01\x02\x14\x03\x14\0");
        directory.extend(common(entry));
        directory.extend((entry.name.len() as u16).to_le_bytes());
        directory.extend([0; 8]);
        directory.extend((entry.mode << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend(&entry.name);
    }
    let (start, count) = (bytes.len() as u32, entries.len() as u16);
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend(count.to_le_bytes());
    bytes.extend(count.to_le_bytes());
    bytes.extend((directory.len() as u32).to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend([0; 2]);
    bytes
}

/// Returns the fields that are the same in both headers.
fn common(entry: &Forged) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(entry.flags.to_le_bytes());
    bytes.extend(entry.method.to_le_bytes());
    bytes.extend([0, 0, 0x21, 0]);
    bytes.extend(entry.checksum.to_le_bytes());
    bytes.extend(entry.packed.to_le_bytes());
    bytes.extend(entry.size.to_le_bytes());
    bytes
}
