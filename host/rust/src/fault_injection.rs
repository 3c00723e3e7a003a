//! This host with one check removed, which the tests that look for ways out have to find: a control of theirs.

use std::cell::Cell;

/// A check that is made here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Check {
    /// An open follows no link.
    Link,
    /// An operation is at one name in a directory.
    Name,
    /// Nothing is changed in a read-only root.
    Right,
    /// Paddock's own files are not opened, whatever their path.
    Identity,
    /// Roots, the directories above them, and Paddock's own files keep their names.
    Pin,
    /// A root is the directory that was opened, not the one that has its path.
    Held,
    /// No link in a root decides which directory a setting names.
    Named,
}

thread_local! {
    static REMOVED: Cell<Option<Check>> = const { Cell::new(None) };
}

/// Whether this thread is without that check now.
pub(crate) fn is_without(check: Check) -> bool {
    REMOVED.get() == Some(check)
}

/// Does `work`, with all guests of this thread, without a check.
pub(crate) fn without<R>(check: Check, work: impl FnOnce() -> R) -> R {
    REMOVED.set(Some(check));
    let _again = Again;
    work()
}

struct Again;

impl Drop for Again {
    fn drop(&mut self) {
        REMOVED.set(None);
    }
}
