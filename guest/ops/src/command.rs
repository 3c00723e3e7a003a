//! Commands. The component never runs them; the host does, if it can.

pub mod access;
pub mod record;

use paddock_types::error::{Code, Error};
use paddock_types::policy::Policy;

/// Returns the error of a call that would run a command on a host that cannot run any.
pub fn not_here(policy: &Policy) -> Error {
    match policy.commands.enabled {
        false => not_enabled(),
        true => Error::new(Code::Denied, "this host runs no commands").hint("use the file tools"),
    }
}

/// Returns the error of a command call if the policy does not enable commands.
pub fn not_enabled() -> Error {
    Error::new(Code::Denied, "commands are not enabled")
        .hint("use the file tools, or ask the person who runs this to enable commands")
}
