//! The changes of an overlay as a transaction: listed, committed to the base, or discarded.

use crate::bindings::exports::paddock::files::session;
use crate::call::Call;
use crate::directory::Directory;
use crate::mount::Mount;
use crate::operations::named;
use crate::overlay::OverlayDir;
use crate::state::StateDir;
use crate::types::{CommitResult, DiffResult, Difference, EntryKind, ErrorCode, ToolError};
#[cfg(unix)]
use crate::wasi::is_name;
use crate::workspace::Workspace;

/// Transactions of a workspace in an overlay ([`Builder::overlay`](crate::Builder::overlay)). In other workspaces
/// these calls fail with `io`. `paths` have the form that results show, and each includes all paths below it; no
/// paths mean the whole workspace.
impl Workspace {
    /// Returns the differences from the base, and on request a patch that `git apply` accepts.
    ///
    /// # Errors
    ///
    /// `not-found` if nothing differs at one of the paths, `too-large` if the patch would be too large.
    pub fn diff(&self, paths: &[String], patch: bool) -> Result<DiffResult, ToolError> {
        let diff = self.diff_with(paths, false, Vec::new(), Vec::new())?;
        if !patch {
            return Ok(diff);
        }
        let executable = self.overlay_dir().map(|overlay| executable(overlay, &diff)).transpose()?;
        let (before, after) = executable.unwrap_or_default();
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
        self.guests().run(&Call::unwatched(false), async |guest, store| {
            guest.session(&mut *store)?.call_diff(store, &args).await
        })?
    }

    /// Applies the changes of the overlay to the base: all of them, or none if another program changed one of the
    /// paths in the base meanwhile. The result then lists the conflicts. With `merge`, texts that both sides
    /// changed at different places are merged. The commit is one change of the base, with a backup there, and
    /// survives a crash at any point.
    ///
    /// # Errors
    ///
    /// `not-found` if nothing differs at one of the paths, `changed-since-read` if the base changes during the
    /// commit.
    pub fn commit(&self, paths: &[String], merge: bool) -> Result<CommitResult, ToolError> {
        let Some(overlay) = self.overlay_dir() else { return Err(no_overlay()) };
        let args = session::CommitArgs { overlay: overlay.name(), paths: paths.to_vec(), merge };
        let (guests, own) = (self.guests(), Call::unwatched(true));
        let mounts = guests.roots.for_commit(overlay, &guests.budget(None))?;
        // Each operation of a session first completes or undoes a call in the overlay that was cut off, but for the commit,
        // whose guest has the state directory of the base.
        guests.run_with(&mounts.overlay, guests.budget(None), &own, async |guest, store| {
            guest.session(&mut *store)?.call_checkpoints(store).await
        })??;
        let result = self.watched(&named("commit", true), |watch| {
            let call = Call { watch, ..Call::unwatched(true) };
            guests.run_with(&mounts.base, guests.budget(None), &call, async |guest, store| {
                guest.session(&mut *store)?.call_commit(store, &args).await
            })?
        })?;
        if result.conflicts.is_empty() {
            guests.run_with(&mounts.overlay, guests.budget(None), &own, async |guest, store| {
                guest.session(&mut *store)?.call_settle(store, &result.merged).await
            })??;
        }
        Ok(result)
    }

    /// Discards the changes in the overlay, and returns their paths.
    ///
    /// # Errors
    ///
    /// `not-found` if nothing differs at one of the paths.
    pub fn discard(&self, paths: &[String]) -> Result<Vec<String>, ToolError> {
        self.complete_commit()?;
        let call = Call::unwatched(true);
        self.guests().run(&call, async |guest, store| guest.session(&mut *store)?.call_discard(store, paths).await)?
    }

    /// Completes a commit of an overlay that was cut off, before an operation that takes changes from the overlay: half of the
    /// commit would remain.
    pub(crate) fn complete_commit(&self) -> Result<(), ToolError> {
        let Some(overlay) = self.overlay_dir() else { return Ok(()) };
        let state = overlay.base_state().get()?;
        if !state.map_or(Ok(false), |state| StateDir::has_journal(&state))? {
            return Ok(());
        }
        let guests = self.guests();
        let mounts = guests.roots.for_commit(overlay, &guests.budget(None))?;
        guests.run_with(&mounts.base, guests.budget(None), &Call::unwatched(true), async |guest, store| {
            guest.session(&mut *store)?.call_recover(store).await
        })?
    }
}

fn no_overlay() -> ToolError {
    ToolError::new(ErrorCode::Io, "the workspace is in no overlay, so there is nothing to commit")
        .hint("open it with an overlay's name")
}

/// Returns the paths whose file is executable in the base, and the paths whose file is executable in the overlay. A
/// guest cannot see the mode.
fn executable(overlay: &OverlayDir, diff: &DiffResult) -> Result<(Vec<String>, Vec<String>), ToolError> {
    let is_file = |kind: Option<EntryKind>| kind == Some(EntryKind::File);
    let own = overlay.get().map_err(|cause| overlay.unreadable(&cause))?;
    let before = |difference: &&Difference| {
        is_file(difference.was)
            && base_file(overlay, &difference.path).is_some_and(|(root, path)| is_executable(&root.directory, path))
    };
    let after = |difference: &&Difference| {
        own.as_ref().zip(difference.content.as_ref()).is_some_and(|(own, content)| is_executable(own, content))
    };
    let paths = |of: &dyn Fn(&&Difference) -> bool| {
        diff.differences.iter().filter(of).map(|difference| difference.path.clone()).collect()
    };
    Ok((paths(&before), paths(&after)))
}

/// Splits a path into its root in the base and the path below that root. A relative path is in the first root.
fn base_file<'o, 'p>(overlay: &'o OverlayDir, path: &'p str) -> Option<(&'o Mount, &'p str)> {
    let Some(named) = path.strip_prefix('/') else { return Some((overlay.base().first()?, path)) };
    let (name, rest) = named.split_once('/')?;
    let root = overlay.base().iter().find(|mount| mount.guest.strip_prefix('/') == Some(name))?;
    Some((root, rest))
}

/// Returns whether the path is an executable file below a directory. The component chose the path, so links and
/// `..` are refused.
#[cfg(unix)]
fn is_executable(top: &Directory, path: &str) -> bool {
    use cap_std::fs::PermissionsExt;

    let (parents, name) = path.rsplit_once('/').map_or((None, path), |(parents, name)| (Some(parents), name));
    let mut parents = parents.into_iter().flat_map(|parents| parents.split('/'));
    let metadata = parents
        .try_fold(top.clone(), |dir, parent| dir.subdirectory(is_name(parent).then_some(parent)?).ok())
        .and_then(|dir| dir.entries().symlink_metadata(is_name(name).then_some(name)?).ok());
    metadata.is_some_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o100 != 0)
}

#[cfg(not(unix))]
fn is_executable(_: &Directory, _: &str) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn no_file_that_the_component_names_is_outside() {
        let home = tempfile::tempdir().unwrap();
        let (top, outside) = (home.path().join("ws"), home.path().join("outside"));
        for directory in [&top.join("d"), &outside] {
            fs::create_dir_all(directory).unwrap();
        }
        for file in [top.join("f"), top.join("d/f"), outside.join("f")] {
            fs::write(&file, "").unwrap();
            fs::set_permissions(file, Permissions::from_mode(0o755)).unwrap();
        }
        fs::write(top.join("plain"), "").unwrap();
        symlink("../outside", top.join("out")).unwrap();
        symlink("f", top.join("link")).unwrap();
        let absolute = outside.join("f");
        let top = Directory::open(&top).unwrap();
        assert!(is_executable(&top, "f") && is_executable(&top, "d/f"));
        for path in [
            "plain",
            "out/f",
            "../outside/f",
            "d/../../outside/f",
            "link",
            "d",
            "",
            ".",
            "f\0",
            "d//f",
            absolute.to_str().unwrap(),
        ] {
            assert!(!is_executable(&top, path), "{path:?}");
        }
    }
}
