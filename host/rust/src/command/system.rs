//! The parts of the system that a command may use: programs and libraries, a few files, and a new environment.

use std::env;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use cap_std::fs::OpenOptions;

use super::environment;
use crate::directory::{Directory, Walk};
use crate::error::Error;
use crate::mount::{self, Mount};
use crate::policy::Commands;

/// Directories of programs and libraries, which commands may read and execute.
const DIRECTORIES: [&str; 12] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/etc/alternatives",
    "/etc/ssl/certs",
    "/etc/ca-certificates",
];

/// Files that programs read. None of them is secret, even for root; `/etc` as a whole contains keys that root can read.
const FILES: [&str; 30] = [
    "/etc/bash.bashrc",
    "/etc/debian_version",
    "/etc/environment",
    "/etc/gai.conf",
    "/etc/gitconfig",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hostname",
    "/etc/hosts",
    "/etc/inputrc",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.preload",
    "/etc/locale.alias",
    "/etc/locale.conf",
    "/etc/localtime",
    "/etc/login.defs",
    "/etc/machine-id",
    "/etc/mime.types",
    "/etc/networks",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/profile",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/shells",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
];

/// Directories in which programs are found, after the directories of the policy.
const PATH: [&str; 6] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Shells whose language the rules for commands parse.
pub(super) const SHELLS: [&str; 3] = ["bash", "dash", "sh"];

/// Directories and files of the system that the commands of a workspace may use. They are opened with the workspace and
/// held.
pub(super) struct System {
    directories: Vec<Directory>,
    files: Vec<SystemFile>,
}

impl System {
    /// Opens the directories of the policy, and the usual directories that are in no root, because a path in a root has
    /// the rights of the root. Fails if a link in a root leads to a directory of the policy outside it.
    pub(super) fn open(policy: &Commands, roots: &[Mount]) -> Result<Self, Error> {
        let named = [("commands.readable", &policy.readable), ("commands.path", &policy.path)];
        let named = named.into_iter().flat_map(|(setting, paths)| paths.iter().map(move |path| (setting, path)));
        let mut directories = Vec::new();
        for (setting, path) in named {
            directories.extend(named_directory(setting, Path::new(path), roots)?);
        }
        let usual = DIRECTORIES.iter().filter_map(|path| walk_outside_roots(Path::new(path), roots)?.end().ok());
        directories.extend(usual);
        let files = FILES.iter().filter_map(|path| SystemFile::open(Path::new(path), roots)).collect();
        Ok(Self { directories, files })
    }

    /// Returns the directories that a command may read and execute.
    pub(super) fn directories(&self) -> &[Directory] {
        &self.directories
    }

    /// Returns the further files that a command may read.
    pub(super) fn files(&self, roots: &[Mount]) -> impl Iterator<Item = Arc<File>> {
        self.files.iter().filter_map(|file| file.get(roots))
    }
}

/// Returns the directory that a setting names; `None` if it does not exist, or is in a root and therefore has the
/// rights of the root.
fn named_directory(setting: &'static str, path: &Path, roots: &[Mount]) -> Result<Option<Directory>, Error> {
    let fail = |cause: std::io::Error| Error::Setting { setting, cause: format!("`{}`: {cause}", path.display()) };
    let walk = mount::open_named(path, roots.iter().map(|root| &root.directory)).map_err(fail)?;
    if !walk.missing.is_empty() {
        return Ok(None);
    }
    let directory = walk.end().map_err(fail)?;
    Ok((!mount::hold(roots, &directory)).then_some(directory))
}

/// Resolves a path if no directory on it is in a root: otherwise a process that changes the root could redirect it.
fn walk_outside_roots(path: &Path, roots: &[Mount]) -> Option<Walk> {
    let walk = Walk::new(path).ok()?;
    (!roots.iter().any(|root| walk.touches(&root.directory))).then_some(walk)
}

/// A file of the system, which is opened again if another file has replaced it.
struct SystemFile {
    path: &'static Path,
    file: Mutex<Arc<File>>,
}

impl SystemFile {
    fn open(path: &'static Path, roots: &[Mount]) -> Option<Self> {
        Some(Self { path, file: Mutex::new(Arc::new(open(path, roots)?)) })
    }

    fn get(&self, roots: &[Mount]) -> Option<Arc<File>> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.metadata().is_ok_and(|about| about.nlink() == 0) {
            *file = Arc::new(open(self.path, roots)?);
        }
        Some(Arc::clone(&file))
    }
}

/// Opens the regular file at a path whose directories are in no root.
pub(super) fn open(path: &Path, roots: &[Mount]) -> Option<File> {
    let walk = walk_outside_roots(path, roots)?;
    let name = walk.file.as_deref().filter(|_| walk.missing.is_empty())?;
    walk.directory.open_regular(name, OpenOptions::new().read(true)).ok()
}

/// Returns the directories in which programs are found, in order.
pub(super) fn path(policy: &Commands) -> impl Iterator<Item = &str> {
    policy.path.iter().map(String::as_str).chain(PATH)
}

/// Returns the user's shell if it is one of `SHELLS`, otherwise the shell of the system.
pub(super) fn shell() -> PathBuf {
    let is_known = |path: &PathBuf| {
        path.file_name().and_then(OsStr::to_str).is_some_and(|name| SHELLS.contains(&name))
            && DIRECTORIES.iter().any(|directory| path.starts_with(directory))
            && path.is_file()
    };
    let own = env::var_os("SHELL").map(PathBuf::from);
    own.into_iter().chain([PathBuf::from("/bin/bash")]).find(is_known).unwrap_or_else(|| "/bin/sh".into())
}

/// Returns the environment of a command. Of this process's variables it contains only those that the policy passes on.
pub(super) fn environment(policy: &Commands, home: &str, workdir: &str, terminal: bool) -> Vec<(String, String)> {
    let variables = [
        ("PATH", path(policy).collect::<Vec<_>>().join(":")),
        ("HOME", home.to_owned()),
        ("TMPDIR", home.to_owned()),
        ("PWD", workdir.to_owned()),
        ("SHELL", shell().to_string_lossy().into_owned()),
        ("LANG", "C.UTF-8".to_owned()),
        ("TERM", if terminal { "xterm-256color" } else { "dumb" }.to_owned()),
        // No person can scroll a pager or type a password.
        ("PAGER", "cat".to_owned()),
        ("GIT_PAGER", "cat".to_owned()),
        ("GIT_TERMINAL_PROMPT", "0".to_owned()),
        // A command that only reads would otherwise try to write the index.
        ("GIT_OPTIONAL_LOCKS", "0".to_owned()),
    ];
    environment::over(variables.map(|(name, value)| (name.to_owned(), value)).into(), policy)
}
