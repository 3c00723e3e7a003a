//! What a path is to the command: part of a root, of the system, its own, or none of its business.

use std::path::{Path, PathBuf};

use paddock_warden::protocol::Start;

/// Devices that everybody has, and which can be written.
pub(crate) const DEVICES: [(&str, bool); 5] =
    [("/dev/null", true), ("/dev/zero", false), ("/dev/full", false), ("/dev/random", false), ("/dev/urandom", false)];

/// What the kernel tells of the system, and programs commonly ask.
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

/// Directories that tell of processors, memory and the limits of the group that the command is in.
pub(crate) const SYSTEM_STATE: [&str; 4] =
    ["/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage"];

/// Files of one of the command's own processes, or of its threads, that it may read.
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

/// The kernel itself as files: no part of a root, even where that is `/`.
const KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// What a path is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Area {
    Root {
        writable: bool,
    },
    /// Its own, to do with as it likes.
    Temporary,
    /// To be read.
    Readable,
    /// A device, which may be written where this says so.
    Device {
        writable: bool,
    },
    /// To be read where this process is one of the command's.
    Process(i32),
    Outside,
}

/// Which paths are what.
pub(crate) struct Areas {
    /// Directories and single files, the longest first.
    below: Vec<(PathBuf, Area)>,
    exactly: Vec<(PathBuf, Area)>,
}

impl Areas {
    pub(crate) fn new(start: &Start, terminal: Option<&Path>) -> Self {
        let roots = start.roots.iter().map(|root| (root.path.as_str(), Area::Root { writable: root.writable }));
        let readable = start.system.iter().map(String::as_str).chain(SYSTEM_STATE).map(|it| (it, Area::Readable));
        let own = std::iter::once((start.temporary.as_str(), Area::Temporary));
        // Of two for the same path the first holds: the sort is stable.
        let mut below: Vec<_> = roots.chain(own).chain(readable).map(|(path, area)| (canonical(path), area)).collect();
        below.sort_by_key(|(path, _)| std::cmp::Reverse(path.components().count()));
        let files = start.files.iter().map(|it| (canonical(it), Area::Readable));
        let system = PROC_FILES.iter().map(|it| (PathBuf::from(it), Area::Readable));
        let devices = DEVICES.iter().map(|(path, writable)| (canonical(path), Area::Device { writable: *writable }));
        let terminal = terminal.map(|it| (it.to_owned(), Area::Device { writable: true }));
        let processes = (PathBuf::from("/proc"), Area::Readable);
        let exactly = files.chain(system).chain(devices).chain(terminal).chain([processes]).collect();
        Self { below, exactly }
    }

    /// Of a path without links.
    pub(crate) fn of(&self, path: &Path) -> Area {
        let below = self.below.iter().find(|(it, _)| path.starts_with(it));
        let kernel =
            KERNEL.iter().any(|it| path.starts_with(it) && below.is_none_or(|(root, _)| !root.starts_with(it)));
        match below {
            Some((_, area)) if !kernel && *area != Area::Readable => return *area,
            _ => {}
        }
        if let Some((_, area)) = self.exactly.iter().find(|(it, _)| it == path) {
            return *area;
        }
        match process_file(path) {
            Some(process) => Area::Process(process),
            None if kernel => Area::Outside,
            None => below.map_or(Area::Outside, |(_, area)| *area),
        }
    }

    /// Whether something with rights of its own begins at a path or below.
    pub(crate) fn begin_below(&self, path: &Path) -> bool {
        self.below.iter().chain(&self.exactly).any(|(it, _)| it.starts_with(path))
    }
}

fn canonical(path: impl AsRef<Path>) -> PathBuf {
    std::fs::canonicalize(&path).unwrap_or_else(|_| path.as_ref().to_owned())
}

/// The process whose file this is, where it is one that may be read: `/proc/7/stat`, `/proc/7/task/8/stat`.
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
