//! Reads a segment: its head at once, and its lists one block at a time.

use std::ops::Range;

use super::{
    BLOCK_GRAMS, BLOCKS, CHECKED_BYTES, DIRECTORY_BYTES, FILE_BYTES, HEADER_BYTES, IndexedFile, MAGIC, MAX_FILES,
    MAX_GROUPS, NUMBERS_BYTES, VERSION, head_checksum, width,
};
use crate::bits::BitReader;
use crate::path_range::PathRange;
use crate::plan::NumberSet;

/// The header of a segment.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    files: usize,
    groups: usize,
    lists: usize,
    paths: PathRange,
}

impl Header {
    /// Reads the header of a segment of `size` bytes. Returns `None` for one of another version, or if the numbers contradict
    /// the size. [`Segment::read`] checks the checksum.
    pub fn read(bytes: &[u8], size: u64) -> Option<Self> {
        let (numbers, paths) = bytes.get(..CHECKED_BYTES)?.split_at_checked(NUMBERS_BYTES)?;
        let numbers = numbers.strip_prefix(MAGIC)?;
        let mut numbers =
            numbers.chunks_exact(4).filter_map(|number| Some(u32::from_le_bytes(number.try_into().ok()?)));
        let mut next = || Some(numbers.next()? as usize);
        let version = next()?;
        let header = Self { files: next()?, groups: next()?, lists: next()?, paths: PathRange::read(paths)? };
        let is_plausible = version == VERSION as usize && header.files <= MAX_FILES && header.groups <= MAX_GROUPS;
        (is_plausible && size == header.head_bytes() as u64 + header.lists as u64).then_some(header)
    }

    /// Returns the size of the header, the file table and the directory, with which the segment begins.
    pub fn head_bytes(&self) -> usize {
        self.directory() + DIRECTORY_BYTES
    }

    /// Returns the number of files.
    pub fn files(&self) -> usize {
        self.files
    }

    /// Returns the number of groups.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// Returns the range of the paths that the files had when they were added.
    pub fn paths(&self) -> &PathRange {
        &self.paths
    }

    fn directory(&self) -> usize {
        HEADER_BYTES + self.files * FILE_BYTES
    }
}

/// A segment whose lists are read one block at a time.
pub struct Segment {
    head: Vec<u8>,
    header: Header,
}

impl Segment {
    /// Creates a segment from its first [`Header::head_bytes`] bytes. Returns `None` if they are damaged.
    pub fn read(head: Vec<u8>, header: Header) -> Option<Self> {
        let checksum = u32::from_le_bytes(head.get(CHECKED_BYTES..HEADER_BYTES)?.try_into().ok()?);
        let is_whole = head.len() == header.head_bytes() && checksum == head_checksum(&head);
        let segment = Self { head, header };
        let ends = || (0..BLOCKS).map(|block| Some(segment.directory_entry(block)?.0)).collect::<Option<Vec<_>>>();
        let is_valid = || ends().is_some_and(|ends| ends.is_sorted() && ends.last() == Some(&header.lists));
        (is_whole && is_valid()).then_some(segment)
    }

    /// Returns the header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the files.
    pub fn files(&self) -> impl Iterator<Item = IndexedFile> {
        let table = self.head.get(HEADER_BYTES..self.header.directory()).unwrap_or_default();
        IndexedFile::read_all(table, self.header.groups)
    }

    /// Returns the range of bytes of the segment that contains the list of a trigram, and those of 31 others.
    pub fn block(&self, gram: u16) -> Option<Range<u64>> {
        let range = self.block_range(usize::from(gram) / BLOCK_GRAMS)?;
        Some(range.start as u64..range.end as u64)
    }

    fn block_range(&self, block: usize) -> Option<Range<usize>> {
        let start = block.checked_sub(1).map_or(Some(0), |before| Some(self.directory_entry(before)?.0))?;
        let (end, _) = self.directory_entry(block)?;
        let base = self.header.head_bytes();
        Some(base + start..base + end)
    }

    /// Returns a block of the segment, whose bytes are `segment`. Returns `None` if the block is damaged.
    pub(super) fn checked_block<'b>(&self, block: usize, segment: &'b [u8]) -> Option<&'b [u8]> {
        let bytes = segment.get(self.block_range(block)?)?;
        (rawzip::crc32(bytes) == self.directory_entry(block)?.1).then_some(bytes)
    }

    /// Returns the groups that contain a trigram, from the bytes of its block. Returns `None` if the block is damaged.
    pub fn groups_with(&self, gram: u16, block: &[u8]) -> Option<NumberSet> {
        let (_, checksum) = self.directory_entry(usize::from(gram) / BLOCK_GRAMS)?;
        if rawzip::crc32(block) != checksum {
            return None;
        }
        let mut reader = BitReader::new(block);
        for _ in 0..usize::from(gram) % BLOCK_GRAMS {
            self.read_list(&mut reader, |_| {})?;
        }
        let mut groups = NumberSet::none(self.header.groups);
        let is_all = self.read_list(&mut reader, |group| groups.insert(group))?;
        Some(if is_all { NumberSet::all(self.header.groups) } else { groups })
    }

    /// Reads a list. Returns true if it stands for all groups.
    pub(super) fn read_list(&self, reader: &mut BitReader<'_>, mut add: impl FnMut(usize)) -> Option<bool> {
        let count = self.header.groups;
        let length = (reader.gamma()? as usize).checked_sub(1)?;
        if length > count {
            return (length == count + 1).then_some(true);
        }
        let width = width(length, count);
        let mut next = 0;
        for _ in 0..length {
            let group = (reader.rice(width)? as usize).checked_add(next)?;
            if group >= count {
                return None;
            }
            add(group);
            next = group + 1;
        }
        Some(false)
    }

    /// Returns the offset at which a block ends, and its checksum.
    fn directory_entry(&self, block: usize) -> Option<(usize, u32)> {
        let start = self.header.directory() + block * 8;
        let (end, checksum) = self.head.get(start..start + 8)?.split_first_chunk::<4>()?;
        Some((u32::from_le_bytes(*end) as usize, u32::from_le_bytes(checksum.try_into().ok()?)))
    }
}
