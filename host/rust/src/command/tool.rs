//! Calls of tools that run commands: the component says what to do before and how to tell it after.

#[cfg(target_os = "linux")]
use std::path::PathBuf;

use super::{Commands, How};
use crate::bindings::exports::paddock::files::commands::Done;
use crate::options::CancelToken;
use crate::outcome::Outcome;
use crate::types::{ErrorCode, ToolError};
use crate::watch::Call;
use crate::workspace::{Inner, Workspace};

impl Workspace {
    /// Ends every session of commands with all its processes, and waits until what they changed is recorded. A
    /// workspace that goes ends them too, without the record.
    pub fn end_sessions(&self) {
        if let Some(commands) = &self.inner().commands {
            commands.end();
        }
    }

    /// Calls such a tool.
    pub(crate) fn command(
        &self,
        commands: &Commands,
        call: &Call<'_>,
        (dialect, tool, arguments): (&str, &str, &str),
    ) -> Result<Outcome, ToolError> {
        // The guest changes nothing, and need not wait for those that do.
        let looks = Call { changing: false, options: call.options, watch: call.watch };
        let (asked, plan) = self.run_asking(
            &looks,
            async |guest, store| guest.commands(&mut *store)?.call_asked(store, dialect, tool, arguments).await,
            |asked| asked.as_ref().and_then(|asked| asked.as_ref().err()).and_then(|outcome| outcome.error.as_ref()),
        )?;
        let request = match asked {
            Some(Ok(request)) => request,
            Some(Err(outcome)) => return Ok(Outcome { plan, ..Outcome::from(outcome) }),
            None => return Err(ToolError::new(ErrorCode::UnknownTool, format!("there is no tool `{tool}`"))),
        };
        let cancel = call.options.map_or_else(CancelToken::default, |options| options.cancel.clone());
        let done = commands.perform(&How { workspace: self.inner(), cancel: &cancel }, &request);
        if let (Some(watch), Ok(Done::Ran(ran))) = (call.watch, &done) {
            watch.output(ran);
        }
        // What was done is told, cancelled or not.
        let told = self.run(&Call { options: None, ..looks }, async |guest, store| {
            guest.commands(&mut *store)?.call_answer(store, dialect, tool, arguments, done.as_ref()).await
        })?;
        Ok(Outcome::from(told))
    }
}

impl Inner {
    /// Where a directory is on the host that results show as `path`.
    #[cfg(target_os = "linux")]
    pub(crate) fn host_path(&self, path: &str) -> Result<PathBuf, ToolError> {
        let (root, below) = self.place(path)?;
        let root = self.mounts.get(root).map(|mount| mount.host().to_owned()).unwrap_or_default();
        Ok(if below.is_empty() { root } else { root.join(below) })
    }

    /// The root of a directory that results show as `path`, and its path from the top of that; nothing for the top.
    pub(crate) fn place<'p>(&self, path: &'p str) -> Result<(usize, &'p str), ToolError> {
        let inside = |guest: &str| match path.strip_prefix(guest.trim_end_matches('/')) {
            Some("") => Some(""),
            Some(rest) => rest.strip_prefix('/'),
            None => None,
        };
        let found = match path.starts_with('/') {
            true => self.mounts.iter().enumerate().find_map(|(root, mount)| Some((root, inside(&mount.guest)?))),
            false => Some((0, if path == "." { "" } else { path })).filter(|_| !self.mounts.is_empty()),
        };
        // The component resolved it; one that was taken over may say anything.
        // From a `/` at its start, a path would begin at the top of the file system.
        let is_plain =
            |below: &str| !below.starts_with('/') && below.split('/').all(|name| name != ".." && !name.contains('\0'));
        found.filter(|(_, below)| is_plain(below)).ok_or_else(|| {
            ToolError::new(ErrorCode::OutsideWorkspace, format!("cannot run in `{path}`: it is in no root"))
                .hint("use a directory of the workspace")
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::Workspace;

    #[test]
    fn no_directory_that_the_component_names_is_outside() {
        let home = tempfile::tempdir().unwrap();
        let workspace = Workspace::builder().root(home.path()).no_state_dir().build().unwrap();
        let inner = workspace.inner();
        assert_eq!(inner.host_path(".").unwrap(), home.path());
        assert_eq!(inner.host_path("a/b..").unwrap(), home.path().join("a/b.."));
        for path in
            ["..", "a/../..", "/etc", "/workspace/../x", "../workspace", "a/\0", "/workspace//etc", "/workspace//"]
        {
            assert!(inner.host_path(path).is_err(), "{path:?}: {:?}", inner.host_path(path));
        }
    }
}
