//! Adds files to the index. A call is one part of a pass over all files, so that no call takes long.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use paddock_index::file_table::FileTable;
use paddock_index::segment::{GROUP_BYTES, SegmentBuilder, Stamp};
use paddock_search::line_buffer::{MAX_LINE, Opened, Source};
use paddock_types::entry::Kind;
use paddock_types::error::{Error, Result};
use paddock_types::policy::Policy;
use paddock_vfs::{Dir, File, FsResult, Open};
use paddock_workspace::Workspace;
use paddock_workspace::walk::{Options, Start, Walk};

use super::indexed_files::IndexedFiles;
use super::new_listings::NewListings;
use super::position::Position;
use super::segments::{LISTINGS, SEGMENTS, Segments, max_files};
use super::settled::{is_settled, min_age};
use super::tidy::{KnownFile, tidy};

const OPERATION: &str = "index";
/// Number of parts of the time for reading the index that a part of a pass takes at least for its files.
const READING_FACTOR: u64 = 2;
/// Estimated bytes of the index for a file without its text, for the bytes of text of one byte of the index, and for a
/// segment.
const BYTES_PER_FILE: u64 = 40;
const TEXT_PER_BYTE: u64 = 20;
const SEGMENT_BYTES: u64 = 32 * 1024;
/// Files of this size are not indexed: a line that is too long is counted by a search.
const MAX_FILE_BYTES: u64 = MAX_LINE as u64;
/// Number of files without a stamp after which the rest of a root is not visited if no file has one.
const MAX_UNSTAMPED: u32 = 1_000;
/// Number of entries between two checks of the time.
const ENTRIES_PER_CLOCK: u32 = 16;

/// Result of a part of a pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Update {
    /// Number of files that were added.
    pub added: u64,
    /// Number of files that cannot be added yet, because they were changed too short a time ago.
    pub unsettled: u64,
    /// Start of the next part; `None` at the end of the pass.
    pub next: Option<String>,
}

/// Adds files that are not in the index, for about `time_ms` milliseconds. `start` is `next` of the part before.
///
/// Removes the index if the policy disables it, and does nothing if there is no state directory.
///
/// # Errors
///
/// `Code::InvalidArgument` if `start` is not from an earlier part.
pub fn update(workspace: &Workspace<'_>, start: Option<&str>, time_ms: u64) -> Result<Update> {
    update_with_groups(workspace, start, time_ms, GROUP_BYTES)
}

/// Adds files as [`update`] does, in groups of at least `group_bytes` bytes. Small groups make a large index, and serve
/// for tests with few files.
///
/// # Errors
///
/// As [`update`].
pub fn update_with_groups(
    workspace: &Workspace<'_>,
    start: Option<&str>,
    time_ms: u64,
    group_bytes: u64,
) -> Result<Update> {
    let position = start.map_or(Some(Position::default()), Position::parse);
    let Some(position) = position else { return Err(Error::argument("start", "it is not from an earlier update")) };
    if !workspace.policy.index.enabled {
        if let Some(segments) = Segments::open(workspace) {
            segments.remove_all();
        }
        return Ok(Update::default());
    }
    let Some(segments) = Segments::create(workspace) else { return Ok(Update::default()) };
    let begin = (position.root, position.path.clone());
    let mut pass = Pass::new(workspace, segments, position, time_ms, SegmentBuilder::new(group_bytes));
    pass.visit_roots();
    // A part that does not advance would be repeated forever.
    pass.is_over &= begin != (pass.position.root, pass.position.path.clone());
    Ok(pass.finish())
}

/// Content of a file, with the number of bytes that were read.
enum Read {
    Text(u32),
    Binary(u32),
    /// Content that is not indexed.
    Other,
}

struct Pass<'w> {
    workspace: &'w Workspace<'w>,
    segments: Segments<'w>,
    position: Position,
    known_segments: Vec<KnownFile>,
    listings: Rc<NewListings<'w>>,
    /// The files of these segments.
    known_files: IndexedFiles<'w>,
    /// The files of the segment that is being made.
    new_files: FileTable,
    builder: SegmentBuilder,
    source: Source<'w>,
    /// Size of the index in bytes, estimated for the segment that is being made.
    index_bytes: u64,
    start_ms: u64,
    time_ms: u64,
    /// Time in which the index was read.
    reading_ms: u64,
    entries: u32,
    /// Number of files without a stamp.
    unstamped: u32,
    is_over: bool,
    update: Update,
}

impl<'w> Pass<'w> {
    fn new(
        workspace: &'w Workspace<'w>,
        segments: Segments<'w>,
        position: Position,
        time_ms: u64,
        builder: SegmentBuilder,
    ) -> Self {
        let fs = workspace.fs;
        let start_ms = fs.clock_ms();
        let listings = NewListings::open(workspace, segments.clone());
        let mut pass = Self {
            workspace,
            known_files: IndexedFiles::new(segments.clone()),
            new_files: FileTable::with_capacity(0),
            segments,
            position,
            known_segments: Vec::new(),
            listings: Rc::new(listings),
            builder,
            source: Source::new(fs, workspace.policy.limits.max_file_bytes, false),
            index_bytes: 0,
            start_ms,
            time_ms,
            reading_ms: 0,
            entries: 0,
            unstamped: 0,
            is_over: false,
            update: Update::default(),
        };
        pass.check_listings();
        pass.read_segments();
        pass.listings.limit(workspace.policy.index.max_bytes.saturating_sub(pass.index_bytes));
        pass.add_reading_since(start_ms);
        pass
    }

    fn add_reading_since(&mut self, start_ms: u64) {
        self.reading_ms += self.workspace.fs.clock_ms().saturating_sub(start_ms);
    }

    /// Returns whether this part has no more time. Reading the index is added to its time: otherwise a pass over a large index
    /// would consist of its reading.
    fn is_time_over(&self) -> bool {
        let time_ms = self.time_ms.max(self.reading_ms.saturating_mul(READING_FACTOR));
        let deadline_ms = self.start_ms.saturating_add(self.reading_ms).saturating_add(time_ms);
        self.workspace.fs.clock_ms() >= deadline_ms
    }

    fn is_start(&self) -> bool {
        self.position.root == 0 && self.position.path.is_empty()
    }

    /// Removes damaged listings, and all of them if they are beyond the limit.
    fn check_listings(&mut self) {
        let is_within = self.listings.bytes() <= self.workspace.policy.index.max_bytes;
        let known = if is_within { self.listings.names() } else { Vec::new() };
        let all = self.segments.names(LISTINGS).into_iter();
        all.filter(|name| !known.contains(name)).for_each(|name| self.segments.remove(&name));
        self.index_bytes += if is_within { self.listings.bytes() } else { 0 };
        if self.is_start() {
            self.position.found = known.into_iter().map(|name| (name, 0)).collect();
        }
    }

    /// Reads the headers of all segments, and removes damaged segments and those beyond the limits. At the start of a pass, one
    /// segment is read whole, so that damage to its lists is found after some passes. No file of a segment is found whose files
    /// are damaged, so that it is removed at the end of the pass.
    fn read_segments(&mut self) {
        let names = self.segments.names(SEGMENTS);
        let is_start = self.is_start();
        let checked = is_start.then(|| self.workspace.fs.random() as usize % names.len().max(1));
        if is_start {
            self.segments.remove_unfinished();
            self.position.found.extend(names.iter().map(|name| (name.clone(), 0)));
        }
        for (index, name) in names.into_iter().enumerate() {
            let is_whole = || self.segments.segment(&name).is_some_and(|open| self.segments.is_whole(&open));
            let header = self.segments.header(&name).filter(|_| checked != Some(index) || is_whole());
            let Some((_, header, bytes)) = header else {
                self.segments.remove(&name);
                continue;
            };
            let is_within = self.index_bytes + bytes <= self.workspace.policy.index.max_bytes
                && self.known_files.len() + header.files() <= max_files(self.workspace);
            if !is_within {
                self.segments.remove(&name);
                continue;
            }
            self.index_bytes += bytes;
            self.known_files.add(&name, &header);
            let found = self.position.found.iter().find(|(known, _)| *known == name).map(|(_, found)| *found);
            let (entries, paths) = (header.files(), *header.paths());
            self.known_segments.push(KnownFile { name, bytes, entries, found, paths });
        }
    }

    fn visit_roots(&mut self) {
        while let Some(root) = self.workspace.roots.get(self.position.root)
            && !self.is_over
        {
            let path = if root.label.is_empty() { "." } else { root.label.as_str() };
            self.unstamped = 0;
            if self.visit_files(path).is_err() {
                // The rules in the root are broken, for example, so that all of it is hidden.
                self.add_rules(hash(path));
            }
            if !self.is_over {
                self.position.root += 1;
                self.position.path.clear();
            }
        }
    }

    fn add_rules(&mut self, hash: u64) {
        self.position.rules = self.position.rules.wrapping_add(hash);
    }

    /// Visits the files that a search with default arguments visits.
    fn visit_files(&mut self, root: &str) -> Result<()> {
        let (resolved, dir) = self.workspace.directory_to_search(root, OPERATION)?;
        let start = Start { path: self.position.path.clone(), inclusive: false };
        let options = Options { start: (!start.path.is_empty()).then_some(start), ..Options::default() };
        let listings = Some(self.listings.clone() as Rc<_>);
        let mut walk = Walk::listed_by(listings, self.workspace, &resolved, &dir, options, OPERATION)?;
        while !self.is_over
            && let Some(entry) = walk.next_entry()
        {
            if entry.kind == Kind::File {
                self.visit_file(entry.dir, entry.name, entry.path);
            }
            if self.unstamped >= MAX_UNSTAMPED && self.known_files.is_empty() && self.new_files.is_empty() {
                break;
            }
            self.entries += 1;
            let is_time_over = || self.entries.is_multiple_of(ENTRIES_PER_CLOCK) && self.is_time_over();
            self.is_over = self.builder.is_full() || self.listings.is_full() || is_time_over();
            if self.is_over {
                self.position.path = entry.below.to_owned();
            }
        }
        if walk.stopped {
            self.is_over = true;
            self.position.path = walk.reached().to_owned();
        }
        self.add_rules(walk.agent_rules);
        Ok(())
    }

    fn visit_file(&mut self, dir: &Dir, name: &str, path: &str) {
        let Some(stamp) = self.workspace.fs.stamp(dir, name).map(Stamp) else {
            self.unstamped += 1;
            return;
        };
        match self.find_known(path, &stamp) {
            Some(segment) => {
                let known = self.known_segments.get_mut(segment);
                known.and_then(|known| known.found.as_mut()).into_iter().for_each(|found| *found += 1);
            }
            None if self.new_files.get(&stamp).is_some() || self.is_full() => {}
            None => {
                // A file that cannot be read is skipped, as in a search.
                if self.add_file(dir, name, path, stamp).is_err() {
                    self.builder.discard_text();
                }
            }
        }
    }

    /// Returns the number of the segment that has a file. A file that was moved out of the range of its segment is added again,
    /// because a search of its new place would not find it soon, and so is a hard link out of this range.
    fn find_known(&mut self, path: &str, stamp: &Stamp) -> Option<usize> {
        if self.known_files.is_unloaded(path) {
            let start_ms = self.workspace.fs.clock_ms();
            let mut budget = usize::MAX;
            self.known_files.load(Some(path), &mut budget, &mut |_, _| true);
            self.add_reading_since(start_ms);
        }
        self.known_files.find_in_range(path, stamp)
    }

    /// Returns whether the index, with a segment for the new files, has the maximum size or number of files.
    fn is_full(&self) -> bool {
        let max_bytes = self.workspace.policy.index.max_bytes;
        self.index_bytes + self.listings.new_bytes() + SEGMENT_BYTES >= max_bytes
            || self.known_files.len() + self.new_files.len() >= max_files(self.workspace)
    }

    /// Adds a file whose content was settled when it was read, and which has the same stamp afterwards.
    fn add_file(&mut self, dir: &Dir, name: &str, path: &str, stamp: Stamp) -> FsResult<()> {
        let fs = self.workspace.fs;
        let file = fs.open_file(dir, name, Open::Read)?;
        // By name, because hosts report another time as that of the change of metadata for an open file.
        let (stat, now) = (fs.stat(dir, name)?, fs.now());
        if !is_settled(&stat, now, min_age(self.workspace)) {
            self.update.unsettled += 1;
            return Ok(());
        }
        let content = if stat.size < MAX_FILE_BYTES { self.read(file)? } else { Read::Other };
        if fs.stamp(dir, name) != Some(stamp.0) {
            self.builder.discard_text();
            return Ok(());
        }
        match content {
            Read::Text(bytes) => self.builder.add_file(path, stamp, bytes),
            Read::Binary(bytes) => self.builder.add_binary(path, stamp, bytes),
            Read::Other => self.builder.add_unknown(path, stamp),
        }
        self.new_files.insert(&stamp, 0);
        self.index_bytes += BYTES_PER_FILE + stat.size.min(MAX_FILE_BYTES) / TEXT_PER_BYTE;
        self.update.added += 1;
        Ok(())
    }

    /// Reads a file as a search does, and adds its text to the segment.
    fn read(&mut self, file: File) -> FsResult<Read> {
        let bytes = |source: &Source<'_>| u32::try_from(source.last_read()).unwrap_or(u32::MAX);
        match self.source.open(file, false)? {
            Opened::Text => {}
            Opened::Binary => return Ok(Read::Binary(bytes(&self.source))),
            Opened::TooLarge => return Ok(Read::Other),
        }
        while let Some(window) = self.source.next_window(&|_| false)? {
            // In another encoding, some searches match the decoded text.
            if std::str::from_utf8(window.text).is_err() {
                return Ok(Read::Other);
            }
            self.builder.add_text(window.text);
        }
        Ok(Read::Text(bytes(&self.source)))
    }

    /// Stores the new segment and the new listings. At the end of a pass, tidies the files of the index, which can take further
    /// parts.
    fn finish(mut self) -> Update {
        let before = std::mem::take(&mut self.position.found);
        let mut known = self.listings.known(&before);
        known.append(&mut self.known_segments);
        self.position.found = known.iter().filter_map(|known| Some((known.name.clone(), known.found?))).collect();
        let mut is_stored = true;
        if let Some((directories, listings)) = self.listings.take() {
            is_stored &= self.store(LISTINGS, listings, directories);
        }
        if !self.builder.is_empty() {
            let builder = std::mem::replace(&mut self.builder, SegmentBuilder::new(GROUP_BYTES));
            let (segment, files) = (builder.finish(), self.update.added);
            if !self.store(SEGMENTS, segment, usize::try_from(files).unwrap_or(usize::MAX)) {
                (is_stored, self.update.added) = (false, 0);
            }
        }
        if self.is_over {
            // Otherwise the pass ends, because the next segment would not be stored either. A later pass tries again.
            self.update.next = is_stored.then(|| self.position.text());
        } else {
            let Policy { rules, host, .. } = self.workspace.policy;
            let names =
                (&rules.blocked_directories, &rules.blocked_extensions, &rules.allowed_extensions, &host.private);
            let rules = self.position.rules.wrapping_add(hash(&names));
            let is_tidy = tidy(&self.segments, &known, rules, || !self.is_time_over());
            self.update.next = (!is_tidy).then(|| self.position.text());
        }
        self.update
    }

    /// Stores a new file of the index with a number of entries. Returns whether it is stored.
    fn store(&mut self, kind: &str, bytes: Vec<u8>, entries: usize) -> bool {
        let added = self.segments.add(kind, bytes);
        self.position.found.extend(added.iter().map(|name| (name.clone(), entries)));
        added.is_ok()
    }
}

fn hash<T: Hash + ?Sized>(value: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
