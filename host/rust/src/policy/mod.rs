//! The policy, as the guest receives it.

use std::path::Path;

use paddock_policy::NARROWED;
use serde::Serialize;
use serde_json::{Map, Value};

pub use paddock_policy::{
    Access, AllowedDirectory, Approval, Backups, Commands, Directory, HardLinks, Index, Limits, Mode, Policy,
};

use crate::approval::ApprovalSigner;
use crate::directory::Walk;
use crate::error::Error;
use crate::guarded::OwnPaths;
use crate::host_path;
use crate::mount::Mount;

#[cfg(all(target_os = "linux", feature = "serve"))]
mod configuration;
mod document;
mod files;
mod json;
#[cfg(not(feature = "policy-files"))]
mod json_only;
mod layer;
mod layers;
mod names;
mod node;
mod paths;
mod source;
mod table;
#[cfg(feature = "policy-files")]
mod toml;
#[cfg(feature = "policy-files")]
mod yaml;

#[cfg(not(feature = "policy-files"))]
use json_only::{toml, yaml};

#[cfg(all(target_os = "linux", feature = "serve"))]
pub(crate) use configuration::{Configuration, PolicyLayer};
pub use layers::{Layers, Setting};
pub use paddock_policy::schema;
pub use table::table;

/// Parses a policy's JSON. Fails if a setting is unknown, has a wrong type or contradicts another one.
pub(crate) fn parse(json: &str) -> Result<Map<String, Value>, Error> {
    let settings: Map<String, Value> = serde_json::from_str(json)?;
    let policy = Policy::new(settings.clone(), crate::options::DIALECT)?;
    policy.check().map_err(|wrong| Error::Setting { setting: wrong.setting, cause: wrong.cause })?;
    Ok(settings)
}

/// Returns `PADDOCK_POLICY` for the guest: the settings with the defaults of the workspace's dialect, and the roots and
/// capabilities of the host.
///
/// The guest applies the defaults of the dialect of a call. Those of the workspace's dialect have to apply to its other
/// calls too, such as the typed ones by which the MCP server reads resources.
pub(crate) fn environment(
    settings: &Map<String, Value>,
    dialect: Option<&str>,
    backend: Backend,
    mounts: &[Mount],
    host: Host,
) -> serde_json::Result<String> {
    let roots = mounts.iter().map(|mount| Root {
        guest: &mount.guest,
        host: host_path::for_guest(mount.host()),
        aliases: mount.alias.iter().map(|alias| host_path::text_for_guest(alias)).collect(),
        id: id(mount),
        access: mount.access,
    });
    let mut settings = for_guest(settings.clone());
    if let Some(Value::Object(own)) = dialect.and_then(paddock_policy::of_dialect) {
        for (name, value) in own {
            settings.entry(name).or_insert(value);
        }
    }
    let settings = &settings;
    serde_json::to_string(&Environment { settings, backend, roots: roots.collect(), host })
}

/// Returns an identifier that distinguishes a root from a later directory at the same path, and from a root of
/// another workspace at the same guest path.
pub(crate) fn id(mount: &Mount) -> String {
    let inode = mount.directory.identity().inode();
    // The path of a container's root is valid in this process only.
    if mount.is_contained { inode.to_string() } else { format!("{inode}:{}", mount.host().to_string_lossy()) }
}

/// Returns the settings with blocked paths in the guest's form. Adds absolute ones with their links resolved, since the
/// guest compares them with the resolved paths of the roots.
fn for_guest(mut settings: Map<String, Value>) -> Map<String, Value> {
    for (name, value) in &mut settings {
        match value {
            Value::Object(narrowed) if name == NARROWED => *narrowed = for_guest(std::mem::take(narrowed)),
            Value::Array(paths) if name == "blocked_directories" => {
                let absolute = paths.iter().filter_map(Value::as_str).filter(|path| Path::new(path).is_absolute());
                let end = |path| host_path::for_guest(&Walk::new(Path::new(path)).ok()?.path());
                let ends: Vec<_> = absolute.filter_map(end).map(Value::from).collect();
                for path in paths.iter_mut() {
                    if let Value::String(path) = path {
                        *path = host_path::text_for_guest(path);
                    }
                }
                let ends: Vec<_> = ends.into_iter().filter(|end| !paths.contains(end)).collect();
                paths.extend(ends);
            }
            _ => {}
        }
    }
    settings
}

#[derive(Serialize)]
struct Environment<'a> {
    #[serde(flatten)]
    settings: &'a Map<String, Value>,
    backend: Backend,
    roots: Vec<Root<'a>>,
    host: Host,
}

/// The file system that serves the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Backend {
    Wasi,
    Memory,
    Overlay,
}

#[derive(Serialize)]
struct Root<'a> {
    guest: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    aliases: Vec<String>,
    id: String,
    access: Access,
}

/// Whether file systems of this system find an entry by other names than the one that they list.
const NAMES: Option<&str> = if cfg!(windows) {
    Some("windows")
} else if cfg!(target_vendor = "apple") {
    Some("folded")
} else {
    None
};

/// Capabilities of the host.
#[derive(Serialize)]
pub(crate) struct Host {
    carries_modes: bool,
    keeps_modes: bool,
    /// Whether the metadata hash says whether it is a stamp of the content.
    has_stamps: bool,
    /// Whether a rename over a file of a root fails, but gives its mode to the guest's temporary file: the roots
    /// are read-only.
    lends_modes: bool,
    /// Whether file systems find an entry by several names, and paths are those of Windows.
    #[serde(skip_serializing_if = "Option::is_none")]
    names: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    private: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fixed: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    approval_key: Option<String>,
    records: bool,
    /// Letter case of arguments and functions in errors of typed functions.
    name_case: &'static str,
}

impl Host {
    /// Returns the capabilities of the host. With `records`, the host requests the paths that calls accessed.
    pub(crate) fn new(backend: Backend, own: OwnPaths, signer: &ApprovalSigner, records: bool) -> Self {
        Self {
            // An in-memory tree has no modes to lose.
            carries_modes: cfg!(unix) || backend == Backend::Memory,
            keeps_modes: cfg!(target_os = "linux") && backend != Backend::Memory,
            has_stamps: cfg!(target_os = "linux") && backend == Backend::Wasi,
            lends_modes: cfg!(target_os = "linux") && backend == Backend::Overlay,
            names: NAMES.filter(|_| backend != Backend::Memory),
            private: own.private,
            fixed: own.fixed,
            approval_key: signer.key(),
            records,
            name_case: "snake_case",
        }
    }
}
