//! Opens the workspace of a call.

use paddock_types::error::Result;
use paddock_types::policy::Policy;
use paddock_types::request::Access;
use paddock_vfs::Filesystem;
use paddock_workspace::Workspace;
use paddock_workspace::change::journal;

use crate::index::with_listings;
use crate::overlay;

/// Opens the workspace for a call with this access. First, changes that a crash interrupted are completed or undone.
///
/// # Errors
///
/// For `Access::Change`, fails if the policy forbids changes or the recovery fails. For `Access::Read`, fails only if
/// the workspace cannot be opened.
pub fn open<'a>(fs: &'a dyn Filesystem, policy: &'a Policy, access: Access) -> Result<Workspace<'a>> {
    let workspace = Workspace::open(fs, policy)?;
    let changes = access == Access::Change;
    if changes {
        workspace.check_any_change()?;
    }
    // A read-only workspace cannot be recovered, but it can still be read.
    let recovered = journal::recover(&workspace).and_then(|()| overlay::recover(&workspace));
    recovered.or_else(|error| if changes { Err(error) } else { Ok(()) })?;
    Ok(with_listings(workspace))
}
