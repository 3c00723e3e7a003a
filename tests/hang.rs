//! A FIFO that another process swaps in for a file does not block any call.

#![cfg(target_os = "linux")]

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use paddock::Workspace;
use paddock::types::ErrorCode;
use rustix::fs::{CWD, Mode, RenameFlags, mkfifoat, renameat_with};
use tempfile::TempDir;

const SWAPPING: Duration = Duration::from_secs(3);

#[test]
fn a_fifo_swapped_in_hangs_no_call() {
    let directory = TempDir::new().unwrap();
    let (file, fifo) = (directory.path().join("a.txt"), directory.path().join("b.txt"));
    fs::write(&file, "text\n").unwrap();
    mkfifoat(CWD, &fifo, Mode::RUSR | Mode::WUSR).unwrap();
    let workspace = Workspace::builder().root(directory.path()).no_state_dir().build().unwrap();
    let is_finished = AtomicBool::new(false);
    let (read, refused) = thread::scope(|scope| {
        let calls = scope.spawn(|| calls_while(&workspace, &is_finished));
        while !is_finished.load(Ordering::Relaxed) {
            renameat_with(CWD, &file, CWD, &fifo, RenameFlags::EXCHANGE).unwrap();
        }
        calls.join().unwrap()
    });
    assert!(read > 0 && refused > 0, "{read} read, {refused} refused");
}

/// Returns the number of calls that read the file, and of calls that refused the FIFO.
fn calls_while(workspace: &Workspace, is_finished: &AtomicBool) -> (u32, u32) {
    let _finish_on_drop = FinishOnDrop(is_finished);
    let started = Instant::now();
    let (mut read, mut refused) = (0, 0);
    while started.elapsed() < SWAPPING {
        match workspace.call("read_file", r#"{"path": "a.txt"}"#).error {
            None => read += 1,
            Some(error) if error.code == ErrorCode::NotAFile => refused += 1,
            Some(error) => panic!("{error:?}"),
        }
        assert!(workspace.call("grep", r#"{"pattern": "text"}"#).ok);
    }
    (read, refused)
}

/// Sets a flag however the work ends, also when it fails, so that the threads that wait for it end.
pub(crate) struct FinishOnDrop<'a>(pub(crate) &'a AtomicBool);

impl Drop for FinishOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn special_files_are_refused_and_skipped_at_once() {
    let directory = TempDir::new().unwrap();
    mkfifoat(CWD, directory.path().join("fifo"), Mode::RUSR | Mode::WUSR).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(directory.path().join("socket")).unwrap();
    let workspace = Workspace::builder().root(directory.path()).no_state_dir().build().unwrap();
    for name in ["fifo", "socket"] {
        let read = workspace.call("read_file", &format!(r#"{{"path": "{name}"}}"#));
        assert_eq!(read.error.map(|error| error.code), Some(ErrorCode::NotAFile), "{name}");
        let edit = format!(r#"{{"path": "{name}", "edits": [{{"old_text": "a", "new_text": "b"}}]}}"#);
        let edited = workspace.call("edit_file", &edit);
        assert_eq!(edited.error.map(|error| error.code), Some(ErrorCode::NotAFile), "{name}");
    }
    let outcome = workspace.call("grep", r#"{"pattern": "text"}"#);
    assert_eq!(outcome.value()["skipped"]["special"], 2, "{outcome:?}");
}
