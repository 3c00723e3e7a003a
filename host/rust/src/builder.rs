//! Builder of a workspace.

use std::fmt;
use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::approval::{ApprovalSigner, Approver, Decision};
use crate::command::Commands;
#[cfg(target_os = "linux")]
use crate::container::Container;
use crate::directory::Walk;
use crate::engine::shared::Engine;
use crate::error::Error;
use crate::events::Listener;
use crate::guarded::{Guarded, OwnPaths};
use crate::guests::Guests;
use crate::host_mount::HostMount;
use crate::mount::{self, Mount, WORKSPACE, Wanted};
use crate::options::DIALECT;
use crate::overlay::OverlayDir;
use crate::policy::{self, Access, Backend, Host, Layers, Limits, Policy};
use crate::roots::{OtherRoots, Roots};
use crate::settings::Settings;
use crate::state::{StateChoice, StateDir};
use crate::tree_locks::TreeLocks;
use crate::types::Plan;
use crate::user_directories;
use crate::watch::{AuditChoice, Listeners};
use crate::workspace::{Inner, Workspace};

mod events;
mod index;
mod memory;
#[cfg(all(target_os = "linux", feature = "serve"))]
mod serve;

/// Builder of a [`Workspace`].
#[derive(Clone, Default)]
pub struct Builder {
    roots: Vec<Wanted>,
    settings: Settings,
    private: Vec<PathBuf>,
    environment: Vec<(String, String)>,
    state: StateChoice,
    /// Directory of locks that processes of other users and machines take too.
    shared_locks: Option<PathBuf>,
    other_roots: Option<Arc<dyn OtherRoots>>,
    threads: Option<usize>,
    approver: Option<Approver>,
    dialect: Option<String>,
    overlay: Option<String>,
    #[cfg(target_os = "linux")]
    container: Option<Container>,
    host_mounts: Vec<HostMount>,
    listeners: Vec<Listener>,
    event_file: Option<PathBuf>,
    audit: Option<AuditChoice>,
    engine: Option<Engine>,
    indexes_in_background: bool,
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values of variables can be secrets.
        let variables: Vec<_> = self.environment.iter().map(|(name, _)| name).collect();
        let roots: Vec<_> = self.roots.iter().map(|root| (&root.host, root.access)).collect();
        let mut debug = f.debug_struct("Builder");
        debug.field("roots", &roots).field("settings", &self.settings).field("variables", &variables);
        debug.field("dialect", &self.dialect).field("overlay", &self.overlay).finish_non_exhaustive()
    }
}

impl Workspace {
    /// Returns a builder with default settings.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Opens the workspace at `root` with default settings.
    ///
    /// # Errors
    ///
    /// As [`Builder::build`].
    pub fn open(root: impl AsRef<Path>) -> Result<Self, Error> {
        Self::builder().root(root.as_ref()).build()
    }
}

impl Builder {
    /// Sets the workspace directory, at which relative paths start.
    #[must_use]
    pub fn root(self, directory: impl Into<PathBuf>) -> Self {
        self.root_with(directory, Access::ReadWrite)
    }

    /// Sets the workspace directory and the access to it.
    #[must_use]
    pub fn root_with(mut self, directory: impl Into<PathBuf>, access: Access) -> Self {
        self.roots.retain(|root| root.guest.as_deref() != Some(WORKSPACE));
        self.roots.insert(0, Wanted::at(directory.into(), Some(WORKSPACE.to_owned()), access));
        self
    }

    /// Sets the workspace directory from an open descriptor. Tools see the path that the kernel reports for it;
    /// nothing is opened by that path. `build` fails if the directory was deleted, or has no path that this process
    /// can reach.
    #[cfg(target_os = "linux")]
    #[must_use]
    pub fn root_fd(mut self, directory: OwnedFd) -> Self {
        self.roots.retain(|root| root.guest.as_deref() != Some(WORKSPACE));
        self.roots.insert(0, Wanted::open(directory.into(), WORKSPACE.to_owned()));
        self
    }

    /// Adds a directory. Tools see it at `guest`, which is `/` and one name, and at its own absolute path.
    #[must_use]
    pub fn mount(mut self, directory: impl Into<PathBuf>, guest: impl Into<String>, access: Access) -> Self {
        self.roots.push(Wanted::at(directory.into(), Some(guest.into()), access));
        self
    }

    /// Adds a directory at `/` and its own name, with a number if that path is taken.
    #[must_use]
    pub fn further_root(mut self, directory: impl Into<PathBuf>, access: Access) -> Self {
        self.roots.push(Wanted::at(directory.into(), None, access));
        self
    }

    /// Sets a running container as the workspace: relative paths start at its working directory, absolute paths and
    /// links are those of the container, and there is no other root. `/proc`, `/sys` and `/dev` of the container are
    /// closed.
    #[cfg(all(target_os = "linux", feature = "containers"))]
    #[must_use]
    pub fn container(mut self, container: &Container) -> Self {
        self.container = Some(container.clone());
        self
    }

    /// Makes every root read-only.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.settings.say(Map::from_iter([("read_only".to_owned(), Value::Bool(true))]));
        self
    }

    /// Sets the policy. The settings of all policy functions apply together, in any order; `build` fails if two
    /// functions give one setting different values. A setting with its default value counts as absent.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.settings.say(policy.settings());
        self
    }

    /// Sets the policy from JSON, such as `{"read_only": true, "limits": {"max_lines": 500}}`. Unknown fields are
    /// errors.
    ///
    /// # Errors
    ///
    /// [`Error::Policy`] if the text is not JSON or has an unknown field.
    pub fn policy_json(mut self, json: &str) -> Result<Self, Error> {
        self.settings.say(policy::parse(json)?);
        Ok(self)
    }

    /// Sets the policy from its layers. Tools can neither read nor change the files of the layers.
    ///
    /// # Errors
    ///
    /// As [`Layers::load`].
    pub fn policy_layers(mut self, layers: &Layers) -> Result<Self, Error> {
        self.settings.say(layers.settings()?);
        self.private.extend(layers.own_files());
        Ok(self)
    }

    /// Sets the limits of one call.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.settings.say(Policy { limits, ..Policy::default() }.settings());
        self
    }

    /// Sets the maximum number of threads of one search. Default: the number of processors, at most 8.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Sets the approver for calls that need approval; it runs on the thread of the call. Without an approver, such
    /// calls fail with `approval-required`, and [`crate::Outcome::plan`] has the plan.
    #[must_use]
    pub fn approver(mut self, approver: impl Fn(&Plan) -> Decision + Send + Sync + 'static) -> Self {
        self.approver = Some(Approver::new(approver));
        self
    }

    /// Adds an environment variable of the guest. Names that start with `PADDOCK_` are reserved: with one, the workspace
    /// cannot be opened.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Sets the state directory, in place of one below the user's state directory. Two workspaces cannot share it.
    #[must_use]
    pub fn state_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.state = StateChoice::At(directory.into());
        self
    }

    /// Stores journals in `.paddock/` in the workspace and takes no lock, for a workspace that only one process
    /// changes.
    #[must_use]
    pub fn no_state_dir(mut self) -> Self {
        self.state = StateChoice::None;
        self
    }

    /// Sets the dialect of calls whose options name none. Default: `paddock`. The default policy of this dialect applies
    /// to all calls of the workspace, and the default policy of another dialect to its own calls.
    #[must_use]
    pub fn dialect(mut self, name: impl Into<String>) -> Self {
        self.dialect = Some(name.into());
        self
    }

    /// Selects an overlay by name. Tools change the overlay, and the directories stay as they are, because calls get
    /// no right to change them. Creating an overlay copies nothing. The changes are stored in the state directory and
    /// persist. Calls in one overlay wait for each other, and not for calls in other overlays. A name consists of at
    /// most 64 letters, digits, `-`, `_` and `.`, and does not start with `.`.
    #[must_use]
    pub fn overlay(mut self, name: impl Into<String>) -> Self {
        self.overlay = Some(name.into());
        self
    }

    /// Sets the engine that runs the calls. Default: one engine that the workspaces of the process share.
    #[must_use]
    pub fn engine(mut self, engine: &Engine) -> Self {
        self.engine = Some(engine.clone());
        self
    }

    /// Opens the workspace. The directories that the policy allows follow the roots, in the order of the policy, and
    /// then the whole file system in the mode `unrestricted`.
    ///
    /// # Errors
    ///
    /// [`Error::Root`] if a root is not a directory, [`Error::Mount`] if a guest path is taken, [`Error::Conflict`] and
    /// [`Error::Setting`] for contradictory settings, and an error for each directory and file of Paddock that cannot be used.
    pub fn build(self) -> Result<Workspace, Error> {
        let policy = self.policy_of()?;
        let mounts = self.mounts(&policy)?;
        let commands = Commands::open(&policy, self.unfit_for_commands(&policy), &mounts)?;
        let writable = mounts.iter().any(|mount| mount.access == Access::ReadWrite);
        let state = match self.identity(&mounts) {
            Some(workspace) => self.state.clone().resolve(&workspace, &mounts).map_err(Error::State)?,
            None => None,
        };
        let all_settings = self.settings.all()?;
        let audit = self.audit.clone().or_else(|| in_state(&policy, all_settings, state.as_ref()));
        let record_files = (self.event_file.as_deref(), audit);
        let listeners = Listeners::of(self.listeners.clone(), record_files, state.as_ref(), &mounts)?;
        let own = self.own_files(state.as_ref(), listeners.as_ref(), commands.as_ref())?;
        let guarded = Arc::new(Guarded::new(&mounts, &own));
        let paths = match mounts.iter().any(|mount| mount.is_contained) {
            true => OwnPaths::in_container(),
            false => OwnPaths::new(&own, &mounts),
        };
        let signer = ApprovalSigner::new();
        let overlay = self.overlay.as_deref().map(|name| OverlayDir::new(state.as_ref(), name, &mounts)).transpose()?;
        let backend = if overlay.is_some() { Backend::Overlay } else { Backend::Wasi };
        let host = Host::new(backend, paths, &signer, listeners.is_some());
        let guest_settings = policy::environment(all_settings, self.dialect.as_deref(), backend, &mounts, host)?;
        let environment = with_policy(self.environment, guest_settings)?;
        let state = overlay.as_ref().map(OverlayDir::state).or(state).filter(|_| writable);
        let tree_locks = state.as_ref().map(|_| TreeLocks::new(&mounts, self.shared_locks.as_deref()));
        let tree_locks = tree_locks.transpose().map_err(Error::State)?;
        // Below an overlay, no guest can change the directories.
        let mounts = if overlay.is_some() { mounts.iter().map(Mount::read_only).collect() } else { mounts };
        let (limits, threads, approver) = (policy.limits, self.threads, self.approver);
        let roots = Roots {
            mounts,
            #[cfg(target_os = "linux")]
            container: self.container,
            state,
            tree_locks,
            others: self.other_roots,
            overlay,
            guarded,
        };
        let guests = Arc::new(Guests::new(self.engine, roots, environment, limits, threads));
        if self.indexes_in_background {
            guests.index_in_background();
        }
        Ok(Workspace::new(Inner { dialect: self.dialect, approver, signer, listeners, guests, commands }))
    }

    /// Returns the paths that tools must not reach, whether or not they exist: Paddock's state, the cache of compiled
    /// code, the private directories of commands, the user's policy files, and the file systems of the kernel.
    fn own_files(
        &self,
        state: Option<&StateDir>,
        listeners: Option<&Listeners>,
        commands: Option<&Commands>,
    ) -> Result<Vec<Walk>, Error> {
        let own = [
            state.map(StateDir::path),
            self.shared_locks.clone(),
            user_directories::state(),
            user_directories::cache(),
            user_directories::config(),
        ];
        let own = own.into_iter().chain([commands.and_then(Commands::scratch)]);
        let own = own.chain([self.engine.as_ref().and_then(Engine::cache_path)]);
        let written = listeners.into_iter().flat_map(|listeners| listeners.own_files.iter().cloned());
        let named = written.chain(self.private.iter().cloned()).chain(mount::of_the_kernel());
        let follow = |path: PathBuf| Walk::new(&path).map_err(|cause| Error::Private { path, cause });
        // A home directory that this user cannot enter contains no files of this user.
        let is_reachable = |walk: &Result<Walk, Error>| !matches!(walk, Err(Error::Private { cause, .. }) if cause.kind() == io::ErrorKind::PermissionDenied);
        own.flatten().map(follow).filter(is_reachable).chain(named.map(follow)).collect()
    }

    /// Returns the reason why no command can run, if there is one.
    fn unfit_for_commands(&self, policy: &Policy) -> Option<&'static str> {
        if self.overlay.is_some() {
            return Some("an overlay is seen by the file tools alone");
        }
        #[cfg(not(target_os = "linux"))]
        let _ = policy;
        #[cfg(target_os = "linux")]
        if self.container.is_some() {
            let blocks = [&policy.blocked_directories, &policy.blocked_extensions, &policy.allowed_extensions]
                .iter()
                .any(|rules| !rules.is_empty());
            return (policy.read_only || blocks)
                .then_some("a container's own processes cannot be held to what this policy forbids");
        }
        None
    }

    fn mounts(&self, policy: &Policy) -> Result<Vec<Mount>, Error> {
        #[cfg(target_os = "linux")]
        if let Some(container) = &self.container {
            if let Some(root) = self.roots.first() {
                let cause = format!("a container cannot be combined with the root `{}`", root.host.display());
                return Err(Error::Container { name: container.name(), cause });
            }
            return container.mounts(policy);
        }
        mount::all(&self.roots, policy)
    }

    /// Returns a path that identifies this workspace among all others.
    fn identity(&self, mounts: &[Mount]) -> Option<PathBuf> {
        #[cfg(target_os = "linux")]
        if let Some(container) = &self.container {
            return Some(container.identity());
        }
        mounts.first().map(|workspace| workspace.host().to_owned())
    }

    fn policy_of(&self) -> Result<Policy, Error> {
        Ok(Policy::new(self.settings.all()?.clone(), self.dialect.as_deref().unwrap_or(DIALECT))?)
    }
}

/// Returns the location of the audit log by the policy. The default of a dialect is ignored without a state directory.
fn in_state(policy: &Policy, settings: &Map<String, Value>, state: Option<&StateDir>) -> Option<AuditChoice> {
    let is_meant = state.is_some() || settings.contains_key("enable_audit_logging");
    (policy.enable_audit_logging && is_meant).then_some(AuditChoice::InState)
}

/// Adds the policy to the environment of the guest.
fn with_policy(mut environment: Vec<(String, String)>, policy: String) -> Result<Vec<(String, String)>, Error> {
    // The guest takes the first of several variables with one name.
    if let Some((name, _)) = environment.iter().find(|(name, _)| name.starts_with("PADDOCK_")) {
        return Err(Error::Variable { name: name.clone() });
    }
    environment.push(("PADDOCK_POLICY".to_owned(), policy));
    Ok(environment)
}
