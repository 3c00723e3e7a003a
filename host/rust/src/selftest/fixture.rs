//! The temporary directory of a run: the workspace, its state directory, and files around them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::canary::Canary;
use super::files;
use super::witness::Witness;

/// Temporary directory of the suite, removed when the value is dropped.
pub struct Fixture {
    keep: TempDir,
    root: PathBuf,
    state: PathBuf,
    outside: PathBuf,
    /// Path of the workspace as the host under test reports it.
    named: String,
    pub(super) canary: Canary,
}

impl Fixture {
    pub(super) fn new(directory: &Path, named: Option<String>) -> io::Result<Self> {
        let keep = tempfile::Builder::new().prefix("paddock-selftest-").tempdir_in(directory)?;
        let top = keep.path().canonicalize()?;
        // Two levels below the temporary directory, so that a host that resolves `..` damages nothing else.
        let top = top.join("a/b");
        let (root, state, outside) = (top.join("ws"), top.join("state"), top.join("outside"));
        let named = named.unwrap_or_else(|| root.to_string_lossy().into_owned());
        let fixture = Self { keep, root, state, outside, named, canary: Canary::new()? };
        fixture.surround()?;
        Ok(fixture)
    }

    /// Returns the path of the workspace.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path of the state directory.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// Returns the path of a directory that no call may read or change.
    pub fn outside(&self) -> &Path {
        &self.outside
    }

    /// Records the files that must not change: everything except the workspace and the state directory.
    pub(super) fn record_outside(&self) -> io::Result<Witness> {
        Witness::record(self.keep.path(), &[&self.root, &self.state])
    }

    pub(super) fn record_inside(&self) -> io::Result<Witness> {
        Witness::record(&self.root, &[])
    }

    /// Returns a file in the state directory that contains the canary, if any.
    pub(super) fn stored_canary(&self) -> io::Result<Option<PathBuf>> {
        let state = Witness::record(&self.state, &[&self.state.join("secret.txt")])?;
        Ok(state.find(|bytes| self.canary.in_bytes(bytes)).map(Path::to_owned))
    }

    /// Returns a file in the workspace that contains the canary, if any.
    pub(super) fn copied_canary(&self) -> io::Result<Option<PathBuf>> {
        Ok(self.record_inside()?.find(|bytes| self.canary.in_bytes(bytes)).map(Path::to_owned))
    }

    /// Fills in the names in a text.
    pub(super) fn fill(&self, text: &str) -> String {
        if !text.contains('{') {
            return text.to_owned();
        }
        let names = [("{outside}", &self.outside), ("{state}", &self.state)];
        let text = names.iter().fold(text.to_owned(), |text, (name, path)| text.replace(name, &path.to_string_lossy()));
        let texts = [("{root}", &self.named), ("{canary}", &self.canary.content), ("{name}", &self.canary.name)];
        texts.iter().fold(text, |text, (name, filled)| text.replace(name, filled))
    }

    /// Creates the workspace again, with an empty state directory.
    pub(super) fn reset(&self) -> io::Result<()> {
        for directory in [&self.root, &self.state] {
            clear(directory)?;
            fs::create_dir_all(directory)?;
        }
        files::file(&self.state.join("secret.txt"), self.canary.content.as_bytes())?;
        files::file(&self.root.join("inside.txt"), b"inside\n")?;
        files::file(&self.root.join("src/lib.txt"), b"inside\n")?;
        files::good_archive(&self.root.join("good.zip"))
    }

    /// Creates everything again, after a change outside.
    pub(super) fn surround(&self) -> io::Result<()> {
        clear(self.keep.path())?;
        let top = self.root.parent().unwrap_or(&self.root);
        let canary = self.canary.content.as_bytes();
        for name in ["outside", "ws-evil", "ws "] {
            files::file(&top.join(name).join("secret.txt"), canary)?;
        }
        files::file(&self.outside.join(&self.canary.name), canary)?;
        files::file(&self.outside.join("dir/deep.txt"), canary)?;
        for (name, text) in [("shared.txt", "inside\n"), ("dir/shared.txt", "inside\n"), ("only/gitignore", "src\n")] {
            files::file(&self.outside.join(name), text.as_bytes())?;
        }
        files::file(&self.outside.join("agentignore"), b"inside.txt\n")?;
        fs::create_dir_all(&self.root)?;
        fs::create_dir_all(&self.state)
    }
}

/// Empties a directory if it exists.
fn clear(directory: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(directory) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    for entry in entries {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}
