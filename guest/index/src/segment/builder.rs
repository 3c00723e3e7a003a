//! Makes a segment.

use super::lists::Lists;
use super::reader::Segment;
use super::{
    BINARY, BLOCK_GRAMS, BLOCKS, CHECKED_BYTES, Content, DIRECTORY_BYTES, FILE_BYTES, HEADER_BYTES, IndexedFile, MAGIC,
    MAX_FILES, MAX_GROUPS, Stamp, UNKNOWN, VERSION, head_checksum, width,
};
use crate::bits::{BitReader, BitWriter};
use crate::grams::GramSet;
use crate::path_range::PathRange;

/// Size in bytes of the text at which a group ends. Smaller groups exclude a few more files, and take more space.
pub const GROUP_BYTES: u64 = 32 * 1024;
/// Maximum number of trigrams of all groups of a segment, which are in memory while it is made.
const MAX_PAIRS: usize = 2 * 1024 * 1024;
/// A group has at most one trigram for this number of bytes. More are in texts of random characters, such as encoded
/// binary content, whose lists would take more than a tenth of the text.
const MIN_BYTES_PER_GRAM: u64 = 5;
/// Number of trigrams that every group may have.
const FREE_GRAMS: u64 = 4 * 1024;

/// A segment that is being made.
pub struct SegmentBuilder {
    group_bytes: u64,
    files: Vec<IndexedFile>,
    /// Hashes of the trigrams of the finished groups, and the end of those of each group.
    grams: Vec<u16>,
    ends: Vec<usize>,
    /// Trigrams and bytes of the current group.
    current: GramSet,
    current_bytes: u64,
    paths: PathRange,
}

impl SegmentBuilder {
    /// Creates an empty segment whose groups end at `group_bytes` bytes of text.
    pub fn new(group_bytes: u64) -> Self {
        Self {
            group_bytes,
            files: Vec::new(),
            grams: Vec::new(),
            ends: Vec::new(),
            current: GramSet::default(),
            current_bytes: 0,
            paths: PathRange::EMPTY,
        }
    }

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
    pub fn add_file(&mut self, path: &str, stamp: Stamp, bytes: u32) {
        self.add(path, stamp, bytes, Content::Text(self.ends.len() as u16));
        if self.current_bytes >= self.group_bytes {
            self.end_group();
        }
    }

    /// Ends a file that is not indexed. Trigrams of its text that were added remain in the group.
    pub fn add_unknown(&mut self, path: &str, stamp: Stamp) {
        self.add(path, stamp, 0, Content::Unknown);
    }

    /// Adds a binary file.
    pub fn add_binary(&mut self, path: &str, stamp: Stamp, bytes: u32) {
        self.add(path, stamp, bytes, Content::Binary);
    }

    /// Ends a text that does not belong to a file of the segment. Its trigrams remain in the group.
    pub fn discard_text(&mut self) {
        self.current.end_text();
    }

    fn add(&mut self, path: &str, stamp: Stamp, bytes: u32, content: Content) {
        self.paths.extend(path);
        self.current.end_text();
        self.files.push(IndexedFile { stamp, bytes, content });
    }

    fn end_group(&mut self) {
        let (grams, bytes) = (self.current.take(), std::mem::take(&mut self.current_bytes));
        let group = Content::Text(self.ends.len() as u16);
        if grams.len() as u64 > FREE_GRAMS.max(bytes / MIN_BYTES_PER_GRAM) {
            for file in self.files.iter_mut().filter(|file| file.content == group) {
                file.content = Content::Unknown;
            }
            return;
        }
        self.grams.extend(grams);
        self.ends.push(self.grams.len());
    }

    /// Returns the bytes of the segment.
    pub fn finish(mut self) -> Vec<u8> {
        self.end_group();
        let Self { files, grams, ends, paths, .. } = self;
        let starts = std::iter::once(&0).chain(&ends);
        let lists = Lists::new(starts.zip(&ends).filter_map(|(start, end)| grams.get(*start..*end)));
        write(&files, ends.len(), paths, &lists)
    }
}

/// Returns one segment with the files of several, which are given with all their bytes. Returns `None` if one of them
/// is damaged, or if they are too large for one segment.
pub fn merge(segments: &[(Segment, Vec<u8>)]) -> Option<Vec<u8>> {
    let count: usize = segments.iter().map(|(segment, _)| segment.header().groups()).sum();
    let file_count: usize = segments.iter().map(|(segment, _)| segment.header().files()).sum();
    if count >= MAX_GROUPS || file_count > MAX_FILES {
        return None;
    }
    let mut lists = Lists::default();
    for block in 0..BLOCKS {
        let blocks = segments.iter().map(|(segment, bytes)| segment.checked_block(block, bytes));
        let mut readers = blocks.map(|block| block.map(BitReader::new)).collect::<Option<Vec<_>>>()?;
        for _ in 0..BLOCK_GRAMS {
            let mut first = 0;
            for ((segment, _), reader) in segments.iter().zip(&mut readers) {
                if segment.read_list(reader, |group| lists.push(first + group))? {
                    (0..segment.header().groups()).for_each(|group| lists.push(first + group));
                }
                first += segment.header().groups();
            }
            lists.end_list();
        }
    }
    let (mut files, mut first) = (Vec::with_capacity(file_count), 0);
    for (segment, _) in segments {
        files.extend(segment.files().map(|file| match file.content {
            Content::Text(group) => IndexedFile { content: Content::Text(first + group), ..file },
            _ => file,
        }));
        first += segment.header().groups() as u16;
    }
    let mut paths = PathRange::EMPTY;
    segments.iter().for_each(|(segment, _)| paths.unite(segment.header().paths()));
    Some(write(&files, count, paths, &lists))
}

/// Returns the bytes of a segment.
fn write(files: &[IndexedFile], groups: usize, paths: PathRange, lists: &Lists) -> Vec<u8> {
    let (directory, lists) = encode(lists, groups);
    let mut bytes = Vec::with_capacity(HEADER_BYTES + files.len() * FILE_BYTES + directory.len() + lists.len());
    bytes.extend_from_slice(MAGIC);
    for number in [VERSION as usize, files.len(), groups, lists.len()] {
        bytes.extend_from_slice(&(number as u32).to_le_bytes());
    }
    paths.write(&mut bytes);
    bytes.extend_from_slice(&[0; HEADER_BYTES - CHECKED_BYTES]);
    for IndexedFile { stamp: Stamp([lower, upper]), bytes: size, content } in files {
        let group = match content {
            Content::Text(group) => *group,
            Content::Binary => BINARY,
            Content::Unknown => UNKNOWN,
        };
        bytes.extend_from_slice(&lower.to_le_bytes());
        bytes.extend_from_slice(&upper.to_le_bytes());
        bytes.extend_from_slice(&size.to_le_bytes());
        bytes.extend_from_slice(&group.to_le_bytes());
    }
    bytes.extend_from_slice(&directory);
    let checksum = head_checksum(&bytes);
    if let Some(place) = bytes.get_mut(CHECKED_BYTES..HEADER_BYTES) {
        place.copy_from_slice(&checksum.to_le_bytes());
    }
    bytes.extend_from_slice(&lists);
    bytes
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
        directory.extend_from_slice(&rawzip::crc32(&block).to_le_bytes());
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
