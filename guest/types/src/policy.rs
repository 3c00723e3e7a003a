//! The content of `PADDOCK_POLICY`: the settings of the policy, and facts about the host. The host's preopened
//! directories grant the rights; the policy refuses early with an explanation, and sets the limits.

use std::ops::{Deref, DerefMut};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::approval_plan::Decision;
use crate::error::{Code, Error, NameCase, Result};

pub use paddock_policy::{Access as RootAccess, Approval, Backups, Commands, HardLinks, Index, Limits};

/// The policy of one call, and facts about the host. Every member is optional.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Policy of the tools.
    pub rules: paddock_policy::Policy,
    /// Backend of the workspace.
    pub backend: Backend,
    /// Facts about each preopened directory, by its guest path: `roots`.
    pub roots: Vec<RootPolicy>,
    /// Capabilities of the host beyond WASI: `host`.
    pub host: HostPolicy,
    /// Whether `/` is the first root in the paths of a call, unless they name another root or a directory of the host.
    pub slash_is_root: bool,
}

impl Policy {
    /// Parses the policy's JSON for a call in `dialect`, which may have its own defaults.
    pub fn parse(json: &str, dialect: &str) -> Result<Self> {
        Self::read(json, dialect).map_err(|cause| {
            Error::new(Code::InvalidArgument, format!("cannot read PADDOCK_POLICY: {cause}"))
                .hint("the host has to set it to the JSON object that the documentation shows, or leave it unset")
        })
    }

    fn read(json: &str, dialect: &str) -> serde_json::Result<Self> {
        let mut settings: Map<String, Value> = serde_json::from_str(json)?;
        Ok(Self {
            backend: take(&mut settings, "backend")?,
            roots: take(&mut settings, "roots")?,
            host: take(&mut settings, "host")?,
            rules: paddock_policy::Policy::new(settings, dialect)?,
            slash_is_root: dialect == "weakincentives",
        })
    }
}

fn take<T: DeserializeOwned + Default>(settings: &mut Map<String, Value>, name: &str) -> serde_json::Result<T> {
    settings.remove(name).map_or_else(|| Ok(T::default()), serde_json::from_value)
}

impl Deref for Policy {
    type Target = paddock_policy::Policy;

    fn deref(&self) -> &Self::Target {
        &self.rules
    }
}

impl DerefMut for Policy {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.rules
    }
}

/// Kind of backend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// The host's preopens.
    #[default]
    Wasi,
    /// A tree in the instance's own memory, kept as long as the instance.
    Memory,
    /// The host's preopened directories, unchanged, with the changes of calls in a further preopened directory.
    Overlay,
}

/// Facts about one preopened directory.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RootPolicy {
    /// The preopen's guest path.
    pub guest: String,
    /// The directory's own absolute path on the host: paths below it are mapped into the root.
    #[serde(default)]
    pub host: Option<String>,
    /// Further absolute paths by which the caller may name the directory, such as one through a symbolic link.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Identifier that differs from that of any other directory with this guest path, in another workspace or at a later time.
    #[serde(default)]
    pub id: Option<String>,
    /// Whether it may be changed.
    #[serde(default)]
    pub access: RootAccess,
}

/// Capabilities of the host beyond WASI.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HostPolicy {
    /// Whether a rename of a temporary file over an existing file gives the new file the old file's mode bits, owner
    /// and extended attributes.
    pub carries_modes: bool,
    /// Whether the host transfers the mode even at a rename that it refuses because the existing file is in a read-only
    /// root. An overlay uses this to set the mode of its copy. It must be false if the host would perform such a
    /// rename.
    pub lends_modes: bool,
    /// Whether the host reports permission bits in the last twelve bits of the upper word of the metadata hash, and
    /// sets them at a rename to the name `.paddock-mode-` with four octal digits, which renames nothing. Such a host
    /// creates files whose names end in `.private.tmp` with rights for their owner only.
    pub keeps_modes: bool,
    /// Whether the bit 12 of the upper word of the metadata hash of a regular file says that the hash depends on device,
    /// inode, size and the times of the last changes of content and metadata, and that the file system keeps these
    /// times with every change. A search index needs such hashes.
    pub has_stamps: bool,
    /// Whether file systems of the host find an entry by other names than the one that they list, such as a short name,
    /// or one in another Unicode normalization: `folded` if they do; `windows` if paths are also those of Windows.
    /// Absolute paths of the host then have the form of [`paddock_policy::windows_path::slashed`], and those of a call
    /// get it.
    pub names: Option<String>,
    /// Absolute paths of the host's own files, which are closed to all tools if a root contains them.
    pub private: Vec<String>,
    /// Links on the way to them, by absolute path: they may be followed and not changed.
    pub fixed: Vec<String>,
    /// The key with which the host signs approvals, in hexadecimal. `None` if the host cannot request approvals.
    pub approval_key: Option<String>,
    /// Decision about this call, if it needs approval. The host passes it by a function call, not with the policy.
    #[serde(skip)]
    pub decision: Option<Decision>,
    /// Whether the host keeps an audit log and reads the accessed paths of each call.
    pub records: bool,
    /// Letter case of arguments and functions in the host's typed interface. Errors of typed functions use it.
    pub name_case: NameCase,
}

impl HostPolicy {
    /// Returns whether paths are those of Windows.
    pub fn has_windows_paths(&self) -> bool {
        self.names.as_deref() == Some("windows")
    }
}
