//! Directories that are copied into a workspace in memory.

use std::path::{Path, PathBuf};

use crate::types::Skipped;

/// A directory that is copied into a workspace in memory.
///
/// The copy has files, directories and relative links, including hidden and git-ignored entries, and excluding
/// entries that `.agentignore` files of the directory name. Links are not followed. Mode bits are not copied, because
/// the component cannot see them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostMount {
    /// The directory.
    pub host_path: PathBuf,
    /// Destination of the copy, relative to the workspace; `None` is its top.
    pub mount_path: Option<String>,
    /// Globs of the files to copy; all files if the list is empty. A glob without `/` is compared with names.
    pub include_glob: Vec<String>,
    /// Globs of excluded entries; an excluded directory is excluded with its content. They have precedence over
    /// `include_glob`.
    pub exclude_glob: Vec<String>,
    /// Maximum total size of the files in bytes. If it is exceeded, nothing is copied.
    pub max_bytes: Option<u64>,
}

impl HostMount {
    /// Copies the whole directory to the top of the workspace.
    pub fn new(host_path: impl AsRef<Path>) -> Self {
        Self { host_path: host_path.as_ref().to_owned(), ..Self::default() }
    }

    /// Sets the destination, relative to the workspace.
    #[must_use]
    pub fn with_mount_path(self, path: impl Into<String>) -> Self {
        Self { mount_path: Some(path.into()), ..self }
    }

    /// Copies only files that match these globs.
    #[must_use]
    pub fn with_include_glob<G: Into<String>>(self, globs: impl IntoIterator<Item = G>) -> Self {
        Self { include_glob: globs.into_iter().map(Into::into).collect(), ..self }
    }

    /// Excludes entries that match these globs.
    #[must_use]
    pub fn with_exclude_glob<G: Into<String>>(self, globs: impl IntoIterator<Item = G>) -> Self {
        Self { exclude_glob: globs.into_iter().map(Into::into).collect(), ..self }
    }

    /// Sets the maximum total size in bytes; if it is exceeded, nothing is copied.
    #[must_use]
    pub fn with_max_bytes(self, max_bytes: u64) -> Self {
        Self { max_bytes: Some(max_bytes), ..self }
    }
}

/// Result of a copy.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Mounted {
    /// Number of files.
    pub files: u64,
    /// Total size of the files in bytes.
    pub bytes: u64,
    /// Number of symbolic links that were left out because their target is absolute.
    pub absolute_links: u64,
    /// Numbers of other entries that were left out.
    pub skipped: Skipped,
}
