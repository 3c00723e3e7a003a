//! Builder functions for workspaces in memory, with copies of directories.

use std::sync::Arc;

use super::{Builder, with_policy};
use crate::approval::ApprovalSigner;
use crate::bindings::exports::paddock::files::session;
use crate::call::Call;
use crate::command::Commands;
use crate::error::{Error, Failure};
use crate::guarded::OwnPaths;
use crate::guests::Guests;
use crate::host_mount::{HostMount, Mounted};
use crate::policy::{self, Access, Backend, Host, Policy};
use crate::roots::Roots;
use crate::types::{ErrorCode, ToolError};
use crate::watch::Listeners;
use crate::workspace::{Inner, Workspace};

impl Builder {
    /// Adds a directory that is copied into a new workspace in memory.
    #[must_use]
    pub fn host_mount(mut self, mount: HostMount) -> Self {
        self.host_mounts.push(mount);
        self
    }

    /// Creates a workspace in memory, like [`Workspace::memory`], with copies of the directories of
    /// [`Builder::host_mount`]. Roots, an overlay and a state directory are ignored.
    ///
    /// # Errors
    ///
    /// [`Error::HostMount`] if a directory cannot be copied, [`Error::Conflict`] and [`Error::Setting`] for contradictory
    /// settings, [`Error::Component`] if the component cannot be loaded.
    pub fn build_memory(self) -> Result<Workspace, Error> {
        let policy = self.policy_of()?;
        let listeners =
            Listeners::of(self.listeners.clone(), (self.event_file.as_deref(), self.audit.clone()), None, &[])?;
        let signer = ApprovalSigner::new();
        let host = Host::new(Backend::Memory, OwnPaths::default(), &signer, listeners.is_some());
        let (settings, dialect) = (self.settings.all()?, self.dialect.as_deref());
        let guest_settings = policy::environment(settings, dialect, Backend::Memory, &[], host)?;
        let environment = with_policy(self.environment, guest_settings)?;
        let (dialect, approver) = (self.dialect, self.approver);
        let commands = Commands::open(&policy, Some("a workspace in memory is seen by the file tools alone"), &[])?;
        let guests = Arc::new(Guests::new(self.engine, Roots::default(), environment, policy.limits, None).keep()?);
        let workspace = Workspace::new(Inner { dialect, approver, signer, listeners, guests, commands });
        for mount in &self.host_mounts {
            let refuse = |error| Error::HostMount { path: mount.host_path.clone(), cause: Failure(error) };
            workspace.copy_in(mount).map_err(refuse)?;
        }
        Ok(workspace)
    }
}

impl Workspace {
    /// Creates an empty workspace in memory, which does not access any disk and exists as long as this value and its
    /// clones.
    ///
    /// Its calls run one after the other. [`Workspace::load`] fills the workspace, [`Workspace::snapshot`] exports it.
    ///
    /// # Errors
    ///
    /// As [`Builder::build_memory`].
    pub fn memory(policy: Policy) -> Result<Self, Error> {
        Self::builder().policy(policy).build_memory()
    }

    /// Copies a directory of this machine into the workspace, which stays unchanged if that fails.
    ///
    /// # Errors
    ///
    /// `not-found` if the directory cannot be opened, `limit-exceeded` if the copy is larger than a limit, and the errors of
    /// reading it.
    pub fn copy_in(&self, mount: &HostMount) -> Result<Mounted, ToolError> {
        let directory = Self::builder().root_with(&mount.host_path, Access::ReadOnly).no_state_dir();
        let directory = Builder { engine: self.guests().engine.clone(), ..directory };
        let directory = directory.limits(*self.limits()).build();
        let directory = directory.map_err(|cause| ToolError::new(ErrorCode::NotFound, cause.with_sources()))?;
        let choice = session::Choice {
            include_glob: mount.include_glob.clone(),
            exclude_glob: mount.exclude_glob.clone(),
            max_bytes: Some(mount.max_bytes.unwrap_or(u64::MAX).min(self.limits().max_tree_bytes)),
        };
        let call = Call::unwatched(false);
        let session::Collected { archive, files, bytes, absolute_links, skipped } = directory
            .guests()
            .run(&call, async |guest, store| guest.session(&mut *store)?.call_collect(store, &choice).await)??;
        let path = mount.mount_path.as_deref().unwrap_or_default().trim_matches('/');
        let call = Call::unwatched(true);
        self.guests()
            .run(&call, async |guest, store| guest.session(&mut *store)?.call_add(store, &archive, path).await)??;
        Ok(Mounted { files, bytes, absolute_links, skipped })
    }
}
