//! What a warden is told of a command.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use paddock_warden::protocol::{Limits, Root, Start};

use super::running::Asked;
use super::spool::Spool;
use super::{Commands, environment, system, warden};
use crate::container::Mark;
use crate::policy::Access;
use crate::types::{ErrorCode, ToolError};
use crate::workspace::Inner;

/// Descriptors that each process of a command may have open.
const MAX_OPEN_FILES: u64 = 4096;

/// What a command needs to be run, and what is left to do after it.
pub(super) struct Prepared {
    pub(super) start: Start,
    pub(super) spool: Spool,
    /// What is run in a container is ended there.
    pub(super) mark: Option<Mark>,
}

impl Prepared {
    /// Prepares a command, with a directory for contents before they change.
    pub(super) fn new(commands: &Commands, workspace: &Arc<Inner>, asked: &Asked) -> Result<Self, ToolError> {
        let home = commands.home(workspace)?;
        let spool = Spool::new(workspace)?;
        let policy = &commands.policy;
        let start = Start {
            argv: asked.command.clone(),
            cwd: text(&asked.workdir)?,
            env: system::environment(policy, &home, &asked.workdir, asked.terminal.is_some()),
            terminal: asked.terminal.is_some(),
            roots: Vec::new(),
            system: Vec::new(),
            files: Vec::new(),
            temporary: text(&home)?,
            spool: text(spool.directory().path())?,
            network: policy.network,
            confine: false,
            rules: false,
            limits: Limits {
                max_processes: policy.max_processes.into(),
                max_memory_bytes: policy.max_memory_bytes,
                max_file_bytes: policy.max_file_bytes,
                max_open_files: MAX_OPEN_FILES,
                max_kept_bytes: commands.kept_bytes,
            },
        };
        if let Some(container) = &workspace.container {
            container.check()?;
            let environment = environment::passed(policy);
            let contained = container.command(&asked.command, &asked.workdir, start.terminal, &environment);
            // The engine's own program: with all that is this process's, since it has to find its engine.
            let env = std::env::vars().collect();
            let start = Start { argv: contained.command, cwd: "/".to_owned(), env, ..start };
            return Ok(Self { start, spool, mark: Some(contained.mark) });
        }
        let roots = workspace.mounts.iter().map(|mount| {
            let writable = mount.access == Access::ReadWrite;
            Ok(Root { path: text(mount.host())?, writable })
        });
        let start = Start {
            roots: roots.collect::<Result<_, _>>()?,
            system: texts(&system::directories(policy))?,
            files: texts(&system::files())?,
            confine: true,
            rules: true,
            ..start
        };
        // Where somebody asked for it by name, and there alone.
        let start = match policy.unconfined && !warden::can_confine(&start) {
            true => Start { confine: false, rules: false, ..start },
            false => start,
        };
        Ok(Self { start, spool, mark: None })
    }
}

fn text(path: &Path) -> Result<String, ToolError> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        ToolError::new(
            ErrorCode::InvalidPath,
            format!("commands cannot use `{}`: its name is not UTF-8", path.display()),
        )
    })
}

fn texts(paths: &[PathBuf]) -> Result<Vec<String>, ToolError> {
    paths.iter().map(|path| text(path)).collect()
}
