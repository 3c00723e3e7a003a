//! Fault injection: the host without one check, which the escape tests must detect.

use std::cell::Cell;

/// A check of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Check {
    /// Opens do not follow symbolic links.
    Link,
    /// An operation takes one entry name in a directory.
    Name,
    /// Read-only roots are not changed.
    Right,
    /// Private files of Paddock are not opened, by any path.
    Identity,
    /// Roots, their parent directories, and private files of Paddock are not renamed.
    Pin,
    /// A root is the directory that was opened, not the directory that has its path now.
    Held,
    /// Symbolic links in a root do not decide which directory a setting names.
    Named,
}

thread_local! {
    static REMOVED: Cell<Option<Check>> = const { Cell::new(None) };
}

/// Returns whether this thread runs without the check.
pub(crate) fn is_without(check: Check) -> bool {
    REMOVED.get() == Some(check)
}

/// Runs `work`, and the guests that it calls on this thread, without a check.
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
