//! Settings of a workspace that a server serves.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Builder;
use crate::types::ToolError;

impl Builder {
    /// Adds a file of the host that no tool may read or change.
    pub(crate) fn private(mut self, file: &Path) -> Self {
        self.private.push(file.to_owned());
        self
    }

    /// Sets a check that runs before each change, when the call holds its locks. If it fails, nothing is changed.
    pub(crate) fn check_changes(mut self, check: impl Fn() -> Result<(), ToolError> + Send + Sync + 'static) -> Self {
        self.change_check = Some(Arc::new(check));
        self
    }

    /// Sets the directory of the locks that processes of other users and machines take too.
    pub(crate) fn shared_locks(mut self, directory: PathBuf) -> Self {
        self.shared_locks = Some(directory);
        self
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::Workspace;
    use crate::types::{ErrorCode, ToolError};

    #[test]
    fn a_change_whose_check_fails_changes_nothing() {
        let (root, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(root.path().join("a.txt"), "old").unwrap();
        let check = || Err(ToolError::new(ErrorCode::LimitExceeded, "not now"));
        let builder = Workspace::builder().root(root.path()).state_dir(state.path()).check_changes(check);
        let workspace = builder.build().unwrap();
        let outcome = workspace.call("write_file", r#"{"path": "a.txt", "content": "new"}"#);
        assert_eq!(outcome.error.map(|error| error.message).as_deref(), Some("not now"));
        assert_eq!(fs::read_to_string(root.path().join("a.txt")).unwrap(), "old");
        assert!(workspace.call("read_file", r#"{"path": "a.txt"}"#).ok);
    }
}
