//! One file's change, as callers plan it and a step makes it.

use paddock_vfs::content::FileContent;

use crate::resolved_path::ResolvedPath;

/// One file's change, planned whole in memory.
pub struct FileChange {
    /// Where the file is, or is to be. Missing parent directories are made.
    pub resolved: ResolvedPath,
    /// What it holds now; none where nothing may be there.
    pub old: Option<FileContent>,
    /// What it is to hold; none to remove it.
    pub new: Option<FileContent>,
    /// Where it is to be moved; nothing may be there.
    pub to: Option<ResolvedPath>,
}

impl FileChange {
    /// What it replaces or removes.
    pub fn replaced(&self) -> Option<&FileContent> {
        self.old.as_ref().filter(|_| self.old != self.new)
    }
}
