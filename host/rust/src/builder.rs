//! Says what a workspace is to be.

use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::approval::{ApprovalSigner, Approver, Decision};
use crate::cache;
use crate::command::Commands;
#[cfg(target_os = "linux")]
use crate::container::Container;
use crate::directory::Walk;
use crate::error::Error;
use crate::events::Listener;
use crate::guarded::{Guarded, OwnPaths};
use crate::guests::Guests;
use crate::host_mount::HostMount;
use crate::mount::{self, Mount, WORKSPACE, Wanted};
use crate::options::DIALECT;
use crate::overlay::OverlayDir;
use crate::policy::{self, Access, Backend, Host, Layers, Limits, Policy};
use crate::roots::Roots;
use crate::settings::Settings;
use crate::state::{self, StateChoice, StateDir};
use crate::types::Plan;
use crate::watch::{AuditChoice, Listeners};
use crate::workspace::{Inner, Workspace};

mod events;
mod memory;

/// Says what a workspace is to be.
#[derive(Clone, Default)]
pub struct Builder {
    roots: Vec<Wanted>,
    settings: Settings,
    private: Vec<PathBuf>,
    environment: Vec<(String, String)>,
    state: StateChoice,
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
}

impl Workspace {
    /// Says what a workspace is to be.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The workspace at `root`, with everything else by default.
    pub fn open(root: impl AsRef<Path>) -> Result<Self, Error> {
        Self::builder().root(root.as_ref()).build()
    }
}

impl Builder {
    /// The workspace itself: relative paths start here.
    #[must_use]
    pub fn root(self, directory: impl Into<PathBuf>) -> Self {
        self.root_with(directory, Access::ReadWrite)
    }

    /// The workspace itself, with what may be done in it.
    #[must_use]
    pub fn root_with(mut self, directory: impl Into<PathBuf>, access: Access) -> Self {
        self.roots.retain(|root| root.guest.as_deref() != Some(WORKSPACE));
        self.roots.insert(0, Wanted::at(directory.into(), Some(WORKSPACE.to_owned()), access));
        self
    }

    /// The workspace itself, as a directory that the caller has open. The directory's path is asked of the kernel and shown
    /// to tools, and nothing is opened by it. Building fails where the directory was deleted, or has no path that this
    /// process can reach.
    #[cfg(target_os = "linux")]
    #[must_use]
    pub fn root_fd(mut self, directory: OwnedFd) -> Self {
        self.roots.retain(|root| root.guest.as_deref() != Some(WORKSPACE));
        self.roots.insert(0, Wanted::open(directory.into(), WORKSPACE.to_owned()));
        self
    }

    /// A further directory. Tools see it at `guest`, `/` and one name, and by its own absolute path.
    #[must_use]
    pub fn mount(mut self, directory: impl Into<PathBuf>, guest: impl Into<String>, access: Access) -> Self {
        self.roots.push(Wanted::at(directory.into(), Some(guest.into()), access));
        self
    }

    /// A further directory, at `/` and its own name, numbered where that is taken.
    #[must_use]
    pub fn further_root(mut self, directory: impl Into<PathBuf>, access: Access) -> Self {
        self.roots.push(Wanted::at(directory.into(), None, access));
        self
    }

    /// The workspace is a running container: relative paths start at its working directory, absolute ones and links
    /// are those of the container, and there can be no other root. `/proc`, `/sys` and `/dev` in it stay closed.
    #[cfg(all(target_os = "linux", feature = "containers"))]
    #[must_use]
    pub fn container(mut self, container: &Container) -> Self {
        self.container = Some(container.clone());
        self
    }

    /// Nothing may be changed in any root.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.settings.say(Map::from_iter([("read_only".to_owned(), Value::Bool(true))]));
        self
    }

    /// What tools may do. All that is said of that, here and by the functions below, holds together, in whatever order;
    /// building fails where a setting is said in two ways. A setting that has its default here is not said.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.settings.say(policy.settings());
        self
    }

    /// The same from JSON, such as `{"read_only": true, "limits": {"max_lines": 500}}`. Unknown fields are errors.
    pub fn policy_json(mut self, json: &str) -> Result<Self, Error> {
        self.settings.say(policy::parse(json)?);
        Ok(self)
    }

    /// The same from the levels of a policy, whose own files no tool sees or changes.
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

    /// How many threads one search may use: as many as there are processors, at most 8, unless this is called.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Who is asked about calls that need approval, on the thread of the call. Without anybody, they fail with
    /// `approval-required`, and [`crate::Outcome::plan`] says what to ask.
    #[must_use]
    pub fn approver(mut self, approver: impl Fn(&Plan) -> Decision + Send + Sync + 'static) -> Self {
        self.approver = Some(Approver::new(approver));
        self
    }

    /// An environment variable for the guest.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Keeps journals here, not below the user's own state directory. No two workspaces may share it.
    #[must_use]
    pub fn state_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.state = StateChoice::At(directory.into());
        self
    }

    /// Keeps journals in `.paddock/` inside the workspace, and takes no lock: for a workspace that only one process changes.
    #[must_use]
    pub fn no_state_dir(mut self) -> Self {
        self.state = StateChoice::None;
        self
    }

    /// The dialect that this workspace is for. Its own policy holds for its calls in any case; what is done for all
    /// calls of a workspace, the audit, is by this one's.
    #[must_use]
    pub fn dialect(mut self, name: impl Into<String>) -> Self {
        self.dialect = Some(name.into());
        self
    }

    /// Works in the overlay of that name: tools see and change a copy that costs nothing, and the directories stay as they
    /// are, since calls get no right to change them. What was changed is kept in the state directory, beyond this process
    /// too; another name is another copy. Calls in one overlay wait for each other, and for no other's. A name is
    /// letters, digits, `-`, `_` and `.`, no `.` first, at most 64.
    #[must_use]
    pub fn overlay(mut self, name: impl Into<String>) -> Self {
        self.overlay = Some(name.into());
        self
    }

    /// Opens the workspace. Fails where a root is no directory or a guest path is taken. What the policy allows
    /// beside the roots follows them: its directories, as they are named there, then the whole file system.
    pub fn build(self) -> Result<Workspace, Error> {
        let policy = self.policy_of()?;
        let mounts = self.mounts(&policy)?;
        let commands = Commands::open(&policy, self.unfit_for_commands(&policy), &mounts)?;
        let writable = mounts.iter().any(|mount| mount.access == Access::ReadWrite);
        let state = match self.identity(&mounts) {
            Some(workspace) => self.state.clone().resolve(&workspace, &mounts).map_err(Error::State)?,
            None => None,
        };
        let said = self.settings.all()?;
        let audit = self.audit.clone().or_else(|| in_state(&policy, said, state.as_ref()));
        let kept = (self.event_file.as_deref(), audit);
        let listeners = Listeners::of(self.listeners.clone(), kept, state.as_ref(), &mounts)?;
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
        let guest_settings = policy::environment(said, backend, &mounts, host)?;
        let environment = merged_with(self.environment, guest_settings);
        let state = overlay.as_ref().map(OverlayDir::state).or(state).filter(|_| writable);
        // With an overlay above them they cannot be changed, whatever a guest does.
        let mounts = if overlay.is_some() { mounts.iter().map(Mount::read_only).collect() } else { mounts };
        let (limits, threads, approver) = (policy.limits, self.threads, self.approver);
        let roots = Roots { mounts, state, overlay, guarded, ..Roots::default() };
        #[cfg(target_os = "linux")]
        let roots = Roots { container: self.container, ..roots };
        let guests = Arc::new(Guests::new(roots, environment, limits, threads));
        Ok(Workspace::new(Inner { approver, signer, listeners, guests, commands }))
    }

    /// The ways to what is Paddock's own, whatever it is called and whether it is there: its state, the code that it
    /// compiled and will map again, what commands have for themselves, and the person's policies; and to what the kernel shows as files.
    fn own_files(
        &self,
        state: Option<&StateDir>,
        listeners: Option<&Listeners>,
        commands: Option<&Commands>,
    ) -> Result<Vec<Walk>, Error> {
        let own = [state.map(StateDir::path), state::parent(), cache::path(), policy::config_directory()];
        let own = own.into_iter().chain([commands.and_then(Commands::scratch)]);
        let written = listeners.into_iter().flat_map(|listeners| listeners.own_files.iter().cloned());
        let named = written.chain(self.private.iter().cloned()).chain(mount::of_the_kernel());
        let follow = |path: PathBuf| Walk::new(&path).map_err(|cause| Error::Private { path, cause });
        // A home directory that this user cannot get into has nothing of this user's.
        let is_reachable = |walk: &Result<Walk, Error>| !matches!(walk, Err(Error::Private { cause, .. }) if cause.kind() == io::ErrorKind::PermissionDenied);
        own.flatten().map(follow).filter(is_reachable).chain(named.map(follow)).collect()
    }

    /// Why no command can run, where that is so.
    fn unfit_for_commands(&self, policy: &Policy) -> Option<&'static str> {
        if self.overlay.is_some() {
            return Some("an overlay is seen by the file tools alone");
        }
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
                let cause = format!("beside it there is no other root, such as `{}`", root.host.display());
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

/// Where the policy has an audit kept. A dialect's default has none kept where there is no state directory.
fn in_state(policy: &Policy, settings: &Map<String, Value>, state: Option<&StateDir>) -> Option<AuditChoice> {
    let is_meant = state.is_some() || settings.contains_key("enable_audit_logging");
    (policy.enable_audit_logging && is_meant).then_some(AuditChoice::InState)
}

fn merged_with(mut environment: Vec<(String, String)>, policy: String) -> Vec<(String, String)> {
    environment.push(("PADDOCK_POLICY".to_owned(), policy));
    environment
}
