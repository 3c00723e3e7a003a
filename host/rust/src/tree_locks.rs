//! Locks of directory trees. A changing call locks each of its roots, and shares the lock of each directory above, so that
//! calls on roots that contain one another wait for each other, whatever state directory they use.
//!
//! The locks are files in the user's own directory and not locks of the directories themselves, which a command in the
//! workspace could take and hold.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::budget::CallBudget;
use crate::directory::{Deferred, Identity, private_file};
use crate::mount::{self, Mount};
use crate::policy::Access;
use crate::state::{failed, wait};
use crate::types::ToolError;
use crate::user_directories;

/// Directory of the lock files, in the directory of all state directories.
const LOCKS: &str = "locks";
/// Number of lock files. Directories that share a file wait for each other without need.
const FILES: u16 = 1024;

/// The locks of a workspace's writable roots.
#[derive(Debug)]
pub(crate) struct TreeLocks(Vec<LockFiles>);

/// Lock files in one directory.
#[derive(Debug)]
struct LockFiles {
    directory: Deferred,
    /// Numbers of the lock files, and whether the workspace excludes others from the file. All processes lock the files
    /// in this order, so that they cannot wait for each other in a circle.
    files: BTreeMap<u16, bool>,
    /// Whether a call fails if the directory cannot be created. Otherwise there are no locks in it.
    is_required: bool,
}

impl TreeLocks {
    /// Returns the locks for these roots: those of the user, if the user has a directory for state and may access it, and
    /// those in the directory `shared`, which processes of other users and machines use too.
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
    fn new(directory: Deferred, roots: &[Mount], number: impl Fn(Identity) -> u16, is_required: bool) -> Self {
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
        let lock = |(number, is_exclusive): (&u16, &bool)| {
            let mut options = private_file();
            let options = options.read(true).create(true).truncate(false);
            let file = directory.open_file(format!("{number:03x}"), options).map_err(|cause| failed(&cause))?;
            let is_exclusive = *is_exclusive && access == Access::ReadWrite;
            wait(budget, || if is_exclusive { file.try_lock() } else { file.try_lock_shared() })?;
            Ok(file)
        };
        self.files.iter().map(lock).collect()
    }
}

/// Returns the number of the lock file of a directory. All versions and hosts have to agree on it.
fn number(directory: Identity) -> u16 {
    numbered(&format!("{}:{}", directory.device(), directory.inode()))
}

/// Returns the number of the lock file of a directory in the directory that several machines share. Machines have
/// different device numbers for one file system.
fn shared_number(directory: Identity) -> u16 {
    numbered(&directory.inode().to_string())
}

fn numbered(name: &str) -> u16 {
    Sha256::digest(name).iter().take(2).fold(0, |value, byte| (value << 8) | u16::from(*byte)) % FILES
}
