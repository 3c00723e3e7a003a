//! The options that say what the workspace is.

use std::convert::Infallible;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;

#[cfg(target_os = "linux")]
use paddock::Container;
use paddock::{Access, Builder, Error, Layers, Workspace};

use super::ask;
use super::memory::Memory;

#[derive(Clone, clap::Args)]
pub(crate) struct Options {
    /// A directory that the tools may use; `DIR:ro` only to look at. The first is the workspace, a further one is seen as `/` and its name
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: Vec<Root>,

    /// A running container in place of a directory: `podman:NAME`, `docker:NAME`, `runc:NAME`, or the name alone, which one of them has to know
    #[cfg(target_os = "linux")]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["root", "memory"])]
    container: Option<String>,

    /// The directory in the container at which relative paths start, by its absolute path there [default: the container's own]
    #[cfg(target_os = "linux")]
    #[arg(long, value_name = "PATH", requires = "container")]
    workdir: Option<String>,

    #[command(flatten)]
    pub(crate) memory: Memory,

    /// Whose tool names, arguments and results to have
    #[arg(long, value_name = "NAME", default_value = "paddock")]
    pub(crate) dialect: String,

    /// A YAML, TOML or JSON file that says what tools may do; `paddock policy table` prints all settings
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,

    /// One setting of the policy, such as `limits.max_lines=500`; can be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,

    /// Let nothing be changed
    #[arg(long)]
    read_only: bool,

    /// Threads that one search may use [default: as many as there are processors, at most 8]
    #[arg(long, value_name = "N", env = "PADDOCK_THREADS", hide_env = true)]
    threads: Option<NonZeroUsize>,

    /// Where to keep journals and the lock [default: below the user's state directory]
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,

    /// Work in the overlay of this name: what is changed is kept beside the directories, which stay as they are
    #[arg(long, value_name = "NAME")]
    overlay: Option<String>,

    /// Append what happens to this file, one JSON object a line: start and end of each call, each file written; `-` is standard error
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,

    /// Keep a record of every call in this file, each chained to the one before; `paddock audit` reads it
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
}

#[derive(Clone)]
struct Root {
    directory: PathBuf,
    access: Access,
}

impl FromStr for Root {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        // A directory may well have such a name.
        Ok(match text.strip_suffix(":ro").filter(|_| !Path::new(text).exists()) {
            Some(directory) => Self { directory: directory.into(), access: Access::ReadOnly },
            None => Self { directory: text.into(), access: Access::ReadWrite },
        })
    }
}

impl Options {
    /// The same in the overlay of that name.
    pub(crate) fn in_overlay(self, name: String) -> Self {
        Self { overlay: Some(name), ..self }
    }

    /// Opens the workspace that the options describe; the person at the terminal is asked about calls that need approval.
    pub(crate) fn open(&self) -> anyhow::Result<Workspace> {
        self.build(ask::at_terminal(self.builder()?))
    }

    /// Opens what a builder describes that came from [`Self::builder`].
    pub(crate) fn build(&self, builder: Builder) -> anyhow::Result<Workspace> {
        if self.memory.is_set() { self.memory.build(builder) } else { Ok(builder.build()?) }
    }

    /// Whether no directory of this machine is the workspace.
    pub(crate) fn is_elsewhere(&self) -> bool {
        #[cfg(target_os = "linux")]
        if self.container.is_some() {
            return true;
        }
        self.memory.is_set()
    }

    /// What the options describe.
    pub(crate) fn builder(&self) -> anyhow::Result<Builder> {
        let mut builder = self.place()?;
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

    /// The same with these roots, which may do no more than those that they take the place of.
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

    /// The policy's levels, the options last.
    pub(crate) fn levels(&self) -> Result<Layers, Error> {
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

    fn on(&self, mut levels: Layers) -> Result<Layers, Error> {
        if let Some(file) = &self.policy {
            levels = levels.file(file)?;
        }
        levels = self.set.iter().try_fold(levels, |levels, assignment| levels.set(assignment))?;
        if self.read_only { levels.read_only() } else { Ok(levels) }
    }

    /// The directories, or the container, and their policy.
    fn place(&self) -> Result<Builder, Error> {
        #[cfg(target_os = "linux")]
        if let Some(container) = self.container()? {
            return Workspace::builder().container(&container).policy_layers(&self.on(Layers::load_in(&container)?)?);
        }
        let mut builder = Workspace::builder();
        if self.memory.is_set() {
            return builder.policy_layers(&self.levels()?);
        }
        for (index, root) in self.root.iter().enumerate() {
            builder = match index {
                0 => builder.root_with(&root.directory, root.access),
                _ => builder.further_root(&root.directory, root.access),
            };
        }
        builder.policy_layers(&self.levels()?)
    }
    /// The container, where one takes the place of the directories.
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
