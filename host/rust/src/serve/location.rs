//! Where the files of a workspace of the configuration are.

use std::path::Path;
use std::sync::Arc;

use super::config::WorkspaceSettings;
use super::served::Served;
use crate::Workspace;
use crate::directory::{Directory, Walk};
use crate::error::Error;
use crate::mcp;
use crate::overlay::check_name;
use crate::policy::{Configuration, Layers, PolicyLayer};

/// The files of a workspace.
pub(super) enum Location {
    Directory(Directory),
    Overlay(Directory, String),
    Container(String),
    Memory(Arc<Served>),
}

impl Location {
    /// Returns the directory, if it is one of this machine.
    pub(super) fn directory(&self) -> Option<&Directory> {
        match self {
            Self::Directory(directory) | Self::Overlay(directory, _) => Some(directory),
            Self::Container(_) | Self::Memory(_) => None,
        }
    }

    /// Opens the directory of a workspace of the configuration, or creates its tree in memory.
    pub(super) fn new(
        file: &Configuration,
        at: &str,
        settings: &WorkspaceSettings,
        policy: &PolicyLayer,
    ) -> Result<Self, Error> {
        let WorkspaceSettings { root, overlay, container, memory, .. } = settings;
        match (root, overlay, container, memory) {
            (Some(root), None, None, false) => directory(file, &format!("{at}.root"), root).map(Self::Directory),
            (Some(root), Some(overlay), None, false) => {
                check_name(overlay).map_err(|cause| file.wrong(&format!("{at}.overlay"), cause))?;
                let directory = directory(file, &format!("{at}.root"), root)?;
                Ok(Self::Overlay(directory, overlay.clone()))
            }
            (None, None, Some(container), false) => Ok(Self::Container(container.clone())),
            (None, None, None, true) => {
                let layers = Layers::load_own()?.with(policy)?;
                let log = mcp::Log::default();
                let builder = Workspace::builder().dialect(&settings.dialect).on_event(log.listener());
                let workspace = builder.policy_layers(&layers)?.build_memory()?;
                Ok(Self::Memory(Arc::new(Served::new(workspace, log, mcp::Polls::default()))))
            }
            _ => Err(file.wrong(at, "set one of `root`, `container` and `memory`; only `root` can have an `overlay`")),
        }
    }
}

/// Opens a directory of the configuration. Links in its path are followed, because the path is the operator's own.
pub(super) fn directory(file: &Configuration, at: &str, path: &Path) -> Result<Directory, Error> {
    let path = file.directory().join(path);
    Walk::new(&path).and_then(Walk::end).map_err(|cause| file.wrong(at, format!("`{}`: {cause}", path.display())))
}
