//! Locks of directory trees. A changing call locks each of its roots, and shares the lock of each directory above, so that
//! calls on roots that contain one another wait for each other, whatever state directory they use.
//!
//! The locks are files in the user's own directory and not locks of the directories themselves, which a command in the
//! workspace could take and hold.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;

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
pub(crate) struct TreeLocks {
    directory: Deferred,
    /// Numbers of the lock files, and whether the workspace excludes others from the file. All processes lock the files
    /// in this order, so that they cannot wait for each other in a circle.
    files: BTreeMap<u16, bool>,
}

impl TreeLocks {
    /// Returns the locks for these roots; `None` if the user has no directory for state, or may not access it.
    pub(crate) fn new(roots: &[Mount]) -> io::Result<Option<Self>> {
        let Some(parent) = user_directories::state() else { return Ok(None) };
        let walk = mount::open_named(&parent.join(LOCKS), roots.iter().map(|root| &root.directory));
        let directory = match walk.and_then(Deferred::new) {
            Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied => return Ok(None),
            directory => directory?,
        };
        let mut files = BTreeMap::new();
        for root in roots.iter().filter(|root| root.access == Access::ReadWrite) {
            files.insert(number(root.directory.identity()), true);
            for above in root.directory.ancestors() {
                files.entry(number(*above)).or_insert(false);
            }
        }
        Ok(Some(Self { directory, files }))
    }

    /// Waits until no other call changes these trees, or with `Access::ReadWrite` uses them. Dropping the result releases
    /// the locks. If the directory of the locks cannot be created, there are none.
    pub(crate) fn lock(&self, access: Access, budget: &CallBudget) -> Result<Vec<File>, ToolError> {
        let Ok(directory) = self.directory.create() else { return Ok(Vec::new()) };
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
    let digest = Sha256::digest(format!("{}:{}", directory.device(), directory.inode()));
    digest.iter().take(2).fold(0, |value, byte| (value << 8) | u16::from(*byte)) % FILES
}
