//! The part of a store's data that the functions of `wasi:filesystem` use.

use std::sync::Arc;

use wasmtime_wasi::WasiView;
use wasmtime_wasi::filesystem::Dir;

use super::access_control::AccessControl;
#[cfg(target_os = "linux")]
use super::own_links::OwnLinks;
use crate::guarded::Guarded;
use crate::options::Progress;

/// The directories of one guest, and its access rights in them.
pub(crate) struct Files {
    /// The preopened directories, each with its guest path.
    pub(super) preopens: Vec<(Dir, String)>,
    /// Whether the directories belong to a container, whose symbolic links may be absolute.
    #[cfg(target_os = "linux")]
    pub(super) is_contained: bool,
    pub(super) access_control: AccessControl,
    /// Hard links that the guest created.
    #[cfg(target_os = "linux")]
    pub(super) own_links: OwnLinks,
    /// Number of open directory listings.
    #[cfg(target_os = "linux")]
    pub(super) listings: usize,
}

impl Files {
    pub(crate) fn new(preopens: Vec<(Dir, String)>, is_contained: bool, guarded: &Arc<Guarded>) -> Self {
        #[cfg(not(target_os = "linux"))]
        let _ = is_contained;
        Self {
            preopens,
            #[cfg(target_os = "linux")]
            is_contained,
            access_control: AccessControl::new(guarded),
            #[cfg(target_os = "linux")]
            own_links: OwnLinks::default(),
            #[cfg(target_os = "linux")]
            listings: 0,
        }
    }
}

/// Store data that includes [`Files`].
pub(crate) trait FilesView: WasiView + 'static {
    fn files(&mut self) -> &mut Files;

    /// Returns the counter of the files and directories that the call opened.
    fn progress(&self) -> &Progress;
}
