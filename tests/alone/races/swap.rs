//! The process that swaps names as fast as possible.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::fs::{CWD, Mode, OFlags, RenameFlags, openat, renameat_with};
use rustix::process::{Signal, set_parent_process_death_signal};

/// Environment variable with the directory for `swaps_in_child`.
pub const SWAPS: &str = "PADDOCK_SWAPS_IN";

/// Names in the workspace, and the names that replace them.
pub const PAIRS: [(&str, &str); 5] = [
    ("ws/d", "spare/link-to-outside"),
    ("ws/l", "spare/link-to-file"),
    ("ws/p", "spare/fifo"),
    ("ws/x", "ws/y"),
    ("ws/a", "ws/b"),
];

/// Swaps the names until the parent process ends.
pub fn forever(directory: &Path) -> ! {
    set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    until(directory, || false);
    std::process::exit(1)
}

/// Swaps the names until `is_over` returns true.
pub fn until(directory: &Path, is_over: impl Fn() -> bool) {
    let top = openat(CWD, directory, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).unwrap();
    while !is_over() {
        for (name, other) in PAIRS {
            // An entry that a call removed is restored after the call.
            let _gone = renameat_with(&top, name, &top, other, RenameFlags::EXCHANGE);
        }
    }
}

/// The swapping process. It is killed when this value is dropped.
pub struct Swapper(Child);

impl Swapper {
    pub fn start(directory: &Path) -> Self {
        let mut command = Command::new("/proc/self/exe");
        command.args(["--exact", "races::swaps_in_child", "--ignored", "--nocapture"]).stdout(Stdio::null());
        Self(command.env(SWAPS, directory).spawn().unwrap())
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}
