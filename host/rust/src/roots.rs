//! The directories of a workspace: which of them a call gets, and which of them contains a path of a result.

#[cfg(all(target_os = "linux", feature = "commands"))]
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::sync::Arc;

use crate::budget::CallBudget;
#[cfg(target_os = "linux")]
use crate::container::Container;
use crate::directory::Directory;
use crate::guarded::Guarded;
use crate::mount::Mount;
use crate::overlay::OverlayDir;
use crate::policy::Access;
use crate::state::{self, StateDir};
use crate::tree_locks::TreeLocks;
use crate::types::{ErrorCode, ToolError};

/// Maximum number of times that a call completes what was cut off while it waited.
const RECOVERIES: usize = 4;

/// Roots that contain those of a workspace or are in them, and whose journals are in other state directories.
pub(crate) trait OtherRoots: Send + Sync {
    /// Returns whether a change of another root was cut off. The caller holds the locks of its own roots, so that no such
    /// change runs.
    fn are_cut_off(&self) -> Result<bool, ToolError>;

    /// Completes or undoes the changes that were cut off, and waits for running ones within the budget. The caller holds no
    /// locks.
    fn recover(&self, budget: &CallBudget) -> Result<(), ToolError>;
}

/// The directories of a workspace, which are opened with it and stay open.
#[derive(Default)]
pub(crate) struct Roots {
    pub(crate) mounts: Vec<Mount>,
    /// The container that the directories belong to, if any. It has to be running.
    #[cfg(target_os = "linux")]
    pub(crate) container: Option<Container>,
    pub(crate) state: Option<StateDir>,
    /// Locks of the mounts, which a change of the mounts holds in addition to that of the state directory.
    pub(crate) tree_locks: Option<TreeLocks>,
    pub(crate) others: Option<Arc<dyn OtherRoots>>,
    /// The overlay that receives changes instead of the mounts, and contains the state directory.
    pub(crate) overlay: Option<OverlayDir>,
    /// Files and directories that no guest may open or move.
    pub(crate) guarded: Arc<Guarded>,
}

/// The mounts of the guests that commit an overlay. No other call changes the overlay or the base while they exist.
pub(crate) struct CommitMounts {
    /// Of the guest that changes the base: the base, the overlay as read-only, and the state directory of the base.
    pub(crate) base: Vec<Mount>,
    /// Of guests that change the overlay.
    pub(crate) overlay: Vec<Mount>,
    _locks: Vec<File>,
}

impl Roots {
    /// Returns the state directory, if any. Creates it for a call that changes something.
    fn state(&self, changing: bool) -> Result<Option<Directory>, ToolError> {
        let Some(state) = &self.state else { return Ok(None) };
        let directory = if changing { state.create_if_allowed()? } else { state.get()? };
        directory.iter().for_each(|directory| self.guarded.close_created(directory));
        Ok(directory)
    }

    /// Returns the mounts of a guest, with the locks if the guest changes something or recovers from a crash.
    pub(crate) fn mounts(&self, changing: bool, budget: &CallBudget) -> Result<(Vec<Mount>, Vec<File>), ToolError> {
        // Without a state directory, the call may change nothing, and its guest says so.
        let others = self.others.as_ref().filter(|_| changing && self.state.is_some());
        let Some(others) = others else { return self.locked_mounts(changing, budget) };
        for _ in 0..RECOVERIES {
            let locked = self.locked_mounts(changing, budget)?;
            // A change of another root may have been cut off while this call waited for it.
            if !others.are_cut_off()? {
                return Ok(locked);
            }
            drop(locked);
            others.recover(budget)?;
        }
        Err(ToolError::new(ErrorCode::Io, "changes of the same files by other processes are cut off again and again")
            .hint("nothing was changed; the person who runs this has to find out what ends the processes"))
    }

    fn locked_mounts(&self, changing: bool, budget: &CallBudget) -> Result<(Vec<Mount>, Vec<File>), ToolError> {
        #[cfg(target_os = "linux")]
        self.container.as_ref().map_or(Ok(()), Container::check)?;
        let state = self.state(changing)?;
        let mut locks = Vec::new();
        if let Some(state) = &state
            && (changing || StateDir::has_journal(state)?)
        {
            locks.push(StateDir::lock(state, budget)?);
        }
        let is_locked = !locks.is_empty();
        let Some(overlay) = &self.overlay else {
            let mounts = self.mounts.iter().cloned().chain(state.map(StateDir::mount));
            // Another call can write a journal after this check. A call without the lock must not recover from that
            // journal.
            let may_recover = self.state.is_none()
                && self.mounts.first().is_some_and(|root| state::has_journal_inside(&root.directory));
            let only_reads = !changing && !is_locked && !may_recover;
            if is_locked {
                locks.extend(self.lock_trees(Access::ReadWrite, budget)?);
            }
            return Ok((mounts.map(|mount| if only_reads { mount.read_only() } else { mount }).collect(), locks));
        };
        // For a call that may change nothing, the guest itself reports the error.
        if changing && self.state.is_some() {
            let result = if state.is_some() { overlay.keep_roots() } else { Err(io::ErrorKind::NotADirectory.into()) };
            result.map_err(|cause| overlay.failed(&cause))?;
        }
        // A workspace that is read-only has no state directory, and shows the overlay all the same.
        let own = overlay.mount()?.into_iter().chain(state.map(StateDir::mount));
        if changing {
            // The base must not change between the time when the call reads it and the time when the overlay records what
            // it was.
            locks.extend(self.lock_trees(Access::ReadOnly, budget)?);
        }
        // A guest without the lock gets its directories read-only: otherwise it would recover from the journal of a
        // call that still runs.
        let own = own.map(|mount| if is_locked { mount } else { mount.read_only() });
        Ok((self.mounts.iter().cloned().chain(own).collect(), locks))
    }

    fn lock_trees(&self, access: Access, budget: &CallBudget) -> Result<Vec<File>, ToolError> {
        self.tree_locks.as_ref().map_or(Ok(Vec::new()), |trees| trees.lock(access, budget))
    }

    /// Returns the mounts of a guest that only reads.
    #[cfg(feature = "commands")]
    pub(crate) fn read_only(&self) -> Result<Vec<Mount>, ToolError> {
        let state = self.state(false)?.map(StateDir::mount);
        Ok(self.mounts.iter().cloned().chain(state).map(|mount| mount.read_only()).collect())
    }

    /// Returns the mounts for the commit of an overlay.
    pub(crate) fn for_commit(&self, overlay: &OverlayDir, budget: &CallBudget) -> Result<CommitMounts, ToolError> {
        let own = overlay.state();
        let lock = |state: &StateDir| {
            let state = state.create().map_err(|cause| overlay.failed(&cause))?;
            let lock = StateDir::lock(&state, budget)?;
            Ok::<_, ToolError>((state, lock))
        };
        let ((own_state, own_lock), (base_state, base_lock)) = (lock(&own)?, lock(overlay.base_state())?);
        let top = overlay.mount()?;
        let base = overlay.base().iter().cloned().chain(top.clone().map(|mount| mount.read_only()));
        let in_overlay = self.mounts.iter().cloned().chain(top);
        let locks = [own_lock, base_lock].into_iter().chain(self.lock_trees(Access::ReadWrite, budget)?);
        Ok(CommitMounts {
            base: base.chain([StateDir::mount(base_state)]).collect(),
            overlay: in_overlay.chain([StateDir::mount(own_state)]).collect(),
            _locks: locks.collect(),
        })
    }

    /// Opens the directory at `path`, in the form that results show.
    #[cfg(all(target_os = "linux", feature = "commands"))]
    pub(crate) fn directory(&self, path: &str) -> Result<Directory, ToolError> {
        let (root, below) = self.locate(path)?;
        let root = self.mounts.get(root).map(|mount| &mount.directory);
        let names = below.split('/').filter(|name| !name.is_empty()).map(OsStr::new);
        root.ok_or(io::ErrorKind::NotFound.into()).and_then(|root| root.descend(names)).map_err(|cause: io::Error| {
            ToolError::new(ErrorCode::NotFound, format!("cannot run in `{path}`: {cause}"))
                .hint("use an existing directory of the workspace, by its path without links")
        })
    }

    /// Returns the path, in the form that results show, of the path `below` in a root.
    #[cfg(feature = "commands")]
    pub(crate) fn rendered_path(&self, root: usize, below: &str) -> String {
        let guest = self.mounts.get(root).map_or("", |mount| mount.guest.trim_end_matches('/'));
        match (root, below) {
            (0, "") => ".".to_owned(),
            (0, below) => below.to_owned(),
            (_, "") => guest.to_owned(),
            (_, below) => format!("{guest}/{below}"),
        }
    }

    /// Returns the root of a directory whose `path` has the form that results show, and the path below that root,
    /// which is empty for the root itself.
    #[cfg(feature = "commands")]
    pub(crate) fn locate<'p>(&self, path: &'p str) -> Result<(usize, &'p str), ToolError> {
        let inside = |guest: &str| match path.strip_prefix(guest.trim_end_matches('/')) {
            Some("") => Some(""),
            Some(rest) => rest.strip_prefix('/'),
            None => None,
        };
        let location = match path.starts_with('/') {
            true => self.mounts.iter().enumerate().find_map(|(root, mount)| Some((root, inside(&mount.guest)?))),
            false => Some((0, if path == "." { "" } else { path })).filter(|_| !self.mounts.is_empty()),
        };
        // The component resolved the path, but a component under an attacker's control may return anything. A path
        // that starts with `/` would start at the top of the file system.
        let is_plain =
            |below: &str| !below.starts_with('/') && below.split('/').all(|name| name != ".." && !name.contains('\0'));
        location.filter(|(_, below)| is_plain(below)).ok_or_else(|| {
            ToolError::new(ErrorCode::OutsideWorkspace, format!("cannot run in `{path}`: it is in no root"))
                .hint("use a directory of the workspace")
        })
    }
}

#[cfg(test)]
#[cfg(feature = "commands")]
mod tests {
    use super::*;
    use crate::mount::{WORKSPACE, Wanted};
    use crate::policy::{Access, Policy};

    #[test]
    fn no_directory_that_the_component_names_is_outside() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join("a/b..")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc", home.path().join("link")).unwrap();
        let host = home.path().to_owned();
        let wanted = Wanted::at(host, Some(WORKSPACE.to_owned()), Access::ReadWrite);
        let mounts = crate::mount::all(&[wanted], &Policy::default()).unwrap();
        let roots = Roots { mounts, ..Roots::default() };
        assert_eq!(roots.locate(".").unwrap(), (0, ""));
        assert_eq!(roots.locate("a/b..").unwrap(), (0, "a/b.."));
        assert_eq!(roots.locate("/workspace/a").unwrap(), (0, "a"));
        assert_eq!((roots.rendered_path(0, ""), roots.rendered_path(0, "a/b")), (".".to_owned(), "a/b".to_owned()));
        for path in
            ["..", "a/../..", "/etc", "/workspace/../x", "../workspace", "a/\0", "/workspace//etc", "/workspace//"]
        {
            assert!(roots.locate(path).is_err(), "{path:?}: {:?}", roots.locate(path));
        }
        #[cfg(target_os = "linux")]
        {
            assert_eq!(roots.directory("a/b..").unwrap().path(), home.path().join("a/b..").canonicalize().unwrap());
            assert!(roots.directory("link").is_err() && roots.directory("link/ssl").is_err());
        }
    }
}
