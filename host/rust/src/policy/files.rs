//! The files that contain policies.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::document::{MAX_BYTES, too_large};
use super::node::Fault;
use super::source::Source;
use crate::error::Error;
use crate::regular::{self, Refused};
use crate::user_directories;

/// File name extensions of policies.
const EXTENSIONS: [&str; 4] = ["yaml", "yml", "toml", "json"];

/// Reads the user's policy, if it exists.
pub(super) fn user() -> Result<Option<(PathBuf, String)>, Error> {
    let Some(directory) = user_directories::config() else { return Ok(None) };
    let Some(path) = only_one(&directory, "policy")? else { return Ok(None) };
    let text = own(&path)?;
    Ok(Some((path, text)))
}

/// Reads the policy in the workspace at `root`, if it exists. It has to be a regular file and not a symbolic link.
pub(super) fn project(root: &Path) -> Result<Option<(PathBuf, String)>, Error> {
    let root = std::path::absolute(root).map_err(|cause| Source::unreadable(root, cause))?;
    let Some(path) = only_one(&root, ".paddock")? else { return Ok(None) };
    let file = open_project(&path).map_err(|cause| Source::unreadable(&path, cause))?;
    let text = read(&path, file, MAX_BYTES)?;
    Ok(Some((path, text)))
}

/// Reads a policy in a file that the user names.
pub(super) fn own(path: &Path) -> Result<String, Error> {
    own_up_to(path, MAX_BYTES)
}

/// Reads a file that the user names, with at most this number of bytes.
pub(super) fn own_up_to(path: &Path, max_bytes: usize) -> Result<String, Error> {
    let file = File::open(path).map_err(|cause| Source::unreadable(path, cause))?;
    read(path, file, max_bytes)
}

/// Returns the only file of that name in the directory. Two files are an error, since their order would be
/// undefined.
fn only_one(directory: &Path, name: &str) -> Result<Option<PathBuf>, Error> {
    let mut existing: Option<PathBuf> = None;
    for extension in EXTENSIONS {
        let path = directory.join(format!("{name}.{extension}"));
        match path.symlink_metadata() {
            Ok(_) => {}
            Err(cause) if matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => continue,
            // A policy that cannot be read may contain restrictions.
            Err(cause) => return Err(Source::unreadable(&path, cause)),
        }
        if let Some(first) = &existing {
            return Err(Source::unreadable(&path, format!("`{}` exists too; keep one of them", first.display())));
        }
        existing = Some(path);
    }
    Ok(existing)
}

fn open_project(path: &Path) -> io::Result<File> {
    let refused = |cause: &'static str| io::Error::new(io::ErrorKind::InvalidInput, cause);
    regular::open(path, &regular::options()).map_err(|cause| match cause {
        Refused::Link => refused("a policy cannot be a symbolic link: put the file itself there"),
        Refused::NotRegular => refused("it is not a regular file"),
        Refused::Io(cause) => cause,
    })
}

fn read(path: &Path, file: File, max_bytes: usize) -> Result<String, Error> {
    let mut bytes = Vec::new();
    let max = u64::try_from(max_bytes).unwrap_or(u64::MAX);
    file.take(max.saturating_add(1)).read_to_end(&mut bytes).map_err(|cause| Source::unreadable(path, cause))?;
    if bytes.len() > max_bytes {
        return Err(Source::unreadable(path, too_large(max_bytes)));
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = error.as_bytes().iter().take(error.utf8_error().valid_up_to());
        let line = 1 + good.filter(|byte| **byte == b'\n').count();
        Source::File(path.to_owned()).fail(Fault::new(line, "it is not UTF-8"))
    })
}
