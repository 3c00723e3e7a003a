//! The files of all segments. A call keeps 9 bytes of each file of a loaded segment, and reads its stamp in the segment when
//! that is needed: mostly in the order of the segment, because a walk visits the files in the order in which they were added.

use paddock_index::path_range::{PathRange, PathStart};
use paddock_index::position_table::PositionTable;
use paddock_index::segment::{Header, IndexedFile, Stamp};
use paddock_vfs::File;

use super::segments::{OpenSegment, Segments};

/// Maximum number of windows. Files of as many segments can alternate without being read again.
const WINDOWS: usize = 8;
/// Number of files of a window that does not continue another one, and maximum number of files of a window.
const FIRST_FILES: usize = 32;
const MAX_FILES: usize = 1_024;

/// Function that is called with the number of a segment when it is loaded. Returns false if the segment is not used.
pub type OnLoad<'f> = &'f mut dyn FnMut(usize, &OpenSegment) -> bool;

/// The files of some segments.
pub struct IndexedFiles<'w> {
    segments: Segments<'w>,
    parts: Vec<Part>,
    len: usize,
    /// The last one that was used is first.
    windows: Vec<Window>,
}

/// The files of a segment.
struct Part {
    name: String,
    /// Position of its first file. The first file of the first segment has position 0.
    start: usize,
    files: usize,
    groups: usize,
    paths: PathRange,
    /// Numbers of its files by [`Stamp::short`]; `None` until the segment is loaded. One table of all segments would exceed the
    /// cache of a processor: to fill it takes ten times as long.
    numbers: Option<PositionTable>,
}

impl Part {
    /// Returns whether the segment has not been loaded, and a path is in its range, if there is one.
    fn is_unloaded(&self, path: Option<&PathStart>) -> bool {
        self.numbers.is_none() && path.is_none_or(|path| self.paths.contains(path))
    }
}

/// Files that were read.
struct Window {
    /// Number of their segment.
    segment: usize,
    file: File,
    /// Position of the first of them.
    start: usize,
    files: Vec<IndexedFile>,
    /// Position of the file that is requested next if they are requested in their order.
    next: usize,
}

impl<'w> IndexedFiles<'w> {
    /// Creates an empty set, for files of these segments.
    pub fn new(segments: Segments<'w>) -> Self {
        Self { segments, parts: Vec::new(), len: 0, windows: Vec::new() }
    }

    /// Returns the number of files.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no files.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a segment that is not loaded. Segments have consecutive numbers, beginning with 0.
    pub fn add(&mut self, name: &str, header: &Header) {
        let (start, files, groups, paths) = (self.len, header.files(), header.groups(), *header.paths());
        self.parts.push(Part { name: name.to_owned(), start, files, groups, paths, numbers: None });
        self.len += files;
    }

    /// Returns the number of the segment that has the file with a stamp, among the loaded segments in whose range the path is.
    pub fn find_in_range(&mut self, path: &str, stamp: &Stamp) -> Option<usize> {
        let path = PathStart::of(path);
        (0..self.parts.len()).find(|&segment| {
            let is_in_range = self.parts.get(segment).is_some_and(|part| part.paths.contains(&path));
            is_in_range && self.find_in(segment, stamp).is_some()
        })
    }

    /// Returns the file with a stamp, and the number of its segment. Unless it is the next one of a window, the function first
    /// loads the segments in whose range the path is, as far as `budget` allows, from which it takes their number of files. A
    /// file that was moved can be in another segment.
    pub fn find(
        &mut self,
        path: &str,
        stamp: &Stamp,
        budget: &mut usize,
        on_load: OnLoad<'_>,
    ) -> Option<(usize, IndexedFile)> {
        if let Some(next) = self.find_next(stamp) {
            return Some(next);
        }
        if self.continue_last()
            && let Some(next) = self.find_next(stamp)
        {
            return Some(next);
        }
        self.load(Some(path), budget, on_load);
        // Another range of a walk mostly continues in the same segment.
        let last = self.windows.first().map(|window| window.segment);
        last.into_iter().chain(0..self.parts.len()).find_map(|segment| self.find_in(segment, stamp))
    }

    /// Loads the segments in whose range the path is, or all if there is no path, as far as `budget` allows, from which the
    /// function takes their number of files. A segment that is damaged or gone has no files.
    pub fn load(&mut self, path: Option<&str>, budget: &mut usize, on_load: OnLoad<'_>) {
        let path = path.map(PathStart::of);
        for (number, part) in self.parts.iter_mut().enumerate() {
            if !part.is_unloaded(path.as_ref()) || part.files > *budget {
                continue;
            }
            *budget -= part.files;
            let open = self.segments.segment(&part.name).filter(|open| {
                let header = open.segment.header();
                header.files() == part.files && header.groups() == part.groups && on_load(number, open)
            });
            let mut numbers = PositionTable::with_capacity(open.as_ref().map_or(0, |_| part.files));
            if let Some(open) = open {
                for (number, file) in (0..).zip(open.segment.files()) {
                    numbers.insert(file.stamp.short(), number);
                }
            }
            part.numbers = Some(numbers);
        }
    }

    /// Returns whether a segment in whose range the path is has not been loaded.
    pub fn is_unloaded(&self, path: &str) -> bool {
        let path = PathStart::of(path);
        self.parts.iter().any(|part| part.is_unloaded(Some(&path)))
    }

    /// Returns whether a segment of at least `min_files` files, in whose range the path is, has been loaded and is not used.
    pub fn is_unused(&self, path: &str, min_files: usize) -> bool {
        let path = PathStart::of(path);
        let is_empty = |part: &Part| part.numbers.as_ref().is_some_and(PositionTable::is_empty);
        let is_unused = |part: &Part| part.files >= min_files && is_empty(part);
        self.parts.iter().any(|part| part.paths.contains(&path) && is_unused(part))
    }

    /// Returns the file with a stamp if it is the next one of a window.
    fn find_next(&mut self, stamp: &Stamp) -> Option<(usize, IndexedFile)> {
        let is_next = |window: &Window| window.file_at(window.next).is_some_and(|file| file.stamp == *stamp);
        let index = self.windows.iter().position(is_next)?;
        let next = self.windows.get(index)?.next;
        self.take(index, next)
    }

    /// Reads the files after the last window that was used, if all of its files were. Returns whether there are some in its
    /// segment.
    fn continue_last(&mut self) -> bool {
        let Some(window) = self.windows.first().filter(|window| window.next == window.end()) else { return false };
        let end = window.end();
        self.parts.get(window.segment).is_some_and(|part| end < part.start + part.files) && self.read(end).is_some()
    }

    /// Returns the file with a stamp, and the number of its segment, if that is this one.
    fn find_in(&mut self, segment: usize, stamp: &Stamp) -> Option<(usize, IndexedFile)> {
        let Part { start, numbers, .. } = self.parts.get(segment)?;
        let start = *start;
        let numbers: Vec<u32> = numbers.as_ref()?.find(stamp.short()).collect();
        numbers.into_iter().find_map(|number| self.find_at(start + number as usize, stamp))
    }

    /// Returns the file at a position if it has this stamp.
    fn find_at(&mut self, position: usize, stamp: &Stamp) -> Option<(usize, IndexedFile)> {
        let has = |window: &Window| window.file_at(position).is_some();
        if !self.windows.iter().any(has) {
            self.read(position)?;
        }
        let index = self.windows.iter().position(has)?;
        let has_stamp = self.windows.get(index)?.file_at(position)?.stamp == *stamp;
        has_stamp.then(|| self.take(index, position)).flatten()
    }

    /// Returns the file at a position in a window, which becomes the first.
    fn take(&mut self, index: usize, position: usize) -> Option<(usize, IndexedFile)> {
        if index > 0 {
            self.windows.get_mut(..=index)?.rotate_right(1);
        }
        let window = self.windows.first_mut()?;
        window.next = position + 1;
        Some((window.segment, *window.file_at(position)?))
    }

    /// Reads files from a position, in the place of the window that they continue, or of the one whose last use was first. They
    /// were checked when the segment was loaded.
    fn read(&mut self, position: usize) -> Option<()> {
        let segment = self.parts.partition_point(|part| part.start <= position).checked_sub(1)?;
        let Part { name, start, files, groups, .. } = self.parts.get(segment)?;
        let continued = self.windows.iter().position(|window| window.segment == segment && window.end() == position);
        let count =
            continued.and_then(|index| self.windows.get(index)).map_or(FIRST_FILES, |window| window.files.len() * 4);
        let first = position.checked_sub(*start).filter(|first| first < files)?;
        let bytes = IndexedFile::bytes(first..(first + count.min(MAX_FILES)).min(*files));
        let open = self.windows.iter().find(|window| window.segment == segment).map(|window| window.file.clone());
        // Another process can have removed the segment since it was added.
        let file = open.or_else(|| Some(self.segments.open_file(name)?.0))?;
        let table = self.segments.read(&file, bytes.start, usize::try_from(bytes.end - bytes.start).ok()?)?;
        let files = IndexedFile::read_all(&table, *groups).collect();
        if let Some(index) = continued {
            self.windows.remove(index);
        }
        self.windows.truncate(WINDOWS - 1);
        self.windows.insert(0, Window { segment, file, start: position, files, next: position });
        Some(())
    }
}

impl Window {
    fn file_at(&self, position: usize) -> Option<&IndexedFile> {
        self.files.get(position.checked_sub(self.start)?)
    }

    /// Returns the position after the last file.
    fn end(&self) -> usize {
        self.start + self.files.len()
    }
}
