//! Signed tokens of the format Biscuit. The issuer signs the first block, and each holder can append blocks that restrict
//! the token further, without the issuer.
//!
//! The facts of each block are a restriction. A fact that the server does not know makes the token invalid, because it
//! may be a restriction of a later version. Checks of the blocks see the time and the workspace of the request.

use std::time::{Duration, SystemTime};

use biscuit_auth::builder::{Algorithm, Binary, BlockBuilder, Check, CheckKind, Convert, Fact, Op, Rule, Term};
use biscuit_auth::datalog::SymbolTable;
use biscuit_auth::format::convert::proto_snapshot_block_to_token_block;
use biscuit_auth::{Authorizer, AuthorizerBuilder, AuthorizerLimits, Biscuit, PublicKey, error};
use serde_json::Value;

use super::super::config::{BiscuitSettings, GrantSettings};
use super::denied::Denied;
use super::grant::{MAX_SECONDS, Restriction, check};
use crate::hex::hex;

/// Maximum number of blocks of a token.
pub(super) const MAX_BLOCKS: usize = 32;

/// Maximum number of predicates in a query of a check.
const MAX_PREDICATES: usize = 4;

/// Length of an Ed25519 signature. The other algorithm of the format has two valid signatures of each block, and so two
/// identifiers, of which each would have a budget.
const SIGNATURE_BYTES: usize = 64;

/// Names of the facts of a request, which the checks of a token can use.
const TIME: &str = "time";
const WORKSPACE: &str = "request_workspace";

/// Bounds on the evaluation of checks. The library looks at them between two checks only, so that `is_simple` bounds each.
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
        let ids = biscuit.revocation_identifiers();
        if ids.iter().any(|signature| signature.len() != SIGNATURE_BYTES) {
            return Err(invalid("each block has to be signed with an Ed25519 key"));
        }
        let mut authorizer = authorizer(&biscuit, workspace, now).map_err(|_| invalid("the token is not valid"))?;
        let mut signed = Signed { holder: "biscuit".to_owned(), restrictions: Vec::new() };
        let blocks = blocks(&authorizer).map_err(|_| invalid("a block of the token is not valid"))?;
        for (index, (id, block)) in ids.iter().zip(&blocks).enumerate() {
            let settings = restriction(block, index == 0, &mut signed.holder).map_err(Denied::Invalid)?;
            signed.restrictions.push(Restriction { id: hex(id), settings });
        }
        let fails = |_| Denied::Forbidden("a check of the token does not hold for this request".to_owned());
        authorizer.authorize().map_err(fails)?;
        Ok(signed)
    }
}

/// Returns the token together with the facts of the request. No check has run.
fn authorizer(biscuit: &Biscuit, workspace: &str, now: SystemTime) -> Result<Authorizer, error::Token> {
    let limits = AuthorizerLimits { max_facts: MAX_FACTS, max_iterations: MAX_ITERATIONS, max_time: MAX_TIME };
    let seconds = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let facts = [
        Fact::new(TIME.to_owned(), vec![Term::Date(seconds)]),
        Fact::new(WORKSPACE.to_owned(), vec![Term::Str(workspace.to_owned())]),
    ];
    let builder = facts.into_iter().try_fold(AuthorizerBuilder::new(), AuthorizerBuilder::fact)?;
    builder.policy("allow if true")?.set_limits(limits).build(biscuit)
}

/// Returns the content of each block. The source text that the library prints would not do, because strings in it are not
/// escaped, and a parser of the text would need more stack for each level of an expression.
fn blocks(authorizer: &Authorizer) -> Result<Vec<BlockBuilder>, error::Format> {
    let world = authorizer.snapshot()?.world;
    let symbols = SymbolTable::from(world.symbols)?;
    let block = |block| {
        let block = proto_snapshot_block_to_token_block(block)?;
        Ok(BlockBuilder {
            facts: all(&block.facts, &symbols)?,
            rules: all(&block.rules, &symbols)?,
            checks: all(&block.checks, &symbols)?,
            scopes: all(&block.scopes, &symbols)?,
            context: None,
        })
    };
    world.blocks.iter().map(block).collect()
}

fn all<F, T: Convert<F>>(items: &[F], symbols: &SymbolTable) -> Result<Vec<T>, error::Format> {
    items.iter().map(|item| T::convert_from(item, symbols)).collect()
}

/// Returns whether a check only compares the facts of the request with values, in bounded time. A holder can append any
/// check, and a join of facts or a regular expression can take minutes.
fn is_simple(check: &Check) -> bool {
    let is_comparison = |op: &Op| match op {
        Op::Value(term) => !matches!(term, Term::Set(_) | Term::Array(_) | Term::Map(_)),
        Op::Binary(binary) => matches!(
            binary,
            Binary::LessThan
                | Binary::GreaterThan
                | Binary::LessOrEqual
                | Binary::GreaterOrEqual
                | Binary::Equal
                | Binary::NotEqual
                | Binary::HeterogeneousEqual
                | Binary::HeterogeneousNotEqual
                | Binary::Prefix
                | Binary::Suffix
        ),
        Op::Unary(_) | Op::Closure(..) => false,
    };
    let is_simple = |query: &Rule| {
        query.scopes.is_empty()
            && query.body.len() <= MAX_PREDICATES
            && query.body.iter().all(|predicate| matches!(predicate.name.as_str(), TIME | WORKSPACE))
            && query.expressions.iter().flat_map(|expression| &expression.ops).all(is_comparison)
    };
    check.kind == CheckKind::One && check.queries.iter().all(is_simple)
}

/// The facts of a block, and the form of each.
const FACTS: [(&str, &str); 10] = [
    ("holder", "`holder(\"NAME\")`, in the first block"),
    ("workspace", "`workspace(\"NAME\")`"),
    ("path", "`path(\"DIRECTORY\")`"),
    ("read_only", "`read_only(true)`"),
    ("dialect", "`dialect(\"NAME\")`"),
    ("tools", "`tools([\"NAME\"])`"),
    ("policy", "`policy(\"JSON\")`, once in a block"),
    ("calls", "`calls(NUMBER)`"),
    ("bytes", "`bytes(NUMBER)`"),
    ("expires", "`expires(2030-01-31T12:00:00Z)`"),
];

/// Returns the restriction that the facts of a block are. Only the first block names the holder, and has to name
/// workspaces.
pub(super) fn restriction(block: &BlockBuilder, is_first: bool, holder: &mut String) -> Result<GrantSettings, String> {
    if !block.rules.is_empty() || !block.scopes.is_empty() {
        return Err("the blocks of a token may have facts and checks only".to_owned());
    }
    if !block.checks.iter().all(is_simple) {
        return Err("the checks of a token may only compare `time` and `request_workspace` with values".to_owned());
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
            _ => return Err(unknown(name)),
        }
    }
    if settings.workspaces.is_empty() && !is_first {
        settings.workspaces.push("*".to_owned());
    }
    check(&settings)?;
    Ok(settings)
}

/// Returns the error for a fact that has no meaning in its block.
fn unknown(name: &str) -> String {
    match FACTS.iter().find(|(known, _)| *known == name) {
        Some((_, form)) => format!("the fact `{name}` of the token has to be {form}"),
        None => {
            let names: Vec<_> = FACTS.iter().map(|(name, _)| *name).collect();
            format!("the server does not know the fact `{name}` of the token; the facts are {}", names.join(", "))
        }
    }
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
