//! What the guest is told about its workspace.

use serde::{Deserialize, Serialize};

use crate::limits::Limits;
use crate::mount::{Access, Mount};

/// What tools may do, beyond what the roots' access says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// Nothing may be changed in any root.
    pub read_only: bool,
    /// What a change does to a file that has other hard links.
    pub hard_links: HardLinks,
    /// Protected paths, such as `.git/` and `.vscode/`, may be changed.
    pub allow_protected: bool,
    /// What is kept of what calls change.
    pub backups: Backups,
    /// Sizes, counts and times.
    pub limits: Limits,
}

/// What a change does to a file that has other hard links, which may lie outside the workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HardLinks {
    /// Replaces this name's file; the other names keep the old content.
    #[default]
    Break,
    /// Writes through, so that every name has the new content.
    Keep,
    /// Fails.
    Refuse,
}

/// What is kept of what calls change, in the state directory: the oldest goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Backups {
    /// Whether anything is.
    pub enabled: bool,
    /// The most calls.
    pub max_count: u64,
    /// Days after which a backup goes.
    pub max_days: u64,
    /// Bytes of all backups together. What one call removes beyond them is not kept, and its result says so.
    pub max_bytes: u64,
}

impl Default for Backups {
    fn default() -> Self {
        Self { enabled: true, max_count: 100, max_days: 30, max_bytes: 64 * 1024 * 1024 }
    }
}

impl Policy {
    /// `PADDOCK_POLICY` for the guest, which says what each field means.
    pub(crate) fn environment(&self, backend: Backend, mounts: &[Mount]) -> serde_json::Result<String> {
        let roots =
            mounts.iter().map(|mount| Root { guest: &mount.guest, host: mount.host.to_str(), access: mount.access });
        // A tree in memory has no modes to lose.
        let host = Host { carries_modes: cfg!(unix) || backend == Backend::Memory };
        serde_json::to_string(&Environment { policy: self, backend, roots: roots.collect(), host })
    }
}

#[derive(Serialize)]
struct Environment<'a> {
    #[serde(flatten)]
    policy: &'a Policy,
    backend: Backend,
    roots: Vec<Root<'a>>,
    host: Host,
}

/// Which file system serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Backend {
    Wasi,
    Memory,
}

#[derive(Serialize)]
struct Root<'a> {
    guest: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'a str>,
    access: Access,
}

#[derive(Serialize)]
struct Host {
    carries_modes: bool,
}
