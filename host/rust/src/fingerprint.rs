//! Fingerprint of the state at a path, for a host that checks repeatedly whether it has changed.

use std::hash::{DefaultHasher, Hash, Hasher};

use wasmtime::Store;

use crate::call::Call;
use crate::guest::Guest;
use crate::options::{CallOptions, CancelToken};
use crate::store::State;
use crate::types::{Entry, EntryKind, ErrorCode, GlobArgs, ListArgs, ListSort, StatArgs, StatResult, ToolError};
use crate::workspace::Workspace;

/// Number of files of a directory whose sizes and times are compared, the newest ones; the totals cover all files.
const FILES: usize = 200;
/// Number of entries of a directory whose paths are compared, the first ones.
const PATHS: usize = 5_000;
/// Number of entries of one page of a listing.
const PAGE: u32 = 1_000;
/// Number of the newest files of a directory whose times are compared in more detail than a listing has.
const DETAILED_FILES: usize = 16;
/// Maximum number of entries on a chain of symbolic links, including the last one.
const LINKS: usize = 8;
/// Number of fingerprints after a change that read the file again: the file can change twice within the resolution of
/// its modification time.
const UNSETTLED_CHECKS: u8 = 2;
/// State at a path where a tool may show nothing. It is the same whether nothing exists there or the policy or
/// `.agentignore` hides it: otherwise, the fingerprint would reveal that a hidden file is created or deleted.
const NOTHING: &str = "nothing";

/// State at a path at one time, as [`Workspace::fingerprint`] returns it.
#[derive(Clone, Debug)]
pub struct Fingerprint {
    /// State without the content, or the reason why there is no state.
    metadata: String,
    /// Entity tag of a file that could be read whole.
    etag: Option<String>,
    /// Number of further fingerprints that read the file even if its metadata is the same.
    unsettled: u8,
    error: Option<ToolError>,
}

impl Fingerprint {
    /// Returns whether the state differs from another one. For files that could both be read, only their content
    /// counts.
    pub fn differs(&self, other: &Self) -> bool {
        match (&self.etag, &other.etag) {
            (Some(own), Some(others)) => own != others,
            _ => self.metadata != other.metadata,
        }
    }

    /// Returns the reason why there is no state: nothing exists at the path, or nothing that a tool may show. All
    /// such fingerprints are equal.
    pub fn error(&self) -> Option<&ToolError> {
        self.error.as_ref()
    }
}

impl Workspace {
    /// Determines the state at a path, as the tools see it: of a file, through symbolic links, or of everything in a
    /// directory that `list_dir` would show at any depth. This is cheap if nothing has changed since `before`: the
    /// content of a file is read only if its metadata differs, and shortly after a change; the content of files in a
    /// directory is never read.
    ///
    /// Listeners and the audit log get no record of it, because the caller learns only whether the state differs. The
    /// function blocks the thread, at most until `cancel` is cancelled. If nothing exists at the path,
    /// [`Fingerprint::error`] says so.
    ///
    /// # Errors
    ///
    /// `cancelled`, `limit-exceeded`, `backend-gone` and `io` if the state could not be determined, for example within the
    /// time limit.
    pub fn fingerprint(
        &self,
        path: &str,
        before: Option<&Fingerprint>,
        cancel: &CancelToken,
    ) -> Result<Fingerprint, ToolError> {
        let options = CallOptions { cancel: cancel.clone(), ..CallOptions::default() };
        let call = Call { options: Some(&options), ..Call::unwatched(false) };
        let fingerprint =
            self.guests().run(&call, async |guest, store| Inspector { guest, store, before }.at(path).await)?;
        fingerprint.or_else(|error| match error.code {
            ErrorCode::Cancelled | ErrorCode::LimitExceeded | ErrorCode::BackendGone | ErrorCode::Io => Err(error),
            _ => Ok(Fingerprint {
                metadata: NOTHING.to_owned(),
                etag: None,
                unsettled: UNSETTLED_CHECKS,
                error: Some(error),
            }),
        })
    }
}

/// Determination of a fingerprint by one guest.
struct Inspector<'l> {
    guest: &'l Guest,
    store: &'l mut Store<State>,
    before: Option<&'l Fingerprint>,
}

type Inspection<T> = wasmtime::Result<Result<T, ToolError>>;

impl Inspector<'_> {
    async fn at(mut self, path: &str) -> Inspection<Fingerprint> {
        let mut path = path.to_owned();
        let mut metadata = String::new();
        for _ in 0..LINKS {
            let stat = match self.stat(&path, true).await? {
                Ok(stat) => stat,
                // A dangling link is itself the entry.
                Err(_) if !metadata.is_empty() => break,
                Err(error) => return Ok(Err(error)),
            };
            metadata += &described(&stat);
            match (stat.kind, stat.link_target) {
                (EntryKind::File, _) => return self.file(&path, metadata).await,
                (EntryKind::Directory, _) => return self.directory(path, metadata).await,
                (EntryKind::Link, Some(target)) => path = link_target_path(&path, &target),
                _ => break,
            }
        }
        Ok(Ok(Fingerprint { metadata, etag: None, unsettled: 0, error: None }))
    }

    async fn file(&mut self, path: &str, metadata: String) -> Inspection<Fingerprint> {
        let same = self.before.filter(|before| before.metadata == metadata);
        let unsettled = same.map_or(UNSETTLED_CHECKS, |before| before.unsettled.saturating_sub(1));
        let etag = match same.filter(|before| before.unsettled == 0) {
            Some(before) => before.etag.clone(),
            None => match self.stat(path, false).await? {
                Ok(stat) => stat.etag,
                Err(error) => return Ok(Err(error)),
            },
        };
        Ok(Ok(Fingerprint { metadata, etag, unsettled, error: None }))
    }

    async fn directory(&mut self, path: String, mut metadata: String) -> Inspection<Fingerprint> {
        let files = match self.newest_files(&path, &mut metadata).await? {
            Ok(files) => files,
            Err(error) => return Ok(Err(error)),
        };
        for file in &files {
            metadata += &format!("{:?}", (&file.path, file.size, &file.modified));
        }
        for file in files.iter().take(DETAILED_FILES) {
            // The next fingerprint covers a file that was removed in the meantime.
            if let Ok(stat) = self.stat(&file.path, true).await? {
                metadata += &described(&stat);
            }
        }
        match self.paths(path).await? {
            Ok(paths) => metadata += &format!("{paths:x}"),
            Err(error) => return Ok(Err(error)),
        }
        Ok(Ok(Fingerprint { metadata, etag: None, unsettled: 0, error: None }))
    }

    /// Returns the newest files below a directory, and adds the totals to `metadata`. The times of directories are left
    /// out, and so is the place of directories among the newest entries: hidden entries change them.
    async fn newest_files(&mut self, path: &str, metadata: &mut String) -> Inspection<Vec<Entry>> {
        let mut all = ListArgs { depth: u32::MAX, sort: ListSort::Modified, limit: PAGE, ..ListArgs::new(path) };
        let mut files = Vec::new();
        loop {
            let listed = match self.guest.search(&mut *self.store)?.call_list(&mut *self.store, &all).await? {
                Ok(listed) => listed,
                Err(error) => return Ok(Err(error)),
            };
            if all.cursor.is_none() {
                *metadata += &format!("{:?}", (listed.total_files, listed.total_directories, listed.total_size));
            }
            files.extend(listed.entries.into_iter().filter(|entry| entry.kind == EntryKind::File));
            all.cursor = listed.next_cursor.filter(|_| files.len() < FILES);
            if all.cursor.is_none() {
                files.truncate(FILES);
                return Ok(Ok(files));
            }
        }
    }

    /// Returns a hash of the paths below a directory, with those of directories.
    async fn paths(&mut self, path: String) -> Inspection<u64> {
        let mut all = GlobArgs { path, directories: true, limit: PAGE, ..GlobArgs::new("*") };
        let (mut hasher, mut count) = (DefaultHasher::new(), 0);
        loop {
            let glob = match self.guest.search(&mut *self.store)?.call_glob(&mut *self.store, &all).await? {
                Ok(glob) => glob,
                Err(error) => return Ok(Err(error)),
            };
            let paths = glob.paths.get(..glob.paths.len().min(PATHS.saturating_sub(count))).unwrap_or_default();
            paths.iter().for_each(|path| path.hash(&mut hasher));
            count += paths.len();
            all.cursor = glob.next_cursor.filter(|_| count < PATHS);
            if all.cursor.is_none() {
                return Ok(Ok(hasher.finish()));
            }
        }
    }

    async fn stat(&mut self, path: &str, brief: bool) -> Inspection<StatResult> {
        let arguments = StatArgs { brief, ..StatArgs::new(path) };
        self.guest.files(&mut *self.store)?.call_stat(&mut *self.store, &arguments).await
    }
}

/// Returns the metadata that a fingerprint compares. The times of a directory are left out, because hidden entries change
/// them. The target of a link is left out, because its result depends on the existence of a target that the policy
/// blocks; a link with another target is a new entry with new times.
fn described(stat: &StatResult) -> String {
    match stat.kind {
        EntryKind::Directory => format!("{:?}", stat.kind),
        _ => format!("{:?}", (stat.kind, stat.size, &stat.modified, &stat.changed)),
    }
}

/// Returns the path that a link at `path` points to.
fn link_target_path(path: &str, target: &str) -> String {
    match path.rsplit_once('/') {
        Some((parent, _)) if !target.starts_with('/') => format!("{parent}/{target}"),
        _ => target.to_owned(),
    }
}
