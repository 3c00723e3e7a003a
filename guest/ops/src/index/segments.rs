//! The files of the index, in a directory of the state directory: segments, and listings of directories.

use paddock_index::listings::{self, ListingsTable};
use paddock_index::segment::{HEADER_BYTES, Header, Segment};
use paddock_vfs::open_location::{OpenLocation, open_or_make};
use paddock_vfs::{Dir, File, Filesystem, FsResult, Open};
use paddock_workspace::Workspace;

const DIRECTORY: &str = "index";
/// Ends of the names of segments, and of files with listings of directories.
pub const SEGMENTS: &str = ".segment";
pub const LISTINGS: &str = ".listings";
const UNFINISHED: &str = "unfinished-";
/// File with the hash of the rules that hid files from the last pass.
const RULES: &str = "rules";
/// Maximum size of a file of the index in bytes. A larger one is not of the index.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Maximum number of files of a kind that a search opens.
const MAX_SEGMENTS: usize = 4_096;

/// Bytes of memory that the host must allow for each indexed file. The index then takes a quarter of the memory.
const MEMORY_PER_FILE: u64 = 256;

/// Returns the maximum number of files in the index.
pub fn max_files(workspace: &Workspace<'_>) -> usize {
    usize::try_from(workspace.policy.limits.max_memory_bytes / MEMORY_PER_FILE).unwrap_or(usize::MAX)
}

/// The directory of the index.
#[derive(Clone)]
pub struct Segments<'w> {
    fs: &'w dyn Filesystem,
    dir: Dir,
}

/// An open segment.
pub struct OpenSegment {
    file: File,
    /// The files of the segment and the positions of its lists.
    pub segment: Segment,
    /// Size in bytes.
    pub bytes: u64,
}

impl<'w> Segments<'w> {
    /// Opens the directory of the index, if it exists.
    pub fn open(workspace: &Workspace<'w>) -> Option<Self> {
        Self::open_in(workspace.fs, workspace.state.as_ref()?)
    }

    /// Opens the directory of the index in a state directory, if it exists.
    pub fn open_in(fs: &'w dyn Filesystem, state: &Dir) -> Option<Self> {
        Some(Self { fs, dir: fs.open_dir(state, DIRECTORY).ok()? })
    }

    /// Opens the directory of the index, and creates it if it does not exist.
    pub fn create(workspace: &Workspace<'w>) -> Option<Self> {
        let dir = open_or_make(workspace.fs, workspace.state.as_ref()?, DIRECTORY).ok()?;
        Some(Self { fs: workspace.fs, dir })
    }

    /// Returns the names of the files of a kind: [`SEGMENTS`] or [`LISTINGS`].
    pub fn names(&self, kind: &str) -> Vec<String> {
        let entries = self.fs.list(&self.dir).map(|listing| listing.entries).unwrap_or_default();
        let mut names: Vec<_> = entries.into_iter().map(|entry| entry.name).collect();
        names.retain(|name| name.ends_with(kind));
        names.truncate(MAX_SEGMENTS);
        names
    }

    /// Opens a segment. Returns `None` if it is damaged or cannot be read.
    pub fn segment(&self, name: &str) -> Option<OpenSegment> {
        let (file, header, bytes) = self.header(name)?;
        let segment = Segment::read(self.read(&file, 0, header.head_bytes())?, header)?;
        Some(OpenSegment { file, segment, bytes })
    }

    /// Opens the file of a segment, and returns it with its header and its size.
    pub fn header(&self, name: &str) -> Option<(File, Header, u64)> {
        let (file, bytes) = self.open_file(name)?;
        let header = Header::read(&self.read(&file, 0, HEADER_BYTES)?, bytes)?;
        Some((file, header, bytes))
    }

    /// Opens a file of listings, and returns it with its table and its size. Returns `None` if it is damaged or cannot be read.
    pub fn listings(&self, name: &str) -> Option<(File, ListingsTable, u64)> {
        let (file, bytes) = self.open_file(name)?;
        let head = ListingsTable::head_bytes(&self.read(&file, 0, listings::HEADER_BYTES)?, bytes)?;
        let table = ListingsTable::read(self.read(&file, 0, head)?)?;
        Some((file, table, bytes))
    }

    /// Opens a file that is not too large, and returns it with its size.
    pub fn open_file(&self, name: &str) -> Option<(File, u64)> {
        let file = self.fs.open_file(&self.dir, name, Open::Read).ok()?;
        let bytes = self.fs.stat_file(&file).ok()?.size;
        (bytes <= MAX_BYTES).then_some((file, bytes))
    }

    /// Reads the block of the lists in which a trigram is.
    pub fn block(&self, open: &OpenSegment, gram: u16) -> Option<Vec<u8>> {
        let range = open.segment.block(gram)?;
        self.read(&open.file, range.start, usize::try_from(range.end - range.start).ok()?)
    }

    /// Returns all bytes of a segment.
    pub fn bytes(&self, open: &OpenSegment) -> Option<Vec<u8>> {
        self.read(&open.file, 0, usize::try_from(open.bytes).ok()?)
    }

    /// Returns whether no list of a segment is damaged.
    pub fn is_whole(&self, open: &OpenSegment) -> bool {
        (0..=u16::MAX)
            .step_by(32)
            .all(|gram| self.block(open, gram).is_some_and(|block| open.segment.groups_with(gram, &block).is_some()))
    }

    /// Stores a file of a kind, and returns its name.
    pub fn add(&self, kind: &str, bytes: Vec<u8>) -> FsResult<String> {
        let name = format!("{:016x}{kind}", self.fs.random());
        self.store(&name, bytes)?;
        Ok(name)
    }

    /// Returns the hash of the rules that hid files from the last pass.
    pub fn rules(&self) -> Option<u64> {
        let file = self.fs.open_file(&self.dir, RULES, Open::Read).ok()?;
        Some(u64::from_le_bytes(self.read(&file, 0, size_of::<u64>())?.try_into().ok()?))
    }

    /// Stores this hash. Without it, the next pass keeps all segments.
    pub fn set_rules(&self, hash: u64) {
        drop(self.store(RULES, hash.to_le_bytes().to_vec()));
    }

    fn store(&self, name: &str, bytes: Vec<u8>) -> FsResult<()> {
        let new = OpenLocation { dir: self.dir.clone(), name: format!("{UNFINISHED}{name}") };
        new.publish(self.fs, &bytes.into(), &new.sibling(name))
    }

    /// Removes all segments and listings.
    pub fn remove_all(&self) {
        [SEGMENTS, LISTINGS].iter().flat_map(|kind| self.names(kind)).for_each(|name| self.remove(&name));
    }

    /// Removes a file of the index, as far as that is possible.
    pub fn remove(&self, name: &str) {
        drop(self.try_remove(name));
    }

    /// Removes a file of the index.
    pub fn try_remove(&self, name: &str) -> FsResult<()> {
        OpenLocation { dir: self.dir.clone(), name: name.to_owned() }.discard(self.fs)
    }

    /// Removes files that a crash has left.
    pub fn remove_unfinished(&self) {
        let entries = self.fs.list(&self.dir).map(|listing| listing.entries).unwrap_or_default();
        for entry in entries.into_iter().filter(|entry| entry.name.starts_with(UNFINISHED)) {
            self.remove(&entry.name);
        }
    }

    /// Reads exactly `size` bytes.
    pub fn read(&self, file: &File, offset: u64, size: usize) -> Option<Vec<u8>> {
        let mut bytes = Vec::with_capacity(size);
        while bytes.len() < size {
            let at = offset + bytes.len() as u64;
            if self.fs.read(file, at, size - bytes.len(), &mut bytes).ok()? == 0 {
                return None;
            }
        }
        Some(bytes)
    }
}
