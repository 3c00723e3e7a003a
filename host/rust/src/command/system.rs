//! What of the system a command may use: programs and libraries, a few files, and an environment that is made anew.

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

/// Programs and what they are made of; readable and executable.
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

/// What programs look up. Nothing in it is secret, whoever runs this: `/etc` as a whole has keys that root can read.
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

/// Where programs are looked for, after the policy's own directories.
const PATH: [&str; 6] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Shells that the rules for commands are made for.
pub(super) const SHELLS: [&str; 3] = ["bash", "dash", "sh"];

/// What of the system the commands of a workspace may use, opened with the workspace and held.
pub(super) struct System {
    directories: Vec<Directory>,
    files: Vec<SystemFile>,
}

impl System {
    /// Opens the policy's own directories, and of the usual ones those that no root holds: what is in a root has the
    /// root's rights. Fails where a link in one of the roots leads out of it to one of the policy's.
    pub(super) fn open(policy: &Commands, roots: &[Mount]) -> Result<Self, Error> {
        let named = [("commands.readable", &policy.readable), ("commands.path", &policy.path)];
        let named = named.into_iter().flat_map(|(setting, paths)| paths.iter().map(move |path| (setting, path)));
        let mut directories = Vec::new();
        for (setting, path) in named {
            directories.extend(named_directory(setting, Path::new(path), roots)?);
        }
        let usual = DIRECTORIES.iter().filter_map(|path| beside(Path::new(path), roots)?.end().ok());
        directories.extend(usual);
        let files = FILES.iter().filter_map(|path| SystemFile::open(Path::new(path), roots)).collect();
        Ok(Self { directories, files })
    }

    /// The directories that a command may read and execute.
    pub(super) fn directories(&self) -> &[Directory] {
        &self.directories
    }

    /// The files that a command may read beside them.
    pub(super) fn files(&self, roots: &[Mount]) -> impl Iterator<Item = Arc<File>> {
        self.files.iter().filter_map(|kept| kept.get(roots))
    }
}

/// The directory that a setting names. None where it is not there, or in a root, whose rights it has anyway.
fn named_directory(setting: &'static str, path: &Path, roots: &[Mount]) -> Result<Option<Directory>, Error> {
    let fail = |cause: std::io::Error| Error::Setting { setting, cause: format!("`{}`: {cause}", path.display()) };
    let walk = mount::open_named(path, roots.iter().map(|root| &root.directory)).map_err(fail)?;
    if !walk.missing.is_empty() {
        return Ok(None);
    }
    let directory = walk.end().map_err(fail)?;
    Ok((!mount::hold(roots, &directory)).then_some(directory))
}

/// Where a path leads, if no directory on it is in a root: else whoever changes the root would decide that.
fn beside(path: &Path, roots: &[Mount]) -> Option<Walk> {
    let walk = Walk::new(path).ok()?;
    (!roots.iter().any(|root| walk.touches(&root.directory))).then_some(walk)
}

/// A file of the system, which is opened anew where another one has taken its place.
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

/// Opens the regular file that a path leads to by directories that are in no root.
pub(super) fn open(path: &Path, roots: &[Mount]) -> Option<File> {
    let walk = beside(path, roots)?;
    let name = walk.file.as_deref().filter(|_| walk.missing.is_empty())?;
    walk.directory.open_regular(name, OpenOptions::new().read(true)).ok()
}

/// The directories in which programs are looked for, in order.
pub(super) fn path(policy: &Commands) -> impl Iterator<Item = &str> {
    policy.path.iter().map(String::as_str).chain(PATH)
}

/// The user's shell where it is one that the rules are made for, or the system's.
pub(super) fn shell() -> PathBuf {
    let is_known = |path: &PathBuf| {
        path.file_name().and_then(OsStr::to_str).is_some_and(|name| SHELLS.contains(&name))
            && DIRECTORIES.iter().any(|directory| path.starts_with(directory))
            && path.is_file()
    };
    let own = env::var_os("SHELL").map(PathBuf::from);
    own.into_iter().chain([PathBuf::from("/bin/bash")]).find(is_known).unwrap_or_else(|| "/bin/sh".into())
}

/// The environment of a command: nothing of this process's own but what the policy passes on.
pub(super) fn environment(policy: &Commands, home: &str, workdir: &str, terminal: bool) -> Vec<(String, String)> {
    let made = [
        ("PATH", path(policy).collect::<Vec<_>>().join(":")),
        ("HOME", home.to_owned()),
        ("TMPDIR", home.to_owned()),
        ("PWD", workdir.to_owned()),
        ("SHELL", shell().to_string_lossy().into_owned()),
        ("LANG", "C.UTF-8".to_owned()),
        ("TERM", if terminal { "xterm-256color" } else { "dumb" }.to_owned()),
        // Nobody is there to look at pages or to type a password.
        ("PAGER", "cat".to_owned()),
        ("GIT_PAGER", "cat".to_owned()),
        ("GIT_TERMINAL_PROMPT", "0".to_owned()),
    ];
    environment::over(made.map(|(name, value)| (name.to_owned(), value)).into(), policy)
}
