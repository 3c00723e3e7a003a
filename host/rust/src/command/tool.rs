//! Calls of tools that run commands: the component says what to do before and how to tell it after.

#[cfg(target_os = "linux")]
use std::ffi::OsStr;
#[cfg(target_os = "linux")]
use std::io;

use super::{Commands, How};
use crate::bindings::exports::paddock::files::commands::Done;
#[cfg(target_os = "linux")]
use crate::directory::Directory;
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
    /// The directory that results show as `path`, opened.
    #[cfg(target_os = "linux")]
    pub(crate) fn directory(&self, path: &str) -> Result<Directory, ToolError> {
        let (root, below) = self.place(path)?;
        let root = self.mounts.get(root).map(|mount| &mount.directory);
        let names = below.split('/').filter(|name| !name.is_empty()).map(OsStr::new);
        root.ok_or(io::ErrorKind::NotFound.into()).and_then(|root| root.descend(names)).map_err(|cause: io::Error| {
            ToolError::new(ErrorCode::NotFound, format!("cannot run in `{path}`: {cause}"))
                .hint("use a directory of the workspace that is there, by its path without links")
        })
    }

    /// What results show of a path from the top of a root.
    pub(crate) fn shown(&self, root: usize, below: &str) -> String {
        let guest = self.mounts.get(root).map_or("", |mount| mount.guest.trim_end_matches('/'));
        match (root, below) {
            (0, "") => ".".to_owned(),
            (0, below) => below.to_owned(),
            (_, "") => guest.to_owned(),
            (_, below) => format!("{guest}/{below}"),
        }
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
        std::fs::create_dir_all(home.path().join("a/b..")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc", home.path().join("link")).unwrap();
        let workspace = Workspace::builder().root(home.path()).no_state_dir().build().unwrap();
        let inner = workspace.inner();
        assert_eq!(inner.place(".").unwrap(), (0, ""));
        assert_eq!(inner.place("a/b..").unwrap(), (0, "a/b.."));
        assert_eq!(inner.place("/workspace/a").unwrap(), (0, "a"));
        assert_eq!((inner.shown(0, ""), inner.shown(0, "a/b")), (".".to_owned(), "a/b".to_owned()));
        for path in
            ["..", "a/../..", "/etc", "/workspace/../x", "../workspace", "a/\0", "/workspace//etc", "/workspace//"]
        {
            assert!(inner.place(path).is_err(), "{path:?}: {:?}", inner.place(path));
        }
        #[cfg(target_os = "linux")]
        {
            assert_eq!(inner.directory("a/b..").unwrap().path(), home.path().join("a/b..").canonicalize().unwrap());
            assert!(inner.directory("link").is_err() && inner.directory("link/ssl").is_err());
        }
    }
}
