//! Conflicts between the files of a patch.

use std::collections::HashSet;

use paddock_types::error::Result;
use paddock_types::policy::HardLinks;
use paddock_vfs::Stat;
use paddock_workspace::resolved_path::ResolvedPath;

use crate::apply_patch::{Plan, Planned, rejected};

impl Plan<'_> {
    /// Fails if the patch needs a directory at a path where it leaves a file.
    pub(super) fn check_nesting(&self) -> Result<()> {
        let files: HashSet<_> =
            self.files.iter().filter(|file| file.new.is_some()).map(|file| file.resolved.path.as_str()).collect();
        let new = self.files.iter().filter(|file| file.new.is_some() && !file.resolved.missing.is_empty());
        for file in new {
            let path = file.resolved.path.as_str();
            let above =
                path.match_indices('/').filter_map(|(end, _)| path.get(..end)).find(|above| files.contains(above));
            if let Some(above) = above {
                return Err(rejected(&file.resolved.requested_path, &format!("the patch makes `{above}` a file"))
                    .hint("use another path"));
            }
        }
        Ok(())
    }

    /// Fails if two paths name the same file, by case folding or by a hard link that is written through: one change
    /// would overwrite the other.
    pub(super) fn check_aliases(&self) -> Result<()> {
        let there: Vec<(&Planned, Stat)> =
            self.files.iter().filter_map(|file| Some((file, file.resolved.stat?))).collect();
        for (index, (file, stat)) in there.iter().enumerate() {
            let before = there.iter().take(index);
            let alias = before.filter(|(other, its)| its == stat && other.old == file.old).find(|(other, _)| {
                let is_shared = stat.links > 1 && self.workspace.policy.hard_links == HardLinks::Keep;
                is_shared || !self.is_listed(&file.resolved) || !self.is_listed(&other.resolved)
            });
            if let Some((alias, _)) = alias {
                let cause = format!("it is the same file as `{}`", alias.resolved.path);
                return Err(rejected(&file.resolved.requested_path, &cause)
                    .hint("name the file in one way, in one part of the patch"));
            }
        }
        Ok(())
    }

    /// Returns whether the directory lists the name exactly as spelled.
    fn is_listed(&self, resolved: &ResolvedPath) -> bool {
        let listing = self.workspace.fs.list(&resolved.dir);
        listing.is_ok_and(|listing| listing.entries.iter().any(|entry| entry.name == resolved.name))
    }
}
