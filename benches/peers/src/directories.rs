//! Directories: the repository, generated trees below `target/`, the crate registry.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Returns the top directory of the repository.
pub fn repository() -> PathBuf {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_dir.ancestors().nth(2).unwrap_or(crate_dir).to_owned()
}

/// Returns the path of a script, which represents a tool of a few lines in Node or Python.
pub fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("plain").join(name)
}

/// Returns the directory for generated trees, created if it does not exist.
pub fn trees() -> Result<PathBuf> {
    created(repository().join("target/bench-trees/peers"))
}

/// Returns the directory for installed peers, created if it does not exist.
pub fn installed() -> Result<PathBuf> {
    created(repository().join("target/bench-peers"))
}

/// Returns an empty directory for tasks that change files.
pub fn scratch(name: &str) -> Result<PathBuf> {
    let dir = trees()?.join("scratch").join(name);
    match fs::remove_dir_all(&dir) {
        Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
            Err(cause).with_context(|| format!("cannot empty `{}`", dir.display()))
        }
        _ => created(dir),
    }
}

/// Returns the directory with the sources of crates that cargo has unpacked, used as a real tree.
pub fn registry() -> Result<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).context("there is no home directory")?;
    let sources = home.join("registry/src");
    let folders = fs::read_dir(&sources).with_context(|| format!("there is no `{}`", sources.display()))?;
    let mut folders: Vec<_> = folders.filter_map(|entry| Some(entry.ok()?.path())).collect();
    folders.sort();
    folders.into_iter().next().context("cargo has not unpacked any crate")
}

fn created(dir: PathBuf) -> Result<PathBuf> {
    fs::create_dir_all(&dir).with_context(|| format!("cannot make `{}`", dir.display()))?;
    Ok(dir)
}
