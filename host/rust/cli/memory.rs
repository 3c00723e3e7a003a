//! The options of an in-memory workspace.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::Context;
use paddock::{Builder, HostMount, Workspace};

#[derive(Clone, clap::Args)]
pub(crate) struct Memory {
    /// Use a workspace in memory: only the options below read or write files on disk
    #[arg(long, conflicts_with_all = ["root", "overlay"])]
    memory: bool,

    /// Copy this directory into the workspace, to the top or to a path; can be repeated
    #[arg(long, value_name = "HOST_DIR[:PATH]", requires = "memory")]
    mount: Vec<Mount>,

    /// Copy only files that match this glob; can be repeated
    #[arg(long, value_name = "GLOB", requires = "mount")]
    mount_include: Vec<String>,

    /// Leave out paths that match this glob; can be repeated
    #[arg(long, value_name = "GLOB", requires = "mount")]
    mount_exclude: Vec<String>,

    /// Maximum size of one copy in bytes
    #[arg(long, value_name = "BYTES", requires = "mount")]
    mount_max_bytes: Option<u64>,

    /// Load this tar archive before any copy
    #[arg(long, value_name = "FILE", requires = "memory")]
    load: Option<PathBuf>,

    /// Save the workspace to this tar archive at the end
    #[arg(long, value_name = "FILE", requires = "memory")]
    save: Option<PathBuf>,
}

#[derive(Clone)]
struct Mount {
    host_path: PathBuf,
    mount_path: Option<String>,
}

impl FromStr for Mount {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // The name of an existing directory may contain `:`.
        Ok(match text.rsplit_once(':').filter(|_| !Path::new(text).exists()) {
            Some((host, path)) => Self { host_path: host.into(), mount_path: Some(path.to_owned()) },
            None => Self { host_path: text.into(), mount_path: None },
        })
    }
}

impl Memory {
    pub(crate) fn is_set(&self) -> bool {
        self.memory
    }

    /// Opens the workspace, and loads and copies its initial files.
    pub(crate) fn build(&self, builder: Builder) -> anyhow::Result<Workspace> {
        let workspace = builder.build_memory()?;
        if let Some(file) = &self.load {
            let named = || format!("cannot load `{}`", file.display());
            let archive = std::fs::read(file).with_context(named)?;
            workspace.load(&archive).map_err(|error| anyhow::anyhow!(error.message)).with_context(named)?;
        }
        for Mount { host_path, mount_path } in &self.mount {
            let mut mount = HostMount::new(host_path)
                .with_include_glob(self.mount_include.iter().cloned())
                .with_exclude_glob(self.mount_exclude.iter().cloned());
            mount.mount_path.clone_from(mount_path);
            mount.max_bytes = self.mount_max_bytes;
            let named = || format!("cannot mount `{}`", host_path.display());
            workspace.copy_in(&mount).map_err(|error| anyhow::anyhow!(error.message)).with_context(named)?;
        }
        Ok(workspace)
    }

    /// Writes the tree to the archive of `--save`, atomically.
    pub(crate) fn save(&self, workspace: &Workspace) -> anyhow::Result<()> {
        let Some(file) = &self.save else { return Ok(()) };
        let named = || format!("cannot save `{}`", file.display());
        let archive = workspace.snapshot().map_err(|error| anyhow::anyhow!(error.message)).with_context(named)?;
        let mut part = file.clone().into_os_string();
        part.push(".part");
        std::fs::write(&part, archive).and_then(|()| std::fs::rename(&part, file)).with_context(named)
    }
}
