//! Replacement of the process's runtime, for tests.

use std::cell::Cell;

use super::Runtime;

/// Runs `work` with another runtime on this thread.
pub(crate) fn instead<R>(runtime: Runtime, work: impl FnOnce() -> R) -> R {
    // Guests refer to the runtime, so that it must outlive all of them.
    OTHER.set(Some(Box::leak(Box::new(runtime))));
    let _genuine = Genuine;
    work()
}

thread_local! {
    static OTHER: Cell<Option<&'static Runtime>> = const { Cell::new(None) };
}

/// Returns the replacement of this thread, if there is one.
pub(super) fn runtime() -> Option<&'static Runtime> {
    OTHER.get()
}

struct Genuine;

impl Drop for Genuine {
    fn drop(&mut self) {
        OTHER.set(None);
    }
}
