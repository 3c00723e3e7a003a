//! Another runtime in the place of the process's own, for tests.

use std::cell::Cell;

use super::Runtime;

/// Does `work` with another runtime on this thread.
pub(crate) fn instead<R>(runtime: Runtime, work: impl FnOnce() -> R) -> R {
    // What guests refer to has to outlast them all.
    OTHER.set(Some(Box::leak(Box::new(runtime))));
    let _genuine = Genuine;
    work()
}

thread_local! {
    static OTHER: Cell<Option<&'static Runtime>> = const { Cell::new(None) };
}

/// That runtime, where this thread has one.
pub(super) fn runtime() -> Option<&'static Runtime> {
    OTHER.get()
}

struct Genuine;

impl Drop for Genuine {
    fn drop(&mut self) {
        OTHER.set(None);
    }
}
