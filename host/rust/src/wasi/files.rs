//! The part of a store's data that the functions of `wasi:filesystem` use.

use std::iter;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use wasmtime_wasi::WasiView;
use wasmtime_wasi::filesystem::Dir;

use super::access_control::AccessControl;
#[cfg(target_os = "linux")]
use super::own_links::OwnLinks;
#[cfg(target_os = "linux")]
use super::stamped_devices::StampedDevices;
use crate::guarded::Guarded;
use crate::mount::{Mount, OVERLAY, STATE};
use crate::options::Progress;

/// The directories of one guest, and its access rights in them.
pub(crate) struct Files {
    /// The preopened directories, each with its guest path.
    pub(super) preopens: Vec<(Dir, String)>,
    /// Absolute targets of symbolic links that the guest may read and write.
    pub(super) link_targets: LinkTargets,
    pub(super) access_control: AccessControl,
    /// Hard links that the guest created.
    #[cfg(target_os = "linux")]
    pub(super) own_links: OwnLinks,
    /// Number of open directory listings.
    #[cfg(target_os = "linux")]
    pub(super) listings: usize,
    #[cfg(target_os = "linux")]
    pub(super) stamped_devices: StampedDevices,
}

impl Files {
    pub(crate) fn new(preopens: Vec<(Dir, String)>, link_targets: LinkTargets, guarded: &Arc<Guarded>) -> Self {
        Self {
            preopens,
            link_targets,
            access_control: AccessControl::new(guarded),
            #[cfg(target_os = "linux")]
            own_links: OwnLinks::default(),
            #[cfg(target_os = "linux")]
            listings: 0,
            #[cfg(target_os = "linux")]
            stamped_devices: StampedDevices::default(),
        }
    }
}

/// Absolute targets of symbolic links that a guest may know. Others would reveal paths of the machine.
pub(crate) enum LinkTargets {
    /// All: the directories belong to a container, and the targets to its own tree.
    All,
    /// Targets below these absolute paths of the roots.
    Below(Vec<PathBuf>),
}

impl LinkTargets {
    /// Returns the targets that a guest with these mounts may know.
    pub(crate) fn of(mounts: &[Mount]) -> Self {
        if mounts.iter().any(|mount| mount.is_contained) {
            return Self::All;
        }
        // Paddock's own directories are no targets.
        let roots = mounts.iter().filter(|mount| mount.guest != STATE && mount.guest != OVERLAY);
        let names = |mount: &Mount| iter::once(mount.host().to_owned()).chain(mount.alias.as_ref().map(PathBuf::from));
        Self::Below(roots.flat_map(names).collect())
    }

    /// Returns whether the guest may know a link with this target. Only the guest follows the link, name by name from
    /// the root, so `..` in the target leads no further than in a relative one.
    pub(super) fn allow(&self, target: &Path) -> bool {
        let is_relative = !matches!(target.components().next(), Some(Component::Prefix(_) | Component::RootDir));
        match self {
            Self::All => true,
            Self::Below(names) => is_relative || names.iter().any(|name| target.starts_with(name)),
        }
    }
}

/// Store data that includes [`Files`].
pub(crate) trait FilesView: WasiView + 'static {
    fn files(&mut self) -> &mut Files;

    /// Returns the counter of the files and directories that the call opened.
    fn progress(&self) -> &Progress;
}
