//! The start message of a supervisor, and the descriptors that are sent with it.

use std::env;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use paddock_supervisor::protocol::{HardLinks, Identity, Limits, Reserved, Root, Start};

use super::spec::CommandSpec;
use super::supervisor::{self, Launch};
use super::undo_staging::UndoStaging;
use super::{Commands, environment, system};
use crate::container::{Container, Processes};
use crate::directory::{self, Directory};
use crate::mount;
use crate::policy::{self, Access};
use crate::roots::Roots;
use crate::temporary::Temporary;
use crate::types::{ErrorCode, ToolError};

/// Maximum number of open descriptors of each process of a command.
const MAX_OPEN_FILES: u64 = 4096;

/// Resources of a command that is about to run.
pub(super) struct Prepared {
    pub(super) launch: Launch,
    pub(super) staging: UndoStaging,
    /// Home directory of the command, which also contains its temporary files.
    pub(super) home: Temporary,
    /// Processes of the command in a container.
    pub(super) contained: Option<Processes>,
}

impl Prepared {
    /// Prepares a command with its own home and staging directories.
    pub(super) fn new(commands: &Commands, roots: &Roots, spec: &CommandSpec<'_>) -> Result<Self, ToolError> {
        let fail = |cause: io::Error| {
            ToolError::new(ErrorCode::Io, format!("cannot make a temporary directory for the command: {cause}"))
        };
        let home = commands.scratch.make(&roots.mounts).map_err(fail)?;
        let staging = UndoStaging::new(&commands.scratch, roots)?;
        let mut preparation = Preparation { commands, roots, spec, passed_files: Vec::new() };
        let (start, contained) = match &roots.container {
            Some(container) => preparation.contained(container, &home, &staging)?,
            None => (preparation.confined(&home, &staging)?, None),
        };
        let launch = Launch { start, passed_files: preparation.passed_files };
        Ok(Self { launch, staging, home, contained })
    }
}

struct Preparation<'p> {
    commands: &'p Commands,
    roots: &'p Roots,
    spec: &'p CommandSpec<'p>,
    passed_files: Vec<Arc<File>>,
}

impl Preparation<'_> {
    /// Returns the start message of a command on this machine, confined to the roots.
    fn confined(&mut self, home: &Temporary, staging: &UndoStaging) -> Result<Start, ToolError> {
        let (commands, roots) = (self.commands, self.roots);
        let workdir = roots.directory(self.spec.workdir)?;
        let paths = [home.directory(), &workdir].map(path_now);
        let [home_path, workdir_path] = &paths;
        let env = system::environment(
            &commands.policy,
            &text(home_path)?,
            &text(workdir_path)?,
            self.spec.terminal.is_some(),
        );
        let own = self.own(home, staging);
        let start = Start { argv: self.spec.command.clone(), cwd: self.give(workdir.file()), env, ..own };
        let start = Start { roots: self.roots(), confine: true, rules: true, ..start };
        let (programs, loaders) = self.programs().unzip();
        let start = Start { programs, loaders: loaders.unwrap_or_default(), ..start };
        let start = Start { system: self.system(), files: self.files(), ..start };
        let start = self.guarded(start);
        let lock = staging.lock().map(Arc::new).ok().map(|lock| self.give(&lock));
        let start = Start { lock, ..start };
        // Only an explicit setting permits a command without confinement.
        let can_confine = || {
            let launch = Launch { start: start.clone(), passed_files: self.passed_files.clone() };
            supervisor::can_confine(&launch)
        };
        match commands.policy.unconfined && !can_confine() {
            true => Ok(Start { confine: false, rules: false, ..start }),
            false => Ok(start),
        }
    }

    /// Returns the start message of the container engine's client, which runs the command in the container.
    fn contained(
        &mut self,
        container: &Container,
        home: &Temporary,
        staging: &UndoStaging,
    ) -> Result<(Start, Option<Processes>), ToolError> {
        container.check()?;
        let (root, below) = self.roots.locate(self.spec.workdir)?;
        let root = self.roots.mounts.get(root).map_or(Path::new("/"), |mount| mount.host());
        let workdir = if below.is_empty() { root.to_owned() } else { root.join(below) };
        let passed = environment::passed(&self.commands.policy);
        let contained = container.command(&self.spec.command, &workdir, self.spec.terminal.is_some(), &passed);
        let top =
            File::open("/").map_err(|cause| ToolError::new(ErrorCode::Io, format!("cannot open `/`: {cause}")))?;
        // The client needs the environment of this process to find its engine.
        let is_text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        let env = env::vars_os().filter_map(is_text).collect();
        let own = self.own(home, staging);
        let start = Start { argv: contained.command, cwd: self.give(&Arc::new(top)), env, ..own };
        Ok((start, Some(contained.processes)))
    }

    /// Returns the settings that all commands have.
    fn own(&mut self, home: &Temporary, staging: &UndoStaging) -> Start {
        let policy = &self.commands.policy;
        Start {
            argv: Vec::new(),
            cwd: 0,
            env: Vec::new(),
            terminal: self.spec.terminal.is_some(),
            roots: Vec::new(),
            system: Vec::new(),
            files: Vec::new(),
            temporary: self.give(home.directory().file()),
            staging: self.give(staging.directory().file()),
            programs: None,
            loaders: Vec::new(),
            closed: Vec::new(),
            pinned: Vec::new(),
            reserved: Vec::new(),
            lock: None,
            network: policy.network,
            confine: false,
            rules: false,
            git_data: self.commands.changes_git_data(),
            hard_links: match self.commands.hard_links {
                policy::HardLinks::Keep => HardLinks::Keep,
                policy::HardLinks::Break => HardLinks::Break,
                policy::HardLinks::Refuse => HardLinks::Refuse,
            },
            limits: Limits {
                max_processes: policy.max_processes.into(),
                max_memory_bytes: policy.max_memory_bytes,
                max_file_bytes: policy.max_file_bytes,
                max_open_files: MAX_OPEN_FILES,
                max_stored_bytes: self.commands.stored_bytes,
            },
        }
    }

    fn roots(&mut self) -> Vec<Root> {
        let mounts = &self.roots.mounts;
        let root = |mount: &mount::Mount| {
            let writable = mount.access == Access::ReadWrite;
            Root { directory: self.give(mount.directory.file()), writable }
        };
        mounts.iter().map(root).collect()
    }

    fn system(&mut self) -> Vec<usize> {
        self.commands.system.directories().iter().map(|directory| self.give(directory.file())).collect()
    }

    fn files(&mut self) -> Vec<usize> {
        self.commands.system.files(&self.roots.mounts).map(|file| self.give(&file)).collect()
    }

    /// Returns the indices of the files that the command may execute, and the identities of the program loaders among
    /// them. Returns `None` if the policy does not list programs.
    fn programs(&mut self) -> Option<(Vec<usize>, Vec<Identity>)> {
        let (policy, roots) = (&self.commands.policy, &self.roots.mounts);
        let allowed = self.commands.executables.as_ref()?.now(policy, roots);
        let programs = allowed.files.iter().map(|program| self.give(program)).collect();
        Some((programs, allowed.loaders.into_iter().map(identity).collect()))
    }

    /// Adds the files and directories that commands must not open. The supervisor compares each opened file with them,
    /// which takes time, so they are sent only if the command could reach them.
    fn guarded(&self, start: Start) -> Start {
        let guarded = &self.roots.guarded;
        let roots = self.roots.mounts.iter().map(|mount| &mount.directory);
        let open: Vec<_> = roots.chain(self.commands.system.directories()).collect();
        let is_reachable =
            open.iter().any(|directory| guarded.is_below(directory.identity())) || has_mounts_below(&open);
        let closed = if is_reachable { guarded.closed().map(identity).collect() } else { Vec::new() };
        let reserved = guarded.reserved().filter_map(|(directory, name)| {
            // Names of Paddock's own files are UTF-8; another name belongs to a directory above them.
            Some(Reserved { directory: identity(directory), name: name.to_str()?.to_owned() })
        });
        Start { closed, pinned: guarded.pinned().map(identity).collect(), reserved: reserved.collect(), ..start }
    }

    /// Adds a file to the start message and returns its index.
    fn give(&mut self, file: &Arc<File>) -> usize {
        self.passed_files.push(Arc::clone(file));
        self.passed_files.len() - 1
    }
}

fn identity(identity: directory::Identity) -> Identity {
    Identity { device: identity.device(), inode: identity.inode() }
}

/// Returns whether a file system or a directory is mounted below one of these directories. Returns true if this is
/// unknown.
fn has_mounts_below(directories: &[&Directory]) -> bool {
    let Ok(mounts) = fs::read("/proc/self/mountinfo") else { return true };
    let paths: Vec<_> = directories.iter().map(|directory| path_now(directory)).collect();
    let points = mounts.split(|byte| *byte == b'\n').filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    points.map(unescaped).any(|point| paths.iter().any(|path| point.starts_with(path) && point != *path))
}

/// Decodes a path of `mountinfo`, in which blanks and backslashes are `\` and three octal digits.
fn unescaped(text: &[u8]) -> PathBuf {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let number = rest.get(1..4).and_then(|digits| std::str::from_utf8(digits).ok());
        match number.and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(|_| *first == b'\\') {
            Some(byte) => {
                bytes.push(byte);
                rest = rest.get(4..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    std::ffi::OsString::from_vec(bytes).into()
}

/// Returns the current path of a directory according to the kernel.
fn path_now(directory: &Directory) -> PathBuf {
    fs::read_link(mount::way_to(directory.file())).unwrap_or_else(|_| directory.path().to_owned())
}

fn text(path: &Path) -> Result<String, ToolError> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        ToolError::new(
            ErrorCode::InvalidPath,
            format!("commands cannot use `{}`: its name is not UTF-8", path.display()),
        )
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn paths_of_mounts_are_unescaped() {
        assert_eq!(unescaped(b"/a\\040b\\134"), Path::new("/a b\\"));
        assert_eq!(unescaped(b"/a\\04"), Path::new("/a\\04"));
        assert_eq!(unescaped(b"/\xff").as_os_str().as_bytes(), b"/\xff");
    }
}
