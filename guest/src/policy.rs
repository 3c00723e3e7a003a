//! What the host allows, as `PADDOCK_POLICY` tells it: JSON with every field
//! optional. Rights are the host's preopens; the policy refuses early and
//! explains, and sets the limits.

use serde::Deserialize;

use crate::error::{Code, Error, Result};
use crate::limits::Limits;

/// What the host allows.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// Which file system serves.
    pub backend: Backend,
    /// What is to be known of each preopen, by its guest path.
    pub roots: Vec<RootPolicy>,
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
    /// What the host does beyond WASI.
    pub host: HostPolicy,
}

impl Policy {
    /// Reads the policy's JSON.
    pub fn parse(json: &str) -> Result<Self> {
        serde_json::from_str(json).map_err(|cause| {
            Error::new(Code::InvalidArgument, format!("cannot read PADDOCK_POLICY: {cause}"))
                .hint("the host has to set it to the JSON object that the documentation shows, or leave it unset")
        })
    }
}

/// Which file system serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// The host's preopens.
    #[default]
    Wasi,
    /// A tree in the instance's own memory, kept as long as the instance.
    Memory,
}

/// What is to be known of one preopen.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RootPolicy {
    /// The preopen's guest path.
    pub guest: String,
    /// The directory's own absolute path on the host: paths below it are mapped into the root.
    #[serde(default)]
    pub host: Option<String>,
    /// Whether it may be changed.
    #[serde(default)]
    pub access: RootAccess,
}

/// Rights on a root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RootAccess {
    /// Look, and change nothing.
    ReadOnly,
    /// Look and change.
    #[default]
    ReadWrite,
}

/// What a change does to a file that has other hard links, which may lie outside the workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
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

/// What is kept of what calls change, in the state directory that the host preopens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Backups {
    /// Whether anything is.
    pub enabled: bool,
    /// The most calls; the oldest go first.
    pub max_count: u64,
    /// Days after which a backup goes.
    pub max_days: u64,
    /// Bytes of all backups together. What one call removes beyond them is not kept, and the result says so.
    pub max_bytes: u64,
}

impl Default for Backups {
    fn default() -> Self {
        Self { enabled: true, max_count: 100, max_days: 30, max_bytes: 64 * 1024 * 1024 }
    }
}

/// What the host does beyond WASI.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HostPolicy {
    /// At a rename of a temporary file over an existing one, the host gives the
    /// new one the old one's mode bits, owner and extended attributes.
    pub carries_modes: bool,
}
