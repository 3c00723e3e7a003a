//! What an overlay changed, as a whole: shown, taken over by its base, thrown away.

use std::path::Path;

use crate::bindings::exports::paddock::files::session;
use crate::operations::named;
use crate::overlay::OverlayDir;
use crate::types::{CommitResult, DiffResult, Difference, EntryKind, ErrorCode, ToolError};
use crate::watch::Call;
use crate::workspace::Workspace;

/// A workspace in an overlay ([`Builder::overlay`](crate::Builder::overlay)), as a transaction. Over any other, these calls
/// fail with `io`. `paths` are as results show them, each with all below it; none means everything.
impl Workspace {
    /// What differs from the base, with a patch that `git apply` takes if that is asked for.
    pub fn diff(&self, paths: &[String], patch: bool) -> Result<DiffResult, ToolError> {
        let found = self.diff_with(paths, false, Vec::new(), Vec::new())?;
        if !patch {
            return Ok(found);
        }
        let (before, after) = self.overlay_dir().map(|overlay| executable(overlay, &found)).unwrap_or_default();
        self.diff_with(paths, true, before, after)
    }

    fn diff_with(
        &self,
        paths: &[String],
        patch: bool,
        executable_before: Vec<String>,
        executable_after: Vec<String>,
    ) -> Result<DiffResult, ToolError> {
        let args = session::DiffArgs { paths: paths.to_vec(), patch, executable_before, executable_after };
        self.run(&Call::untold(false), async |guest, store| guest.session(&mut *store)?.call_diff(store, &args).await)?
    }

    /// Makes the base have what the overlay has, all of it or, where somebody changed any of it in the base meanwhile,
    /// nothing: then the result says what. With `merge`, texts that were changed in both at different places are merged.
    /// It is one change of the base, with a backup there, and survives a crash at any point.
    pub fn commit(&self, paths: &[String], merge: bool) -> Result<CommitResult, ToolError> {
        let Some(overlay) = self.overlay_dir() else { return Err(no_overlay()) };
        let args = session::CommitArgs { overlay: overlay.name(), paths: paths.to_vec(), merge };
        let done = self.watched(&named("commit", true), |watch| {
            let call = Call { watch, ..Call::untold(true) };
            self.run_over_base(overlay, &call, async |guest, store| {
                guest.session(&mut *store)?.call_commit(store, &args).await
            })?
        })?;
        if done.conflicts.is_empty() {
            let call = Call::untold(true);
            self.run(&call, async |guest, store| guest.session(&mut *store)?.call_settle(store, &done.merged).await)??;
        }
        Ok(done)
    }

    /// Throws away what was changed in the overlay; the paths that were.
    pub fn discard(&self, paths: &[String]) -> Result<Vec<String>, ToolError> {
        let call = Call::untold(true);
        self.run(&call, async |guest, store| guest.session(&mut *store)?.call_discard(store, paths).await)?
    }
}

fn no_overlay() -> ToolError {
    ToolError::new(ErrorCode::Io, "the workspace is in no overlay, so that there is nothing to take over")
        .hint("open it with an overlay's name")
}

/// The paths whose file is executable in the base, and those where it is in the overlay: a guest cannot see it.
fn executable(overlay: &OverlayDir, found: &DiffResult) -> (Vec<String>, Vec<String>) {
    let is_file = |kind: Option<EntryKind>| kind == Some(EntryKind::File);
    let before = |difference: &&Difference| {
        is_file(difference.was) && base_file(overlay, &difference.path).is_some_and(|file| is_executable(&file))
    };
    let after = |difference: &&Difference| {
        difference.content.as_ref().is_some_and(|content| is_executable(&overlay.file(content)))
    };
    let paths = |of: &dyn Fn(&&Difference) -> bool| {
        found.differences.iter().filter(of).map(|difference| difference.path.clone()).collect()
    };
    (paths(&before), paths(&after))
}

/// Where the base has a path: the first root has those without its name.
fn base_file(overlay: &OverlayDir, path: &str) -> Option<std::path::PathBuf> {
    let (root, rest) = match path.strip_prefix('/') {
        None => (overlay.base().first()?, path),
        Some(named) => {
            let (name, rest) = named.split_once('/')?;
            (overlay.base().iter().find(|mount| mount.guest.strip_prefix('/') == Some(name))?, rest)
        }
    };
    Some(root.host.join(rest))
}

#[cfg(unix)]
fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.symlink_metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o100 != 0)
}

#[cfg(not(unix))]
fn is_executable(_: &Path) -> bool {
    false
}
