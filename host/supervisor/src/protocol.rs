//! Messages between the host and the supervisor, each one frame of JSON.
//!
//! Directories and files are descriptors that the host opens and sends before the first message, so that no path
//! decides what a command may access. Messages name a path in a root by the index of the root and the path relative to
//! it. In a name that is not UTF-8, U+FFFD replaces the invalid bytes.

use serde::{Deserialize, Serialize};

/// Messages from the host to the supervisor.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToSupervisor {
    /// Carries descriptors that [`Start`] refers to, at most [`crate::wire::MAX_DESCRIPTORS`] per frame. Descriptors
    /// are numbered from 0, across all such frames.
    Descriptors,
    /// The command to run; the first frame after the [`ToSupervisor::Descriptors`] frames. Carries the command's
    /// standard input, output and error as descriptors.
    Start(Box<Start>),
    /// The answer to [`FromSupervisor::Question`].
    Verdict(Verdict),
    /// Sends a signal to the command's process group.
    Signal {
        /// Signal number.
        signal: i32,
    },
    /// Kills the command and all processes that it started, then reports.
    Kill,
}

/// Messages from the supervisor to the host.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FromSupervisor {
    /// The command runs confined. Not sent if [`Start::confine`] is false.
    Confined {
        /// Description of the confinement for people: `landlock 7, seccomp`.
        by: String,
    },
    /// The command was not run, because the system lacks a feature that the confinement needs.
    Unsupported {
        /// The missing kernel feature.
        missing: String,
    },
    /// The command could not be started.
    Failed {
        /// Cause of the failure.
        error: String,
        /// `errno` value, if the failure has one.
        errno: Option<i32>,
    },
    /// Asks whether the command may access a path. Sent only if [`Start::rules`] is set. The system call waits for the
    /// verdict; other calls proceed.
    Question(AccessQuestion),
    /// The command and all processes that it started have ended. The last frame.
    Ended(Ended),
}

/// A command, the files that it may access, and its limits. Fields that are numbers without a unit are indices of the
/// descriptors that the host sent.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Start {
    /// The program and its arguments. The program is a path, or a name that is looked up in `PATH` of `env`.
    pub argv: Vec<String>,
    /// Working directory of the command.
    pub cwd: usize,
    /// Complete environment of the command.
    pub env: Vec<(String, String)>,
    /// Whether standard input is a terminal, which becomes the command's controlling terminal.
    pub terminal: bool,
    /// Directories that the command works in. If one root is inside another, the rights of the inner one apply to it.
    pub roots: Vec<Root>,
    /// Directories and files that the command may read, and execute unless [`Start::programs`] is set.
    pub system: Vec<usize>,
    /// Single files that the command may read.
    pub files: Vec<usize>,
    /// Temporary directory of the command. Changes in it are not reported.
    pub temporary: usize,
    /// Staging directory for the content of files before their first change. The command cannot access it.
    pub staging: usize,
    /// The only files that the command may execute, and directories in which it may execute everything. `None`: the
    /// command may execute everything that it may read.
    pub programs: Option<Vec<usize>>,
    /// Files in [`Start::programs`] that are only the ELF interpreter of another program. The kernel opens them to load
    /// that program. If the command ran an interpreter by its own name, it could load any file.
    pub loaders: Vec<Identity>,
    /// Files and directories of the host inside directories that the command may access. The command may neither open
    /// nor move them.
    pub closed: Vec<Identity>,
    /// Directories that the command may not rename or remove, because they contain a root or an entry of
    /// [`Start::closed`].
    pub pinned: Vec<Identity>,
    /// Names that the command may not create, in any letter case: the host creates the entries with these names.
    pub reserved: Vec<Reserved>,
    /// Lock file that all commands of the workspace share, so that only one of them changes names at a time. The host
    /// opens the file anew for each command, because a lock belongs to an open file description.
    pub lock: Option<usize>,
    /// Whether the command may use the Internet.
    pub network: bool,
    /// Whether the command is confined. If not, changes are not reported; the resource limits still apply, and all
    /// processes that the command started end with it.
    pub confine: bool,
    /// Whether the supervisor asks the host about paths in the roots.
    pub rules: bool,
    /// Whether the host lets the command change data of Git in `.git`. Only regular files and new directories may be
    /// put there then: programs outside of the confinement write to these files, and would write through a link. `HEAD`,
    /// the index and `packed-refs` change only by a rename, and only to content that leads Git to no path that the
    /// command could not change itself.
    pub git_data: bool,
    /// Treatment of a change to a file in a root that has other hard links.
    pub hard_links: HardLinks,
    /// Resource limits of the command.
    pub limits: Limits,
}

/// A directory that the command works in.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Root {
    /// Index of the directory's descriptor.
    pub directory: usize,
    /// Whether the command may change the directory's contents.
    pub writable: bool,
}

/// Treatment of a change to a file that has other hard links, which may be outside the roots. Names that the command
/// itself gave to a file with a single name do not count.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HardLinks {
    /// The file changes, under all its names.
    #[default]
    Keep,
    /// A copy replaces the file under the name that the command uses; the other names keep the old content.
    Break,
    /// The change is refused.
    Refuse,
}

/// Identity of a file or directory, independent of its path.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
pub struct Identity {
    /// Device number.
    pub device: u64,
    /// Inode number on the device.
    pub inode: u64,
}

/// A reserved name in a directory.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Reserved {
    /// Directory that contains the name.
    pub directory: Identity,
    /// File name, without a path.
    pub name: String,
}

/// Resource limits of a command.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Limits {
    /// Maximum number of processes at a time; the maximum number of threads is 16 times as large. If the command
    /// exceeds one of them, all its processes are killed.
    pub max_processes: u64,
    /// Maximum private memory of each process, in bytes.
    pub max_memory_bytes: u64,
    /// Maximum size of a file that the command writes, in bytes.
    pub max_file_bytes: u64,
    /// Maximum number of open descriptors of each process.
    pub max_open_files: u64,
    /// Maximum total size of the file contents that are copied before changes, in bytes.
    pub max_stored_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_processes: 512,
            max_memory_bytes: 4 << 30,
            max_file_bytes: 4 << 30,
            max_open_files: 4096,
            max_stored_bytes: 64 << 20,
        }
    }
}

/// Access of a command to a path.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Reading a file or listing a directory.
    Read,
    /// Writing, creating, removing or renaming the entry, linking it to another name, or changing its metadata.
    Change,
}

/// A question to the host about access to a path.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct AccessQuestion {
    /// Identifier that the verdict repeats.
    pub id: u64,
    /// Index of the root in [`Start::roots`].
    pub root: usize,
    /// Path relative to the root, without symbolic links; empty for the root itself.
    pub path: String,
    /// Requested access. The supervisor caches a verdict on reading for at most 0.7 seconds.
    pub access: Access,
    /// Whether the path is a directory or is about to become one.
    pub is_directory: bool,
}

/// Answer of the host to an [`AccessQuestion`].
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Verdict {
    /// Identifier of the question.
    pub id: u64,
    /// Reason for the refusal, for people; `None` if the access is allowed.
    pub refused: Option<String>,
    /// Whether changes of this path are counted but not reported. For a directory, this includes everything below it.
    pub ignored: bool,
}

/// Report on a command that has ended, with its changes.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Ended {
    /// Exit status, if the command exited by itself.
    pub exit_code: Option<i32>,
    /// Number of the signal that ended the command, if any.
    pub signal: Option<i32>,
    /// Reason why the supervisor killed the command on its own account, if it did.
    pub stopped: Option<String>,
    /// State of every path in a root that may have changed, before its first change, in the order of these changes.
    pub before: Vec<Before>,
    /// Number of changed paths that are ignored.
    pub ignored: u64,
    /// The first 20 refused paths.
    pub refused: Vec<Refused>,
    /// Number of refused paths.
    pub refused_count: u64,
    /// Whether the command tried to use the Internet although [`Start::network`] is false.
    pub network_refused: bool,
    /// Absolute paths that changed and whose previous state is lost: too large, too many, unreadable, or with a name
    /// that is not UTF-8.
    pub not_stored: Vec<String>,
    /// Number of changes that are neither in `before` nor in `not_stored`, because the supervisor's record of changes
    /// reached 16 MiB. The same path can be counted more than once.
    pub unrecorded: u64,
    /// Absolute paths of files with other hard links that were replaced by a copy before a change; the first 20.
    pub broken_links: Vec<String>,
    /// Number of files with other hard links that were replaced by a copy.
    pub broken_links_count: u64,
    /// Largest resident set size of the command and the processes that it waited for, in bytes.
    pub max_rss: Option<u64>,
}

/// State of a path before the command changed it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Before {
    /// Index of the root in [`Start::roots`].
    pub root: usize,
    /// Path relative to the root.
    pub path: String,
    /// Type of the entry.
    pub kind: Kind,
    /// Permission bits; 0 if the entry did not exist.
    pub mode: u32,
    /// Target of a symbolic link.
    pub target: Option<String>,
    /// Name of the file's copy in the staging directory, if there is one.
    pub staged_file: Option<String>,
}

/// Type of an entry.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// No entry.
    Absent,
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// Another type: a pipe, a socket or a device.
    Other,
}

/// A path that the command was not allowed to access.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Refused {
    /// Absolute path.
    pub path: String,
    /// Reason for the refusal.
    pub cause: String,
}
