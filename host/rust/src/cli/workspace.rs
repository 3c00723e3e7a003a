//! The options that say what the workspace is.

use std::collections::HashSet;
use std::convert::Infallible;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::Context;
use paddock::{Access, Builder, Workspace};

use super::ask;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// A directory that the tools may use; `DIR:ro` only to look at. The first is the workspace, a further one is seen as `/` and its name
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: Vec<Root>,

    /// Whose tool names, arguments and results to have
    #[arg(long, value_name = "NAME", default_value = "paddock")]
    pub(crate) dialect: String,

    /// A JSON file that says what tools may do, such as {"limits": {"max_lines": 500}}
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,

    /// Let nothing be changed
    #[arg(long)]
    read_only: bool,

    /// Threads that one search may use [default: as many as there are processors, at most 8]
    #[arg(long, value_name = "N", env = "PADDOCK_THREADS", hide_env = true)]
    threads: Option<NonZeroUsize>,

    /// Where to keep journals and the lock [default: below the user's state directory]
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
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
    /// Opens the workspace that the options describe; the person at the terminal is asked about calls that need approval.
    pub(crate) fn open(&self) -> anyhow::Result<Workspace> {
        Ok(ask::at_terminal(self.builder()?).build()?)
    }

    /// What the options describe.
    pub(crate) fn builder(&self) -> anyhow::Result<Builder> {
        let mut builder = self.mount(Workspace::builder());
        if let Some(file) = &self.policy {
            let text = fs::read_to_string(file).with_context(|| format!("cannot read `{}`", file.display()))?;
            builder = builder.policy_json(&text).with_context(|| format!("in `{}`", file.display()))?;
        }
        if self.read_only {
            builder = builder.read_only();
        }
        if let Some(threads) = self.threads {
            builder = builder.threads(threads.get());
        }
        if let Some(directory) = &self.state_dir {
            builder = builder.state_dir(directory);
        }
        Ok(builder)
    }

    fn mount(&self, builder: Builder) -> Builder {
        let Some((first, further)) = self.root.split_first() else { return builder };
        let builder = builder.root_with(&first.directory, first.access);
        let mut taken = HashSet::from(["workspace".to_owned()]);
        further.iter().fold(builder, |builder, root| {
            let guest = format!("/{}", free_name(&root.directory, &mut taken));
            builder.mount(&root.directory, guest, root.access)
        })
    }
}

/// The directory's own name, numbered where another root has it already.
fn free_name(directory: &Path, taken: &mut HashSet<String>) -> String {
    let real = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let name = real.file_name().map_or_else(|| "root".to_owned(), |name| name.to_string_lossy().into_owned());
    let numbered = (2u32..).map(|number| format!("{name}-{number}"));
    let free = std::iter::once(name.clone()).chain(numbered).find(|name| taken.insert(name.clone()));
    free.unwrap_or(name)
}
