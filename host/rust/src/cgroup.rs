//! A control group (cgroup v2) for the processes of one command, if this process may create one. The host can end all
//! of these processes at once, even if they have left the process tree of their supervisor.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::hex::hex;

/// Number of attempts, and the interval, to remove the group while its last process ends.
const ATTEMPTS: u32 = 50;
const PAUSE: Duration = Duration::from_millis(2);

/// A control group. Dropping it ends its processes and removes it.
#[derive(Debug)]
pub(crate) struct Cgroup(PathBuf);

impl Cgroup {
    /// Creates a group in the group of a process, with `self` for this process. `None` if the group cannot be
    /// created, or the kernel could not end its processes.
    pub(crate) fn below(process: &str) -> Option<Self> {
        let parent = group_of(process)?;
        let mut nonce = [0; 16];
        getrandom::fill(&mut nonce).ok()?;
        let group = Self(parent.join(format!("paddock-{}", hex(&nonce))));
        fs::create_dir(&group.0).ok()?;
        // The group is dropped, and so removed, if the kernel cannot end its processes (before 5.14).
        group.0.join("cgroup.kill").exists().then_some(group)
    }

    /// Opens a file of the group, such as the one to which a process writes to enter the group.
    pub(crate) fn entry(&self) -> io::Result<File> {
        OpenOptions::new().write(true).open(self.0.join("cgroup.procs"))
    }

    /// Limits the number of tasks in the group, if its parent delegates that controller.
    pub(crate) fn limit_tasks(&self, tasks: u64) {
        // The supervisor is one of the tasks.
        self.limit("pids.max", tasks);
    }

    /// Limits the total memory of the processes, if the parent delegates that controller. Unlike limits of a process,
    /// it covers shared memory.
    pub(crate) fn limit_memory(&self, bytes: u64) {
        self.limit("memory.max", bytes);
        // Without this limit, memory above the other limit would be swapped out.
        self.limit("memory.swap.max", 0);
    }

    /// Writes a limit. The file does not exist without the controller.
    fn limit(&self, name: &str, limit: u64) {
        let file = OpenOptions::new().write(true).open(self.0.join(name));
        drop(file.and_then(|mut file| write!(file, "{limit}")));
    }

    /// Ends every process in the group.
    pub(crate) fn kill(&self) -> io::Result<()> {
        OpenOptions::new().write(true).open(self.0.join("cgroup.kill"))?.write_all(b"1")
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // A group without processes needs no kill, and a group that remains is empty.
        let _ = self.kill();
        for _ in 0..ATTEMPTS {
            match fs::remove_dir(&self.0) {
                Err(cause) if cause.kind() == io::ErrorKind::ResourceBusy => thread::sleep(PAUSE),
                _ => return,
            }
        }
    }
}

/// Returns the directory of the group of a process.
fn group_of(process: &str) -> Option<PathBuf> {
    let groups = fs::read_to_string(format!("/proc/{process}/cgroup")).ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let (root, top) = mounts.lines().find_map(unified)?;
    // The mount can be a part of the hierarchy, as in a container.
    let below = Path::new(path).strip_prefix(root).ok()?;
    Some(top.join(below))
}

/// Parses a line of `mountinfo`: returns the mounted part of the hierarchy and the mount point, if it is cgroup v2.
fn unified(line: &str) -> Option<(PathBuf, PathBuf)> {
    let (mount, kind) = line.split_once(" - ")?;
    if kind.split(' ').next() != Some("cgroup2") {
        return None;
    }
    let mut fields = mount.split(' ').skip(3);
    Some((fields.next()?.into(), fields.next()?.into()))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn the_mount_of_version_2_is_found() {
        let line = "36 25 0:31 /docker/ab /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate";
        assert_eq!(unified(line), Some(("/docker/ab".into(), "/sys/fs/cgroup".into())));
        assert_eq!(unified("30 25 0:27 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids"), None);
    }

    #[test]
    fn limits_are_set_where_there_are_controllers() {
        let directory = tempfile::tempdir().unwrap();
        let group = Cgroup(directory.path().join("group"));
        fs::create_dir(&group.0).unwrap();
        group.limit_memory(1 << 20);
        assert_eq!(fs::read_dir(&group.0).unwrap().count(), 0, "no controller, no file");
        for name in ["memory.max", "memory.swap.max", "pids.max"] {
            fs::write(group.0.join(name), "").unwrap();
        }
        group.limit_memory(1 << 20);
        group.limit_tasks(7);
        let limit = |name| fs::read_to_string(group.0.join(name)).unwrap();
        assert_eq!([limit("memory.max"), limit("memory.swap.max"), limit("pids.max")], ["1048576", "0", "7"]);
    }

    #[test]
    fn a_group_ends_with_all_that_is_in_it() {
        let Some(group) = Cgroup::below("self") else {
            println!("not run: this process may make no control group");
            return;
        };
        // The shell starts the other processes when it is in the group.
        let mut command = Command::new("sh");
        command.args(["-c", "read line; setsid sleep 1000 & sleep 1000"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        write!(group.entry().unwrap(), "{}", child.id()).unwrap();
        drop(child.stdin.take());
        let path = group.0.clone();
        let are_started = |_| {
            thread::sleep(PAUSE);
            fs::read_to_string(path.join("cgroup.procs")).unwrap().lines().count() == 3
        };
        assert!((0..10_000).any(are_started));
        drop(group);
        assert!(!child.wait().unwrap().success());
        // The output ends when the last process has ended.
        assert_eq!(std::io::read_to_string(child.stdout.take().unwrap()).unwrap(), "");
        assert!(!path.exists());
    }
}
