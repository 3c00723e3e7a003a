//! The change of a file, which callers plan and a step applies.

use paddock_vfs::content::FileContent;

use crate::resolved_path::ResolvedPath;

/// The change of a file, planned completely in memory.
pub struct FileChange {
    /// Path of the file. Missing parent directories are created.
    pub resolved: ResolvedPath,
    /// Current content; `None` if no file may exist there.
    pub old: Option<FileContent>,
    /// New content; `None` removes the file.
    pub new: Option<FileContent>,
    /// Destination of a move, which must not exist.
    pub to: Option<ResolvedPath>,
}

impl FileChange {
    /// Returns the path after the change.
    pub fn path(&self) -> &str {
        &self.to.as_ref().unwrap_or(&self.resolved).path
    }

    /// Returns the content that the change replaces or removes.
    pub fn replaced(&self) -> Option<&FileContent> {
        self.old.as_ref().filter(|_| self.old != self.new)
    }
}
