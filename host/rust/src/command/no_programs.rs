//! WASI programs in a build without the feature `programs`: a policy that names one is an error.

use std::collections::BTreeMap;

use super::spec::ProgramSpec;
use super::{Commands, How, unknown_program};
use crate::bindings::exports::paddock::files::commands::Ran;
use crate::error::Error;
use crate::mount::Mount;
use crate::named_file::NamedFile;
use crate::policy::Commands as Policy;
use crate::types::ToolError;

/// Fails if the policy names a program.
pub(super) fn open(policy: &Policy, _: &[Mount]) -> Result<BTreeMap<String, NamedFile>, Error> {
    match policy.programs.is_empty() {
        true => Ok(BTreeMap::new()),
        false => Err(Error::Setting {
            setting: "commands.programs",
            cause: "this program runs no WASI programs, since its library is built without the feature `programs`"
                .to_owned(),
        }),
    }
}

/// Always fails, because the policy names no program.
pub(super) fn run(commands: &Commands, _: &How<'_>, spec: &ProgramSpec<'_>) -> Result<Ran, ToolError> {
    Err(unknown_program(&commands.policy, spec.name))
}

#[cfg(test)]
mod tests {
    use crate::{Error, Workspace};

    #[test]
    fn a_policy_that_names_a_program_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let builder = Workspace::builder().root(root.path()).no_state_dir();
        let policy = r#"{"commands": {"enabled": true, "programs": {"jq": "/opt/jq.wasm"}}}"#;
        let refused = builder.policy_json(policy).unwrap().build().err().unwrap();
        assert!(matches!(&refused, Error::Setting { setting: "commands.programs", .. }), "{refused}");
        assert!(refused.to_string().contains("the feature `programs`"), "{refused}");
    }
}
