use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tempfile::TempDir;

use super::*;

/// A directory of this machine.
#[derive(Clone)]
struct OnDisk {
    path: PathBuf,
    /// Whether lists contain what a list made during a rename can contain.
    is_torn: bool,
}

impl OnDisk {
    fn list(&self) -> Result<BTreeSet<String>, String> {
        let entries = fs::read_dir(&self.path).map_err(|cause| cause.to_string())?;
        entries.map(|entry| Ok(entry.map_err(|cause| cause.to_string())?.file_name().into_string().unwrap())).collect()
    }
}

fn unless_missing(result: std::io::Result<()>) -> Result<bool, String> {
    match result {
        Ok(()) => Ok(true),
        Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(false),
        Err(cause) => Err(cause.to_string()),
    }
}

impl LockDirectory for OnDisk {
    fn names(&self) -> Result<Vec<String>, String> {
        let first = self.list()?;
        if !self.is_torn {
            return Ok(first.into_iter().collect());
        }
        thread::yield_now();
        let second = self.list()?;
        // An entry that was in the directory only for a part of the time may be in the list.
        let may_be_missing =
            |name: &String| !(first.contains(name) && second.contains(name)) && SystemClock.random().is_multiple_of(2);
        Ok(first.union(&second).filter(|name| !may_be_missing(name)).cloned().collect())
    }

    fn create(&self, name: &str) -> Result<(), String> {
        File::create(self.path.join(name)).map(drop).map_err(|cause| cause.to_string())
    }

    fn rename(&self, from: &str, to: &str) -> Result<bool, String> {
        unless_missing(fs::rename(self.path.join(from), self.path.join(to)))
    }

    fn remove(&self, name: &str) -> Result<(), String> {
        unless_missing(fs::remove_file(self.path.join(name))).map(drop)
    }
}

impl StateDirectory for OnDisk {
    type Lock = Self;

    fn open(&self, name: &str) -> Result<Option<Self>, String> {
        let path = self.path.join(name);
        Ok(path.is_dir().then_some(Self { path, is_torn: self.is_torn }))
    }

    fn make(&self, name: &str) -> Result<Self, String> {
        fs::create_dir(self.path.join(name)).map_err(|cause| cause.to_string())?;
        Ok(self.open(name)?.unwrap())
    }

    fn sync(&self, _lock: &Self) -> Result<(), String> {
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> Result<bool, String> {
        match fs::rename(self.path.join(from), self.path.join(to)) {
            Ok(()) => Ok(true),
            Err(cause) if matches!(cause.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists) => Ok(false),
            Err(cause) => Err(cause.to_string()),
        }
    }

    fn remove(&self, name: &str) -> Result<(), String> {
        fs::remove_dir(self.path.join(name)).map_err(|cause| cause.to_string())
    }
}

struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis().try_into().unwrap()
    }

    fn sleep_ms(&self, ms: u64) {
        thread::sleep(Duration::from_millis(ms));
    }

    fn random(&self) -> u64 {
        use std::hash::{BuildHasher, RandomState};
        RandomState::new().hash_one(thread::current().id())
    }
}

fn state(directory: &TempDir, is_torn: bool) -> OnDisk {
    OnDisk { path: directory.path().to_owned(), is_torn }
}

fn lock_of(state: &OnDisk, lease_ms: u64, wait_ms: u64) -> Lock<OnDisk, SystemClock> {
    let directory = open(state, SystemClock.random()).unwrap();
    Lock::new(directory, SystemClock, Times { lease_ms, wait_ms })
}

fn names(state: &OnDisk) -> Vec<String> {
    state.open(NAME).unwrap().unwrap().list().unwrap().into_iter().collect()
}

/// Counts of the work that is in progress.
#[derive(Default)]
struct Work {
    writers: AtomicUsize,
    readers: AtomicUsize,
    done: AtomicUsize,
}

impl Work {
    fn write(&self) {
        assert_eq!((self.writers.fetch_add(1, SeqCst), self.readers.load(SeqCst)), (0, 0));
        thread::yield_now();
        assert_eq!((self.writers.fetch_sub(1, SeqCst), self.readers.load(SeqCst)), (1, 0));
        self.done.fetch_add(1, SeqCst);
    }

    fn read(&self) {
        self.readers.fetch_add(1, SeqCst);
        assert_eq!(self.writers.load(SeqCst), 0);
        thread::yield_now();
        assert_eq!(self.writers.load(SeqCst), 0);
        self.readers.fetch_sub(1, SeqCst);
        self.done.fetch_add(1, SeqCst);
    }
}

#[test]
fn threads_exclude_each_other() {
    for is_torn in [false, true] {
        let (directory, work) = (TempDir::new().unwrap(), Work::default());
        let state = state(&directory, is_torn);
        thread::scope(|scope| {
            for number in 0..8 {
                let (state, work) = (&state, &work);
                scope.spawn(move || {
                    for round in 0..40 {
                        let lock = lock_of(state, 60_000, 60_000);
                        match (number + round) % 3 {
                            0 => assert_eq!(lock.exclusive(|| work.write()).unwrap().1, Kept::UntilEnd),
                            _ => lock.shared(|| work.read()).unwrap(),
                        }
                    }
                });
            }
        });
        assert_eq!(work.done.into_inner(), 320);
        assert_eq!(names(&state), [FREE]);
    }
}

#[test]
fn readers_do_not_exclude_each_other() {
    let directory = TempDir::new().unwrap();
    let state = state(&directory, false);
    let (outer, inner) = (lock_of(&state, 60_000, 0), lock_of(&state, 60_000, 0));
    assert_eq!(outer.shared(|| inner.shared(|| 7)), Ok(Ok(7)));
    assert_eq!(outer.shared(|| inner.exclusive(|| ())), Ok(Err(LockError::Busy)));
    assert_eq!(outer.exclusive(|| inner.shared(|| ())), Ok((Err(LockError::Busy), Kept::UntilEnd)));
    assert_eq!(outer.exclusive(|| inner.exclusive(|| ())), Ok((Err(LockError::Busy), Kept::UntilEnd)));
    assert_eq!(names(&state), [FREE]);
}

/// Holders that end without releasing the lock: their locks expire, and one call after the other takes over.
#[test]
fn the_locks_of_crashed_calls_expire() {
    const LEASE_MS: u64 = 20;
    for is_torn in [false, true] {
        let (directory, work) = (TempDir::new().unwrap(), Work::default());
        let state = state(&directory, is_torn);
        thread::scope(|scope| {
            for number in 0..6 {
                let (state, work) = (&state, &work);
                scope.spawn(move || {
                    for round in 0..10 {
                        let lock = lock_of(state, 60_000, 60_000);
                        match (number + round) % 5 {
                            0 => {
                                let crashed = lock_of(state, LEASE_MS, 60_000);
                                crashed.take_token(&mut crashed.attempts()).unwrap();
                            }
                            1 => {
                                let crashed = lock_of(state, LEASE_MS, 0);
                                crashed.directory.create(&crashed.name(READING, SystemClock.random())).unwrap();
                            }
                            2 => match lock.shared(|| work.read()) {
                                Ok(()) => {}
                                Err(LockError::Abandoned) => drop(lock.exclusive(|| work.write()).unwrap()),
                                Err(error) => panic!("{error}"),
                            },
                            _ => assert_eq!(lock.exclusive(|| work.write()).unwrap().1, Kept::UntilEnd),
                        }
                    }
                });
            }
        });
        assert_eq!(work.done.into_inner(), 36);
        thread::sleep(Duration::from_millis(2 * LEASE_MS));
        lock_of(&state, 60_000, 1000).exclusive(|| ()).unwrap();
        assert_eq!(names(&state), [FREE]);
    }
}

#[test]
fn a_call_that_exceeds_its_lease_loses_the_lock_and_learns_it() {
    let directory = TempDir::new().unwrap();
    let state = state(&directory, false);
    let (slow, other) = (lock_of(&state, 10, 0), lock_of(&state, 60_000, 1000));
    let (taken, kept) = slow
        .exclusive(|| {
            thread::sleep(Duration::from_millis(20));
            assert_eq!(other.shared(|| ()), Err(LockError::Abandoned));
            other.exclusive(|| ()).unwrap().1
        })
        .unwrap();
    assert_eq!((taken, kept), (Kept::UntilEnd, Kept::Lost));
    assert_eq!(names(&state), [FREE]);
}

/// Of the calls that create the directory of the lock, one wins, and the others use its directory.
#[test]
fn the_first_calls_create_one_lock() {
    for _ in 0..100 {
        let (directory, work) = (TempDir::new().unwrap(), Work::default());
        let state = state(&directory, false);
        thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| lock_of(&state, 60_000, 60_000).exclusive(|| work.write()).unwrap());
            }
        });
        assert_eq!(work.done.into_inner(), 6);
        assert_eq!(state.list().unwrap().into_iter().collect::<Vec<_>>(), [NAME]);
        assert_eq!(names(&state), [FREE]);
    }
}

#[test]
fn failures_of_the_file_system_are_reported() {
    let directory = TempDir::new().unwrap();
    let state = state(&directory, false);
    fs::write(directory.path().join(NAME), "a file").unwrap();
    assert!(matches!(open(&state, 1), Err(LockError::Failed(_))));
    fs::remove_file(directory.path().join(NAME)).unwrap();
    let lock = lock_of(&state, 60_000, 0);
    fs::remove_dir_all(directory.path().join(NAME)).unwrap();
    assert!(matches!(lock.exclusive(|| ()), Err(LockError::Failed(_))));
    assert!(matches!(lock.shared(|| ()), Err(LockError::Failed(_))));
    // A token that a person removed is missed by every call, and no call creates a second one.
    let lock = lock_of(&state, 60_000, 5);
    fs::remove_file(directory.path().join(NAME).join(FREE)).unwrap();
    assert_eq!(lock.exclusive(|| ()), Err(LockError::Busy));
    assert_eq!(lock.shared(|| ()), Err(LockError::Busy));
}

#[test]
fn names_that_are_not_those_of_the_lock_are_ignored() {
    for name in ["held-", "held-1", "held-x-1", "held-1-x", "reading-1-1", "free"] {
        assert!(Entry::parse(name, HELD).is_none(), "{name}");
    }
    let entry = Entry::parse("held-12-00ff", HELD).unwrap();
    assert_eq!((entry.expiry_ms, entry.holder), (12, 255));
}

/// Variable with the directory in which [`child`] works.
const CHILD: &str = "PADDOCK_TEST_LOCK";
const PROCESSES: usize = 4;
const ROUNDS: usize = 100;

/// Processes that read a number and write it back, larger by one.
#[test]
fn processes_exclude_each_other() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("number"), "0").unwrap();
    let child = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "lock::tests::child"]).env(CHILD, directory.path()).spawn().unwrap()
    };
    let children: Vec<_> = std::iter::repeat_with(child).take(PROCESSES).collect();
    children.into_iter().for_each(|mut child| assert!(child.wait().unwrap().success()));
    assert_eq!(number_in(directory.path()), PROCESSES * ROUNDS);
}

fn number_in(directory: &Path) -> usize {
    fs::read_to_string(directory.join("number")).unwrap().parse().unwrap()
}

/// The work of a process of the test above; nothing without it.
#[test]
fn child() {
    let Some(directory) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    let lock = lock_of(&OnDisk { path: directory.clone(), is_torn: false }, 60_000, 60_000);
    for _ in 0..ROUNDS {
        let seen = lock.shared(|| number_in(&directory)).unwrap();
        let increment = || {
            let number = number_in(&directory);
            assert!(number >= seen);
            fs::write(directory.join("number"), (number + 1).to_string()).unwrap();
        };
        assert_eq!(lock.exclusive(increment).unwrap().1, Kept::UntilEnd);
    }
}
