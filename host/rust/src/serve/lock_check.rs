//! A check that the locks in the state directory exclude other servers.
//!
//! Some file systems accept a lock that excludes nobody, or only processes of the same machine: NFS that is mounted with
//! `local_lock`, for example, and many file systems in user space. Therefore each server has a file in the state directory,
//! which it locks as long as it runs, and to which it writes a heartbeat each second. A server that can lock the file of
//! another one whose heartbeats continue has found out that locks do not work, and refuses all calls.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::directory::{Directory, private_file};
use crate::hex::hex;

/// Time between two heartbeats.
const INTERVAL: Duration = Duration::from_secs(1);

/// Number of checks that find the same heartbeat, after which the server counts as dead and its file is removed.
const DEAD_AFTER: u32 = 30;

/// Maximum number of other servers that are checked.
const MAX_OTHERS: usize = 256;

/// Maximum length of a heartbeat in bytes.
const MAX_LENGTH: u64 = 64;

/// Time for which calls are refused after the last finding. Each check of a running server repeats it.
const VALID: Duration = Duration::from_secs(10);

/// The result of the checks.
#[derive(Debug, Default)]
pub(super) struct LockCheck(Mutex<Option<Instant>>);

/// The file of this server, and what is known of the other ones.
struct Heartbeats {
    directory: Directory,
    name: OsString,
    own: File,
    /// Number of heartbeats so far.
    count: u64,
    others: HashMap<OsString, Heartbeat>,
}

/// The last heartbeat of a server whose file could be locked.
struct Heartbeat {
    text: Vec<u8>,
    /// Number of checks since the heartbeat changed.
    age: u32,
}

/// The attempt to lock a file.
type TryLock = fn(&File) -> Result<(), TryLockError>;

impl LockCheck {
    /// Begins the checks, in a thread that ends when the returned value is dropped. Returns when the servers that are known
    /// now have been checked: after some seconds, if one of them was killed. This blocks the thread.
    pub(super) fn start(self: &Arc<Self>, directory: Directory) -> io::Result<Checking> {
        let mut heartbeats = Heartbeats::new(directory)?;
        if heartbeats.check(File::try_lock)? || !heartbeats.others.is_empty() {
            for _ in 0..2 {
                thread::sleep(INTERVAL);
                self.record(heartbeats.check(File::try_lock)?);
            }
        }
        let (stop, stopped) = mpsc::channel();
        let checks = Arc::clone(self);
        let run = move || {
            while stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                // Calls report the errors of the state directory themselves.
                if let Ok(found) = heartbeats.check(File::try_lock) {
                    checks.record(found);
                }
            }
        };
        let thread = thread::Builder::new().name("paddock-locks".to_owned()).spawn(run)?;
        Ok(Checking { stop: Some(stop), thread: Some(thread) })
    }

    /// Returns whether a lock did not exclude another server.
    pub(super) fn has_failed(&self) -> bool {
        self.found().is_some_and(|found| found.elapsed() < VALID)
    }

    fn record(&self, found: bool) {
        if found {
            *self.found() = Some(Instant::now());
        }
    }

    fn found(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The running checks. Dropping the value ends them and removes the file of this server.
pub(super) struct Checking {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Checking {
    fn drop(&mut self) {
        drop(self.stop.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Heartbeats {
    fn new(directory: Directory) -> io::Result<Self> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let name = OsString::from(hex(&random));
        let own = directory.open_file(&name, private_file().read(true).create_new(true))?;
        own.try_lock().map_err(io::Error::from)?;
        Ok(Self { directory, name, own, count: 0, others: HashMap::new() })
    }

    /// Writes a heartbeat, and returns whether another server lives although its file can be locked.
    fn check(&mut self, try_lock: TryLock) -> io::Result<bool> {
        self.count += 1;
        self.own.rewind()?;
        self.own.write_all(format!("{:020}\n", self.count).as_bytes())?;
        let names = self.directory.names()?.into_iter().filter(|name| *name != self.name);
        let names: Vec<_> = names.take(MAX_OTHERS).collect();
        self.others.retain(|name, _| names.contains(name));
        let mut found = false;
        for name in names {
            found |= self.check_other(name, try_lock);
        }
        Ok(found)
    }

    fn check_other(&mut self, name: OsString, try_lock: TryLock) -> bool {
        let opened = self.directory.open_regular(&name, private_file().read(true));
        // The file was removed.
        let Ok(file) = opened else { return false };
        if try_lock(&file).is_err() {
            self.others.remove(&name);
            return false;
        }
        let mut text = Vec::new();
        if Read::take(&file, MAX_LENGTH).read_to_end(&mut text).is_err() {
            return false;
        }
        let Some(heartbeat) = self.others.get_mut(&name) else {
            self.others.insert(name, Heartbeat { text, age: 0 });
            return false;
        };
        if heartbeat.text != text {
            *heartbeat = Heartbeat { text, age: 0 };
            return true;
        }
        heartbeat.age += 1;
        if heartbeat.age >= DEAD_AFTER {
            // Its owner would hold the lock.
            let _ = self.directory.entries().remove_file(&name);
        }
        false
    }
}

impl Drop for Heartbeats {
    fn drop(&mut self) {
        let _ = self.directory.entries().remove_file(&self.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A lock that excludes nobody.
    fn no_lock(_: &File) -> Result<(), TryLockError> {
        Ok(())
    }

    fn fixture() -> (tempfile::TempDir, Directory) {
        let home = tempfile::tempdir().unwrap();
        let directory = Directory::open(home.path()).unwrap();
        (home, directory)
    }

    #[test]
    fn servers_that_exclude_each_other_find_nothing() {
        let (home, directory) = fixture();
        let mut both = [(); 2].map(|()| Heartbeats::new(directory.clone()).unwrap());
        for _ in 0..2 * DEAD_AFTER {
            assert!(both.iter_mut().all(|heartbeats| !heartbeats.check(File::try_lock).unwrap()));
        }
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 2);
        drop(both);
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_lock_that_excludes_nobody_is_found_at_the_second_heartbeat() {
        let (_home, directory) = fixture();
        let mut both = [(); 2].map(|()| Heartbeats::new(directory.clone()).unwrap());
        let mut check = || both.each_mut().map(|heartbeats| heartbeats.check(no_lock).unwrap());
        check();
        assert_eq!((check(), check()), ([true; 2], [true; 2]));
    }

    #[test]
    fn the_file_of_a_killed_server_is_removed() {
        let (home, directory) = fixture();
        let (killed, file) = (home.path().join("0"), home.path().join("not-a-server"));
        std::fs::write(&killed, "00000000000000000007\n").unwrap();
        let mut heartbeats = Heartbeats::new(directory).unwrap();
        assert!((0..DEAD_AFTER).all(|_| !heartbeats.check(File::try_lock).unwrap()) && killed.exists());
        assert!(!heartbeats.check(File::try_lock).unwrap() && !killed.exists());
        rustix::fs::mkfifoat(rustix::fs::CWD, &file, rustix::fs::Mode::RUSR).unwrap();
        assert!(!heartbeats.check(File::try_lock).unwrap(), "a FIFO does not block the check");
    }

    #[test]
    fn the_number_of_files_in_memory_is_bounded() {
        let (home, directory) = fixture();
        (0..2 * MAX_OTHERS).for_each(|number| std::fs::write(home.path().join(number.to_string()), "x").unwrap());
        let mut heartbeats = Heartbeats::new(directory).unwrap();
        heartbeats.check(File::try_lock).unwrap();
        assert_eq!(heartbeats.others.len(), MAX_OTHERS);
    }

    #[test]
    fn calls_are_refused_after_a_finding() {
        let check = LockCheck::default();
        check.record(false);
        assert!(!check.has_failed());
        check.record(true);
        assert!(check.has_failed());
    }
}
