//! Makes a segment.

use super::lists::Lists;
use super::{
    BLOCK_GRAMS, BLOCKS, CHECKED_BYTES, DIRECTORY_BYTES, FILE_BYTES, HEADER_BYTES, IndexedFile, MAGIC, MAX_FILES,
    MAX_GROUPS, NO_GROUP, Stamp, VERSION, head_checksum, width,
};
use crate::bits::BitWriter;
use crate::grams::GramSet;

/// Size in bytes of the text at which a group ends.
const GROUP_BYTES: u64 = 32 * 1024;
/// Maximum number of trigrams of all groups of a segment, which are in memory while it is made.
const MAX_PAIRS: usize = 2 * 1024 * 1024;
/// A group has at most one trigram for this number of bytes. More are in texts of random characters, such as encoded
/// binary content, whose lists would take more than a tenth of the text.
const MIN_BYTES_PER_GRAM: u64 = 5;
/// Number of trigrams that every group may have.
const FREE_GRAMS: u64 = 4 * 1024;

/// A segment that is being made.
#[derive(Default)]
pub struct SegmentBuilder {
    files: Vec<IndexedFile>,
    /// Hashes of the trigrams of the finished groups, and the end of those of each group.
    grams: Vec<u16>,
    ends: Vec<usize>,
    /// The current group: its trigrams, bytes, and number of files that are at the end of `files`.
    current: GramSet,
    current_bytes: u64,
    current_files: usize,
}

impl SegmentBuilder {
    /// Returns whether the segment has room for no further file.
    pub fn is_full(&self) -> bool {
        self.files.len() >= MAX_FILES || self.ends.len() + 1 >= MAX_GROUPS || self.grams.len() >= MAX_PAIRS
    }

    /// Returns whether the segment has no file.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Adds the next part of the text of a file.
    pub fn add_text(&mut self, text: &[u8]) {
        self.current.add(text);
        self.current_bytes += text.len() as u64;
    }

    /// Ends a file whose text was added. `bytes` is the number of bytes that a search reads.
    pub fn add_file(&mut self, stamp: Stamp, bytes: u32) {
        let group = u16::try_from(self.ends.len()).ok();
        self.files.push(IndexedFile { stamp, bytes, group });
        self.current_files += 1;
        self.current.end_text();
        if self.current_bytes >= GROUP_BYTES {
            self.end_group();
        }
    }

    /// Ends a text that does not belong to a file of the segment. Its trigrams remain in the group.
    pub fn discard_text(&mut self) {
        self.current.end_text();
    }

    /// Adds a binary file.
    pub fn add_binary(&mut self, stamp: Stamp, bytes: u32) {
        // Before the files of the current group, which are the last ones.
        let at = self.files.len() - self.current_files;
        self.files.insert(at, IndexedFile { stamp, bytes, group: None });
    }

    fn end_group(&mut self) {
        let (grams, bytes) = (self.current.take(), std::mem::take(&mut self.current_bytes));
        let files = std::mem::take(&mut self.current_files);
        if grams.len() as u64 > FREE_GRAMS.max(bytes / MIN_BYTES_PER_GRAM) {
            self.files.truncate(self.files.len() - files);
            return;
        }
        self.grams.extend(grams);
        self.ends.push(self.grams.len());
    }

    /// Returns the bytes of the segment.
    pub fn finish(mut self) -> Vec<u8> {
        if self.current_files > 0 {
            self.end_group();
        }
        let Self { mut files, grams, ends, .. } = self;
        files.sort_by_key(|file| file.stamp);
        files.dedup_by_key(|file| file.stamp);
        let starts = std::iter::once(&0).chain(&ends);
        let (directory, lists) =
            encode(&Lists::new(starts.zip(&ends).filter_map(|(start, end)| grams.get(*start..*end))), ends.len());
        let mut bytes = Vec::with_capacity(HEADER_BYTES + files.len() * FILE_BYTES + directory.len() + lists.len());
        bytes.extend_from_slice(MAGIC);
        for number in [VERSION as usize, files.len(), ends.len(), lists.len(), 0] {
            bytes.extend_from_slice(&(number as u32).to_le_bytes());
        }
        for IndexedFile { stamp: Stamp([lower, upper]), bytes: size, group } in files {
            bytes.extend_from_slice(&lower.to_le_bytes());
            bytes.extend_from_slice(&upper.to_le_bytes());
            bytes.extend_from_slice(&size.to_le_bytes());
            bytes.extend_from_slice(&group.unwrap_or(NO_GROUP).to_le_bytes());
        }
        bytes.extend_from_slice(&directory);
        let checksum = head_checksum(&bytes);
        if let Some(place) = bytes.get_mut(CHECKED_BYTES..HEADER_BYTES) {
            place.copy_from_slice(&checksum.to_le_bytes());
        }
        bytes.extend_from_slice(&lists);
        bytes
    }
}

/// Returns the directory and the lists as bytes.
fn encode(lists: &Lists, count: usize) -> (Vec<u8>, Vec<u8>) {
    let (mut directory, mut bytes) = (Vec::with_capacity(DIRECTORY_BYTES), Vec::new());
    for block in 0..BLOCKS {
        let mut writer = BitWriter::default();
        for gram in block * BLOCK_GRAMS..(block + 1) * BLOCK_GRAMS {
            encode_list(&mut writer, lists.of(gram), count);
        }
        let block = writer.finish();
        bytes.extend_from_slice(&block);
        directory.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        directory.extend_from_slice(&crc32fast::hash(&block).to_le_bytes());
    }
    (directory, bytes)
}

fn encode_list(writer: &mut BitWriter, groups: &[u16], count: usize) {
    // A trigram of nearly all groups excludes too little for its list.
    if groups.len() > 4 && groups.len() * 5 > count * 4 {
        writer.gamma(count as u32 + 2);
        return;
    }
    writer.gamma(groups.len() as u32 + 1);
    let width = width(groups.len(), count);
    let mut next = 0;
    for group in groups {
        writer.rice(u32::from(*group) - next, width);
        next = u32::from(*group) + 1;
    }
}
