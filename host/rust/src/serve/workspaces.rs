//! Workspaces by name: those of the configuration, and those of templates. The directory of each is opened once, and
//! everything below it by names and without links.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::config::Settings;
use super::descriptors;
use super::journals::Journals;
use super::limits::Tenant;
use super::location::{Location, directory};
use super::lock;
use super::name::{NAME_RULE, is_name};
use super::narrowing::{InnerPath, InnerRoots, Narrowing};
use super::opened::Opened;
use super::refusal::Refusal;
use super::related::Related;
use super::served::Served;
use super::state_dirs::{StateDirs, outside};
use super::target::{Files, Located, Purpose, Source, Target};
use crate::catalog;
use crate::directory::Directory;
use crate::error::Error;
use crate::mcp;
use crate::mount;
use crate::options::DIALECT;
use crate::policy::{Configuration, Layers};
use crate::{Builder, Workspace};

/// Maximum number of tenants with limits in memory.
const MAX_TENANTS: usize = 4096;

/// The placeholder at the end of a template's path.
const NAME: &str = "/{name}";

/// All workspaces of the server.
pub(super) struct Workspaces {
    configured: HashMap<String, Configured>,
    templates: Vec<Template>,
    pub(super) related: Related,
    state_dirs: StateDirs,
    audit_dir: Option<PathBuf>,
    /// The file of the configuration and that of the keys, which no tool may open.
    private: Vec<PathBuf>,
    open: Mutex<Opened<Served>>,
    inner_roots: Mutex<InnerRoots>,
    tenants: Mutex<HashMap<String, Arc<Tenant>>>,
}

struct Configured {
    location: Arc<Location>,
    source: Arc<Source>,
}

struct Template {
    parent: Directory,
    source: Arc<Source>,
}

impl Workspaces {
    /// Opens the directories of the configuration.
    pub(super) fn new(file: &Configuration, settings: &Settings) -> Result<Self, Error> {
        let (mut configured, mut related) = (HashMap::new(), Related::default());
        let mut dialects = HashSet::from([DIALECT.to_owned()]);
        for (name, workspace) in &settings.workspaces {
            let at = format!("workspaces.{name}");
            if !is_name(name) {
                return Err(file.wrong(&at, NAME_RULE));
            }
            check_dialect(file, &at, &workspace.dialect, &mut dialects)?;
            let policy = file.policy(&["workspaces", name, "policy"])?;
            let location = Arc::new(Location::new(file, &at, workspace, &policy)?);
            let (dialect, limits) = (workspace.dialect.clone(), workspace.limits.clone());
            let source = Arc::new(Source { dialect, policy, limits });
            location.directory().into_iter().for_each(|directory| related.add(name, directory));
            configured.insert(name.clone(), Configured { location, source });
        }
        let mut templates = Vec::new();
        for (index, template) in settings.templates.iter().enumerate() {
            check_dialect(file, &format!("templates.{index}"), &template.dialect, &mut dialects)?;
            let at = format!("templates.{index}.root");
            let parent = template.root.strip_suffix(NAME).filter(|parent| !parent.is_empty() && !parent.contains('{'));
            let parent = parent.ok_or_else(|| file.wrong(&at, "the path has to end in `/{name}`"))?;
            let parent = directory(file, &at, Path::new(parent))?;
            let policy = file.policy(&["templates", &index.to_string(), "policy"])?;
            let (dialect, limits) = (template.dialect.clone(), template.limits.clone());
            templates.push(Template { parent, source: Arc::new(Source { dialect, policy, limits }) });
        }
        let below = |path: &Option<PathBuf>| path.as_ref().map(|path| file.directory().join(path));
        let roots = configured.values().filter_map(|configured: &Configured| configured.location.directory());
        let roots: Vec<_> = roots.chain(templates.iter().map(|template: &Template| &template.parent)).collect();
        let state_dirs = StateDirs::new(below(&settings.state_dir), &roots);
        let audit_dir = below(&settings.audit_dir);
        let checked = audit_dir.as_deref().map(|path| outside(path, &roots)).transpose();
        checked.map_err(|cause| file.wrong("audit_dir", cause))?;
        let private = settings.jwt.iter().map(|jwt| file.directory().join(&jwt.jwks));
        Ok(Self {
            state_dirs: state_dirs.map_err(|cause| file.wrong("state_dir", cause))?,
            configured,
            templates,
            related,
            audit_dir,
            private: private.chain([file.path().to_owned()]).collect(),
            open: Mutex::new(Opened::new(settings.limits.max_open_workspaces.min(descriptors::max_workspaces()))),
            inner_roots: Mutex::default(),
            tenants: Mutex::default(),
        })
    }

    /// Finds the workspace of this name. Opens the directory of a template's workspace, so that all that a request does is
    /// done in the same directory.
    pub(super) fn find(&self, name: &str) -> Result<Target, Refusal> {
        if !is_name(name) {
            return Err(Refusal::Unknown);
        }
        let target = |files, source: &Arc<Source>| Target { name: name.to_owned(), files, source: source.clone() };
        if let Some(Configured { location, source }) = self.configured.get(name) {
            return Ok(target(Files::Configured(location.clone()), source));
        }
        for Template { parent, source } in &self.templates {
            match parent.subdirectory(name) {
                Ok(directory) => return Ok(target(Files::OfTemplate(directory), source)),
                Err(cause) if descriptors::are_used_up(&cause) => {
                    return Err(Refusal::Failed(Error::Root { path: parent.path().join(name), cause }));
                }
                Err(_) => {}
            }
        }
        Err(Refusal::Unknown)
    }

    /// Returns the limits of a workspace.
    pub(super) fn tenant(&self, target: &Target) -> Result<Arc<Tenant>, Refusal> {
        let mut tenants = lock(&self.tenants);
        if let Some(tenant) = tenants.get(&target.name) {
            return Ok(tenant.clone());
        }
        if tenants.len() >= MAX_TENANTS {
            tenants.retain(|_, tenant| Arc::strong_count(tenant) > 1 || !tenant.is_idle());
        }
        if tenants.len() >= MAX_TENANTS {
            return Err(Refusal::Full);
        }
        let new = || Arc::new(Tenant::new(&target.source.limits));
        Ok(tenants.entry(target.name.clone()).or_insert_with(new).clone())
    }

    /// Returns a workspace, narrowed, if it is open.
    pub(super) fn opened(
        &self,
        target: &Target,
        located: &Located,
        narrowing: &Narrowing,
    ) -> Result<Option<Arc<Served>>, Refusal> {
        match target.memory() {
            Some(served) if narrowing.is_empty() => Ok(Some(served.clone())),
            Some(_) => Err(Refusal::Narrowing("a workspace in memory cannot be narrowed for a token".to_owned())),
            None => Ok(lock(&self.open).get(&located.key)),
        }
    }

    /// Opens a workspace that is not open, for a caller. This blocks the thread.
    pub(super) fn open(
        self: &Arc<Self>,
        target: &Target,
        Located { inner, key }: Located,
        narrowing: &Narrowing,
    ) -> Result<Arc<Served>, Refusal> {
        if let Some(path) = &narrowing.path {
            // A path that does not exist is not counted.
            let existing =
                || self.journals(target).map_or(Ok(HashSet::new()), |all| all.parts()).map_err(Refusal::state);
            lock(&self.inner_roots).add(&target.name, path, existing)?;
        }
        let served = Arc::new(self.build(target, inner, narrowing)?);
        lock(&self.open).insert(key, served).ok_or(Refusal::Full)
    }

    /// Returns the names of the workspaces of the configuration, without those of templates.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.configured.keys().map(String::as_str)
    }

    /// Creates the directory of the heartbeats; `None` if the configuration names no state directory.
    pub(super) fn heartbeats(&self) -> Option<io::Result<Directory>> {
        self.state_dirs.heartbeats()
    }

    /// Returns the number of open workspaces.
    pub(super) fn count(&self) -> usize {
        lock(&self.open).len()
    }

    fn build(
        self: &Arc<Self>,
        target: &Target,
        inner: Option<Directory>,
        narrowing: &Narrowing,
    ) -> Result<Served, Refusal> {
        if let Some(container) = target.container() {
            return self.container(target, container, narrowing);
        }
        // A workspace in memory is always open.
        let directory = target.directory().ok_or(Refusal::Unknown)?;
        let layers = layers(directory, &target.source, narrowing)?;
        if let Some(path) = &narrowing.path {
            if target.overlay().is_some() {
                return Err(Refusal::Narrowing("a token for a path cannot be used in an overlay".to_owned()));
            }
            path.check_policy(&layers)?;
        }
        let root = inner.as_ref().unwrap_or(directory);
        let is_indexed = narrowing.is_empty() && target.overlay().is_none();
        let purpose = if is_indexed { Purpose::Calls } else { Purpose::UnindexedCalls };
        self.directory(target, root, narrowing.path.as_ref(), &layers, purpose)
    }

    /// Opens the directory `root` of a workspace: that of the whole workspace, or a part.
    pub(super) fn directory(
        self: &Arc<Self>,
        target: &Target,
        root: &Directory,
        part: Option<&InnerPath>,
        layers: &Layers,
        purpose: Purpose,
    ) -> Result<Served, Refusal> {
        let descriptor = root
            .file()
            .try_clone()
            .map_err(|cause| Refusal::Failed(Error::Root { path: root.path().to_owned(), cause }))?;
        let mut builder = Workspace::builder().root_fd(descriptor.into());
        if purpose == Purpose::Calls {
            builder = builder.index_in_background();
        }
        if purpose != Purpose::Recovery {
            builder = builder.other_roots(self.other_roots(target, root, part)?);
            builder = target.overlay().into_iter().fold(builder, Builder::overlay);
        }
        if let Some(path) = self.state_dirs.path(&target.name, target.origin(), part) {
            builder = builder.state_dir(path);
        }
        self.served(target, builder, layers)
    }

    /// Returns the journals of a workspace that is a directory of this machine.
    pub(super) fn journals(&self, target: &Target) -> Option<Journals> {
        Some(self.state_dirs.journals(&target.name, target.origin()?))
    }

    fn container(&self, target: &Target, container: &str, narrowing: &Narrowing) -> Result<Served, Refusal> {
        if narrowing.path.is_some() {
            return Err(Refusal::Narrowing("a token for a path cannot be used in a container".to_owned()));
        }
        #[cfg(feature = "containers")]
        {
            let container = crate::Container::open(container).map_err(Refusal::Failed)?;
            let layers = Layers::load_in(&container).map_err(Refusal::Failed)?;
            let layers = narrowed(layers, &target.source, narrowing)?;
            let mut builder = Workspace::builder().container(&container);
            if let Some(path) = self.state_dirs.path(&target.name, None, None) {
                builder = builder.state_dir(path);
            }
            self.served(target, builder, &layers)
        }
        #[cfg(not(feature = "containers"))]
        {
            let _ = target;
            let cause = "the library is built without the feature `containers`".to_owned();
            Err(Refusal::Failed(Error::Container { name: container.to_owned(), cause }))
        }
    }

    fn served(&self, target: &Target, mut builder: Builder, layers: &Layers) -> Result<Served, Refusal> {
        if let Some(directory) = self.state_dirs.shared_locks() {
            builder = builder.shared_locks(directory);
        }
        if let Some(directory) = &self.audit_dir {
            builder = builder.audit(directory.join(format!("{}.jsonl", target.name)));
        }
        let log = mcp::Log::default();
        let builder = builder.dialect(&target.source.dialect).on_event(log.listener());
        let builder = self.private.iter().fold(builder, |builder, file| builder.private(file));
        let builder = builder.policy_layers(layers).map_err(Refusal::Failed)?;
        let workspace = builder.build().map_err(Refusal::Failed)?;
        Ok(Served::new(workspace, log, self.tenant(target)?.polls.clone()))
    }
}

/// Fails if there is no such dialect, unless it is one of those that are known.
fn check_dialect(file: &Configuration, at: &str, dialect: &str, known: &mut HashSet<String>) -> Result<(), Error> {
    if known.contains(dialect) {
        return Ok(());
    }
    catalog::tools(dialect).map_err(|cause| file.wrong(&format!("{at}.dialect"), cause.message))?;
    known.insert(dialect.to_owned());
    Ok(())
}

/// Returns the policy of a workspace in a directory. The file of the project in the workspace narrows the policy of each part
/// of the workspace.
pub(super) fn layers(directory: &Directory, source: &Source, narrowing: &Narrowing) -> Result<Layers, Refusal> {
    narrowed(Layers::load(mount::way_to(directory.file())).map_err(Refusal::Failed)?, source, narrowing)
}

fn narrowed(layers: Layers, source: &Source, narrowing: &Narrowing) -> Result<Layers, Refusal> {
    let layers = layers.with(&source.policy).map_err(Refusal::Failed)?;
    let with = |layers: Layers, layer| layers.with(layer).map_err(|cause| Refusal::Narrowing(cause.to_string()));
    narrowing.policy.iter().try_fold(layers, with)
}
