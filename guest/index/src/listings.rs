//! The format of a file with listings of directories: a walk need not list a directory whose stamp is known.
//!
//! All numbers are little-endian. A file consists of
//!
//! - the header: magic number, version, number of directories, size of the records, and CRC-32 of the header before this
//!   number and of the table;
//! - the table: for each directory its stamp and the offset of the end of its record, 20 bytes;
//! - the records, in the order of the walk that made them: CRC-32 of the rest of the record, number of names that are not
//!   UTF-8, and for each entry an ASCII letter for its type, its name and a NUL byte.

use std::ops::Range;

use crate::segment::Stamp;

/// Size of the header in bytes.
pub const HEADER_BYTES: usize = 24;
/// Size of the header before its checksum, in bytes.
const CHECKED_BYTES: usize = HEADER_BYTES - 4;
const MAGIC: &[u8; 8] = b"paddkdir";
const VERSION: u32 = 1;
const DIRECTORY_BYTES: usize = 20;
/// Number of directories and bytes of records at which a file is full.
const MAX_DIRECTORIES: usize = 1 << 16;
const MAX_RECORD_BYTES: usize = 4 * 1024 * 1024;
/// Maximum size of the records of a file: the last one begins before the file is full. With the table, a reader takes the file.
const MAX_BYTES: usize = 60 * 1024 * 1024;

/// A file of listings that is being made.
#[derive(Default)]
pub struct ListingsBuilder {
    table: Vec<u8>,
    records: Vec<u8>,
}

impl ListingsBuilder {
    /// Returns the number of directories.
    pub fn len(&self) -> usize {
        self.table.len() / DIRECTORY_BYTES
    }

    /// Returns the size of the file in bytes.
    pub fn bytes(&self) -> u64 {
        (HEADER_BYTES + self.table.len() + self.records.len()) as u64
    }

    /// Returns whether there are no directories.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Returns whether the file has room for no further directory.
    pub fn is_full(&self) -> bool {
        self.len() >= MAX_DIRECTORIES || self.records.len() >= MAX_RECORD_BYTES
    }

    /// Adds a directory with the number of its names that are not UTF-8, and the type and name of each other entry. A
    /// listing of more than 56 MiB is not added.
    pub fn add<'e>(&mut self, stamp: Stamp, unnamed: u32, entries: impl Iterator<Item = (u8, &'e str)>) {
        let start = self.records.len();
        self.records.extend_from_slice(&[0; 4]);
        self.records.extend_from_slice(&unnamed.to_le_bytes());
        for (kind, name) in entries {
            self.records.push(kind);
            self.records.extend_from_slice(name.as_bytes());
            self.records.push(0);
        }
        if self.records.len() > MAX_BYTES {
            return self.records.truncate(start);
        }
        let checksum = self.records.get(start + 4..).map(rawzip::crc32).unwrap_or_default();
        if let Some(place) = self.records.get_mut(start..start + 4) {
            place.copy_from_slice(&checksum.to_le_bytes());
        }
        stamp.0.iter().for_each(|half| self.table.extend_from_slice(&half.to_le_bytes()));
        self.table.extend_from_slice(&(self.records.len() as u32).to_le_bytes());
    }

    /// Returns the bytes of the file.
    pub fn finish(self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for number in [VERSION, self.len() as u32, self.records.len() as u32, 0] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&self.table);
        let checksum = head_checksum(&bytes);
        if let Some(place) = bytes.get_mut(CHECKED_BYTES..HEADER_BYTES) {
            place.copy_from_slice(&checksum.to_le_bytes());
        }
        bytes.extend_from_slice(&self.records);
        bytes
    }
}

/// The directories of a file of listings.
pub struct ListingsTable {
    /// Header and table.
    head: Vec<u8>,
}

impl ListingsTable {
    /// Returns the size of header and table of a file with `size` bytes, from its header. Returns `None` for a damaged file or
    /// one of another version.
    pub fn head_bytes(header: &[u8], size: u64) -> Option<usize> {
        let numbers = header.get(..CHECKED_BYTES)?.strip_prefix(MAGIC)?;
        let number = |at: usize| Some(u32::from_le_bytes(numbers.get(at..at + 4)?.try_into().ok()?));
        let (directories, records) = (number(4)? as usize, number(8)? as usize);
        let is_plausible = number(0)? == VERSION && directories <= MAX_DIRECTORIES && records <= MAX_BYTES;
        let head = HEADER_BYTES + directories.min(MAX_DIRECTORIES) * DIRECTORY_BYTES;
        (is_plausible && size == (head + records) as u64).then_some(head)
    }

    /// Creates a table from the first [`Self::head_bytes`] bytes of a file. Returns `None` if they are damaged.
    pub fn read(head: Vec<u8>) -> Option<Self> {
        let checksum = u32::from_le_bytes(head.get(CHECKED_BYTES..HEADER_BYTES)?.try_into().ok()?);
        (checksum == head_checksum(&head)).then_some(Self { head })
    }

    /// Returns the number of directories.
    pub fn len(&self) -> usize {
        (self.head.len() - HEADER_BYTES) / DIRECTORY_BYTES
    }

    /// Returns whether there are no directories.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the stamp of each directory, and the range of its record in the file.
    pub fn directories(&self) -> impl Iterator<Item = (Stamp, Range<u64>)> {
        let base = self.head.len() as u64;
        let mut start = base;
        self.head.get(HEADER_BYTES..).unwrap_or_default().chunks_exact(DIRECTORY_BYTES).filter_map(move |entry| {
            let half = |at: usize| Some(u64::from_le_bytes(entry.get(at..at + 8)?.try_into().ok()?));
            let end = base + u64::from(u32::from_le_bytes(entry.get(16..)?.try_into().ok()?));
            let range = std::mem::replace(&mut start, end)..end;
            Some((Stamp([half(0)?, half(8)?]), range))
        })
    }
}

/// Returns the number of names that are not UTF-8 from the record of a directory, and the type and name of each other entry.
/// Returns `None` if the record is damaged.
pub fn read_record(record: &[u8]) -> Option<(u32, impl Iterator<Item = (u8, &str)>)> {
    let (checksum, rest) = record.split_first_chunk()?;
    if rawzip::crc32(rest) != u32::from_le_bytes(*checksum) {
        return None;
    }
    let (unnamed, entries) = rest.split_first_chunk()?;
    let entries = parts(std::str::from_utf8(entries).ok()?);
    let entries = entries.filter_map(|entry| Some((*entry.as_bytes().first()?, entry.get(1..)?)));
    Some((u32::from_le_bytes(*unnamed), entries))
}

/// Returns the parts of a text that are each terminated by a NUL byte. `str::split_terminator` takes longer, because the standard
/// library has no 128-bit instructions.
pub fn parts(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let end = memchr::memchr(0, text.as_bytes())?;
        let part = text.get(..end)?;
        text = text.get(end + 1..)?;
        Some(part)
    })
}

/// Returns the checksum of header and table.
fn head_checksum(head: &[u8]) -> u32 {
    let mut hasher = rawzip::Crc32::new();
    hasher.update(head.get(..CHECKED_BYTES).unwrap_or_default());
    hasher.update(head.get(HEADER_BYTES..).unwrap_or_default());
    hasher.checksum()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    type Directory = ([u64; 2], u32, Vec<(u8, String)>);

    fn file(directories: &[Directory]) -> Vec<u8> {
        let mut builder = ListingsBuilder::default();
        for (stamp, unnamed, entries) in directories {
            builder.add(Stamp(*stamp), *unnamed, entries.iter().map(|(kind, name)| (*kind, name.as_str())));
        }
        assert_eq!((builder.len(), builder.is_empty()), (directories.len(), directories.is_empty()));
        builder.finish()
    }

    /// Returns the directories whose records are whole.
    fn read(file: &[u8]) -> Option<Vec<Directory>> {
        let head = ListingsTable::head_bytes(file, file.len() as u64)?;
        let table = ListingsTable::read(file.get(..head)?.to_vec())?;
        let directory = |(stamp, range): (Stamp, Range<u64>)| {
            let (unnamed, entries) = read_record(file.get(range.start as usize..range.end as usize)?)?;
            Some((stamp.0, unnamed, entries.map(|(kind, name)| (kind, name.to_owned())).collect()))
        };
        Some(table.directories().filter_map(directory).collect())
    }

    fn directories() -> impl Strategy<Value = Vec<Directory>> {
        vec((any::<[u64; 2]>(), any::<u32>(), vec((b'a'..b'e', "[^/\\x00]{1,12}"), 0..5)), 0..8)
    }

    proptest! {
        #[test]
        fn directories_are_read_as_they_were_written(directories in directories()) {
            prop_assert_eq!(read(&file(&directories)), Some(directories));
        }

        /// Of each other directory, the listing is right or missing.
        #[test]
        fn damage_is_found(directories in directories(), at in any::<prop::sample::Index>(), bit in 0_u8..8) {
            let mut bytes = file(&directories);
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            for directory in read(&bytes).unwrap_or_default() {
                prop_assert!(directories.contains(&directory));
            }
            bytes.truncate(at);
            prop_assert_eq!(read(&bytes), None);
        }
    }
}
