//! What of the system a command may use: programs and libraries, a few files, and an environment that is made anew.

use std::env;
use std::path::{Path, PathBuf};

use super::environment;
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
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Shells that the rules for commands are made for.
const SHELLS: [&str; 3] = ["bash", "dash", "sh"];

/// The directories that a command may read and execute.
pub(super) fn directories(policy: &Commands) -> Vec<PathBuf> {
    let own = policy.readable.iter().chain(&policy.path).map(PathBuf::from);
    own.chain(DIRECTORIES.map(PathBuf::from)).filter(|path| path.is_dir()).collect()
}

/// The files that a command may read beside them.
pub(super) fn files() -> Vec<PathBuf> {
    FILES.map(PathBuf::from).into_iter().filter(|path| path.is_file()).collect()
}

/// The user's shell where it is one that the rules are made for, or the system's.
pub(super) fn shell() -> PathBuf {
    let is_known = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| SHELLS.contains(&name))
            && DIRECTORIES.iter().any(|directory| path.starts_with(directory))
            && path.is_file()
    };
    let own = env::var_os("SHELL").map(PathBuf::from);
    own.into_iter().chain([PathBuf::from("/bin/bash")]).find(is_known).unwrap_or_else(|| "/bin/sh".into())
}

/// The environment of a command: nothing of this process's own but what the policy passes on.
pub(super) fn environment(policy: &Commands, home: &Path, workdir: &Path, terminal: bool) -> Vec<(String, String)> {
    let path = policy.path.iter().map(String::as_str).chain([PATH]).collect::<Vec<_>>().join(":");
    let (home, workdir) = (home.to_string_lossy().into_owned(), workdir.to_string_lossy().into_owned());
    let made = [
        ("PATH", path),
        ("HOME", home.clone()),
        ("TMPDIR", home),
        ("PWD", workdir),
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
