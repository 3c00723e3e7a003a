//! Classes of paths: in a root, readable system file, in the temporary directory, device, process, or outside.
//!
//! Directories are held as descriptors. Before every call, the kernel reports their present paths, so that a
//! renamed directory is still recognised, and another directory that took its path is not.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use paddock_supervisor::protocol::Start;
use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use crate::requested_path::real_path;
use crate::sent_descriptors::SentDescriptors;

/// Devices that every command may open, and whether it may write them.
pub(crate) const DEVICES: [(&str, bool); 5] =
    [("/dev/null", true), ("/dev/zero", false), ("/dev/full", false), ("/dev/random", false), ("/dev/urandom", false)];

/// Files about the system that programs commonly read.
pub(crate) const PROC_FILES: [&str; 24] = [
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/uptime",
    "/proc/version",
    "/proc/vmstat",
    "/proc/sys/fs/file-max",
    "/proc/sys/fs/nr_open",
    "/proc/sys/fs/pipe-max-size",
    "/proc/sys/kernel/cap_last_cap",
    "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/ngroups_max",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/ostype",
    "/proc/sys/kernel/overflowgid",
    "/proc/sys/kernel/overflowuid",
    "/proc/sys/kernel/pid_max",
    "/proc/sys/kernel/random/uuid",
    "/proc/sys/kernel/threads-max",
    "/proc/sys/kernel/version",
    "/proc/sys/net/core/somaxconn",
    "/proc/sys/vm/overcommit_memory",
];

/// Directories about processors, memory and the limits of the command's cgroup.
pub(crate) const SYSTEM_STATE: [&str; 4] =
    ["/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage"];

/// Files in `/proc/PID` and `/proc/PID/task/TID` that the command may read for its own processes.
const PROCESS_FILES: [&str; 26] = [
    "auxv",
    "cgroup",
    "cmdline",
    "comm",
    "environ",
    "fd",
    "fdinfo",
    "io",
    "limits",
    "maps",
    "mountinfo",
    "mounts",
    "numa_maps",
    "oom_score",
    "oom_score_adj",
    "personality",
    "sched",
    "schedstat",
    "smaps",
    "smaps_rollup",
    "stat",
    "statm",
    "status",
    "syscall",
    "task",
    "wchan",
];

/// The kernel's file systems. They are no part of a root that contains them, such as `/`.
const KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Name of the file with ignore rules for tools, which the host applies.
const RULES: &str = ".agentignore";

/// Class of a path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum PathClass {
    Root {
        /// Index of the root.
        index: usize,
        writable: bool,
    },
    /// The command's temporary directory, where it may do anything.
    Temporary,
    /// A path that may be read.
    Readable,
    /// A device, with whether it may be written.
    Device {
        writable: bool,
    },
    /// A file of the process with this id, which may be read if the process is one of the command's.
    Process(i32),
    Outside,
}

/// Mapping of paths to classes.
pub(crate) struct PathClasses {
    /// Open directories with their present paths.
    held: Vec<Held>,
    /// The paths of `held` and `system`, the longest first. The class also applies to everything below a path.
    below: Vec<(PathBuf, PathClass)>,
    system: Vec<(PathBuf, PathClass)>,
    exactly: Vec<(PathBuf, PathClass)>,
}

struct Held {
    directory: OwnedFd,
    path_class: PathClass,
    path: PathBuf,
}

impl PathClasses {
    pub(crate) fn new(start: &Start, requested: &SentDescriptors, terminal: Option<&Path>) -> Result<Self, Errno> {
        let roots = start.roots.iter().enumerate();
        let roots = roots.map(|(index, root)| (root.directory, PathClass::Root { index, writable: root.writable }));
        let hold = |(directory, path_class)| {
            let directory = requested.get(directory)?.try_clone().map_err(|_| Errno::MFILE)?;
            let path = real_path(directory.as_fd())?;
            Ok::<_, Errno>(Held { directory, path_class, path })
        };
        let held = roots.chain([(start.temporary, PathClass::Temporary)]).map(hold).collect::<Result<Vec<_>, _>>()?;
        let path_of = |number: &usize| real_path(requested.get(*number)?.as_fd());
        let (mut system, mut files) = (Vec::new(), Vec::new());
        for path in start.system.iter().map(path_of) {
            system.push((path?, PathClass::Readable));
        }
        for path in start.files.iter().map(path_of) {
            files.push((path?, PathClass::Readable));
        }
        system.extend(SYSTEM_STATE.map(|path| (canonical(path), PathClass::Readable)));
        let proc_files = PROC_FILES.iter().map(|it| (PathBuf::from(it), PathClass::Readable));
        let devices =
            DEVICES.iter().map(|(path, writable)| (canonical(path), PathClass::Device { writable: *writable }));
        let terminal = terminal.map(|it| (it.to_owned(), PathClass::Device { writable: true }));
        let processes = (PathBuf::from("/proc"), PathClass::Readable);
        let exactly = files.into_iter().chain(proc_files).chain(devices).chain(terminal).chain([processes]).collect();
        let mut path_classes = Self { held, below: Vec::new(), system, exactly };
        path_classes.sort();
        Ok(path_classes)
    }

    /// Asks the kernel for the present paths of the directories that the command works in. A directory that was removed
    /// gets no path.
    pub(crate) fn refresh(&mut self) {
        let mut has_moved = false;
        for held in &mut self.held {
            let path = real_path(held.directory.as_fd()).unwrap_or_default();
            has_moved |= path != held.path;
            held.path = path;
        }
        if has_moved {
            self.sort();
        }
    }

    fn sort(&mut self) {
        let held =
            self.held.iter().filter(|held| held.path.is_absolute()).map(|held| (held.path.clone(), held.path_class));
        // Of two entries for the same path the first applies, because the sort is stable.
        self.below = held.chain(self.system.iter().cloned()).collect();
        self.below.sort_by_key(|(path, _)| std::cmp::Reverse(path.components().count()));
    }

    /// Returns the class of a path without symbolic links.
    pub(crate) fn of(&self, path: &Path) -> PathClass {
        let below = self.below.iter().find(|(it, _)| path.starts_with(it));
        let kernel =
            KERNEL.iter().any(|it| path.starts_with(it) && below.is_none_or(|(root, _)| !root.starts_with(it)));
        match below {
            Some((_, path_class)) if !kernel && *path_class != PathClass::Readable => return *path_class,
            _ => {}
        }
        if let Some((_, path_class)) = self.exactly.iter().find(|(it, _)| it == path) {
            return *path_class;
        }
        match process_file(path) {
            Some(process) => PathClass::Process(process),
            None if kernel => PathClass::Outside,
            None => below.map_or(PathClass::Outside, |(_, path_class)| *path_class),
        }
    }

    /// Returns the index of the root that contains a path, and the path relative to that root.
    pub(crate) fn locate(&self, path: &Path) -> Option<(usize, PathBuf)> {
        let PathClass::Root { index, .. } = self.of(path) else { return None };
        let root = self.root(index)?;
        Some((index, path.strip_prefix(&root.path).ok()?.to_owned()))
    }

    /// Returns the metadata of the entry at a path relative to a root, without following links.
    pub(crate) fn stat_below(&self, root: usize, below: &Path) -> Result<Stat, Errno> {
        let directory = &self.root(root).ok_or(Errno::NOENT)?.directory;
        let (flags, resolve) = (OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, ResolveFlags::NO_SYMLINKS);
        let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
        let opened = rustix::fs::openat2(directory, below, flags, Mode::empty(), resolve | ResolveFlags::BENEATH)?;
        rustix::fs::statat(&opened, c"", AtFlags::EMPTY_PATH)
    }

    /// Returns whether a directory on a path relative to a root has an `.agentignore` that the host cannot see, because
    /// the name of the directory, or of one above it, is not UTF-8.
    pub(crate) fn has_unseen_rules(&self, root: usize, below: &Path, is_directory: bool) -> bool {
        if below.to_str().is_some() {
            return false;
        }
        let directory = if is_directory { Some(below) } else { below.parent() };
        let directories = directory.into_iter().flat_map(Path::ancestors).take_while(|it| it.to_str().is_none());
        let has_rules = |directory: &Path| match self.stat_below(root, &directory.join(RULES)) {
            Ok(_) => true,
            Err(error) => error != Errno::NOENT && error != Errno::NOTDIR,
        };
        directories.into_iter().any(has_rules)
    }

    pub(crate) fn has_writable_root(&self) -> bool {
        self.held.iter().any(|held| matches!(held.path_class, PathClass::Root { writable: true, .. }))
    }

    fn root(&self, root: usize) -> Option<&Held> {
        self.held.iter().find(|held| matches!(held.path_class, PathClass::Root { index, .. } if index == root))
    }

    /// Returns whether a directory or file with rights of its own is at a path or below it.
    pub(crate) fn begin_below(&self, path: &Path) -> bool {
        self.below.iter().chain(&self.exactly).any(|(it, _)| it.starts_with(path))
    }
}

/// Returns whether a path is in one of the kernel's file systems.
pub(crate) fn is_of_kernel(path: &Path) -> bool {
    KERNEL.iter().any(|it| path.starts_with(it))
}

fn canonical(path: impl AsRef<Path>) -> PathBuf {
    std::fs::canonicalize(&path).unwrap_or_else(|_| path.as_ref().to_owned())
}

/// Returns the process id of a readable file in `/proc`, such as `/proc/7/stat` or `/proc/7/task/8/stat`.
fn process_file(path: &Path) -> Option<i32> {
    let mut names = path.strip_prefix("/proc").ok()?.components().map(|it| it.as_os_str().to_str());
    let process = names.next()??.parse().ok()?;
    let rest: Option<Vec<&str>> = names.collect();
    let own = match rest?.as_slice() {
        [] => true,
        ["task", thread] => thread.parse::<i32>().is_ok(),
        ["fdinfo", descriptor] => descriptor.parse::<i32>().is_ok(),
        [name] | ["task", _, name] => PROCESS_FILES.contains(name),
        _ => false,
    };
    own.then_some(process)
}

#[cfg(test)]
mod tests {
    use super::process_file;
    use std::path::Path;

    #[test]
    fn files_of_processes() {
        for (path, process) in [
            ("/proc/7/stat", Some(7)),
            ("/proc/7", Some(7)),
            ("/proc/7/task/8/comm", Some(7)),
            ("/proc/7/mem", None),
            ("/proc/7/fd/3", None),
            ("/proc/7/root/etc/shadow", None),
            ("/proc/self/stat", None),
            ("/proc/cpuinfo", None),
            ("/procs/7/stat", None),
        ] {
            assert_eq!(process_file(Path::new(path)), process, "{path}");
        }
    }
}
