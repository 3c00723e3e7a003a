//! Signed tokens of the format Biscuit. The issuer signs the first block, and each holder can append blocks that restrict
//! the token further, without the issuer.
//!
//! The facts of each block are a restriction. A fact that the server does not know makes the token invalid, because it
//! may be a restriction of a later version. Checks of the blocks see the time and the workspace of the request.

use std::time::{Duration, SystemTime};

use biscuit_auth::builder::{Algorithm, BlockBuilder, Fact, Term};
use biscuit_auth::{AuthorizerBuilder, AuthorizerLimits, Biscuit, PublicKey};
use serde_json::Value;

use super::super::config::{BiscuitSettings, GrantSettings};
use super::grant::{Denied, MAX_SECONDS, Restriction, check};
use crate::hex::hex;

/// Maximum number of blocks of a token.
pub(super) const MAX_BLOCKS: usize = 32;

/// Bounds on the evaluation of checks.
const MAX_FACTS: u64 = 1_000;
const MAX_ITERATIONS: u64 = 100;
const MAX_TIME: Duration = Duration::from_millis(100);

/// The issuer of signed tokens.
pub(super) struct Issuer(PublicKey);

/// A valid token: the name of its holder and its restrictions.
pub(super) struct Signed {
    pub(super) holder: String,
    pub(super) restrictions: Vec<Restriction>,
}

impl Issuer {
    pub(super) fn new(settings: &BiscuitSettings) -> Result<Self, String> {
        let key = PublicKey::from_bytes_hex(&settings.public_key, Algorithm::Ed25519);
        key.map(Self).map_err(|_| "it has to be an Ed25519 public key, as 64 hex digits".to_owned())
    }

    /// Checks the signatures and the checks of a token, and returns its restrictions.
    pub(super) fn verify(&self, token: &str, workspace: &str, now: SystemTime) -> Result<Signed, Denied> {
        let invalid = |cause: &str| Denied::Invalid(cause.to_owned());
        let biscuit = Biscuit::from_base64(token, self.0).map_err(|_| invalid("the token is not valid"))?;
        if biscuit.block_count() > MAX_BLOCKS {
            return Err(Denied::Invalid(format!("a token may have at most {MAX_BLOCKS} blocks")));
        }
        if biscuit.external_public_keys().iter().any(Option::is_some) {
            return Err(invalid("blocks of third parties are not supported"));
        }
        let mut signed = Signed { holder: "biscuit".to_owned(), restrictions: Vec::new() };
        for (index, id) in biscuit.revocation_identifiers().iter().enumerate() {
            let source = biscuit.print_block_source(index).map_err(|_| invalid("a block of the token is not valid"))?;
            let block = BlockBuilder::new().code(&source).map_err(|_| invalid("a block of the token is not valid"))?;
            let settings = restriction(&block, index == 0, &mut signed.holder).map_err(Denied::Invalid)?;
            signed.restrictions.push(Restriction { id: hex(id), settings });
        }
        authorize(&biscuit, workspace, now)?;
        Ok(signed)
    }
}

/// Runs the checks of all blocks.
fn authorize(biscuit: &Biscuit, workspace: &str, now: SystemTime) -> Result<(), Denied> {
    let limits = AuthorizerLimits { max_facts: MAX_FACTS, max_iterations: MAX_ITERATIONS, max_time: MAX_TIME };
    let seconds = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let facts = [
        Fact::new("time".to_owned(), vec![Term::Date(seconds)]),
        Fact::new("request_workspace".to_owned(), vec![Term::Str(workspace.to_owned())]),
    ];
    let builder = facts.into_iter().try_fold(AuthorizerBuilder::new(), AuthorizerBuilder::fact);
    let builder = builder.and_then(|builder| builder.policy("allow if true")).map(|builder| builder.set_limits(limits));
    let authorized =
        builder.and_then(|builder| builder.build(biscuit)).and_then(|mut authorizer| authorizer.authorize());
    authorized
        .map(|_| ())
        .map_err(|_| Denied::Forbidden("a check of the token does not hold for this request".to_owned()))
}

/// Returns the restriction that the facts of a block are. Only the first block names the holder, and has to name
/// workspaces.
pub(super) fn restriction(block: &BlockBuilder, is_first: bool, holder: &mut String) -> Result<GrantSettings, String> {
    if !block.rules.is_empty() || !block.scopes.is_empty() {
        return Err("the blocks of a token may have facts and checks only".to_owned());
    }
    let mut settings = GrantSettings::default();
    for fact in &block.facts {
        let name = fact.predicate.name.as_str();
        let once = |is_set: bool| match is_set {
            true => Err(format!("a block of the token has the fact `{name}` twice")),
            false => Ok(()),
        };
        match (name, fact.predicate.terms.as_slice()) {
            ("holder", [Term::Str(name)]) if is_first => holder.clone_from(name),
            ("workspace", [Term::Str(workspace)]) => settings.workspaces.push(workspace.clone()),
            ("path", [Term::Str(path)]) => {
                once(settings.path.replace(path.clone()).is_some())?;
            }
            ("read_only", [Term::Bool(true)]) => settings.read_only = true,
            ("dialect", [Term::Str(dialect)]) => once(settings.dialect.replace(dialect.clone()).is_some())?,
            ("tools", [Term::Array(tools)]) => {
                once(settings.tools.replace(tools.iter().map(text).collect::<Result<_, _>>()?).is_some())?;
            }
            ("policy", [Term::Str(policy)]) if settings.policy.is_empty() => match serde_json::from_str(policy) {
                Ok(Value::Object(policy)) => settings.policy = policy,
                _ => return Err("the fact `policy` of the token is not a JSON object".to_owned()),
            },
            ("calls", [Term::Integer(calls)]) => once(settings.calls.replace(count(*calls)?).is_some())?,
            ("bytes", [Term::Integer(bytes)]) => once(settings.bytes.replace(count(*bytes)?).is_some())?,
            ("expires", [Term::Date(seconds)]) => {
                let at = SystemTime::UNIX_EPOCH + Duration::from_secs((*seconds).min(MAX_SECONDS));
                once(settings.expires.replace(humantime::format_rfc3339_seconds(at).to_string()).is_some())?;
            }
            _ => return Err(format!("the server does not know the fact `{}` of the token", fact.predicate.name)),
        }
    }
    if settings.workspaces.is_empty() && !is_first {
        settings.workspaces.push("*".to_owned());
    }
    check(&settings)?;
    Ok(settings)
}

fn text(term: &Term) -> Result<String, String> {
    match term {
        Term::Str(text) => Ok(text.clone()),
        _ => Err("the fact `tools` of the token has to be an array of strings".to_owned()),
    }
}

fn count(value: i64) -> Result<u64, String> {
    u64::try_from(value).map_err(|_| "a budget of the token is negative".to_owned())
}
