//! Calls under the lock of the state directory.

use paddock_protocol::tools::{Failure, Outcome, Tool, Tools};

use crate::lock::{Clock, Kept, Lock, LockDirectory, LockError};

/// The tools without a lock.
pub trait Backend: Tools {
    /// Returns whether a tool can change anything. `None` if the dialect has no such tool.
    fn changes(&self, dialect: &str, name: &str) -> Option<bool>;
}

/// The lock of directories.
pub type LockOf<D> = Lock<<D as Directories>::Lock, <D as Directories>::Clock>;

/// The directories of the workspace.
pub trait Directories {
    /// Directory of the lock.
    type Lock: LockDirectory;
    /// Clock of the lock.
    type Clock: Clock;

    /// Returns the lock of the state directory, or `None` if the engine preopens no state directory.
    fn lock(&self) -> Result<Option<LockOf<Self>>, LockError>;

    /// Returns whether a call left a journal, which the next call finishes or undoes. Without a state directory, journals
    /// are in the roots.
    fn has_journal(&self) -> bool;
}

/// Tools whose calls take the lock.
///
/// A call that can change something, or that finds a journal, holds the lock exclusively, and every other call holds it
/// shared. Without a state directory, calls that change something are refused, and the others need no lock, because no
/// journal is written that they could find.
pub struct Guarded<B, D> {
    backend: B,
    directories: D,
}

impl<B: Backend, D: Directories> Guarded<B, D> {
    /// Guards the calls of tools.
    pub fn new(backend: B, directories: D) -> Self {
        Self { backend, directories }
    }

    fn call_exclusively(&self, lock: &LockOf<D>, call: impl FnOnce() -> Outcome) -> Result<Outcome, LockError> {
        let (mut outcome, kept) = lock.exclusive(call)?;
        match kept {
            Kept::UntilEnd => {}
            Kept::Lost => outcome.text.push_str(
                "\n[the lock expired during this call, so that another call may have changed the same files; check the result]",
            ),
            Kept::Unreleased(cause) => eprintln!("paddock: the lock was not released, and expires: {cause}"),
        }
        Ok(outcome)
    }

    fn call_locked(&self, dialect: &str, name: &str, arguments: &str) -> Result<Outcome, LockError> {
        let call = || self.backend.call(dialect, name, arguments);
        let is_changing = self.backend.changes(dialect, name).unwrap_or(false);
        let Some(lock) = self.directories.lock()? else {
            return Ok(match () {
                () if is_changing => no_state_directory(name),
                () if self.directories.has_journal() => unfinished_change(name),
                () => call(),
            });
        };
        if !is_changing {
            match lock.shared(|| (!self.directories.has_journal()).then(call)) {
                Ok(Some(outcome)) => return Ok(outcome),
                Ok(None) | Err(LockError::Abandoned) => {}
                Err(error) => return Err(error),
            }
        }
        self.call_exclusively(&lock, call)
    }
}

impl<B: Backend, D: Directories> Tools for Guarded<B, D> {
    fn describe(&self, dialect: &str) -> Result<Vec<Tool>, Failure> {
        self.backend.describe(dialect)
    }

    fn call(&self, dialect: &str, name: &str, arguments: &str) -> Outcome {
        self.call_locked(dialect, name, arguments).unwrap_or_else(|error| not_locked(name, &error))
    }
}

fn no_state_directory(name: &str) -> Outcome {
    let message = format!("cannot call `{name}`: the server has no state directory, so that it only reads");
    Outcome::failed(Failure::new("read-only", message).with_hint(
        "nothing was changed; the person who runs the server has to preopen a directory as `/paddock-state`",
    ))
}

fn unfinished_change(name: &str) -> Outcome {
    let message = format!("cannot call `{name}`: a change is unfinished, and the server has no state directory");
    Outcome::failed(
        Failure::new("io", message).with_hint(
            "the person who runs the server has to finish the change by a call in the program that began it",
        ),
    )
}

fn not_locked(name: &str, error: &LockError) -> Outcome {
    let message = format!("cannot call `{name}`: {error}");
    let (code, hint) = match error {
        LockError::Busy | LockError::Abandoned => ("limit-exceeded", "nothing was changed; call again"),
        LockError::Failed(_) => {
            ("io", "nothing was changed; the person who runs the server has to make `/paddock-state` writable")
        }
    };
    Outcome::failed(Failure::new(code, message).with_hint(hint))
}

#[cfg(test)]
mod tests;
