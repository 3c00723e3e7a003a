//! Settings of a workspace that a server serves.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Builder;
use crate::roots::OtherRoots;

impl Builder {
    /// Adds a file of the host that no tool may read or change.
    pub(crate) fn private(mut self, file: &Path) -> Self {
        self.private.push(file.to_owned());
        self
    }

    /// Sets the roots whose changes that were cut off each change completes or undoes first.
    pub(crate) fn other_roots(mut self, others: Option<Arc<dyn OtherRoots>>) -> Self {
        self.other_roots = others;
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
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::budget::CallBudget;
    use crate::types::{ErrorCode, ToolError};
    use crate::{Outcome, Workspace};

    /// Another root whose change was cut off, `remaining` times.
    struct Fake {
        remaining: AtomicUsize,
        recover: Box<dyn Fn() -> Result<(), ToolError> + Send + Sync>,
    }

    impl OtherRoots for Fake {
        fn are_cut_off(&self) -> Result<bool, ToolError> {
            Ok(self.remaining.load(Ordering::Relaxed) > 0)
        }

        fn recover(&self, _: &CallBudget) -> Result<(), ToolError> {
            self.remaining.fetch_sub(1, Ordering::Relaxed);
            (self.recover)()
        }
    }

    fn write(builder: Builder, path: &str) -> Outcome {
        builder.build().unwrap().call("write_file", &format!(r#"{{"path": "{path}", "content": "new"}}"#))
    }

    fn with_other(
        [root, state]: [&Path; 2],
        remaining: usize,
        recover: impl Fn() -> Result<(), ToolError> + Send + Sync + 'static,
    ) -> Outcome {
        let others = Arc::new(Fake { remaining: remaining.into(), recover: Box::new(recover) });
        let builder = Workspace::builder().root(root).state_dir(state).other_roots(Some(others.clone()));
        let outcome = write(builder, "a.txt");
        assert_eq!(outcome.ok, others.remaining.load(Ordering::Relaxed) == 0);
        outcome
    }

    #[test]
    fn a_change_completes_first_what_was_cut_off_meanwhile() {
        let (root, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let directories = [root.path(), state.path()];
        // The recovery takes the locks that the call held.
        let [own_root, own_state] = directories.map(Path::to_owned);
        let recover = move || {
            let builder = Workspace::builder().root(&own_root).state_dir(&own_state);
            write(builder, "recovered.txt").error.map_or(Ok(()), Err)
        };
        let outcome = with_other(directories, 2, recover);
        assert!(outcome.ok, "{outcome:?}");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_change_fails_if_what_was_cut_off_cannot_be_completed() {
        let (root, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let directories = [root.path(), state.path()];
        let error = with_other(directories, 2, || Err(ToolError::new(ErrorCode::Io, "no"))).error.unwrap();
        assert_eq!(error.message, "no");
        let error = with_other(directories, usize::MAX, || Ok(())).error.unwrap();
        assert!(error.message.contains("again and again"), "{error:?}");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }
}
