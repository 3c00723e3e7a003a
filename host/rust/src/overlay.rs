//! The directory of an overlay, which holds the overlay's changes.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use paddock_policy::name::is_plain;

use crate::directory::{Deferred, Directory, private_file};
use crate::error::Error;
use crate::mount::{Mount, OVERLAY};
use crate::policy::Access;
use crate::state::StateDir;
use crate::types::{ErrorCode, ToolError};

/// Directory of all overlays of a workspace, in the state directory.
const OVERLAYS: &str = "overlays";
/// State directory of the overlay itself: its journal, its backups and the lock of its calls.
const STATE: &str = "state";
/// File with the host path of each root, to detect that an overlay is opened over other directories.
const ROOTS: &str = "roots.json";

/// Names of the checkpoints directory and of the file with the number of the current layers, and prefix of the layers'
/// names.
const CHECKPOINTS: &str = "checkpoints";
const CURRENT: &str = "current";
const LAYERS: &str = "layers-";
/// Digits of the largest number.
const MAX_DIGITS: u64 = 20;
/// Maximum number of attempts to find the layers while calls replace them.
const ATTEMPTS: usize = 3;

/// The directory of one overlay. The first change creates it.
#[derive(Clone, Debug)]
pub(crate) struct OverlayDir {
    name: String,
    directory: Deferred,
    /// Mounts of the base, with their rights.
    base: Vec<Mount>,
    base_state: StateDir,
}

/// Returns the path of the state directory for calls in an overlay, below the state directory of the base.
#[cfg(all(target_os = "linux", feature = "serve"))]
pub(crate) fn state_path(name: &str) -> PathBuf {
    [OVERLAYS, name, STATE].iter().collect()
}

impl OverlayDir {
    /// Opens the overlay of that name over `mounts`. Fails if the name is invalid, or if the overlay belongs to
    /// other directories.
    pub(crate) fn new(state: Option<&StateDir>, name: &str, mounts: &[Mount]) -> Result<Self, Error> {
        let fail = |cause: String| Error::Overlay { name: name.to_owned(), cause };
        check_name(name).map_err(|cause| fail(cause.to_owned()))?;
        let state = state.ok_or_else(|| fail("the workspace has no state directory to store it in".to_owned()))?;
        let (name, directory) = (name.to_owned(), state.below(&[OVERLAYS, name]));
        let overlay = Self { name, directory, base: mounts.to_vec(), base_state: state.clone() };
        overlay.check_roots().map_err(|cause| fail(cause.to_string()))?;
        Ok(overlay)
    }

    /// Returns the state directory for calls in the overlay.
    pub(crate) fn state(&self) -> StateDir {
        StateDir::new(self.directory.below(&[STATE]))
    }

    /// Returns the name of the overlay.
    pub(crate) fn name(&self) -> String {
        self.name.clone()
    }

    /// Returns the directory, or `None` if it does not exist. Fails if it cannot be opened.
    pub(crate) fn get(&self) -> io::Result<Option<Directory>> {
        self.directory.get()
    }

    /// Returns whether the overlay has changes or checkpoints. An overlay that cannot be examined counts as one that has.
    pub(crate) fn has_content(&self) -> bool {
        self.get().map_or(true, |directory| directory.is_some_and(|directory| is_in_use(&directory)))
    }

    /// Returns the mounts of the base, with their rights.
    pub(crate) fn base(&self) -> &[Mount] {
        &self.base
    }

    /// Returns the state directory of the base.
    pub(crate) fn base_state(&self) -> &StateDir {
        &self.base_state
    }

    /// Returns the sorted names of the overlays in a state directory that have changes or checkpoints. The directory of
    /// a discarded overlay stays, because a process may have it open.
    pub(crate) fn all(state: &StateDir) -> io::Result<Vec<String>> {
        let state = state.get().map_err(|cause| io::Error::other(cause.message))?;
        let overlays = match state.map(|state| state.subdirectory(OVERLAYS)) {
            None => return Ok(Vec::new()),
            Some(Err(cause)) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Some(overlays) => overlays?,
        };
        let entries = overlays.entries().entries()?;
        let names = entries.map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()));
        let mut names = names.collect::<io::Result<Vec<_>>>()?;
        names.retain(|name| check_name(name).is_ok());
        names.retain(|name| overlays.subdirectory(name).is_ok_and(|overlay| is_in_use(&overlay)));
        names.sort_unstable();
        Ok(names)
    }

    /// Creates the overlay's directory and records the paths of the roots that it can change there.
    pub(crate) fn keep_roots(&self) -> io::Result<()> {
        let directory = self.directory.create()?;
        let mut known = self.known_roots()?;
        let changeable = self.base.iter().filter(|mount| mount.access == Access::ReadWrite);
        if changeable.clone().all(|mount| known.get(&mount.guest).is_some_and(|host| host == mount.host())) {
            return Ok(());
        }
        known.extend(changeable.map(|mount| (mount.guest.clone(), mount.host().to_owned())));
        let new = format!("{ROOTS}.new");
        let mut file = directory.open_file(&new, private_file().create(true).truncate(true))?;
        serde_json::to_writer(&mut file, &known)?;
        file.flush()?;
        file.sync_all()?;
        directory.entries().rename(&new, directory.entries(), ROOTS)
    }

    fn check_roots(&self) -> io::Result<()> {
        let known = self.known_roots()?;
        for mount in &self.base {
            if let Some(was) = known.get(&mount.guest).filter(|was| *was != mount.host()) {
                let (guest, was, host) = (&mount.guest, was.display(), mount.host().display());
                let cause = format!("its root `{guest}` is `{was}`, not `{host}`: give the same roots again");
                return Err(io::Error::other(cause));
            }
        }
        Ok(())
    }

    fn known_roots(&self) -> io::Result<BTreeMap<String, PathBuf>> {
        let Some(directory) = self.get()? else { return Ok(BTreeMap::new()) };
        match directory.open_file(ROOTS, private_file().write(false).read(true)) {
            Ok(file) => Ok(serde_json::from_reader(io::BufReader::new(file))?),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(BTreeMap::new()),
            Err(cause) => Err(cause),
        }
    }

    /// Returns the mount of the directory for a guest, if the directory exists.
    pub(crate) fn mount(&self) -> Result<Option<Mount>, ToolError> {
        let directory = self.get().map_err(|cause| self.unreadable(&cause))?;
        Ok(directory.map(|directory| Mount::own(directory, OVERLAY)))
    }

    /// Returns the error of a call that cannot open the overlay.
    pub(crate) fn unreadable(&self, cause: &dyn Display) -> ToolError {
        ToolError::new(ErrorCode::Io, format!("cannot open the overlay `{}`: {cause}", self.name))
            .hint("the person who runs this has to check the state directory; nothing was changed")
    }

    /// Returns the error of a call that cannot store its changes in the overlay.
    pub(crate) fn failed(&self, cause: &dyn Display) -> ToolError {
        ToolError::new(ErrorCode::Io, format!("cannot store changes in the overlay: {cause}"))
            .hint("the person who runs this has to check the state directory; nothing was changed")
    }
}

/// Returns whether an overlay has changes or checkpoints. `guest/vfs/src/overlay/generation.rs` describes the directory.
/// An overlay that cannot be examined counts as one in use.
fn is_in_use(overlay: &Directory) -> bool {
    let is_filled =
        |directory: &Directory| directory.entries().entries().map_or(true, |mut entries| entries.next().is_some());
    if overlay.subdirectory(CHECKPOINTS).is_ok_and(|checkpoints| is_filled(&checkpoints)) {
        return true;
    }
    // A call can replace the layers between the two steps.
    for _ in 0..ATTEMPTS {
        let Ok(generation) = current(overlay) else { return true };
        match overlay.subdirectory(format!("{LAYERS}{generation}")) {
            Ok(layers) => return is_filled(&layers),
            Err(_) if current(overlay).ok() == Some(generation) => return false,
            Err(_) => {}
        }
    }
    true
}

/// Returns the number of the current layers.
fn current(overlay: &Directory) -> io::Result<u64> {
    let mut digits = String::new();
    match overlay.open_file(CURRENT, private_file().write(false).read(true)) {
        Ok(file) => file.take(MAX_DIGITS).read_to_string(&mut digits)?,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(cause) => return Err(cause),
    };
    digits.parse().map_err(io::Error::other)
}

/// Fails if a text is no name of an overlay.
pub(crate) fn check_name(name: &str) -> Result<(), &'static str> {
    if is_plain(name) {
        return Ok(());
    }
    Err("a name is 1 to 64 letters, digits, `-`, `_` and `.`, and does not start with `.`")
}
