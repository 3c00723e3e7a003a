//! Directories that a workspace in memory gets copies of.

use std::path::{Path, PathBuf};

use crate::types::Skipped;

/// A directory of which a workspace in memory gets a copy.
///
/// Copied are files, directories and relative links, hidden and git-ignored ones too; what the directory's
/// `.agentignore` files name is not. No link is followed. Mode bits are not copied: the component cannot see them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostMount {
    /// The directory.
    pub host_path: PathBuf,
    /// Destination of the copy, relative to the workspace; `None` is its top.
    pub mount_path: Option<String>,
    /// Globs of the only files to copy; all where there is none. One without `/` is matched against names.
    pub include_glob: Vec<String>,
    /// Globs of what is left out, directories with all that is in them. They win over `include_glob`.
    pub exclude_glob: Vec<String>,
    /// The most bytes of all its files together; with more, nothing is copied.
    pub max_bytes: Option<u64>,
}

impl HostMount {
    /// The whole directory, at the top of the workspace.
    pub fn new(host_path: impl AsRef<Path>) -> Self {
        Self { host_path: host_path.as_ref().to_owned(), ..Self::default() }
    }

    /// Puts the copy at this path, relative to the workspace.
    #[must_use]
    pub fn with_mount_path(self, path: impl Into<String>) -> Self {
        Self { mount_path: Some(path.into()), ..self }
    }

    /// Copies only what these globs match.
    #[must_use]
    pub fn with_include_glob<G: Into<String>>(self, globs: impl IntoIterator<Item = G>) -> Self {
        Self { include_glob: globs.into_iter().map(Into::into).collect(), ..self }
    }

    /// Leaves out what these globs match.
    #[must_use]
    pub fn with_exclude_glob<G: Into<String>>(self, globs: impl IntoIterator<Item = G>) -> Self {
        Self { exclude_glob: globs.into_iter().map(Into::into).collect(), ..self }
    }

    /// Copies nothing where the files have more bytes than this.
    #[must_use]
    pub fn with_max_bytes(self, max_bytes: u64) -> Self {
        Self { max_bytes: Some(max_bytes), ..self }
    }
}

/// Result of a copy.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Mounted {
    /// Files.
    pub files: u64,
    /// Bytes of these files.
    pub bytes: u64,
    /// Symbolic links that were left out, since they lead to an absolute path.
    pub absolute_links: u64,
    /// Numbers of other entries that were left out.
    pub skipped: Skipped,
}
