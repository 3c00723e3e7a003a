//! A walk over all entries below a directory, in a fixed order.
//!
//! The order is depth first: a directory, then its entries, then its next sibling; siblings in the byte order of their
//! names. Two paths therefore compare name by name: `a`, `a/z`, `a.txt`. No link is followed. The memory holds the
//! listings from the top down to the current entry. `ignore` and `walkdir` walk by path, and cannot resume at a cursor.

use std::rc::Rc;

use paddock_types::entry::Kind;
use paddock_types::error::Result;
use paddock_types::response::Skipped;
use paddock_vfs::{Dir, DirEntry, FsResult, Listing};

use crate::Workspace;
use crate::ignore_rules::{AgentIgnore, Rules};
use crate::listing::ListDirectory;
use crate::resolved_path::ResolvedPath;

pub use crate::walk::entry::Entry;
pub use crate::walk::options::{Options, Start};

mod cuts;
mod end;
mod entry;
mod left_out;
mod options;
mod seek;

/// Number of entries between two checks of the time.
const ENTRIES_PER_CLOCK: u64 = 256;

/// A walk in progress. A clone continues from the same entry and is cheap.
#[derive(Clone)]
pub struct Walk<'w> {
    /// Numbers of entries left out so far.
    pub skipped: Skipped,
    /// Sum of the hashes of the `.agentignore` rules of all directories so far.
    pub agent_rules: u64,
    /// Levels to descend; may be lowered while walking.
    pub max_depth: u32,
    /// Whether a limit ended the walk: [`Self::reached`] is the position to continue from.
    pub stopped: bool,
    workspace: &'w Workspace<'w>,
    /// Lists directories instead of the workspace.
    listings: Option<Rc<dyn ListDirectory + 'w>>,
    options: Rc<Options>,
    rules: Option<Rules>,
    agent_ignore: AgentIgnore,
    frames: Vec<Frame>,
    /// Path of the current entry in the form of results; before the first entry, the path of the top with a `/`, unless
    /// empty.
    path: String,
    /// Length of the part of `path` that belongs to the top.
    base: usize,
    /// Number of names in [`Options::until`].
    end_depth: usize,
    /// Directory of the current entry, which is listed before the walk continues.
    pending: Option<Below>,
    looked_at: u64,
    has_begun: bool,
    has_descended: bool,
    /// Whether the walk was moved, and can be moved back to entries before its start.
    has_moved: bool,
    is_root: bool,
}

#[derive(Clone)]
struct Frame {
    dir: Dir,
    entries: Rc<Vec<DirEntry>>,
    /// Number of all entries of the directory.
    listed: u64,
    /// The next entry.
    next: usize,
    /// Length of the part of each entry's path that belongs to the directory.
    above: usize,
    /// Index of the component of the start among the entries.
    start: Option<usize>,
}

/// Components of the start and end of the walk that are below a directory.
#[derive(Clone, Copy)]
struct Below {
    start: Option<usize>,
}

impl<'w> Walk<'w> {
    /// Starts a walk over all entries below `dir`, the directory of the resolved path.
    pub fn new(
        workspace: &'w Workspace<'w>,
        resolved: &ResolvedPath,
        dir: &Dir,
        options: Options,
        operation: &str,
    ) -> Result<Self> {
        Self::listed_by(None, workspace, resolved, dir, options, operation)
    }

    /// Starts a walk as [`Self::new`] does, for which `listings` list the directories.
    pub fn listed_by(
        listings: Option<Rc<dyn ListDirectory + 'w>>,
        workspace: &'w Workspace<'w>,
        resolved: &ResolvedPath,
        dir: &Dir,
        options: Options,
        operation: &str,
    ) -> Result<Self> {
        let mut walk = Self {
            skipped: Skipped::default(),
            agent_rules: 0,
            max_depth: options.max_depth.unwrap_or(u32::MAX),
            stopped: false,
            workspace,
            listings,
            rules: (!options.include_ignored).then(Rules::default),
            agent_ignore: resolved.agent_ignore.clone(),
            frames: Vec::new(),
            path: resolved.base(),
            base: resolved.base().len(),
            end_depth: options.end_depth(),
            pending: None,
            looked_at: 0,
            has_begun: false,
            has_descended: false,
            has_moved: false,
            is_root: resolved.is_root(),
            options: Rc::new(options),
        };
        let mut unusable = walk.enter_parents(resolved);
        let listing = walk.list(dir).map_err(|fault| fault.at(operation, &resolved.requested_path))?;
        if !walk.is_root {
            walk.agent_ignore.enter_listed(&resolved.name, dir, workspace.fs, &listing.entries)?;
        }
        unusable += walk.enter_rules(&resolved.name, dir, &listing.entries);
        let start = walk.options.start.as_ref().filter(|start| !start.path.is_empty()).map(|_| 0);
        walk.skipped.unreadable += if start.is_none() { unusable } else { 0 };
        walk.add_agent_rules(u64::from(start.is_none()));
        walk.push(dir.clone(), listing, start);
        Ok(walk)
    }

    /// Returns the number of visited entries.
    pub fn looked_at(&self) -> u64 {
        self.looked_at
    }

    /// Adds entries that another walk visited to the count of this walk.
    pub fn add_looked_at(&mut self, entries: u64) {
        self.looked_at += entries;
    }

    /// Returns the number of entries of the current directory and of those above it. Another walk lists them again before it
    /// continues from here.
    pub fn listed(&self) -> u64 {
        self.frames.iter().map(|frame| frame.listed).sum()
    }

    /// Returns the path, relative to the top, up to which all entries have been visited.
    pub fn reached(&self) -> &str {
        match &self.options.start {
            Some(start) if !self.has_begun => &start.path,
            _ => self.path.get(self.base..).unwrap_or_default().trim_end_matches('/'),
        }
    }

    /// Returns whether an entry at or after the start was visited.
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Advances to the next entry and returns it.
    pub fn next_entry(&mut self) -> Option<Entry<'_>> {
        if self.advance() { self.entry() } else { None }
    }

    /// Returns the current entry.
    pub fn entry(&self) -> Option<Entry<'_>> {
        let frame = self.frames.last()?;
        let DirEntry { name, kind } = frame.entry()?;
        let below = self.path.get(self.base..).unwrap_or_default();
        Some(Entry { dir: &frame.dir, name, kind: *kind, path: &self.path, below, depth: self.depth() })
    }

    /// Advances to the next entry. Returns false at the end.
    pub fn advance(&mut self) -> bool {
        loop {
            if let Some(below) = self.pending.take() {
                // Otherwise the walk that continues there would count the directory again.
                if self.ends_in_current() {
                    return false;
                }
                self.descend(below);
            }
            let Some(frame) = self.frames.last_mut() else { return false };
            if frame.next == frame.entries.len() {
                // The top stays for a walk that seeks an earlier start.
                if self.frames.len() == 1 {
                    return false;
                }
                self.ascend();
                continue;
            }
            frame.next += 1;
            if self.is_past_end() {
                self.step_back();
                return false;
            }
            let (passed, start) = self.passed();
            // Entries before the start are no progress: continuing from them would repeat entries.
            if !passed {
                if self.is_over() {
                    self.stopped = true;
                    self.frames.clear();
                    return false;
                }
                self.has_begun = true;
            }
            let Some(kind) = self.stand() else { return false };
            if let Some(reason) = self.left_out(kind) {
                if !passed {
                    self.count(reason);
                }
                continue;
            }
            if kind == Kind::Directory && self.goes_deeper(passed) {
                self.pending = Some(Below { start });
            }
            if !passed {
                return true;
            }
        }
    }

    /// Adds the rules of the directories above `resolved`. Returns the number of rule files that cannot be used.
    fn enter_parents(&mut self, resolved: &ResolvedPath) -> u64 {
        let (Some(rules), Some(root)) = (&mut self.rules, self.workspace.roots.get(resolved.root)) else { return 0 };
        if resolved.is_root() {
            return 0;
        }
        let above =
            std::iter::once(("", &root.dir)).chain(resolved.ancestors.iter().map(|(name, dir)| (name.as_str(), dir)));
        above.map(|(name, dir)| rules.enter(name, dir, self.workspace.fs, None)).sum()
    }

    /// Reads the rule files of a directory, and returns the number of unusable ones.
    fn enter_rules(&mut self, name: &str, dir: &Dir, entries: &[DirEntry]) -> u64 {
        self.rules.as_mut().map_or(0, |rules| rules.enter(name, dir, self.workspace.fs, Some(entries)))
    }

    /// Adds the hash of the rules of the last directory, if its entries are `new`.
    fn add_agent_rules(&mut self, new: u64) {
        self.agent_rules = self.agent_rules.wrapping_add(new.wrapping_mul(self.agent_ignore.hash()));
    }

    fn list(&self, dir: &Dir) -> FsResult<Listing> {
        self.listings().list(dir)
    }

    fn listings(&self) -> &(dyn ListDirectory + 'w) {
        self.listings.as_deref().unwrap_or(self.workspace)
    }

    fn push(&mut self, dir: Dir, listing: Listing, start: Option<usize>) {
        let mut entries = listing.entries;
        let listed = entries.len() as u64;
        if let Some(only) = self.options.prefix.get(self.frames.len()) {
            entries.retain(|entry| entry.name == *only);
        }
        if let Some(first) = self.start_name(start).filter(|_| !self.has_moved) {
            entries.retain(|entry| entry.name.as_str() >= first);
        }
        // A walk that continues in the middle of a directory has already counted these names.
        if start.is_none() {
            self.skipped.unnamed += listing.unnamed;
            self.skipped.unreadable += listing.unreadable;
        }
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let next =
            self.start_name(start).map_or(0, |first| entries.partition_point(|entry| entry.name.as_str() < first));
        let above = self.path.len();
        self.frames.push(Frame { dir, entries: Rc::new(entries), listed, next, above, start });
    }

    fn start_name(&self, component: Option<usize>) -> Option<&str> {
        self.options.start.as_ref()?.path.split('/').nth(component?)
    }

    /// Lists the current directory.
    fn descend(&mut self, below: Below) {
        let Some((name, above)) = self.frames.last().and_then(|frame| Some((frame.entry()?.name.clone(), &frame.dir)))
        else {
            return;
        };
        let fs = self.workspace.fs;
        self.has_descended = true;
        let opened = self.listings().open(above, &name, self.options.names_only);
        // A walk that continues below the directory has already counted it.
        let is_new = u64::from(below.start.is_none());
        let Ok((dir, listing)) = opened else {
            self.skipped.unreadable += is_new;
            return;
        };
        if self.agent_ignore.enter_listed(&name, &dir, fs, &listing.entries).is_err() {
            self.skipped.denied += is_new;
            self.add_agent_rules(is_new);
            return;
        }
        self.add_agent_rules(is_new);
        self.skipped.unreadable += is_new * self.enter_rules(&name, &dir, &listing.entries);
        self.path.push('/');
        self.push(dir, listing, below.start);
    }

    fn ascend(&mut self) {
        self.frames.pop();
        self.agent_ignore.leave();
        if let Some(rules) = &mut self.rules {
            rules.leave();
        }
    }

    /// Sets the path to that of the current entry, and returns its kind.
    fn stand(&mut self) -> Option<Kind> {
        let frame = self.frames.last()?;
        let entry = frame.entry()?;
        self.path.truncate(frame.above);
        self.path.push_str(&entry.name);
        Some(entry.kind)
    }

    fn depth(&self) -> u32 {
        u32::try_from(self.frames.len()).unwrap_or(u32::MAX)
    }

    fn is_over(&mut self) -> bool {
        self.looked_at += 1;
        self.looked_at > self.workspace.policy.limits.max_entries
            || (self.is_clock_due() && self.workspace.out_of_time())
    }

    /// Returns whether the time must be checked: periodically, and at the first entry of each directory, because
    /// reading its rules may take long.
    fn is_clock_due(&mut self) -> bool {
        let has_descended = std::mem::take(&mut self.has_descended);
        (has_descended && self.looked_at > 1) || self.looked_at.is_multiple_of(ENTRIES_PER_CLOCK)
    }

    /// Returns whether the entry is before the start, and the component of the start below it.
    fn passed(&mut self) -> (bool, Option<usize>) {
        let Some(frame) = self.frames.last_mut() else { return (false, None) };
        let (Some(component), Some(start)) = (frame.start.take(), &self.options.start) else { return (false, None) };
        let mut rest = start.path.split('/').skip(component);
        if rest.next() != frame.entry().map(|entry| entry.name.as_str()) {
            return (false, None);
        }
        match rest.next() {
            Some(_) => (true, Some(component + 1)),
            None => (!start.inclusive, None),
        }
    }

    /// Returns whether the current directory must be listed. A directory that is too deep is counted, unless an earlier
    /// walk counted it.
    fn goes_deeper(&mut self, passed: bool) -> bool {
        let depth = self.depth();
        let allowed = depth < self.workspace.policy.limits.max_depth;
        if depth < self.max_depth && !allowed && !passed {
            self.skipped.too_deep += 1;
        }
        depth < self.max_depth && allowed
    }
}

impl Frame {
    /// Returns the last visited entry of the frame.
    fn entry(&self) -> Option<&DirEntry> {
        self.entries.get(self.next.checked_sub(1)?)
    }
}
