//! What is at a path, in short, for a host that looks again and again whether it changed.

use wasmtime::Store;

use crate::call::Call;
use crate::guest::Guest;
use crate::options::{CallOptions, CancelToken};
use crate::store::State;
use crate::types::{EntryKind, ErrorCode, ListArgs, ListSort, StatArgs, StatResult, ToolError};
use crate::workspace::Workspace;

/// Entries of a directory that are held against each other, the newest ones; the totals are of all.
const ENTRIES: u32 = 200;
/// The newest files of a directory, whose times are looked at more closely than a listing tells them.
const FILES: usize = 16;
/// Links that are followed from one to the next.
const LINKS: usize = 8;
/// Looks after a change that read the file again: it can change twice within what its time tells apart.
const UNSETTLED_LOOKS: u8 = 2;

/// What a look at a path saw; [`Workspace::fingerprint`] makes it.
#[derive(Clone, Debug)]
pub struct Fingerprint {
    /// What needs no look at the content, or why there is nothing to see.
    metadata: String,
    /// Of a file that could be read whole.
    etag: Option<String>,
    /// Looks still to come that read the file whatever the metadata says.
    unsettled: u8,
    error: Option<ToolError>,
}

impl Fingerprint {
    /// Whether there was something else than in another look: of files that could be read, whether their content differs.
    pub fn differs(&self, other: &Self) -> bool {
        match (&self.etag, &other.etag) {
            (Some(own), Some(others)) => own != others,
            _ => self.metadata != other.metadata,
        }
    }

    /// Why there was nothing to see: nothing was there, or nothing that a tool may show.
    pub fn error(&self) -> Option<&ToolError> {
        self.error.as_ref()
    }
}

impl Workspace {
    /// Looks at a path, as the tools see it: at a file and through links to it, or at everything in a directory that
    /// `list_dir` would show at any depth. It is cheap where nothing changed since the look `before`: a file's
    /// content is read where its metadata differ, and shortly after; a directory's is not.
    ///
    /// Nobody is told of it, neither listeners nor an audit, since the caller learns nothing of what is there but
    /// whether it differs. This blocks the thread, until `cancel` if need be. An error is that of a look that was
    /// not to be had, as of one that took too long; that nothing is there is seen by [`Fingerprint::error`].
    pub fn fingerprint(
        &self,
        path: &str,
        before: Option<&Fingerprint>,
        cancel: &CancelToken,
    ) -> Result<Fingerprint, ToolError> {
        let options = CallOptions { cancel: cancel.clone(), ..CallOptions::default() };
        let call = Call { options: Some(&options), ..Call::untold(false) };
        let seen = self.guests().run(&call, async |guest, store| Looking { guest, store, before }.at(path).await)?;
        seen.or_else(|error| match error.code {
            ErrorCode::Cancelled | ErrorCode::LimitExceeded | ErrorCode::BackendGone | ErrorCode::Io => Err(error),
            _ => Ok(Fingerprint {
                metadata: error.code.name().to_owned(),
                etag: None,
                unsettled: UNSETTLED_LOOKS,
                error: Some(error),
            }),
        })
    }
}

/// A look by one guest.
struct Looking<'l> {
    guest: &'l Guest,
    store: &'l mut Store<State>,
    before: Option<&'l Fingerprint>,
}

type Seen<T> = wasmtime::Result<Result<T, ToolError>>;

impl Looking<'_> {
    async fn at(mut self, path: &str) -> Seen<Fingerprint> {
        let mut path = path.to_owned();
        let mut metadata = String::new();
        for _ in 0..LINKS {
            let stat = match self.stat(&path, true).await? {
                Ok(stat) => stat,
                // A link that leads nowhere is there itself.
                Err(_) if !metadata.is_empty() => break,
                Err(error) => return Ok(Err(error)),
            };
            metadata += &described(&stat);
            match (stat.kind, stat.link_target) {
                (EntryKind::File, _) => return self.file(&path, metadata).await,
                (EntryKind::Directory, _) => return self.directory(path, metadata).await,
                (EntryKind::Link, Some(target)) => path = beside(&path, &target),
                _ => break,
            }
        }
        Ok(Ok(Fingerprint { metadata, etag: None, unsettled: 0, error: None }))
    }

    async fn file(&mut self, path: &str, metadata: String) -> Seen<Fingerprint> {
        let same = self.before.filter(|before| before.metadata == metadata);
        let unsettled = same.map_or(UNSETTLED_LOOKS, |before| before.unsettled.saturating_sub(1));
        let etag = match same.filter(|before| before.unsettled == 0) {
            Some(before) => before.etag.clone(),
            None => match self.stat(path, false).await? {
                Ok(stat) => stat.etag,
                Err(error) => return Ok(Err(error)),
            },
        };
        Ok(Ok(Fingerprint { metadata, etag, unsettled, error: None }))
    }

    async fn directory(&mut self, path: String, mut metadata: String) -> Seen<Fingerprint> {
        let all = ListArgs { depth: u32::MAX, sort: ListSort::Modified, limit: ENTRIES, ..ListArgs::new(path) };
        let listed = match self.guest.search(&mut *self.store)?.call_list(&mut *self.store, &all).await? {
            Ok(listed) => listed,
            Err(error) => return Ok(Err(error)),
        };
        metadata += &format!("{:?}", (listed.total_files, listed.total_directories, listed.total_size));
        for entry in &listed.entries {
            metadata += &format!("{:?}", (&entry.path, entry.kind, entry.size, &entry.modified));
        }
        let files = listed.entries.iter().filter(|entry| entry.kind == EntryKind::File);
        for file in files.take(FILES) {
            // One that went since is seen by the next look.
            if let Ok(stat) = self.stat(&file.path, true).await? {
                metadata += &described(&stat);
            }
        }
        Ok(Ok(Fingerprint { metadata, etag: None, unsettled: 0, error: None }))
    }

    async fn stat(&mut self, path: &str, brief: bool) -> Seen<StatResult> {
        let arguments = StatArgs { brief, ..StatArgs::new(path) };
        self.guest.files(&mut *self.store)?.call_stat(&mut *self.store, &arguments).await
    }
}

/// When its status changed is left out of a directory: a call of a tool can touch that, and change nothing in it.
fn described(stat: &StatResult) -> String {
    match stat.kind {
        EntryKind::Directory => format!("{:?}", stat.kind),
        _ => format!("{:?}", (stat.kind, stat.size, &stat.modified, &stat.changed, &stat.link_target)),
    }
}

/// What a link at `path` names.
fn beside(path: &str, target: &str) -> String {
    match path.rsplit_once('/') {
        Some((parent, _)) if !target.starts_with('/') => format!("{parent}/{target}"),
        _ => target.to_owned(),
    }
}
