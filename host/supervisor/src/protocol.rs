//! The messages, each one frame of JSON.
//!
//! Directories and files are descriptors that the host has opened and sends before the first message: no path decides
//! what a command may have. What is told of paths names a root by its number and the path from its top. A name that is
//! not UTF-8 has U+FFFD in place of what is none.

use serde::{Deserialize, Serialize};

/// Messages of the host.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToSupervisor {
    /// Comes with descriptors that [`Start`] refers to, at most [`crate::wire::MAX_DESCRIPTORS`]. Those of all such frames
    /// are counted on, from 0.
    Descriptors,
    /// The first frame after those, with the command's standard input, output and error as descriptors.
    Start(Box<Start>),
    /// The answer to [`FromSupervisor::Ask`].
    Verdict(Verdict),
    /// Sends a signal to the command's process group.
    Signal {
        /// Its number.
        signal: i32,
    },
    /// Ends the command and all that it started, and reports.
    Kill,
}

/// Messages of the supervisor.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FromSupervisor {
    /// The command runs. Not sent where it was to run unconfined.
    Confined {
        /// Description of the confinement for people: `landlock 7, seccomp`.
        by: String,
    },
    /// The command was not run, since the system lacks what would confine it.
    Unsupported {
        /// The missing kernel feature.
        missing: String,
    },
    /// The command could not be started.
    Failed {
        /// Why.
        error: String,
        /// The system's number of the error, where it has one.
        errno: Option<i32>,
    },
    /// May the command do this? Only where [`Start::rules`] is set. The call waits for the verdict, other calls do not.
    Ask(Ask),
    /// The command and all that it started are dead. The last frame.
    Ended(Ended),
}

/// A command and what it may have.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Start {
    /// The program, by path or by a name that `PATH` of `env` leads to, and its arguments.
    pub argv: Vec<String>,
    /// The directory where it starts.
    pub cwd: usize,
    /// Its whole environment.
    pub env: Vec<(String, String)>,
    /// Its standard input is a terminal, which becomes its controlling terminal.
    pub terminal: bool,
    /// The directories it works in. Where one is inside another, the inner one's rights hold.
    pub roots: Vec<Root>,
    /// Directories and files that it may read, and execute unless [`Start::programs`] says otherwise.
    pub system: Vec<usize>,
    /// Single files that it may read.
    pub files: Vec<usize>,
    /// A directory of its own for what is temporary. What changes there is not told.
    pub temporary: usize,
    /// A directory that takes contents before their first change. The command cannot reach it.
    pub staging: usize,
    /// The only files, and directories with all below, that may be executed. None: what is readable may be.
    pub programs: Option<Vec<usize>>,
    /// Of [`Start::programs`], the files that are there only as the ELF interpreter of another one. The kernel opens them
    /// to load that one; run by their own name, they would load any file.
    pub loaders: Vec<Identity>,
    /// The host's own files and directories, which the command may neither open nor move, where it could reach them.
    pub closed: Vec<Identity>,
    /// Directories that keep their names: those that hold a root, or something closed.
    pub pinned: Vec<Identity>,
    /// Names that are never made, in any letter case: the host makes what has them.
    pub reserved: Vec<Reserved>,
    /// A file that every command of the workspace gets, each opened for itself: what is changed by name is changed by
    /// one command at a time.
    pub lock: Option<usize>,
    /// It may use the Internet.
    pub network: bool,
    /// False: nothing is confined and no change is told; limits hold, and all that it started ends with it.
    pub confine: bool,
    /// The host is asked about paths in the roots.
    pub rules: bool,
    /// Treatment of changes to files in a root that have other hard links.
    pub hard_links: HardLinks,
    /// Resource limits of the command.
    pub limits: Limits,
}

/// A directory to work in.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Root {
    /// The directory.
    pub directory: usize,
    /// Whether anything below may be changed.
    pub writable: bool,
}

/// What a change does to a file that has other hard links, which may lie outside of the roots. Names that the command
/// itself gave to a file that had one are no others.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HardLinks {
    /// The change is made to the file, under all its names.
    #[default]
    Keep,
    /// A copy takes the place of the file under the name that is used; the other names keep the old content.
    Break,
    /// The change is refused.
    Refuse,
}

/// Identity of a file or directory, independent of its path.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
pub struct Identity {
    /// Its device.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
}

/// A name in a directory.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Reserved {
    /// The directory.
    pub directory: Identity,
    /// The name.
    pub name: String,
}

/// Resource limits of a command.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Limits {
    /// Processes at a time; 16 times as many threads. With more, all are ended.
    pub max_processes: u64,
    /// Bytes of private memory of each process.
    pub max_memory_bytes: u64,
    /// Bytes of a file that it writes.
    pub max_file_bytes: u64,
    /// Open descriptors of each process.
    pub max_open_files: u64,
    /// Bytes of contents before changes that are kept, all together.
    pub max_kept_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_processes: 512,
            max_memory_bytes: 4 << 30,
            max_file_bytes: 4 << 30,
            max_open_files: 4096,
            max_kept_bytes: 64 << 20,
        }
    }
}

/// Access of a command to a path.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Read it, or list it.
    Read,
    /// Write, make, remove or rename it, give it another name, or change its metadata.
    Change,
}

/// A question to the host.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Ask {
    /// Which the verdict repeats.
    pub id: u64,
    /// The number of a root.
    pub root: usize,
    /// A path without links from the top of that root; empty for the top.
    pub path: String,
    /// The requested access. A verdict on reading is cached for 0.7 seconds.
    pub access: Access,
    /// The path is a directory, or becomes one.
    pub is_directory: bool,
}

/// The host's answer.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Verdict {
    /// Of which question.
    pub id: u64,
    /// Why not, for people.
    pub refused: Option<String>,
    /// Changes of this path are counted, not told. Of a directory: of all below.
    pub ignored: bool,
}

/// End of a command, with its changes.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Ended {
    /// Its exit status, where it exited.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Why the supervisor ended it, where neither the host nor it itself did.
    pub stopped: Option<String>,
    /// Every path in a root that may have changed, as it was before its first change, in that order.
    pub before: Vec<Before>,
    /// Number of changed paths that are ignored.
    pub ignored: u64,
    /// The first 20 paths that were refused.
    pub refused: Vec<Refused>,
    /// Number of refused paths.
    pub refused_count: u64,
    /// Absolute paths that changed whose content before is lost: too large, too many, unreadable, or with a name that is not UTF-8.
    pub not_kept: Vec<String>,
    /// How many changes came after so many that no more were remembered (16 MiB of names). A path can be in it twice.
    pub untold: u64,
    /// Absolute paths of files that had other hard links and were replaced by a copy before they were changed; the first
    /// 20.
    pub broken_links: Vec<String>,
    /// How many they were.
    pub broken_links_count: u64,
    /// The largest resident size of the command and what it waited for, in bytes.
    pub max_rss: Option<u64>,
}

/// A path as it was before the command changed it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Before {
    /// The number of a root.
    pub root: usize,
    /// The path from the top of that root.
    pub path: String,
    /// Type of the entry.
    pub kind: Kind,
    /// Its permission bits; 0 where nothing was there.
    pub mode: u32,
    /// Target of a symbolic link.
    pub target: Option<String>,
    /// The file's content: a name in the spool.
    pub kept: Option<String>,
}

/// Type of an entry.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Nothing.
    Absent,
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// Something else: a pipe, a socket, a device.
    Other,
}

/// A path that the command did not get.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Refused {
    /// The absolute path.
    pub path: String,
    /// Why.
    pub cause: String,
}
