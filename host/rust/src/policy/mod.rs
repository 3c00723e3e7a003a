//! The policy as the guest is told it.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value};

pub use paddock_policy::{Access, AllowedDirectory, Approval, Backups, Directory, HardLinks, Limits, Mode, Policy};

use crate::error::Error;
use crate::mount::Mount;

/// The settings in a policy's JSON. Fails where one is unknown, has a wrong type or contradicts another.
pub(crate) fn parse(json: &str) -> Result<Map<String, Value>, Error> {
    let settings: Map<String, Value> = serde_json::from_str(json)?;
    let policy = Policy::new(settings.clone(), crate::options::DIALECT)?;
    policy.check().map_err(|wrong| Error::Setting { setting: wrong.setting, cause: wrong.cause })?;
    Ok(settings)
}

/// `PADDOCK_POLICY` for the guest: settings, and beside them what the host is and has.
pub(crate) fn environment(
    settings: &Map<String, Value>,
    backend: Backend,
    mounts: &[Mount],
    private: &[PathBuf],
    approval_key: Option<String>,
) -> serde_json::Result<String> {
    let roots =
        mounts.iter().map(|mount| Root { guest: &mount.guest, host: mount.host.to_str(), access: mount.access });
    let inside = |path: &&PathBuf| mounts.iter().any(|mount| path.starts_with(&mount.host));
    let host = Host {
        // A tree in memory has no modes to lose.
        carries_modes: cfg!(unix) || backend == Backend::Memory,
        private: private.iter().filter(inside).filter_map(|path| path.to_str()).collect(),
        approval_key,
    };
    serde_json::to_string(&Environment { settings, backend, roots: roots.collect(), host })
}

/// `path` with its links resolved as far as it exists.
pub(crate) fn real(path: &Path) -> PathBuf {
    let Ok(real) = path.canonicalize() else {
        return match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => real(parent).join(name),
            _ => path.to_owned(),
        };
    };
    real
}

#[derive(Serialize)]
struct Environment<'a> {
    #[serde(flatten)]
    settings: &'a Map<String, Value>,
    backend: Backend,
    roots: Vec<Root<'a>>,
    host: Host<'a>,
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
struct Host<'a> {
    carries_modes: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    private: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    approval_key: Option<String>,
}
