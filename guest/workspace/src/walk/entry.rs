//! An entry that a walk returns.

use paddock_types::entry::Kind;
use paddock_vfs::Dir;

/// The current entry of a walk.
pub struct Entry<'a> {
    /// The directory that holds it.
    pub dir: &'a Dir,
    /// Name in that directory.
    pub name: &'a str,
    /// Type of the entry.
    pub kind: Kind,
    /// Path in the form of results.
    pub path: &'a str,
    /// Path relative to the top of the walk.
    pub below: &'a str,
    /// Levels below the top of the walk: 1 for an entry of the top itself.
    pub depth: u32,
}
