//! Listings of directories that a pass adds to the index.

use std::cell::RefCell;

use paddock_index::listings::ListingsBuilder;
use paddock_index::path_range::PathRange;
use paddock_index::segment::Stamp;
use paddock_vfs::{Dir, Filesystem, FsResult, Listing, Stat};
use paddock_workspace::Workspace;
use paddock_workspace::listing::ListDirectory;

use super::listings::{OpenListings, code};
use super::segments::{Segments, max_files};
use super::settled::{is_settled, min_age};
use super::tidy::KnownFile;

/// Lists directories for a pass, which takes known listings from the index and collects the others.
pub struct NewListings<'w> {
    fs: &'w dyn Filesystem,
    /// Minimum age in seconds of the last change of a directory.
    age: u64,
    state: RefCell<State<'w>>,
}

struct State<'w> {
    known: OpenListings<'w>,
    /// For each known file the number of its directories that were found.
    found: Vec<usize>,
    new: ListingsBuilder,
    /// Number of bytes that new listings can have.
    max_bytes: u64,
}

impl State<'_> {
    fn known(&mut self, stamp: &Stamp) -> Option<Listing> {
        let (file, listing) = self.known.find(stamp)?;
        self.found.get_mut(file).into_iter().for_each(|found| *found += 1);
        Some(listing)
    }
}

impl<'w> NewListings<'w> {
    /// Opens the listings of the index.
    pub fn open(workspace: &Workspace<'w>, segments: Segments<'w>) -> Self {
        let known = OpenListings::open(segments, max_files(workspace));
        let found = vec![0; known.files.len()];
        let state = State { known, found, new: ListingsBuilder::default(), max_bytes: 0 };
        Self { fs: workspace.fs, age: min_age(workspace), state: RefCell::new(state) }
    }

    /// Returns the names of the known files.
    pub fn names(&self) -> Vec<String> {
        self.state.borrow().known.files.iter().map(|file| file.name.clone()).collect()
    }

    /// Returns the size of the known files in bytes.
    pub fn bytes(&self) -> u64 {
        self.state.borrow().known.files.iter().map(|file| file.bytes).sum()
    }

    /// Sets the number of bytes that new listings can have.
    pub fn limit(&self, max_bytes: u64) {
        self.state.borrow_mut().max_bytes = max_bytes;
    }

    /// Returns the size of the new listings in bytes.
    pub fn new_bytes(&self) -> u64 {
        self.state.borrow().new.bytes()
    }

    /// Returns whether a file is full of new listings.
    pub fn is_full(&self) -> bool {
        self.state.borrow().new.is_full()
    }

    /// Returns the known files, of which the parts of the pass before have found the directories in `before`.
    pub fn known(&self, before: &[(String, usize)]) -> Vec<KnownFile> {
        let state = self.state.borrow();
        let found_before = |name: &str| before.iter().find(|(known, _)| known == name).map(|(_, found)| *found);
        let known = state.known.files.iter().zip(&state.found);
        let known = known.map(|(file, found)| KnownFile {
            name: file.name.clone(),
            bytes: file.bytes,
            entries: file.directories,
            found: found_before(&file.name).map(|before| before + found),
            paths: PathRange::EMPTY,
        });
        known.collect()
    }

    /// Returns the number of new directories, and the file with their listings.
    pub fn take(&self) -> Option<(usize, Vec<u8>)> {
        let new = std::mem::take(&mut self.state.borrow_mut().new);
        (!new.is_empty()).then(|| (new.len(), new.finish()))
    }

    /// Adds a listing if the last change of the directory was long enough ago.
    fn add(&self, stamp: [u64; 2], stat: &Stat, listing: &Listing) {
        let state = &mut *self.state.borrow_mut();
        let (Ok(unnamed), 0) = (u32::try_from(listing.unnamed), listing.unreadable) else { return };
        if state.new.bytes() >= state.max_bytes || state.new.is_full() {
            return;
        }
        if is_settled(stat, self.fs.now(), self.age) {
            let mut entries: Vec<_> = listing.entries.iter().collect();
            // A walk sorts them.
            entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
            let entries = entries.into_iter().map(|entry| (code(entry.kind), entry.name.as_str()));
            state.new.add(Stamp(stamp), unnamed, entries);
        }
    }
}

impl ListDirectory for NewListings<'_> {
    /// Lists the top of the walk, which is not added: its age is not known.
    fn list(&self, dir: &Dir) -> FsResult<Listing> {
        self.fs.list(dir)
    }

    fn open(&self, above: &Dir, name: &str, _names_only: bool) -> FsResult<(Dir, Listing)> {
        let dir = self.fs.open_dir(above, name)?;
        let Some(stamp) = self.fs.stamp_dir(&dir) else { return self.fs.list(&dir).map(|listing| (dir, listing)) };
        if let Some(listing) = self.state.borrow_mut().known(&Stamp(stamp)) {
            return Ok((dir, listing));
        }
        let listing = self.fs.list(&dir)?;
        // By name, because hosts report another time as that of the change of metadata for an open directory.
        if let Ok(stat) = self.fs.stat(above, name)
            && self.fs.unopened_dir(above, name).is_some_and(|(_, now)| now == stamp)
        {
            self.add(stamp, &stat, &listing);
        }
        Ok((dir, listing))
    }
}
