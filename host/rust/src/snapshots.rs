//! Snapshots of workspaces in a store, by which a workspace moves to another machine.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::thread;

use cap_std::fs::Dir;
use paddock_snapshots as snapshots;
pub use paddock_snapshots::{Collected, Digest, Limits, Listed, Location, Report};

use crate::budget::CallBudget;
use crate::directory::{Directory, private_file};
use crate::error::{Error, Failure};
use crate::state::StateDir;
use crate::types::{ErrorCode, HistoryArgs, ToolError};
use crate::workspace::Workspace;

mod history;

/// Name of the tree with the files of the workspace.
const FILES: &str = "workspace";
/// Name of the tree with the backups, and of their directory in the state directory.
const HISTORY: &str = "history";
/// File of the state directory with the digests of the last snapshot's files.
const CACHE: &str = "snapshot-cache";
/// Maximum size of this file in bytes.
const MAX_CACHE: u64 = 512 << 20;

/// The reason why a snapshot was not taken or not restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The store, the files or the manifest.
    #[error(transparent)]
    Snapshot(#[from] snapshots::Error),
    /// The workspace cannot be opened.
    #[error(transparent)]
    Workspace(#[from] Error),
    /// The workspace cannot be locked, or a change that a crash interrupted cannot be completed.
    #[error("cannot take the snapshot")]
    Lock(#[source] Failure),
    /// The state directory cannot be read or written.
    #[error("cannot {operation} the state directory")]
    State {
        /// Verb of the operation.
        operation: &'static str,
        /// Error of the file system.
        #[source]
        cause: io::Error,
    },
    /// The files were restored, and the backups were not.
    #[error("restored the files to `{}`, but not their history; `--without-history` does not need it", path.display())]
    History {
        /// Directory with the restored files.
        path: PathBuf,
        /// Cause of the error.
        #[source]
        cause: Box<SnapshotError>,
    },
    /// The location names no snapshot.
    #[error("cannot find a snapshot in `{store}`: add its name, as in `{store}#NAME`")]
    NoName {
        /// Store that the caller gave.
        store: String,
    },
}

/// Settings of [`Workspace::store_snapshot`].
#[derive(Clone, Debug, Default)]
pub struct SnapshotOptions {
    /// Leaves out the backups of earlier changes.
    pub without_history: bool,
    /// Bounds of the workspace.
    pub limits: Limits,
}

/// A stored snapshot of a workspace.
#[derive(Debug)]
pub struct Stored {
    /// Store and name of the snapshot, from which it can be restored.
    pub location: Location,
    /// Digest and totals of the snapshot, and the cache for the next one.
    pub report: Report,
    /// Overlays of the workspace, which the snapshot lacks.
    pub overlays: Vec<String>,
}

/// Settings of [`restore_snapshot`].
#[derive(Clone, Debug, Default)]
pub struct RestoreOptions {
    /// Leaves out the backups of earlier changes.
    pub without_history: bool,
    /// State directory of the restored workspace, in place of one below the user's state directory.
    pub state_dir: Option<PathBuf>,
    /// SHA-256 of the manifest, as [`Report::digest`] has it: the store cannot replace the snapshot then.
    pub digest: Option<Digest>,
    /// Bounds of the snapshot.
    pub limits: Limits,
}

/// A restored workspace.
#[derive(Debug)]
pub struct Restored {
    /// Directory of the workspace.
    pub path: PathBuf,
    /// Number of files.
    pub files: u64,
    /// Sum of the sizes of all files in bytes.
    pub bytes: u64,
    /// Number of restored backups.
    pub backups: u64,
}

impl Workspace {
    /// Stores a snapshot of the first root, and of the backups of earlier changes. A change that a crash interrupted is
    /// completed or undone first, and no tool changes the root meanwhile. Without a name in `location`, the snapshot gets the
    /// time and a random number as its name. Files that the store has are not stored again, and files that are as in the
    /// last snapshot are not read.
    ///
    /// Must not be called in an asynchronous task.
    ///
    /// # Errors
    ///
    /// [`SnapshotError::Lock`] if the workspace is in a container, in memory or in an overlay, or another process changes it,
    /// and [`SnapshotError::Snapshot`].
    pub fn store_snapshot(&self, location: &Location, options: &SnapshotOptions) -> Result<Stored, SnapshotError> {
        let locked = self.lock_for_snapshot().map_err(|error| SnapshotError::Lock(Failure(error)))?;
        let state = |operation| move |cause| SnapshotError::State { operation, cause };
        let mut trees = vec![(FILES.to_owned(), locked.root.entries().try_clone().map_err(state("open"))?)];
        let history = locked.state.as_ref().filter(|_| !options.without_history);
        let history = history.map(|state| subdirectory(state, HISTORY)).transpose().map_err(state("open"))?.flatten();
        trees.extend(history.map(|dir| (HISTORY.to_owned(), dir)));
        let cache = locked.state.as_ref().and_then(read_cache).unwrap_or_default();
        let limits = options.limits;
        let (name, report) = run(async {
            let store = snapshots::Store::open(location, true)?;
            let options = snapshots::Options { cache, limits };
            snapshots::create(&store, location.name(), trees, options).await
        })?;
        if let Some(state_dir) = &locked.state {
            write_cache(state_dir, &report.cache).map_err(state("write to"))?;
        }
        let overlays = self.overlays().map_err(state("list"))?;
        Ok(Stored { location: location.with_name(&name)?, report, overlays })
    }

    /// Completes or undoes a change that a crash interrupted, and locks the workspace.
    fn lock_for_snapshot(&self) -> Result<Locked, ToolError> {
        let roots = &self.guests().roots;
        let unfit = |cause: &str| {
            let hint = "take a snapshot of a directory of this machine";
            ToolError::new(ErrorCode::InvalidArgument, format!("the workspace is {cause}")).hint(hint)
        };
        let Some(root) = roots.mounts.first() else { return Err(unfit("in memory")) };
        if root.is_contained {
            return Err(unfit("in a container"));
        }
        if roots.overlay.is_some() {
            return Err(unfit("in an overlay; commit it first, or leave out the overlay's name"));
        }
        // A call that finds a journal completes or undoes its change.
        self.history(&HistoryArgs { limit: 1 })?;
        let budget = CallBudget::within(std::time::Duration::from_millis(self.limits().max_time_ms));
        let (_, locks) = roots.mounts(true, &budget)?;
        let is_part_unfinished = roots.state.as_ref().map_or(Ok(false), StateDir::has_journal_of_part)?;
        let state = roots.state.as_ref().map(StateDir::get).transpose()?.flatten();
        if state.as_ref().map_or(Ok(false), StateDir::has_journal)? {
            let message = "the state directory has the journal of a change that cannot be completed or undone";
            return Err(ToolError::new(ErrorCode::Io, message)
                .hint("call a tool that changes something; its error names the cause"));
        }
        if is_part_unfinished {
            let message =
                "a change in a part of the workspace was cut off, which a server had made the root of a token";
            return Err(ToolError::new(ErrorCode::Io, message).hint(
                "start the server and call a tool in the workspace: the server then completes or undoes the change",
            ));
        }
        Ok(Locked { root: root.directory.clone(), state, _locks: locks })
    }
}

/// A workspace that no tool changes.
struct Locked {
    root: Directory,
    state: Option<Directory>,
    _locks: Vec<File>,
}

/// Restores a snapshot to a directory that does not exist or is empty, with the backups of earlier changes. After an
/// error other than [`SnapshotError::History`], the directory is absent or empty.
///
/// Must not be called in an asynchronous task.
///
/// # Errors
///
/// [`SnapshotError::NoName`], [`SnapshotError::Snapshot`], and [`SnapshotError::History`] if the files were restored and
/// the backups were not.
pub fn restore_snapshot(
    location: &Location,
    directory: &Path,
    options: &RestoreOptions,
) -> Result<Restored, SnapshotError> {
    let RestoreOptions { limits, digest, .. } = options;
    let name = name_in(location)?;
    let mut staged = run(async {
        let store = snapshots::Store::open(location, false)?;
        let destination = snapshots::Destination::open(directory)?;
        snapshots::stage(&store, name, destination, limits, *digest).await
    })?;
    let (path, _) = staged.commit(FILES)?;
    let mut restored = Restored { path, files: staged.files, bytes: staged.bytes, backups: 0 };
    if !options.without_history
        && let Some(history) = staged.tree(HISTORY)?
    {
        let added = add_history(&history, &restored.path, options);
        restored.backups =
            added.map_err(|cause| SnapshotError::History { path: restored.path.clone(), cause: Box::new(cause) })?;
    }
    Ok(restored)
}

/// Adds backups to the state directory of a restored workspace.
fn add_history(history: &Dir, path: &Path, options: &RestoreOptions) -> Result<u64, SnapshotError> {
    let mut builder = Workspace::builder().root(path);
    if let Some(directory) = &options.state_dir {
        builder = builder.state_dir(directory);
    }
    let workspace = builder.build()?;
    let locked = workspace.lock_for_snapshot().map_err(|error| SnapshotError::Lock(Failure(error)))?;
    let roots = &workspace.guests().roots;
    let id = roots.mounts.first().map(crate::policy::id).unwrap_or_default();
    let state = |cause| SnapshotError::State { operation: "write to", cause };
    let Some(directory) = locked.state else {
        return Err(state(io::Error::other("it cannot be created")));
    };
    let target = directory.create_subdirectory(HISTORY).map_err(state)?;
    history::add(history, &target, &id).map_err(state)
}

/// Lists the snapshots of a store.
///
/// # Errors
///
/// [`SnapshotError::Snapshot`] if the store cannot be read, or a manifest is damaged.
pub fn list_snapshots(location: &Location) -> Result<Vec<Listed>, SnapshotError> {
    run(async { snapshots::list(&snapshots::Store::open(location, false)?).await })
}

/// Removes a snapshot. The objects that no other snapshot needs remain until [`collect_objects`].
///
/// # Errors
///
/// [`SnapshotError::NoName`], and [`SnapshotError::Snapshot`] if there is no such snapshot.
pub fn remove_snapshot(location: &Location) -> Result<(), SnapshotError> {
    let name = name_in(location)?;
    run(async { snapshots::remove(&snapshots::Store::open(location, false)?, name).await })
}

/// Removes the objects of a store that no snapshot needs.
///
/// # Errors
///
/// [`SnapshotError::Snapshot`] while a snapshot is taken, or if a manifest is damaged: nothing is removed then.
pub fn collect_objects(location: &Location) -> Result<Collected, SnapshotError> {
    run(async { snapshots::collect(&snapshots::Store::open(location, false)?).await })
}

fn name_in(location: &Location) -> Result<&str, SnapshotError> {
    location.name().ok_or_else(|| SnapshotError::NoName { store: location.store().to_owned() })
}

/// Runs a future of the library, on a thread that no other runtime uses.
fn run<T: Send>(future: impl Future<Output = snapshots::Result<T>> + Send) -> Result<T, SnapshotError> {
    let task = |cause: String| SnapshotError::State { operation: "start a thread for", cause: io::Error::other(cause) };
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(|cause| task(cause.to_string()))?.block_on(future).map_err(SnapshotError::from)
    };
    thread::scope(|scope| scope.spawn(run).join()).unwrap_or_else(|_| Err(task("the thread ended early".to_owned())))
}

/// Opens a subdirectory; `None` if there is none.
fn subdirectory(directory: &Directory, name: &str) -> io::Result<Option<Dir>> {
    match directory.subdirectory(name) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => opened?.entries().try_clone().map(Some),
    }
}

/// Reads the cache of the last snapshot. Without it, all files are read.
fn read_cache(state: &Directory) -> Option<snapshots::StatCache> {
    let file = state.open_regular(CACHE.as_ref(), cap_std::fs::OpenOptions::new().read(true)).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_CACHE).read_to_end(&mut bytes).ok()?;
    Some(snapshots::StatCache::from_bytes(&bytes))
}

/// Writes the cache for the next snapshot. A cache that a crash left is whole or the one before.
fn write_cache(state: &Directory, cache: &snapshots::StatCache) -> io::Result<()> {
    let name = format!("{CACHE}.new");
    let mut file = state.open_file(&name, private_file().create(true).truncate(true))?;
    file.write_all(&cache.to_bytes())?;
    file.sync_all()?;
    state.entries().rename(&name, state.entries(), CACHE)
}
