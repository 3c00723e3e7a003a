//! The environment variables that the policy gives to commands.

use std::env;

use crate::policy::Commands;

/// Returns the variables that the policy passes on or sets.
pub(super) fn passed(policy: &Commands) -> Vec<(String, String)> {
    let passed = policy.pass_environment.iter().filter_map(|name| Some((name.clone(), env::var(name).ok()?)));
    let set = policy.environment.iter().map(|(name, value)| (name.clone(), value.clone()));
    passed.chain(set).collect()
}

/// Adds the variables to existing variables.
pub(super) fn over(mut environment: Vec<(String, String)>, policy: &Commands) -> Vec<(String, String)> {
    for (name, value) in passed(policy) {
        environment.retain(|(known, _)| *known != name);
        environment.push((name, value));
    }
    environment
}
