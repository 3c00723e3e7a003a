//! Listings of directories that are in the index, so that a walk need not list them again.

use std::cell::{RefCell, RefMut};
use std::rc::Rc;

use paddock_index::file_table::FileTable;
use paddock_index::listings::read_record;
use paddock_index::segment::Stamp;
use paddock_types::entry::Kind;
use paddock_vfs::{Dir, DirEntry, File, Filesystem, FsResult, Listing};
use paddock_workspace::Workspace;
use paddock_workspace::listing::ListDirectory;

use super::segments::{LISTINGS, Segments, max_files};

/// Number of directories that walks list before they use the index: shorter walks do not pay for it.
const LISTED_BEFORE_INDEX: u32 = 32;
/// Number of bytes that are read at once. A walk visits the directories in the order in which their records are stored.
const WINDOW: u64 = 64 * 1024;
/// Estimated number of bytes of an entry in a record.
const BYTES_PER_ENTRY: usize = 12;

/// Returns the workspace with listings from the index for its walks, if it has an index.
pub fn with_listings(workspace: Workspace<'_>) -> Workspace<'_> {
    with_listings_after(workspace, LISTED_BEFORE_INDEX)
}

/// Returns the workspace as [`with_listings`] does. Walks list this number of directories before they use the index: zero
/// serves for tests with few directories.
pub fn with_listings_after(workspace: Workspace<'_>, directories: u32) -> Workspace<'_> {
    let Some(state_dir) = workspace.state.clone().filter(|_| workspace.policy.index.enabled) else { return workspace };
    let (fs, max_directories) = (workspace.fs, max_files(&workspace));
    let state = RefCell::new(State::Closed { directories });
    workspace.with_listings(Rc::new(KeptListings { fs, state_dir, max_directories, state }))
}

struct KeptListings<'w> {
    fs: &'w dyn Filesystem,
    state_dir: Dir,
    max_directories: usize,
    state: RefCell<State<'w>>,
}

enum State<'w> {
    /// The index is opened after this number of directories.
    Closed {
        directories: u32,
    },
    /// The index has no listings.
    Unused,
    Open(Box<OpenListings<'w>>),
}

impl<'w> State<'w> {
    fn open(&mut self) -> Option<&mut OpenListings<'w>> {
        match self {
            Self::Open(open) => Some(open),
            Self::Closed { .. } | Self::Unused => None,
        }
    }
}

impl ListDirectory for KeptListings<'_> {
    fn list(&self, dir: &Dir) -> FsResult<Listing> {
        let known = self.open_index().and_then(|mut index| index.find(&Stamp(self.fs.stamp_dir(dir)?)));
        known.map_or_else(|| self.fs.list(dir), |(_, listing)| Ok(listing))
    }

    fn open(&self, above: &Dir, name: &str, names_only: bool) -> FsResult<(Dir, Listing)> {
        let unopened = || {
            let mut index = RefMut::filter_map(self.state.borrow_mut(), State::open).ok()?;
            let (dir, stamp) = self.fs.unopened_dir(above, name)?;
            let (_, listing) = index.find(&Stamp(stamp))?;
            // A walk opens the directories in it, which would fail after a change of the directory.
            listing.entries.iter().all(|entry| entry.kind == Kind::File).then_some((dir, listing))
        };
        if names_only && let Some(known) = unopened() {
            return Ok(known);
        }
        let dir = self.fs.open_dir(above, name)?;
        let listing = self.list(&dir)?;
        Ok((dir, listing))
    }
}

impl<'w> KeptListings<'w> {
    /// Returns the listings of the index, if there are some, and if enough directories were listed before.
    fn open_index(&self) -> Option<RefMut<'_, OpenListings<'w>>> {
        let mut state = self.state.borrow_mut();
        if let State::Closed { directories } = &mut *state {
            if *directories > 0 {
                *directories -= 1;
                return None;
            }
            let segments = Segments::open_in(self.fs, &self.state_dir);
            let open = segments.map(|segments| OpenListings::open(segments, self.max_directories));
            *state = open.filter(|open| !open.is_empty()).map_or(State::Unused, |open| State::Open(Box::new(open)));
        }
        RefMut::filter_map(state, State::open).ok()
    }
}

/// The listings of the index.
pub struct OpenListings<'w> {
    segments: Segments<'w>,
    /// Index of the place of each directory, by its stamp.
    table: FileTable,
    places: Vec<Place>,
    pub files: Vec<ListingsFile>,
    window: Vec<u8>,
    /// File and position of the window.
    window_at: (u16, u64),
}

/// A file of listings.
pub struct ListingsFile {
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    pub directories: usize,
    file: File,
}

/// The place of a record.
#[derive(Clone, Copy)]
struct Place {
    file: u16,
    start: u32,
    end: u32,
}

impl<'w> OpenListings<'w> {
    /// Opens the files of listings. A damaged one has no directory.
    pub fn open(segments: Segments<'w>, max_directories: usize) -> Self {
        let names = segments.names(LISTINGS);
        let (mut places, mut files, mut table) = (Vec::new(), Vec::new(), FileTable::with_capacity(0));
        for name in names {
            let Some((file, listings, bytes)) = segments.listings(&name) else { continue };
            if places.len() + listings.len() > max_directories {
                break;
            }
            let Ok(number) = u16::try_from(files.len()) else { break };
            for (stamp, range) in listings.directories() {
                let (Ok(start), Ok(end)) = (u32::try_from(range.start), u32::try_from(range.end)) else { continue };
                table.insert(&stamp, places.len() as u32);
                places.push(Place { file: number, start, end });
            }
            files.push(ListingsFile { name, bytes, directories: listings.len(), file });
        }
        Self { segments, table, places, files, window: Vec::new(), window_at: (0, 0) }
    }

    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns the listing of the directory with a stamp, and the index of its file.
    pub fn find(&mut self, stamp: &Stamp) -> Option<(usize, Listing)> {
        let place = *self.places.get(usize::try_from(self.table.get(stamp)?).ok()?)?;
        let record = self.record(place)?;
        let (bytes, (unnamed, entries)) = (record.len(), read_record(record)?);
        // No directory has other names, and no host returns them.
        let is_name = |name: &str| !matches!(name, "" | "." | "..") && !name.contains('/');
        let entry = |(code, name): (u8, &str)| {
            Some(DirEntry { name: is_name(name).then(|| name.to_owned())?, kind: kind(code)? })
        };
        let mut listing = Listing {
            entries: Vec::with_capacity(bytes / BYTES_PER_ENTRY),
            unnamed: u64::from(unnamed),
            unreadable: 0,
        };
        for known in entries {
            listing.entries.push(entry(known)?);
        }
        Some((usize::from(place.file), listing))
    }

    fn record(&mut self, place: Place) -> Option<&[u8]> {
        let (start, end) = (u64::from(place.start), u64::from(place.end));
        let is_within =
            |at: (u16, u64), window: &[u8]| at.0 == place.file && start >= at.1 && end <= at.1 + window.len() as u64;
        if !is_within(self.window_at, &self.window) {
            let file = self.files.get(usize::from(place.file))?;
            let size = end.checked_sub(start)?.max(WINDOW.min(file.bytes.checked_sub(start)?));
            self.window = self.segments.read(&file.file, start, usize::try_from(size).ok()?)?;
            self.window_at = (place.file, start);
        }
        let at = usize::try_from(start - self.window_at.1).ok()?;
        self.window.get(at..at + usize::try_from(end - start).ok()?)
    }
}

/// Returns the letter for a type of entries in a file of listings.
pub fn code(kind: Kind) -> u8 {
    match kind {
        Kind::File => b'f',
        Kind::Directory => b'd',
        Kind::Link => b'l',
        Kind::Other => b'o',
    }
}

fn kind(code: u8) -> Option<Kind> {
    [Kind::File, Kind::Directory, Kind::Link, Kind::Other].into_iter().find(|kind| self::code(*kind) == code)
}
