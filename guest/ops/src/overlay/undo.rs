//! Taking changes out of an overlay: what is thrown away, and what the base has
//! by now as well.

use paddock_types::error::Result;
use paddock_vfs::overlay::Difference;

use crate::overlay::{Transaction, failed};

impl Transaction<'_> {
    /// Throws away what was changed at these paths and below them, all where none is given; the paths that were.
    pub fn discard(&self, paths: &[String]) -> Result<Vec<String>> {
        let chosen = self.choose(paths)?;
        let fail = |fault| failed("discard changes in", &fault);
        if paths.is_empty() {
            self.overlay.clear().map_err(fail)?;
        } else {
            for difference in outermost(&chosen) {
                self.overlay.take_back(difference).map_err(fail)?;
            }
        }
        Ok(chosen.iter().map(|difference| self.path(difference)).collect())
    }

    /// Forgets what the base has by now as well, so that later changes of it show, and what was `merged` into it.
    pub fn settle(&self, merged: &[String]) -> Result<()> {
        let fail = |fault| failed("settle", &fault);
        let all = self.overlay.changes().map_err(fail)?;
        let merged = |difference: &Difference| merged.contains(&self.path(difference));
        let is_same: Vec<_> =
            all.iter().zip(self.now(&all)?).map(|(difference, (_, is_there))| is_there || merged(difference)).collect();
        if is_same.iter().all(|same| *same) {
            return self.overlay.clear().map_err(fail);
        }
        // Of a directory that was replaced, all or nothing: what is in it has no marks of its own.
        let mut kept: Vec<&Difference> = Vec::new();
        for (difference, same) in all.iter().zip(&is_same) {
            if kept.iter().any(|above| difference.is_in(above)) {
                continue;
            }
            match difference.hides_directory() {
                true if !*same => kept.push(difference),
                true => self.overlay.discard_mark(difference).map_err(fail)?,
                // The base shows through a directory that both have.
                false if *same && difference.is_directory() => {}
                false if *same => self.overlay.take_back(difference).map_err(fail)?,
                false => {}
            }
        }
        Ok(())
    }
}

/// Those that are in no other one.
fn outermost(chosen: &[Difference]) -> Vec<&Difference> {
    let mut outer: Vec<&Difference> = Vec::new();
    for difference in chosen {
        // What is in a directory follows it.
        if !outer.last().is_some_and(|above| difference.is_in(above)) {
            outer.push(difference);
        }
    }
    outer
}
