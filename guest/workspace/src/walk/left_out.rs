//! Entries that a walk leaves out.

use paddock_types::entry::Kind;
use paddock_vfs::open_location::is_temporary;

use super::Walk;

/// Directory of the workspace's state if the host has no state directory. Walks never return it.
const STATE_NAME: &str = ".paddock";
/// Name of git's directory, which is shown only together with ignored entries, whether hidden entries are shown or not.
const GIT_NAME: &str = ".git";

/// Reason why an entry is left out.
#[derive(Clone, Copy)]
pub(super) enum Reason {
    Own,
    Denied,
    Hidden,
    Ignored,
}

impl Walk<'_> {
    /// Returns the reason why the current entry is left out, if any.
    pub(super) fn left_out(&self, kind: Kind) -> Option<Reason> {
        let name = self.frames.last()?.entry()?.name.as_str();
        let own_state = self.is_root && self.frames.len() == 1 && name == STATE_NAME;
        if own_state || is_temporary(name) {
            return Some(Reason::Own);
        }
        if self.agent_ignore.denies(name, kind) {
            return Some(Reason::Denied);
        }
        if !self.options.hidden.shows(name) {
            return Some(Reason::Hidden);
        }
        if self.options.exclude.is_match(self.path.get(self.base..).unwrap_or_default()) {
            return Some(Reason::Own);
        }
        let rules = self.rules.as_ref()?;
        (name == GIT_NAME || rules.excludes(name, kind == Kind::Directory)).then_some(Reason::Ignored)
    }

    /// Counts the current entry.
    pub(super) fn count(&mut self, reason: Reason) {
        match reason {
            Reason::Own => {}
            Reason::Denied => self.skipped.denied += 1,
            Reason::Hidden => self.skipped.hidden += 1,
            Reason::Ignored => self.skipped.ignored += 1,
        }
    }
}
