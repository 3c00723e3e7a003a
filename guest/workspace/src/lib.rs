//! The workspace of one call: the roots, the policy and the file system that every operation works on.

pub mod access_rules;
pub mod change;
pub mod change_token;
mod existing;
pub mod export;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixture;
pub mod git_data;
pub mod ignore_rules;
pub mod listing;
pub mod path_syntax;
pub mod protected_paths;
pub mod redaction;
pub mod resolve;
pub mod resolved_path;
pub mod rights;
pub mod root;
pub mod tree;
pub mod walk;

use paddock_types::path::below;
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use paddock_types::digest::{etag, is_etag};
use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result, Term};
use paddock_types::phrase;
use paddock_types::policy::{Policy, RootAccess};
use paddock_types::response::Change;
use paddock_vfs::{
    Dir, Fault, File, Filesystem, FsResult, Listing, OVERLAY_GUEST_PATH, Open, READ_SIZE, STATE_GUEST_PATH, Stat,
};

use crate::access_rules::AccessRules;
use crate::ignore_rules::AgentIgnore;
use crate::listing::ListDirectory;

use crate::resolved_path::ResolvedPath;
pub use crate::rights::Unchangeable;
pub use crate::root::Root;

/// The roots, the policy and the file system, for one call.
pub struct Workspace<'a> {
    /// The file system of the call.
    pub fs: &'a dyn Filesystem,
    /// The policy of the call.
    pub policy: &'a Policy,
    /// The workspace itself first, then further roots.
    pub roots: Vec<Root>,
    /// The state directory, with journals and backups, if the host preopened one.
    pub state: Option<Dir>,
    /// Directory that contains every path of the call, symbolic links resolved; `None` if the call is not confined to
    /// one.
    pub confined_to: Option<&'static str>,
    listings: Option<Rc<dyn ListDirectory + 'a>>,
    started_ms: u64,
    /// Time limit in milliseconds from `started_ms`, if it differs from the limit of the policy.
    time_ms: Option<u64>,
    changes: RefCell<Vec<Change>>,
    /// Ids of the backups that the call made, in order.
    backups: RefCell<Vec<String>>,
    /// Records that the call reads, and that it must not remove.
    pinned_backups: RefCell<Vec<String>>,
}

impl ListDirectory for Workspace<'_> {
    fn list(&self, dir: &Dir) -> FsResult<Listing> {
        self.listings.as_ref().map_or_else(|| self.fs.list(dir), |listings| listings.list(dir))
    }

    fn open(&self, above: &Dir, name: &str, names_only: bool) -> FsResult<(Dir, Listing)> {
        if let Some(listings) = &self.listings {
            return listings.open(above, name, names_only);
        }
        let dir = self.fs.open_dir(above, name)?;
        let listing = self.fs.list(&dir)?;
        Ok((dir, listing))
    }
}

impl<'a> Workspace<'a> {
    /// Opens a workspace over the preopened directories of `fs`. Fails if there are none.
    pub fn open(fs: &'a dyn Filesystem, policy: &'a Policy) -> Result<Self> {
        let (state, roots): (Vec<_>, Vec<_>) =
            fs.preopens().into_iter().partition(|preopen| preopen.guest_path == STATE_GUEST_PATH);
        let roots: Vec<Root> = roots
            .into_iter()
            .filter(|preopen| preopen.guest_path != OVERLAY_GUEST_PATH)
            .enumerate()
            .map(|(index, preopen)| {
                let known = policy.roots.iter().find(|root| root.guest == preopen.guest_path);
                let absolute = Some(preopen.guest_path.clone()).filter(|path| path.starts_with('/'));
                let aliases = known.into_iter().flat_map(|root| root.aliases.iter().chain(&root.host).cloned());
                let names: Vec<_> = absolute.into_iter().chain(aliases).collect();
                let host = known.and_then(|root| root.host.as_deref());
                Root {
                    access_rules: AccessRules::of(policy, &names, host).map(Rc::new),
                    label: if index == 0 { String::new() } else { preopen.guest_path.clone() },
                    names,
                    host: host.map(str::to_owned),
                    id: known.and_then(|root| root.id.clone()),
                    dir: preopen.dir,
                    writable: !policy.read_only && known.is_none_or(|root| root.access == RootAccess::ReadWrite),
                    within: None,
                    agent_ignore: OnceCell::new(),
                }
            })
            .collect();
        let roots = with_outermost(roots);
        if roots.is_empty() {
            return Err(Error::new(Code::BackendGone, "the host preopened no directory")
                .hint("the host has to preopen the workspace directory"));
        }
        let state = state.into_iter().next().map(|preopen| preopen.dir);
        Ok(Self {
            fs,
            policy,
            roots,
            state,
            confined_to: None,
            listings: None,
            started_ms: fs.clock_ms(),
            time_ms: None,
            changes: RefCell::default(),
            backups: RefCell::default(),
            pinned_backups: RefCell::default(),
        })
    }

    /// Has walks list directories by other means than the file system.
    #[must_use]
    pub fn with_listings(self, listings: Rc<dyn ListDirectory + 'a>) -> Self {
        Self { listings: Some(listings), ..self }
    }

    /// Returns the absolute paths of the roots.
    pub fn root_names(&self) -> Vec<&str> {
        self.roots.iter().flat_map(|root| root.names.iter().map(String::as_str)).collect()
    }

    /// Adds a change that the call made to the list of changes.
    pub fn changed(&self, change: Change) {
        self.changes.borrow_mut().push(change);
    }

    /// Records the id of a backup from which the changes of the call can be undone.
    pub fn backed_up(&self, id: String) {
        self.backups.borrow_mut().push(id);
    }

    /// Keeps the backup of this id until the call ends, even if the policy does not keep it any longer.
    pub fn pin_backup(&self, id: &str) {
        self.pinned_backups.borrow_mut().push(id.to_owned());
    }

    /// Returns whether the call wrote the backup of this id, or reads it.
    pub fn needs_backup(&self, id: &str) -> bool {
        [&self.backups, &self.pinned_backups].iter().any(|ids| ids.borrow().iter().any(|known| known == id))
    }

    /// Returns the id of the last backup that the call made, if any.
    pub fn backup(&self) -> Option<String> {
        self.backups.borrow().last().cloned()
    }

    /// Removes the id that [`Self::backed_up`] recorded last, and returns it.
    pub fn not_backed_up(&self) -> Option<String> {
        self.backups.borrow_mut().pop()
    }

    /// Returns a copy of the changes made so far, in order.
    pub fn changes(&self) -> Vec<Change> {
        self.changes.borrow().clone()
    }

    /// Removes and returns the changes made so far, in order.
    pub fn take_changes(&self) -> Vec<Change> {
        self.changes.take()
    }

    /// Returns whether the call has used up its time. Walks and searches then return their partial results.
    pub fn out_of_time(&self) -> bool {
        self.time_left_ms() == 0
    }

    /// Returns the number of milliseconds until [`Self::out_of_time`] returns true.
    pub fn time_left_ms(&self) -> u64 {
        // A tenth of the time is reserved for rendering the results.
        let time = self.time_ms.unwrap_or(self.policy.limits.max_time_ms * 9 / 10);
        time.saturating_sub(self.fs.clock_ms().saturating_sub(self.started_ms))
    }

    /// Shortens the remaining time of the call to at most `time_ms` milliseconds.
    pub fn set_time_left_ms(&mut self, time_ms: u64) {
        self.time_ms = Some(time_ms.min(self.time_left_ms()));
        self.started_ms = self.fs.clock_ms();
    }

    /// Opens the regular file at `resolved` for reading, and returns it with its metadata.
    /// Links have been resolved, so a link at this path was created after the resolution, and is refused.
    pub fn open_file(&self, resolved: &ResolvedPath, operation: &str) -> Result<(File, Stat)> {
        let stat = resolved.existing(self, operation)?;
        if stat.kind != Kind::File {
            return Err(resolved.not_a_file(operation, stat.kind));
        }
        let file = self
            .fs
            .open_file(&resolved.dir, &resolved.name, Open::Read)
            .map_err(|fault| fault.at(operation, &resolved.requested_path))?;
        let stat = self.fs.stat_file(&file).map_err(|fault| fault.at(operation, &resolved.requested_path))?;
        Ok((file, stat))
    }

    /// Reads the whole file at `resolved`. Fails if the file is larger than the policy's limit.
    pub fn read_whole(&self, resolved: &ResolvedPath, operation: &str) -> Result<(Vec<u8>, Stat)> {
        let (file, stat) = self.open_file(resolved, operation)?;
        let bytes = self.read_open(&file, &stat, resolved, operation)?;
        Ok((bytes, stat))
    }

    /// Reads a whole open file. Fails if the file is larger than the policy's limit. A file with a reported size of
    /// 0 bytes, as in `/proc`, is read to its end.
    pub fn read_open(&self, file: &File, stat: &Stat, resolved: &ResolvedPath, operation: &str) -> Result<Vec<u8>> {
        let limit = self.policy.limits.max_file_bytes;
        if stat.size > limit {
            return Err(self.too_large(resolved, operation, stat.size));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(stat.size).unwrap_or(0));
        loop {
            let offset = bytes.len() as u64;
            // Requests one byte more than the size: a shorter read shows the end of the file without another call.
            let rest = usize::try_from(stat.size.saturating_sub(offset) + 1).unwrap_or(READ_SIZE);
            let length = rest.min(READ_SIZE);
            let read = self
                .fs
                .read(file, offset, length, &mut bytes)
                .map_err(|fault| fault.at(operation, &resolved.requested_path))?;
            if bytes.len() as u64 > limit {
                return Err(self.too_large(resolved, operation, bytes.len() as u64));
            }
            if read == 0 || (bytes.len() as u64 == stat.size && read < length) {
                return Ok(bytes);
            }
        }
    }

    /// Returns the rules that apply at the top of a root: its own, and those of all directories that contain it, from
    /// the outermost root down. The same rules apply to a file through every root that contains it.
    pub fn agent_ignore_of(&self, root: usize, path: &str, operation: &str) -> Result<AgentIgnore> {
        let top = self.roots.get(root).ok_or_else(|| Fault::Gone.at(operation, path))?;
        if let Some(known) = top.agent_ignore.get() {
            return Ok(known.clone());
        }
        let to_error = |error: Error| Error { path: Some(path.to_owned()), ..error };
        let agent_ignore = match &top.within {
            None => {
                let mut agent_ignore = AgentIgnore::new(&top.label, top.access_rules.clone());
                agent_ignore.enter("", &top.dir, self.fs).map_err(to_error)?;
                agent_ignore
            }
            Some((outermost, below)) => {
                self.is_hidden_within(*outermost, below, top, path, operation).map_err(to_error)?
            }
        };
        Ok(top.agent_ignore.get_or_init(|| agent_ignore).clone())
    }

    fn is_hidden_within(
        &self,
        outermost: usize,
        below: &str,
        root: &Root,
        path: &str,
        operation: &str,
    ) -> Result<AgentIgnore> {
        let mut agent_ignore = self.agent_ignore_of(outermost, path, operation)?;
        let moved = || {
            let cause = "the root is no longer in its parent directory, whose rules apply to it";
            Error::at(Code::BackendGone, operation, path, cause)
                .hint("calls can no longer use it; the person who runs this has to open the workspace again")
        };
        let mut dir = self.roots.get(outermost).ok_or_else(moved)?.dir.clone();
        for name in below.split('/') {
            if let Some(denial) = agent_ignore.denial(name, Kind::Directory) {
                return Err(denial.at(operation, path));
            }
            dir = self.fs.open_dir(&dir, name).map_err(|_| moved())?;
            agent_ignore.enter(name, &dir, self.fs)?;
        }
        match self.fs.is_same_dir(&dir, &root.dir) {
            Ok(true) => Ok(agent_ignore.at_root(&root.label, root.access_rules.clone())),
            _ => Err(moved()),
        }
    }

    /// Returns the index of the outermost root that contains `resolved`, and the path below that root. The result is
    /// the same through every root that contains the path.
    pub fn from_outermost(&self, resolved: &ResolvedPath) -> (usize, String) {
        let below = resolved.below_root();
        match self.roots.get(resolved.root).and_then(|root| root.within.as_ref()) {
            None => (resolved.root, below),
            Some((outermost, above)) if below.is_empty() => (*outermost, above.clone()),
            Some((outermost, above)) => (*outermost, format!("{above}/{below}")),
        }
    }

    fn access_rules(&self, resolved: &ResolvedPath) -> Option<&AccessRules> {
        self.roots.get(resolved.root).and_then(|root| root.access_rules.as_deref())
    }

    /// Returns the error for a file that is larger than the policy's limit for whole files.
    pub fn too_large(&self, resolved: &ResolvedPath, operation: &str, size: u64) -> Error {
        self.larger_than(resolved, operation, size, self.policy.limits.max_file_bytes)
    }

    /// Returns the error for a file of more than `limit` bytes.
    pub fn larger_than(&self, resolved: &ResolvedPath, operation: &str, size: u64, limit: u64) -> Error {
        let cause = format!("it has {size} bytes, and files are handled whole up to {limit}");
        Error::at(Code::TooLarge, operation, &resolved.requested_path, cause)
            .hint(phrase![Term::PartTool, ", and ", Term::SearchTool, ", work on files of any size"])
            .or_hint(phrase![Term::PartTool, " works on files of any size"])
            .or_hint("the policy's `limits.max_file_bytes` allows no more")
    }
}

/// Sets `within` of each root to the outermost root that contains it.
fn with_outermost(mut roots: Vec<Root>) -> Vec<Root> {
    let hosts: Vec<_> = roots.iter().map(|root| root.host.clone()).collect();
    for root in &mut roots {
        let Some(own) = root.host.clone() else { continue };
        let holding = hosts.iter().enumerate().filter_map(|(index, host)| {
            let host = host.as_deref()?;
            let below = below(&own, host).filter(|below| !below.is_empty())?;
            Some((host.len(), index, below.to_owned()))
        });
        root.within = holding.min().map(|(_, index, below)| (index, below));
    }
    roots
}

/// Refuses a change if the caller's etag differs from the etag of the current content.
pub fn check_etag(
    if_match: Option<&str>,
    bytes: Option<&[u8]>,
    resolved: &ResolvedPath,
    operation: &str,
) -> Result<()> {
    let Some(expected) = if_match else { return Ok(()) };
    let current = bytes.map(etag);
    if current.as_deref().is_some_and(|current| is_etag(current, expected)) {
        return Ok(());
    }
    let cause = match &current {
        Some(current) => format!("its etag is `{current}`, not `{expected}`: it was changed since it was read"),
        None => "it does not exist any more".to_owned(),
    };
    Err(Error::at(Code::ChangedSinceRead, operation, &resolved.requested_path, cause)
        .hint("read it again, then repeat the change on the present content"))
}
