//! A case: its folder and the content of `call.json`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::Value;

use super::backend::Backend;
use super::setup::{Setup, Start};
use super::system;

/// A case, read from its folder.
pub struct Case {
    /// Name in the form `operation/NNN_name`.
    pub name: String,
    pub folder: PathBuf,
    pub start: Start,
    pub policy: Value,
    pub calls: Vec<Call>,
    /// Whether `call.json` contains `{root}` or `{outside}`.
    pub absolute: bool,
    only: Vec<Backend>,
    reason: String,
    not_over_overlay: Option<String>,
    not_in_container: Option<String>,
    not_on_windows: Option<String>,
}

/// A call of a tool.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    pub tool: String,
    #[serde(default)]
    pub arguments: Value,
    /// The arguments as text, in place of `arguments`.
    pub raw: Option<String>,
    #[serde(default = "paddock")]
    pub dialect: String,
}

/// Content of `call.json`: one call, or several in `calls`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CallFile {
    #[serde(default)]
    setup: Vec<Setup>,
    policy: Option<Value>,
    #[serde(default)]
    only: Vec<Backend>,
    #[serde(default)]
    reason: String,
    /// Reason why an overlay differs from a directory.
    not_over_overlay: Option<String>,
    /// Reason why a container differs from a directory.
    not_in_container: Option<String>,
    /// Reason why a directory on Windows differs.
    not_on_windows: Option<String>,
    /// Reason why the Python host differs from a directory; only its runner skips the case.
    #[serde(rename = "not_in_python")]
    _not_in_python: Option<String>,
    calls: Option<Vec<Call>>,
    tool: Option<String>,
    #[serde(default)]
    arguments: Value,
    raw: Option<String>,
    dialect: Option<String>,
}

fn paddock() -> String {
    "paddock".to_owned()
}

impl Case {
    /// Returns all cases below `folder`, by name.
    pub fn all(folder: &Path) -> Result<Vec<Self>> {
        let mut cases = Vec::new();
        for operation in folders(folder)? {
            for case in folders(&operation)? {
                let name = format!("{}/{}", file_name(&operation), file_name(&case));
                cases.push(Self::read(name.clone(), case).with_context(|| format!("tests/cases/{name}"))?);
            }
        }
        Ok(cases)
    }

    fn read(name: String, folder: PathBuf) -> Result<Self> {
        let text = fs::read_to_string(folder.join("call.json")).context("call.json")?;
        let file: CallFile = serde_json::from_str(&text).context("call.json")?;
        ensure!(file.only.is_empty() == file.reason.is_empty(), "call.json: `only` and `reason` go together");
        Ok(Self {
            start: Start::read(&folder, &file.setup)?,
            policy: file.policy.clone().unwrap_or_else(|| Value::Object(serde_json::Map::new())),
            absolute: text.contains("{root}") || text.contains("{outside}"),
            only: file.only.clone(),
            reason: file.reason.clone(),
            not_over_overlay: file.not_over_overlay.clone(),
            not_in_container: file.not_in_container.clone(),
            not_on_windows: file.not_on_windows.clone(),
            calls: file.calls()?,
            name,
            folder,
        })
    }

    /// Fails with the reason if the case does not run on a backend.
    pub fn runs_on(&self, backend: Backend) -> Result<(), String> {
        let (named, load) = match backend {
            // An overlay has a real directory too.
            Backend::Overlay => (Backend::Directory, self.not_over_overlay.as_ref()),
            Backend::Container => (Backend::Directory, self.not_in_container.as_ref()),
            backend => (backend, None),
        };
        if named == Backend::Directory {
            self.fits_system()?;
        }
        match load {
            Some(reason) => Err(reason.clone()),
            None if self.only.is_empty() || self.only.contains(&named) => Ok(()),
            None => Err(self.reason.clone()),
        }
    }

    /// Fails with the reason if no directory of this system can hold the case, or if the results differ there.
    fn fits_system(&self) -> Result<(), String> {
        let differs = self.not_on_windows.clone().filter(|_| cfg!(windows));
        differs.or_else(|| system::unfit(&self.start).map(str::to_owned)).map_or(Ok(()), Err)
    }

    /// Returns the backend whose results are recorded.
    pub fn first_backend(&self) -> Result<Backend> {
        Backend::ALL.into_iter().find(|backend| self.runs_on(*backend).is_ok()).context("`only` names no backend")
    }
}

impl CallFile {
    fn calls(self) -> Result<Vec<Call>> {
        let single = self.tool.map(|tool| Call {
            tool,
            arguments: self.arguments,
            raw: self.raw,
            dialect: self.dialect.unwrap_or_else(paddock),
        });
        match (single, self.calls) {
            (Some(call), None) => Ok(vec![call]),
            (None, Some(calls)) if !calls.is_empty() => Ok(calls),
            _ => bail!("call.json needs either `tool` or `calls`"),
        }
    }
}

/// Returns the folders in a folder, by name.
pub fn folders(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            folders.push(entry.path());
        }
    }
    folders.sort();
    Ok(folders)
}

/// Returns the last name of a path.
pub fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
