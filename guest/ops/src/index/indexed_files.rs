//! The files of all segments. A call keeps 10 bytes of each, and reads its stamp in the segment when that is needed: mostly
//! in the order of the segment, because a walk visits the files in the order in which they were added.

use paddock_index::position_table::PositionTable;
use paddock_index::segment::{IndexedFile, Segment, Stamp};
use paddock_vfs::File;

use super::segments::Segments;

/// Number of files that are read at once.
const WINDOW: usize = 1_024;

/// The files of some segments.
pub struct IndexedFiles<'w> {
    segments: Segments<'w>,
    parts: Vec<Part>,
    /// Positions by [`Stamp::short`]. The first file of the first segment has position 0.
    positions: PositionTable,
    len: usize,
    /// Position of the file that is requested next if they are requested in their order.
    next: usize,
    /// The last files that were read, the position of the first, and the index of their segment.
    window: Vec<IndexedFile>,
    window_start: usize,
    window_segment: usize,
    /// The segment that was read last.
    open: Option<(usize, File)>,
}

/// The files of a segment.
struct Part {
    name: String,
    /// Position of its first file.
    start: usize,
    files: usize,
    groups: usize,
}

impl<'w> IndexedFiles<'w> {
    /// Creates a set with room for a number of files of these segments.
    pub fn with_capacity(segments: Segments<'w>, files: usize) -> Self {
        Self {
            segments,
            parts: Vec::new(),
            positions: PositionTable::with_capacity(files),
            len: 0,
            next: 0,
            window: Vec::new(),
            window_start: 0,
            window_segment: 0,
            open: None,
        }
    }

    /// Returns the number of files.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no files.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds the files of a segment. Segments have consecutive numbers, beginning with 0.
    pub fn add(&mut self, name: &str, segment: &Segment) {
        for (position, file) in (self.len..).zip(segment.files()) {
            self.positions.insert(file.stamp.short(), u32::try_from(position).unwrap_or(u32::MAX));
        }
        let (start, files, groups) = (self.len, segment.len(), segment.groups());
        self.parts.push(Part { name: name.to_owned(), start, files, groups });
        self.len += files;
    }

    /// Returns the file with a stamp, and the number of its segment.
    pub fn find(&mut self, stamp: &Stamp) -> Option<(usize, IndexedFile)> {
        if let Some(found) = self.has(self.next, stamp) {
            return Some(found);
        }
        let positions: Vec<u32> = self.positions.find(stamp.short()).collect();
        positions.into_iter().find_map(|position| self.has(position as usize, stamp))
    }

    /// Returns the file at a position if it has this stamp.
    fn has(&mut self, position: usize, stamp: &Stamp) -> Option<(usize, IndexedFile)> {
        let (segment, file) = self.file(position).filter(|(_, file)| file.stamp == *stamp)?;
        self.next = position + 1;
        Some((segment, file))
    }

    fn file(&mut self, position: usize) -> Option<(usize, IndexedFile)> {
        let is_in_window = (self.window_start..self.window_start + self.window.len()).contains(&position);
        if !is_in_window {
            self.read(position)?;
        }
        let file = self.window.get(position - self.window_start)?;
        Some((self.window_segment, *file))
    }

    /// Reads the files of a segment from a position. They were checked when the segment was added.
    fn read(&mut self, position: usize) -> Option<()> {
        let number = self.parts.partition_point(|part| part.start <= position).checked_sub(1)?;
        let Part { name, start, files, groups } = self.parts.get(number)?;
        let first = position - start;
        if first >= *files {
            return None;
        }
        let bytes = IndexedFile::bytes(first..(first + WINDOW).min(*files));
        let file = match self.open.take().filter(|(open, _)| *open == number) {
            Some((_, file)) => file,
            // Another process can have removed the segment since then.
            None => self.segments.open_file(name)?.0,
        };
        let table = self.segments.read(&file, bytes.start, usize::try_from(bytes.end - bytes.start).ok()?)?;
        self.open = Some((number, file));
        self.window.clear();
        self.window.extend(IndexedFile::read_all(&table, *groups));
        (self.window_start, self.window_segment) = (position, number);
        Some(())
    }
}
