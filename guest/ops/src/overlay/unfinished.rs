//! Completes a commit of an overlay that a crash interrupted between two changes.

use paddock_types::error::{Code, Error, Result};
use paddock_vfs::Dir;
use paddock_vfs::overlay::Difference;
use paddock_vfs::overlay::whiteouts::BaseEntry;
use paddock_workspace::Workspace;

use crate::overlay::commit::{make, resolve};
use crate::overlay::note::{Note, base_version, forget};
use crate::overlay::{Transaction, check_name, failed};

/// Directory of the overlays in the state directory.
const OVERLAYS: &str = "overlays";

/// Completes the commit of an overlay that a crash interrupted between two changes.
///
/// # Errors
///
/// Fails if the policy or a rule forbids a part of the commit, or if a part cannot be made now. The commit then stays
/// unfinished.
pub fn recover(workspace: &Workspace<'_>) -> Result<()> {
    let note = Note::read(workspace).map_err(|fault| failed("read the record of the commit of the overlay", &fault))?;
    let Some(note) = note else { return Ok(()) };
    if let Some(top) = overlay_dir(workspace, &note.overlay) {
        let overlay = Transaction::open_at(workspace.fs, workspace.policy, top)?;
        overlay.finish(workspace, &note).map_err(|error| unfinished(&note.overlay, error))?;
    }
    forget(workspace)
}

fn unfinished(overlay: &str, error: Error) -> Error {
    let hint = format!(
        "the commit of the overlay `{overlay}` was cut off, and no change is made before it is complete: remove the cause, and call again"
    );
    error.hint(hint)
}

impl Transaction<'_> {
    /// Completes a commit that a crash interrupted. A path that has changed since in the base or in the overlay is left
    /// alone.
    fn finish(&self, base: &Workspace<'_>, note: &Note) -> Result<()> {
        let fail = |fault| failed("compare", &fault);
        let all = self.choose(&[])?;
        let now: Vec<_> = self.now(&all)?.into_iter().map(|(now, _)| now).collect();
        let mut acts = Vec::new();
        let (mut whole, mut left): (Vec<&Difference>, Vec<&Difference>) = (Vec::new(), Vec::new());
        for (at, (difference, there)) in all.iter().zip(&now).enumerate() {
            let is_below = |above: &&Difference| difference.is_in(above);
            let is_in_whole = whole.iter().any(is_below);
            let is_planned = note.plans(&self.path(difference), difference) || (difference.is.is_none() && is_in_whole);
            let is_removed = there.is_none() && difference.removes_first();
            let is_begun = || self.is_begun(note, difference, all.iter().zip(&now).skip(at));
            let is_ours = *there == difference.was || is_removed || (difference.hides_directory() && is_begun());
            let hidden = difference.hides_directory().then_some(difference);
            if !is_planned || left.iter().any(is_below) || (hidden.is_some() && !is_ours) {
                left.extend(hidden);
                continue;
            }
            whole.extend(hidden);
            if difference.is_unchanged() || difference.is_same(there.as_ref()) {
                continue;
            }
            if is_ours {
                acts.push(self.act(difference, there.as_ref()).map_err(fail)?);
            } else if note.merge {
                acts.extend(self.merged(difference, there.as_ref()).map_err(fail)?);
            }
        }
        // Another process has put a link in the place of a directory: its version stays.
        let is_elsewhere = |error: Error| error.code == Code::ChangedSinceRead;
        acts.retain(|act| !resolve(base, &act.path).is_err_and(is_elsewhere));
        match make(base, acts) {
            // Another process changed the base at this moment.
            Err(error) if error.code == Code::ChangedSinceRead => Ok(()),
            made => made.map(drop),
        }
    }

    /// Returns whether a commit that was interrupted can have left the base's directory in its present state: each entry is a
    /// directory, that of the overlay, or one that the commit removes after the files. `from` are the directory and the
    /// differences after it, with the base's present entries.
    fn is_begun<'d>(
        &self,
        note: &Note,
        directory: &Difference,
        from: impl Iterator<Item = (&'d Difference, &'d Option<BaseEntry>)>,
    ) -> bool {
        let mut within = from.take_while(|(difference, _)| difference.is_in(directory));
        within.all(|(difference, now)| match now {
            None | Some(BaseEntry::Directory { .. }) => true,
            Some(now) => {
                let is_removed =
                    || base_version(now).is_some_and(|now| note.removed.get(&self.path(difference)) == Some(&now));
                difference.is_same(Some(now)) || is_removed()
            }
        })
    }
}

/// Opens the directory of the named overlay; `None` if the name is not plain or does not exist.
fn overlay_dir(base: &Workspace<'_>, name: &str) -> Option<Dir> {
    check_name(name).ok()?;
    let all = base.fs.open_dir(base.state.as_ref()?, OVERLAYS).ok()?;
    base.fs.open_dir(&all, name).ok()
}
