//! Replacement of the process's runtime, for tests.

use std::cell::RefCell;
use std::sync::Arc;

use super::Runtime;

/// Runs `work` with another runtime on this thread.
pub(crate) fn instead<R>(runtime: Runtime, work: impl FnOnce() -> R) -> R {
    OTHER.set(Some(Arc::new(runtime)));
    let _genuine = Genuine;
    work()
}

thread_local! {
    static OTHER: RefCell<Option<Arc<Runtime>>> = const { RefCell::new(None) };
}

/// Returns the replacement of this thread, if there is one.
pub(super) fn runtime() -> Option<Arc<Runtime>> {
    OTHER.with_borrow(Clone::clone)
}

struct Genuine;

impl Drop for Genuine {
    fn drop(&mut self) {
        OTHER.set(None);
    }
}
