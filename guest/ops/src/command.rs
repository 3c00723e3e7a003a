//! Commands, which no component runs: its host does, where it can.

pub mod access;
pub mod record;

use paddock_types::error::{Code, Error};
use paddock_types::policy::Policy;

/// The failure of a call that would run something here.
pub fn not_here(policy: &Policy) -> Error {
    match policy.commands.enabled {
        false => not_enabled(),
        true => Error::new(Code::Denied, "this host runs no commands").hint("use the file tools"),
    }
}

/// The failure of a call for a command where the policy allows none.
pub fn not_enabled() -> Error {
    Error::new(Code::Denied, "commands are not enabled")
        .hint("use the file tools, or ask the person who runs this to enable commands")
}
