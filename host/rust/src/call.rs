//! A call of the component.

use crate::options::CallOptions;
use crate::sandbox::Sandbox;
use crate::watch::Watch;

/// Settings of one call of the component.
pub(crate) struct Call<'c> {
    /// It can change something.
    pub(crate) changing: bool,
    /// None are the default ones.
    pub(crate) options: Option<&'c CallOptions>,
    /// Somebody is told of it.
    pub(crate) watch: Option<&'c Watch<'c>>,
}

impl Call<'_> {
    /// One that nobody is told of, unless `watch` is put in.
    pub(crate) fn untold(changing: bool) -> Self {
        Self { changing, options: None, watch: None }
    }

    /// Has the guest that made the call say what it touched. False where that guest cannot be called again.
    pub(crate) fn account(&self, guest: &mut Sandbox) -> bool {
        self.watch.is_none_or(|watch| watch.ask(guest))
    }
}
