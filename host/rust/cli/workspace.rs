//! The options that define the workspace.

use std::convert::Infallible;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;

#[cfg(target_os = "linux")]
use paddock::Container;
use paddock::{Access, Builder, Error, Layers, Workspace};

use super::approval_prompt;
use super::memory::Memory;

#[derive(Clone, clap::Args)]
pub(crate) struct Options {
    /// Directory that the tools may use; `DIR:ro` makes it read-only. The first is the workspace, a further one has
    /// the path `/` and its name
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: Vec<Root>,

    /// Running container in place of a directory: `podman:NAME`, `docker:NAME`, `runc:NAME`, or a name that only
    /// one of them knows
    #[cfg(target_os = "linux")]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["root", "memory"])]
    container: Option<String>,

    /// Absolute path of the directory in the container at which relative paths start [default: the container's own]
    #[cfg(target_os = "linux")]
    #[arg(long, value_name = "PATH", requires = "container")]
    workdir: Option<String>,

    #[command(flatten)]
    pub(crate) memory: Memory,

    /// Dialect, which defines the tools' names, arguments and results; a list such as
    /// `anthropic,paddock:grep,glob` combines dialects, or some of their tools
    #[arg(long, value_name = "LIST", default_value = "paddock")]
    pub(crate) dialect: String,

    /// YAML, TOML or JSON file with the policy for the tools; `paddock policy table` prints all settings
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,

    /// One setting of the policy, such as `limits.max_lines=500`; can be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,

    /// Forbid all changes
    #[arg(long)]
    read_only: bool,

    /// Number of threads that one search may use [default: the number of processors, at most 8]
    #[arg(long, value_name = "N", env = "PADDOCK_THREADS", hide_env = true)]
    threads: Option<NonZeroUsize>,

    /// Directory for journals, backups and the lock [default: below the user's state directory]
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,

    /// Work in the overlay of this name: changes are stored in the overlay, and the directories stay unchanged
    #[arg(long, value_name = "NAME")]
    overlay: Option<String>,

    /// Append events to this file, one JSON object per line: start and end of each call, each file written; `-` is
    /// standard error
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,

    /// Append a record of every call to this audit log, each chained to the previous one; `paddock audit` reads it
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
}

/// A directory of the workspace.
#[derive(Clone)]
pub(crate) struct Root {
    directory: PathBuf,
    access: Access,
}

impl FromStr for Root {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        // The name of an existing directory may end in `:ro`.
        Ok(match text.strip_suffix(":ro").filter(|_| !Path::new(text).exists()) {
            Some(directory) => Self { directory: directory.into(), access: Access::ReadOnly },
            None => Self { directory: text.into(), access: Access::ReadWrite },
        })
    }
}

impl Options {
    /// Returns the same options, in the overlay of that name.
    pub(crate) fn in_overlay(self, name: String) -> Self {
        Self { overlay: Some(name), ..self }
    }

    /// Returns the same options with `directories` as the roots, if there are any.
    pub(crate) fn with_directories(self, directories: Vec<Root>) -> Self {
        if directories.is_empty() { self } else { Self { root: directories, ..self } }
    }

    /// Returns the same options without the roots that cannot be opened, unless there is no other one. Standard error
    /// names each of them. Relative paths start in the first root, so that only a dialect without relative paths goes
    /// on without it.
    pub(crate) fn without_missing_roots(mut self) -> Self {
        let is_first_needed = !paddock_policy::includes(&self.dialect, "mcp-filesystem");
        let (mut opened, mut left_out) = (Vec::new(), Vec::new());
        for root in &self.root {
            match root.directory.read_dir() {
                Ok(_) => opened.push(root.clone()),
                Err(_) if is_first_needed && opened.is_empty() => return self,
                Err(cause) => left_out.push(format!("the root `{}` is left out: {cause}", root.directory.display())),
            }
        }
        if !opened.is_empty() {
            left_out.iter().for_each(|message| eprintln!("paddock: {message}"));
            self.root = opened;
        }
        self
    }

    /// Opens the workspace that the options describe. A call that needs approval prompts the person at the
    /// terminal.
    pub(crate) fn open(&self) -> anyhow::Result<Workspace> {
        self.build(approval_prompt::at_terminal(self.builder()?))
    }

    /// Opens the workspace that a builder from [`Self::builder`] describes.
    pub(crate) fn build(&self, builder: Builder) -> anyhow::Result<Workspace> {
        if self.memory.is_set() { self.memory.build(builder) } else { Ok(builder.build()?) }
    }

    /// Returns whether the workspace is in memory or in a container, rather than a directory of this machine.
    pub(crate) fn is_elsewhere(&self) -> bool {
        #[cfg(target_os = "linux")]
        if self.container.is_some() {
            return true;
        }
        self.memory.is_set()
    }

    /// Returns a builder for the workspace that the options describe.
    pub(crate) fn builder(&self) -> anyhow::Result<Builder> {
        let mut builder = self.base_builder()?;
        if let Some(threads) = self.threads {
            builder = builder.threads(threads.get());
        }
        if let Some(directory) = &self.state_dir {
            builder = builder.state_dir(directory);
        }
        if let Some(name) = &self.overlay {
            builder = builder.overlay(name);
        }
        if let Some(file) = &self.events {
            builder = builder.event_file(file);
        }
        if let Some(file) = &self.audit {
            builder = builder.audit(file);
        }
        Ok(builder.dialect(&self.dialect))
    }

    /// Returns the same options with these roots. A root inside a read-only root of the options stays read-only.
    pub(crate) fn with_roots(&self, roots: Vec<PathBuf>) -> Self {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let narrow: Vec<_> =
            self.root.iter().filter(|root| root.access == Access::ReadOnly).map(|root| real(&root.directory)).collect();
        let access = |path: &Path| match narrow.iter().any(|above| real(path).starts_with(above)) {
            true => Access::ReadOnly,
            false => Access::ReadWrite,
        };
        let root = roots.into_iter().map(|directory| Root { access: access(&directory), directory }).collect();
        Self { root, ..self.clone() }
    }

    /// Loads the layers of the policy. The options are the highest layer.
    pub(crate) fn layers(&self) -> Result<Layers, Error> {
        #[cfg(target_os = "linux")]
        if let Some(container) = self.container()? {
            return self.on(Layers::load_in(&container)?);
        }
        if self.memory.is_set() {
            return self.on(Layers::load_own()?);
        }
        let workspace = self.root.first().map_or(Path::new("."), |root| &root.directory);
        self.on(Layers::load(workspace)?)
    }

    fn on(&self, mut layers: Layers) -> Result<Layers, Error> {
        if let Some(file) = &self.policy {
            layers = layers.file(file)?;
        }
        layers = self.set.iter().try_fold(layers, |layers, assignment| layers.set(assignment))?;
        if self.read_only { layers.read_only() } else { Ok(layers) }
    }

    /// Returns a builder with the directories or the container, and their policy.
    fn base_builder(&self) -> Result<Builder, Error> {
        #[cfg(target_os = "linux")]
        if let Some(container) = self.container()? {
            return Workspace::builder().container(&container).policy_layers(&self.on(Layers::load_in(&container)?)?);
        }
        let mut builder = Workspace::builder();
        if self.memory.is_set() {
            return builder.policy_layers(&self.layers()?);
        }
        for (index, root) in self.root.iter().enumerate() {
            builder = match index {
                0 => builder.root_with(&root.directory, root.access),
                _ => builder.further_root(&root.directory, root.access),
            };
        }
        builder.policy_layers(&self.layers()?)
    }
    /// Opens the container, if one replaces the directories.
    #[cfg(target_os = "linux")]
    fn container(&self) -> Result<Option<Container>, Error> {
        let Some(name) = &self.container else { return Ok(None) };
        let container = Container::open(name)?;
        match &self.workdir {
            Some(path) => container.with_working_directory(path).map(Some),
            None => Ok(Some(container)),
        }
    }
}
