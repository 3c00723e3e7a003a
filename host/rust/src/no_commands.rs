//! Commands in a build without the feature `commands`: a policy that enables them is an error.

use std::path::PathBuf;
use std::sync::Arc;

use crate::bindings::exports::paddock::files::commands::{Request, RequestResult};
use crate::error::Error;
use crate::guests::Guests;
use crate::mount::Mount;
use crate::options::CancelToken;
use crate::policy::Policy;
use crate::types::ToolError;

/// The commands of a workspace. This build has none, so the type has no values.
pub(crate) enum Commands {}

/// Context of a call: the guests and the cancellation token.
pub(crate) struct How<'h> {
    #[expect(dead_code, reason = "the other implementation reads it")]
    pub(crate) guests: &'h Arc<Guests>,
    #[expect(dead_code, reason = "the other implementation reads it")]
    pub(crate) cancel: &'h CancelToken,
}

impl Commands {
    /// Fails if the policy enables commands.
    pub(crate) fn open(policy: &Policy, _: Option<&'static str>, _: &[Mount]) -> Result<Option<Self>, Error> {
        match policy.commands.enabled {
            false => Ok(None),
            true => Err(Error::Setting {
                setting: "commands.enabled",
                cause: "this program runs no commands, since its library is built without the feature `commands`"
                    .to_owned(),
            }),
        }
    }

    pub(crate) fn scratch(&self) -> Option<PathBuf> {
        match *self {}
    }

    pub(crate) fn perform(&self, _: &How<'_>, _: &Request) -> Result<RequestResult, ToolError> {
        match *self {}
    }

    pub(crate) fn end(&self) {
        match *self {}
    }
}

#[cfg(test)]
mod tests {
    use crate::{Error, Workspace};

    #[test]
    fn a_policy_that_enables_commands_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let builder = Workspace::builder().root(root.path()).no_state_dir();
        let builder = builder.policy_json(r#"{"commands": {"enabled": true}}"#).unwrap();
        let refused = builder.build().err().unwrap();
        assert!(matches!(&refused, Error::Setting { setting: "commands.enabled", .. }), "{refused}");
        assert!(refused.to_string().contains("the feature `commands`"), "{refused}");
    }
}
