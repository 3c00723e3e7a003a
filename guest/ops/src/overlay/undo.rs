//! Removes changes from an overlay: discarded ones, and those that the base has adopted.

use paddock_types::error::Result;
use paddock_vfs::overlay::Difference;

use crate::overlay::{Transaction, failed};

impl Transaction<'_> {
    /// Discards the changes at and below these paths, or all changes if `paths` is empty. Returns the discarded paths.
    ///
    /// # Errors
    ///
    /// `Code::NotFound` if nothing differs at one of the paths, `Code::InvalidArgument` if a path lies in a directory
    /// that was replaced as a whole.
    pub fn discard(&self, paths: &[String]) -> Result<Vec<String>> {
        let chosen = self.choose(paths)?;
        let fail = |fault| failed("discard changes in", &fault);
        if paths.is_empty() {
            self.overlay.clear().map_err(fail)?;
        } else {
            for difference in outermost(&chosen) {
                self.overlay.take_back(difference).map_err(fail)?;
            }
            // If only empty directories of the overlay are left, they are removed, so that the overlay is no longer
            // listed.
            if self.overlay.changes().map_err(fail)?.is_empty() {
                self.overlay.clear().map_err(fail)?;
            }
        }
        Ok(chosen.iter().map(|difference| self.path(difference)).collect())
    }

    /// Drops what equals the base, changes that were `merged` into it, and entries that were changed back, so that later changes
    /// of the base become visible.
    pub fn settle(&self, merged: &[String]) -> Result<()> {
        let fail = |fault| failed("settle", &fault);
        let all = self.overlay.changes_and_copies().map_err(fail)?;
        let is_over = |difference: &Difference| difference.is_unchanged() || merged.contains(&self.path(difference));
        let is_same: Vec<_> = all
            .iter()
            .zip(self.now(&all)?)
            .map(|(difference, (_, is_there))| is_there || is_over(difference))
            .collect();
        if is_same.iter().all(|same| *same) {
            return self.overlay.clear().map_err(fail);
        }
        // A replaced directory is settled as a whole: its entries have no whiteouts of their own.
        let mut remaining: Vec<&Difference> = Vec::new();
        for (difference, same) in all.iter().zip(&is_same) {
            if remaining.iter().any(|above| difference.is_in(above)) {
                continue;
            }
            match difference.hides_directory() {
                true if !*same => remaining.push(difference),
                true => self.overlay.take_back(difference).map_err(fail)?,
                // A directory that exists in both is transparent to the base.
                false if *same && difference.is_directory() => {}
                false if *same => self.overlay.take_back(difference).map_err(fail)?,
                false => {}
            }
        }
        Ok(())
    }
}

/// Returns the differences that lie below no other chosen difference.
fn outermost(chosen: &[Difference]) -> Vec<&Difference> {
    let mut outer: Vec<&Difference> = Vec::new();
    for difference in chosen {
        // A directory is directly followed by its entries.
        if !outer.last().is_some_and(|above| difference.is_in(above)) {
            outer.push(difference);
        }
    }
    outer
}
