//! The format of a segment, an immutable part of the index.
//!
//! Small files share a group, whose text has at least 32 KiB unless the segment ends before: lists of single small files
//! would take a fifth of their text. All numbers are little-endian. A segment consists of
//!
//! - the header: magic number, version, number of files, number of groups, size of the lists, range of the paths, and
//!   CRC-32 of the header before this number, the file table and the directory;
//! - the file table: 22 bytes a file;
//! - the directory: for each block of lists, the offset of its end and its CRC-32;
//! - the lists of groups, one for each hash of a trigram, in blocks of 32. A list is its length plus 1 in Elias gamma
//!   code, and the gaps between the numbers of the groups in a Rice code. A length of one more than the number of groups
//!   stands for all groups.
//!
//! A reader checks every length and every checksum, and treats a damaged segment as a missing one. The checksums detect
//! damage, not forgery: only the host can write to the directory of the segments.

mod builder;
mod lists;
mod reader;

pub use builder::{GROUP_BYTES, SegmentBuilder, merge};
pub use reader::{Header, Segment};

use std::ops::Range;

use crate::grams::GRAMS;
use crate::path_range::PathRange;

/// Maximum number of files of a segment.
pub const MAX_FILES: usize = 1 << 16;
/// Maximum number of groups of a segment.
const MAX_GROUPS: usize = 1 << 14;
/// Size of the header in bytes.
pub const HEADER_BYTES: usize = NUMBERS_BYTES + PathRange::BYTES + 4;
/// Size of the magic number and the numbers after it, in bytes.
const NUMBERS_BYTES: usize = 24;
/// Size of the header before its checksum, in bytes.
const CHECKED_BYTES: usize = HEADER_BYTES - 4;

const MAGIC: &[u8; 8] = b"paddkidx";
const VERSION: u32 = 2;
/// Size of a file in the file table in bytes.
const FILE_BYTES: usize = 22;
const BLOCK_GRAMS: usize = 32;
const BLOCKS: usize = GRAMS / BLOCK_GRAMS;
const DIRECTORY_BYTES: usize = BLOCKS * 8;
/// Numbers in place of a group, for binary files and for files without trigrams.
const BINARY: u16 = u16::MAX;
const UNKNOWN: u16 = u16::MAX - 1;

/// Hash of the device, inode, size and times of a file, as the host reports it. Equal stamps mean equal content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp(pub [u64; 2]);

/// A file of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexedFile {
    /// Stamp of the content.
    pub stamp: Stamp,
    /// Number of bytes that a search reads of the file if nothing matches.
    pub bytes: u32,
    /// What the index says about the content.
    pub content: Content,
}

impl Stamp {
    /// Returns the hash of the stamp for a table.
    pub fn short(&self) -> u32 {
        let Self([lower, _]) = self;
        (lower >> 32) as u32
    }
}

impl IndexedFile {
    /// Returns the range of bytes in a segment that has the files with these numbers.
    pub fn bytes(files: Range<usize>) -> Range<u64> {
        let at = |file: usize| (HEADER_BYTES + file * FILE_BYTES) as u64;
        at(files.start)..at(files.end)
    }

    /// Returns the files of a part of the file table of a segment with a number of groups.
    pub fn read_all(table: &[u8], groups: usize) -> impl Iterator<Item = Self> {
        table.chunks_exact(FILE_BYTES).filter_map(move |entry| Self::read(entry, groups))
    }

    fn read(entry: &[u8], groups: usize) -> Option<Self> {
        let (lower, rest) = entry.split_first_chunk::<8>()?;
        let (upper, rest) = rest.split_first_chunk::<8>()?;
        let (bytes, group) = rest.split_first_chunk::<4>()?;
        let stamp = Stamp([u64::from_le_bytes(*lower), u64::from_le_bytes(*upper)]);
        let content = match u16::from_le_bytes(group.try_into().ok()?) {
            BINARY => Content::Binary,
            group if usize::from(group) < groups => Content::Text(group),
            _ => Content::Unknown,
        };
        Some(Self { stamp, bytes: u32::from_le_bytes(*bytes), content })
    }
}

/// Content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Text whose trigrams are those of the group with this number.
    Text(u16),
    /// Binary content, in which no search matches.
    Binary,
    /// Content that is not indexed. The file is listed so that it is not read again for the index.
    Unknown,
}

/// Returns the number of binary digits of the Rice code for `length` of `count` groups.
fn width(length: usize, count: usize) -> u32 {
    // The best width for random gaps is about the logarithm of 0.69 times the mean.
    (count * 2 / (length * 3).max(1)).max(1).ilog2()
}

/// Returns the checksum of the header, the file table and the directory.
fn head_checksum(head: &[u8]) -> u32 {
    let mut hasher = rawzip::Crc32::new();
    hasher.update(head.get(..CHECKED_BYTES).unwrap_or_default());
    hasher.update(head.get(HEADER_BYTES..).unwrap_or_default());
    hasher.checksum()
}
