//! Locks of directory trees. A changing call locks each of its roots, and shares the lock of each directory above, so that
//! calls on roots that contain one another wait for each other, whatever state directory they use.
//!
//! The locks are files in the user's own directory and not locks of the directories themselves, which a command in the
//! workspace could take and hold.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::budget::CallBudget;
use crate::directory::{Deferred, Directory, Identity, private_file};
use crate::mount::{self, Mount};
use crate::policy::Access;
use crate::state::{failed, wait};
use crate::types::ToolError;
use crate::user_directories;

/// Directory of the lock files, in the directory of all state directories.
const LOCKS: &str = "locks";
/// Number of lock files at which those that nobody holds are removed. The directories of one file system do not share a file: a
/// workspace that had that of a directory above another workspace would exclude it, and all others there.
const MAX_FILES: usize = 4096;

/// The locks of a workspace's writable roots.
#[derive(Debug)]
pub(crate) struct TreeLocks(Vec<LockFiles>);

/// Lock files in one directory.
#[derive(Debug)]
struct LockFiles {
    directory: Deferred,
    /// Numbers of the lock files, and whether the workspace excludes others from the file. All processes lock the files
    /// in this order, so that they cannot wait for each other in a circle.
    files: BTreeMap<u64, bool>,
    /// Whether a call fails if the directory cannot be created. Otherwise there are no locks in it.
    is_required: bool,
}

impl TreeLocks {
    /// Returns the locks for these roots: those of the user, if the user has a directory for state and may access it, and
    /// those in the directory `shared`, which processes of this user on other machines use too.
    pub(crate) fn new(roots: &[Mount], shared: Option<&Path>) -> io::Result<Self> {
        let open =
            |path: &Path| mount::open_named(path, roots.iter().map(|root| &root.directory)).and_then(Deferred::new);
        let mut all = Vec::new();
        if let Some(parent) = user_directories::state() {
            match open(&parent.join(LOCKS)) {
                Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied => {}
                directory => all.push(LockFiles::new(directory?, roots, number, false)),
            }
        }
        if let Some(path) = shared {
            all.push(LockFiles::new(open(path)?, roots, shared_number, true));
        }
        Ok(Self(all))
    }

    /// Waits until no other call changes these trees, or with `Access::ReadWrite` uses them. Dropping the result releases
    /// the locks.
    pub(crate) fn lock(&self, access: Access, budget: &CallBudget) -> Result<Vec<File>, ToolError> {
        let mut locks = Vec::new();
        for files in &self.0 {
            locks.extend(files.lock(access, budget)?);
        }
        Ok(locks)
    }
}

impl LockFiles {
    fn new(directory: Deferred, roots: &[Mount], number: impl Fn(Identity) -> u64, is_required: bool) -> Self {
        let mut files = BTreeMap::new();
        for root in roots.iter().filter(|root| root.access == Access::ReadWrite) {
            let identity = root.directory.identity();
            files.insert(number(identity), true);
            // The numbers of inodes are the same on all machines only in the file system of the root.
            let is_shared = |above: &&Identity| !is_required || above.device() == identity.device();
            for above in root.directory.ancestors().iter().filter(is_shared) {
                files.entry(number(*above)).or_insert(false);
            }
        }
        Self { directory, files, is_required }
    }

    fn lock(&self, access: Access, budget: &CallBudget) -> Result<Vec<File>, ToolError> {
        let directory = match self.directory.create() {
            Ok(directory) => directory,
            Err(cause) if self.is_required => return Err(failed(&cause)),
            Err(_) => return Ok(Vec::new()),
        };
        let is_exclusive = |of_root: bool| of_root && access == Access::ReadWrite;
        self.files.iter().map(|(number, of_root)| locked(&directory, *number, is_exclusive(*of_root), budget)).collect()
    }
}

/// Locks the file with this number, and creates it if it does not exist.
fn locked(directory: &Directory, number: u64, is_exclusive: bool, budget: &CallBudget) -> Result<File, ToolError> {
    let name = OsString::from(format!("{number:016x}"));
    let lock = |file: &File| if is_exclusive { file.try_lock() } else { file.try_lock_shared() };
    loop {
        let file = opened(directory, &name).map_err(|cause| failed(&cause))?;
        wait(budget, || lock(&file))?;
        // Another process may have removed the file before it was locked here.
        if is_named(directory, &name, &file) {
            return Ok(file);
        }
        if budget.interruption().is_some() {
            wait(budget, || Err(TryLockError::WouldBlock))?;
        }
    }
}

fn opened(directory: &Directory, name: &OsStr) -> io::Result<File> {
    match directory.open_file(name, private_file().read(true)) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
            let file = directory.open_file(name, private_file().read(true).create(true).truncate(false))?;
            tidy(directory, MAX_FILES, name)?;
            Ok(file)
        }
        opened => opened,
    }
}

/// Removes the files that nobody holds but `new`, if there are more than `max` files.
fn tidy(directory: &Directory, max: usize, new: &OsStr) -> io::Result<()> {
    let names = directory.names()?;
    if names.len() <= max {
        return Ok(());
    }
    for name in names.into_iter().filter(|name| name != new) {
        let Ok(file) = directory.open_regular(&name, private_file().read(true)) else { continue };
        // Whoever removes a file holds it, so that the name is that of no other file.
        if file.try_lock().is_ok() && is_named(directory, &name, &file) {
            // Another user's file may stay.
            let _ = directory.entries().remove_file(&name);
        }
    }
    Ok(())
}

/// Returns whether the name is that of the open file.
fn is_named(directory: &Directory, name: &OsStr, file: &File) -> bool {
    // A network file system can find the name in a cache, but not the number of links of a file that was just locked.
    #[cfg(unix)]
    if file.metadata().is_ok_and(|metadata| std::os::unix::fs::MetadataExt::nlink(&metadata) == 0) {
        return false;
    }
    Identity::of_file(file).is_ok_and(|identity| directory.identity_of(name) == Some(identity))
}

/// Returns the number of the lock file of a directory. All versions and hosts have to agree on it.
fn number(directory: Identity) -> u64 {
    numbered(&format!("{}:{}", directory.device(), directory.inode()))
}

/// Returns the number of the lock file of a directory in the directory that several machines share. Machines have
/// different device numbers for one file system, so that directories of two file systems can have one number. Their workspaces then
/// wait for one another.
fn shared_number(directory: Identity) -> u64 {
    numbered(&directory.inode().to_string())
}

fn numbered(name: &str) -> u64 {
    Sha256::digest(name).iter().take(8).fold(0, |value, byte| (value << 8) | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    use std::thread;
    use std::time::Duration;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    fn lock(directory: &Directory, number: u64) -> File {
        locked(directory, number, true, &CallBudget::within(PATIENCE)).unwrap()
    }

    #[test]
    fn directories_do_not_share_a_lock() {
        let numbers: HashSet<_> = (0..100_000_u32).map(|inode| numbered(&format!("7:{inode}"))).collect();
        assert_eq!(numbers.len(), 100_000);
    }

    #[test]
    fn the_number_of_lock_files_is_bounded() {
        let home = tempfile::tempdir().unwrap();
        let directory = Directory::open(home.path()).unwrap();
        let held = lock(&directory, 7);
        (100..100 + 2 * MAX_FILES as u64).for_each(|number| drop(lock(&directory, number)));
        let names = directory.names().unwrap();
        assert!(names.len() <= MAX_FILES + 1 && names.iter().any(|name| name == "0000000000000007"), "{}", names.len());
        assert!(locked(&directory, 7, false, &CallBudget::within(Duration::ZERO)).is_err());
        drop(held);
        drop(lock(&directory, 7));
    }

    /// Directories stand for files that cannot be removed.
    #[test]
    fn a_new_lock_file_stays_if_no_other_can_be_removed() {
        let home = tempfile::tempdir().unwrap();
        let directory = Directory::open(home.path()).unwrap();
        (0..=MAX_FILES).for_each(|number| std::fs::create_dir(home.path().join(number.to_string())).unwrap());
        drop(lock(&directory, 7));
        assert!(home.path().join("0000000000000007").exists());
    }

    #[test]
    fn a_lock_excludes_others_while_files_are_removed() {
        let home = tempfile::tempdir().unwrap();
        let directory = Directory::open(home.path()).unwrap();
        let (holders, is_over) = (AtomicU32::new(0), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    tidy(&directory, 0, OsStr::new("")).unwrap();
                }
            });
            let count = || {
                for _ in 0..200 {
                    let lock = lock(&directory, 7);
                    assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                    thread::yield_now();
                    holders.fetch_sub(1, Ordering::SeqCst);
                    drop(lock);
                }
            };
            let counting = [scope.spawn(count), scope.spawn(count)];
            counting.into_iter().for_each(|thread| thread.join().unwrap());
            is_over.store(true, Ordering::Relaxed);
        });
    }
}
