//! Runs a case on each backend.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use paddock::{Builder, CallOptions, Workspace};
use paddock_guest::engine;
use paddock_types::entry::Time;
use paddock_types::policy::Policy;
use paddock_vfs::memory::MemoryFs;
use paddock_vfs::{STATE_GUEST_PATH, memory_tar};
use serde::Deserialize;
use serde_json::{Value, json};

use super::case::Case;
#[cfg(target_os = "linux")]
use super::container;
use super::layers;
use super::outcome::{self, Names};
use super::system;
use super::tree::{self, Modes, Node, Tree};

/// Current time of the native memory backend, in seconds since 1970.
pub const NOW: u64 = 1_750_000_000;

/// Backend of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// Natively, over the memory backend.
    Memory,
    /// Through the component, over the memory backend.
    ComponentMemory,
    /// Through the component, on a real directory.
    Directory,
    /// Through the component, in an overlay over a real directory, which must stay unchanged.
    Overlay,
    /// Through the component, in a directory of a running container.
    Container,
}

impl Backend {
    pub const ALL: [Self; 5] = [Self::Memory, Self::ComponentMemory, Self::Directory, Self::Overlay, Self::Container];

    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::ComponentMemory => "component_memory",
            Self::Directory => "directory",
            Self::Overlay => "overlay",
            Self::Container => "container",
        }
    }
}

/// Observed effects of a case.
pub struct Observed {
    pub outcomes: Vec<Value>,
    pub tree: Tree,
    /// Modes of regular files, if the backend keeps them.
    pub modes: Option<Modes>,
}

/// Runs the calls of a case on a backend.
pub fn run(case: &Case, backend: Backend) -> Result<Observed> {
    match backend {
        Backend::Memory => memory(case),
        Backend::ComponentMemory => component_memory(case),
        Backend::Directory => directory(case),
        Backend::Overlay => overlay(case),
        #[cfg(target_os = "linux")]
        Backend::Container => in_container(case),
        #[cfg(not(target_os = "linux"))]
        Backend::Container => anyhow::bail!("containers are of Linux"),
    }
}

fn memory(case: &Case) -> Result<Observed> {
    let mut policy = case.policy.clone();
    policy.as_object_mut().context("`policy` is not an object")?.insert("backend".to_owned(), json!("memory"));
    let policy = Policy::parse(&policy.to_string(), "paddock")?;
    let now = || Time { seconds: NOW, nanoseconds: 0 };
    let fs = MemoryFs::new(&["/workspace", STATE_GUEST_PATH], now, 0);
    memory_tar::load(&fs, &tree::pack(&absolute(case, &Names::in_memory())?)?)?;
    let outcomes = outcome::drive(case, &Names::in_memory(), |dialect, tool, arguments| {
        let called = engine::call(&fs, &policy, dialect, tool, arguments);
        outcome::record(
            called.error.is_none(),
            serde_json::from_str(&called.result).unwrap_or_default(),
            &called.text,
            json!(called.changes),
            called.truncated,
        )
    })?;
    Ok(Observed { outcomes, tree: relative(tree::unpack(&memory_tar::snapshot(&fs)?)?, case), modes: None })
}

fn component_memory(case: &Case) -> Result<Observed> {
    let workspace = Workspace::memory(serde_json::from_value(case.policy.clone())?)?;
    let reported = |error: paddock::types::ToolError| anyhow!(error.message);
    workspace.load(&tree::pack(&absolute(case, &Names::in_memory())?)?).map_err(reported)?;
    let outcomes = outcome::drive(case, &Names::in_memory(), through(&workspace))?;
    Ok(Observed {
        outcomes,
        tree: relative(tree::unpack(&workspace.snapshot().map_err(reported)?)?, case),
        modes: None,
    })
}

fn directory(case: &Case) -> Result<Observed> {
    let environment = Environment::new(tempfile::tempdir()?)?;
    let builder = Workspace::builder().root(environment.top.join("ws")).state_dir(environment.top.join("state"));
    on_disk(case, &environment, &Environment::names(&environment.top), builder)
}

#[cfg(target_os = "linux")]
fn in_container(case: &Case) -> Result<Observed> {
    let (container, directory) = container::directory()?;
    let inside = Path::new("/").join(directory.path().file_name().context("no name")?);
    let environment = Environment::new(directory)?;
    let (names, state) = (Environment::names(&inside), tempfile::tempdir()?);
    let container = container.with_working_directory(&names.root)?;
    on_disk(case, &environment, &names, Workspace::builder().container(&container).state_dir(state.path()))
}

/// Runs a case in `ws`, the root of the builder's workspace, where placeholders have these values.
fn on_disk(case: &Case, environment: &Environment, names: &Names, builder: Builder) -> Result<Observed> {
    let root = environment.top.join("ws");
    tree::write(&absolute(case, names)?, &root)?;
    let outside = environment.outside()?;
    let workspace = builder.policy(policy_on_disk(case)?).build()?;
    let outcomes = outcome::drive(case, names, through(&workspace))?;
    ensure!(environment.outside()? == outside, "something outside the workspace was changed");
    let tree = tree::read(&root)?;
    let modes = tree::modes(&root, &tree)?;
    Ok(Observed { outcomes, tree: restore(tree, names), modes })
}

fn overlay(case: &Case) -> Result<Observed> {
    let environment = Environment::new(tempfile::tempdir()?)?;
    let names = Environment::names(&environment.top);
    let (base, state) = (environment.top.join("ws"), environment.top.join("state"));
    tree::write(&absolute(case, &names)?, &base)?;
    let (outside, before) = (environment.outside()?, layers::status(&base)?);
    let builder = Workspace::builder().root(&names.root).state_dir(&state).overlay("case");
    let workspace = builder.policy(policy_on_disk(case)?).build()?;
    let outcomes = outcome::drive(case, &names, through(&workspace))?;
    ensure!(environment.outside()? == outside, "something outside the workspace was changed");
    ensure!(layers::status(&base)? == before, "the base was changed");
    let (tree, modes) = layers::merged(&base, &state.join("overlays/case"))?;
    Ok(Observed { outcomes, tree: restore(tree, &names), modes })
}

/// Returns the policy of a case. On Windows, where the tests run in an emulator, a change of many files can take longer
/// than a call has by default.
fn policy_on_disk(case: &Case) -> Result<paddock::Policy> {
    let mut policy: paddock::Policy = serde_json::from_value(case.policy.clone())?;
    if cfg!(windows) && case.policy.pointer("/limits/max_time_ms").is_none() {
        policy.limits.max_time_ms = 300_000;
    }
    Ok(policy)
}

fn through(workspace: &Workspace) -> impl Fn(&str, &str, &str) -> Value {
    |dialect, tool, arguments| {
        let called = workspace.call_with(tool, arguments, &CallOptions::dialect(dialect));
        outcome::record(called.ok, called.value(), &called.text, json!(called.changes), called.truncated)
    }
}

/// The temporary directory of one case: the workspace with neighbours that no tool may see.
struct Environment {
    _keep: tempfile::TempDir,
    top: PathBuf,
}

impl Environment {
    fn new(keep: tempfile::TempDir) -> Result<Self> {
        let top = keep.path().canonicalize()?;
        for (dir, file) in [("outside", "secret.txt"), ("ws-evil", "secret.txt"), ("ws ", "secret.txt")] {
            fs::create_dir(top.join(dir))?;
            fs::write(top.join(dir).join(file), "SECRET\n")?;
        }
        fs::create_dir(top.join("ws"))?;
        Ok(Self { _keep: keep, top })
    }

    /// Returns the values of the placeholders of a case whose directory is `top`.
    fn names(top: &Path) -> Names {
        let name = |name| system::argument(&top.join(name));
        Names { root: name("ws"), outside: name("outside") }
    }

    /// Returns all entries except the workspace and its state.
    fn outside(&self) -> Result<Tree> {
        let mut tree = tree::read(&self.top)?;
        tree.retain(|path, _| !path.starts_with(b"ws/") && !path.starts_with(b"state"));
        Ok(tree)
    }
}

/// Returns the initial tree with the placeholders in link targets replaced.
fn absolute(case: &Case, names: &Names) -> Result<super::setup::Start> {
    let start = &case.start;
    let tree = start.tree.iter().map(|(path, node)| match node {
        Node::Link(target) => (path.clone(), Node::Link(names.fill(target))),
        other => (path.clone(), other.clone()),
    });
    Ok(super::setup::Start {
        tree: tree.collect(),
        hard_links: start.hard_links.clone(),
        modes: start.modes.clone(),
        modified: start.modified.clone(),
    })
}

fn relative(tree: Tree, case: &Case) -> Tree {
    if case.absolute { restore(tree, &Names::in_memory()) } else { tree }
}

/// Returns a tree whose link targets have `{root}` and `{outside}` in place of absolute paths.
fn restore(tree: Tree, names: &Names) -> Tree {
    let entries = tree.into_iter().map(|(path, node)| match node {
        Node::Link(target) => (path, Node::Link(names.clear(&target))),
        other => (path, other),
    });
    entries.collect()
}
