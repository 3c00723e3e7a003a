//! Workspaces by name: those of the configuration, and those of templates. The directory of each is opened once, and
//! everything below it by names and without links.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::config::{Settings, TenantLimits};
use super::descriptors;
use super::journals::Journals;
use super::limits::Tenant;
use super::location::{Location, directory};
use super::lock;
use super::name::{NAME_RULE, is_name};
use super::narrowing::{InnerPath, InnerRoots, Narrowing};
use super::opened::{Key, Opened};
use super::refusal::Refusal;
use super::served::Served;
use super::state_dirs::{Origin, StateDirs};
use crate::catalog;
use crate::directory::Directory;
use crate::error::Error;
use crate::mcp;
use crate::mount;
use crate::options::DIALECT;
use crate::policy::{Configuration, Layers, PolicyLayer};
use crate::{Builder, Workspace};

/// Maximum number of tenants with limits in memory.
const MAX_TENANTS: usize = 4096;

/// The placeholder at the end of a template's path.
const NAME: &str = "/{name}";

/// All workspaces of the server.
pub(super) struct Workspaces {
    configured: HashMap<String, Configured>,
    templates: Vec<Template>,
    state_dirs: StateDirs,
    audit_dir: Option<PathBuf>,
    /// The file of the configuration and that of the keys, which no tool may open.
    private: Vec<PathBuf>,
    open: Mutex<Opened<Served>>,
    inner_roots: Mutex<InnerRoots>,
    tenants: Mutex<HashMap<String, Arc<Tenant>>>,
}

struct Configured {
    location: Location,
    source: Source,
}

/// Settings that a workspace and a template have.
struct Source {
    dialect: String,
    policy: PolicyLayer,
    limits: TenantLimits,
}

struct Template {
    parent: Directory,
    source: Source,
}

impl Workspaces {
    /// Opens the directories of the configuration.
    pub(super) fn new(file: &Configuration, settings: &Settings) -> Result<Self, Error> {
        let (mut configured, mut dialects) = (HashMap::new(), HashSet::from([DIALECT.to_owned()]));
        for (name, workspace) in &settings.workspaces {
            let at = format!("workspaces.{name}");
            if !is_name(name) {
                return Err(file.wrong(&at, NAME_RULE));
            }
            check_dialect(file, &at, &workspace.dialect, &mut dialects)?;
            let policy = file.policy(&["workspaces", name, "policy"])?;
            let location = Location::new(file, &at, workspace, &policy)?;
            let (dialect, limits) = (workspace.dialect.clone(), workspace.limits.clone());
            let source = Source { dialect, policy, limits };
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
            templates.push(Template { parent, source: Source { dialect, policy, limits } });
        }
        let below = |path: &Option<PathBuf>| path.as_ref().map(|path| file.directory().join(path));
        let roots = configured.values().filter_map(|configured: &Configured| configured.location.directory());
        let roots: Vec<_> = roots.chain(templates.iter().map(|template: &Template| &template.parent)).collect();
        let state_dirs = StateDirs::new(below(&settings.state_dir), &roots);
        let private = settings.jwt.iter().map(|jwt| file.directory().join(&jwt.jwks));
        Ok(Self {
            state_dirs: state_dirs.map_err(|cause| file.wrong("state_dir", cause))?,
            configured,
            templates,
            audit_dir: below(&settings.audit_dir),
            private: private.chain([file.path().to_owned()]).collect(),
            open: Mutex::new(Opened::new(settings.limits.max_open_workspaces.min(descriptors::max_workspaces()))),
            inner_roots: Mutex::default(),
            tenants: Mutex::default(),
        })
    }

    /// Returns the limits of a workspace. Fails if no workspace has this name.
    pub(super) fn tenant(&self, name: &str) -> Result<Arc<Tenant>, Refusal> {
        let (_, source) = self.find(name)?;
        let mut tenants = lock(&self.tenants);
        if let Some(tenant) = tenants.get(name) {
            return Ok(tenant.clone());
        }
        if tenants.len() >= MAX_TENANTS {
            tenants.retain(|_, tenant| Arc::strong_count(tenant) > 1 || !tenant.is_idle());
        }
        if tenants.len() >= MAX_TENANTS {
            return Err(Refusal::Full);
        }
        Ok(tenants.entry(name.to_owned()).or_insert_with(|| Arc::new(Tenant::new(&source.limits))).clone())
    }

    /// Returns the dialect of calls that name none.
    pub(super) fn dialect(&self, name: &str) -> Result<&str, Refusal> {
        Ok(&self.find(name)?.1.dialect)
    }

    /// Returns the workspace of this name, narrowed, if it is open.
    pub(super) fn opened(&self, name: &str, narrowing: &Narrowing) -> Result<Option<Arc<Served>>, Refusal> {
        let located = self.locate(name, narrowing)?;
        match &located.found {
            Found::Configured(Location::Memory(served)) if narrowing.is_empty() => Ok(Some(served.clone())),
            Found::Configured(Location::Memory(_)) => {
                Err(Refusal::Narrowing("a workspace in memory cannot be narrowed for a token".to_owned()))
            }
            _ => Ok(lock(&self.open).get(&located.key)),
        }
    }

    /// Opens a workspace that is not open, for a caller. This blocks the thread.
    pub(super) fn open(self: &Arc<Self>, name: &str, narrowing: &Narrowing) -> Result<Arc<Served>, Refusal> {
        let Located { found, source, inner, key } = self.locate(name, narrowing)?;
        if let Some(path) = &narrowing.path {
            // A path that does not exist is not counted.
            let existing =
                || self.journals(name, &found).map_or(Ok(HashSet::new()), |all| all.parts()).map_err(Refusal::state);
            lock(&self.inner_roots).add(name, path, existing)?;
        }
        let served = Arc::new(self.build(name, &found, inner, source, narrowing)?);
        lock(&self.open).insert(key, served).ok_or(Refusal::Full)
    }

    /// Returns whether a change that a call by this caller neither waits for nor completes may run, or may have been cut off:
    /// one of another part, or for a caller with restrictions, which may forbid to complete it, any change.
    pub(super) fn may_be_unfinished(&self, name: &str, narrowing: &Narrowing) -> Result<bool, Refusal> {
        if !narrowing.is_empty() {
            return Ok(true);
        }
        Ok(self.journals(name, &self.find(name)?.0).is_some_and(|journals| journals.may_be_of_parts()))
    }

    /// Waits for the running changes of the roots of a workspace that contain a part or are in it, and completes or undoes
    /// those that were cut off. This blocks the thread.
    pub(super) fn recover(self: &Arc<Self>, name: &str, part: Option<&InnerPath>) -> Result<(), Refusal> {
        let (found, source) = self.find(name)?;
        let (Some(directory), Some(journals)) = (found.directory(), self.journals(name, &found)) else { return Ok(()) };
        for root in journals.roots(part)? {
            if !journals.is_cut_off(root.part.as_ref()).map_err(Refusal::Unfinished)? {
                continue;
            }
            // The rules for the paths of tokens are not checked: a file that was created later must not prevent the recovery.
            let layers = layers(directory, source, &Narrowing::default())?;
            let served = self.directory(name, &found, &root.directory, root.part.as_ref(), source, &layers)?;
            served.workspace.recover().map_err(Refusal::Unfinished)?;
        }
        Ok(())
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

    fn locate<'w>(&'w self, name: &str, narrowing: &Narrowing) -> Result<Located<'w>, Refusal> {
        let (found, source) = self.find(name)?;
        let inner = narrowing.path.as_ref().zip(found.directory()).map(|(path, root)| path.open(root)).transpose()?;
        let of_template = match &found {
            Found::OfTemplate(directory) => Some(directory),
            Found::Configured(_) => None,
        };
        // A directory that was replaced is another workspace.
        let identity = inner.as_ref().or(of_template).map(Directory::identity);
        let identity = identity.map(|identity| (identity.device(), identity.inode()));
        let key = Key { name: name.to_owned(), rest: format!("{identity:?}\n{}", narrowing.key()) };
        Ok(Located { found, source, inner, key })
    }

    fn find<'w>(&'w self, name: &str) -> Result<(Found<'w>, &'w Source), Refusal> {
        if !is_name(name) {
            return Err(Refusal::Unknown);
        }
        if let Some(Configured { location, source }) = self.configured.get(name) {
            return Ok((Found::Configured(location), source));
        }
        for Template { parent, source } in &self.templates {
            match parent.subdirectory(name) {
                Ok(directory) => return Ok((Found::OfTemplate(directory), source)),
                Err(cause) if descriptors::are_used_up(&cause) => {
                    return Err(Refusal::Failed(Error::Root { path: parent.path().join(name), cause }));
                }
                Err(_) => {}
            }
        }
        Err(Refusal::Unknown)
    }

    fn build(
        self: &Arc<Self>,
        name: &str,
        found: &Found<'_>,
        inner: Option<Directory>,
        source: &Source,
        narrowing: &Narrowing,
    ) -> Result<Served, Refusal> {
        let directory = match found {
            Found::OfTemplate(directory)
            | Found::Configured(Location::Directory(directory) | Location::Overlay(directory, _)) => directory,
            Found::Configured(Location::Container(container)) => {
                return self.container(name, container, source, narrowing);
            }
            // It is always open.
            Found::Configured(Location::Memory(_)) => return Err(Refusal::Unknown),
        };
        let layers = layers(directory, source, narrowing)?;
        if let Some(path) = &narrowing.path {
            if matches!(found, Found::Configured(Location::Overlay(..))) {
                return Err(Refusal::Narrowing("a token for a path cannot be used in an overlay".to_owned()));
            }
            path.check_policy(&layers)?;
        }
        let root = inner.as_ref().unwrap_or(directory);
        self.directory(name, found, root, narrowing.path.as_ref(), source, &layers)
    }

    /// Opens the directory `root` of a workspace: that of the whole workspace, or a part.
    fn directory(
        self: &Arc<Self>,
        name: &str,
        found: &Found<'_>,
        root: &Directory,
        part: Option<&InnerPath>,
        source: &Source,
        layers: &Layers,
    ) -> Result<Served, Refusal> {
        let descriptor = root
            .file()
            .try_clone()
            .map_err(|cause| Refusal::Failed(Error::Root { path: root.path().to_owned(), cause }))?;
        let mut builder = Workspace::builder().root_fd(descriptor.into());
        if let Found::Configured(Location::Overlay(_, overlay)) = found {
            builder = builder.overlay(overlay);
        }
        if let Some(journals) = self.journals(name, found) {
            let (all, name) = (Arc::downgrade(self), name.to_owned());
            let recover = move |own: Option<&InnerPath>| all.upgrade().ok_or(Refusal::Unknown)?.recover(&name, own);
            builder = builder.other_roots(journals.others(part.cloned(), recover));
        }
        let origin = found.directory().map(|directory| found.origin(directory));
        if let Some(path) = self.state_dirs.path(name, origin, part) {
            builder = builder.state_dir(path);
        }
        self.served(name, builder, source, layers)
    }

    /// Returns the journals of a workspace that is a directory of this machine.
    fn journals(&self, name: &str, found: &Found<'_>) -> Option<Journals> {
        Some(self.state_dirs.journals(name, found.origin(found.directory()?)))
    }

    fn container(
        &self,
        name: &str,
        container: &str,
        source: &Source,
        narrowing: &Narrowing,
    ) -> Result<Served, Refusal> {
        if narrowing.path.is_some() {
            return Err(Refusal::Narrowing("a token for a path cannot be used in a container".to_owned()));
        }
        #[cfg(feature = "containers")]
        {
            let container = crate::Container::open(container).map_err(Refusal::Failed)?;
            let layers = Layers::load_in(&container).map_err(Refusal::Failed)?;
            let layers = narrowed(layers, source, narrowing)?;
            let mut builder = Workspace::builder().container(&container);
            if let Some(path) = self.state_dirs.path(name, None, None) {
                builder = builder.state_dir(path);
            }
            self.served(name, builder, source, &layers)
        }
        #[cfg(not(feature = "containers"))]
        {
            let _ = (name, source);
            let cause = "the library is built without the feature `containers`".to_owned();
            Err(Refusal::Failed(Error::Container { name: container.to_owned(), cause }))
        }
    }

    fn served(&self, name: &str, mut builder: Builder, source: &Source, layers: &Layers) -> Result<Served, Refusal> {
        if let Some(directory) = self.state_dirs.shared_locks() {
            builder = builder.shared_locks(directory);
        }
        if let Some(directory) = &self.audit_dir {
            builder = builder.audit(directory.join(format!("{name}.jsonl")));
        }
        let log = mcp::Log::default();
        let builder = builder.dialect(&source.dialect).on_event(log.listener());
        let builder = self.private.iter().fold(builder, |builder, file| builder.private(file));
        let builder = builder.policy_layers(layers).map_err(Refusal::Failed)?;
        let workspace = builder.build().map_err(Refusal::Failed)?;
        Ok(Served::new(workspace, log))
    }
}

/// A workspace with the directory that becomes its root, and its place among the open ones.
struct Located<'w> {
    found: Found<'w>,
    source: &'w Source,
    inner: Option<Directory>,
    key: Key,
}

/// A workspace that was found by its name.
enum Found<'w> {
    Configured(&'w Location),
    OfTemplate(Directory),
}

impl Found<'_> {
    /// Returns the directory with the information whose it is.
    fn origin<'d>(&self, directory: &'d Directory) -> Origin<'d> {
        match self {
            Self::OfTemplate(_) => Origin::Template(directory),
            Self::Configured(_) => Origin::Configured(directory),
        }
    }

    /// Returns the directory of the workspace, if it is one of this machine.
    fn directory(&self) -> Option<&Directory> {
        match self {
            Self::OfTemplate(directory) => Some(directory),
            Self::Configured(location) => location.directory(),
        }
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
fn layers(directory: &Directory, source: &Source, narrowing: &Narrowing) -> Result<Layers, Refusal> {
    narrowed(Layers::load(mount::way_to(directory.file())).map_err(Refusal::Failed)?, source, narrowing)
}

fn narrowed(layers: Layers, source: &Source, narrowing: &Narrowing) -> Result<Layers, Refusal> {
    let layers = layers.with(&source.policy).map_err(Refusal::Failed)?;
    let with = |layers: Layers, layer| layers.with(layer).map_err(|cause| Refusal::Narrowing(cause.to_string()));
    narrowing.policy.iter().try_fold(layers, with)
}
