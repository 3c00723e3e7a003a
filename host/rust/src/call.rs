//! A call of the component.

use crate::options::CallOptions;
use crate::sandbox::Sandbox;
use crate::watch::Watch;

/// Settings of one call of the component.
pub(crate) struct Call<'c> {
    /// Whether the call can change files.
    pub(crate) changing: bool,
    /// Options of the caller; `None` for the defaults.
    pub(crate) options: Option<&'c CallOptions>,
    /// Listeners and audit log of the call, if any.
    pub(crate) watch: Option<&'c Watch<'c>>,
}

impl Call<'_> {
    /// Creates a call without listeners and audit log; the caller may set `watch`.
    pub(crate) fn unwatched(changing: bool) -> Self {
        Self { changing, options: None, watch: None }
    }

    /// Asks the guest of the call for the accessed paths. Returns false if that guest cannot be called again.
    pub(crate) fn account(&self, guest: &mut Sandbox) -> bool {
        self.watch.is_none_or(|watch| watch.query_accessed_paths(guest))
    }
}
