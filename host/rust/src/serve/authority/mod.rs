//! Rights of callers. A token grants rights in workspaces; what it restricts becomes a narrowing of the policy, the tools of
//! the dialect, and budgets. No call is checked against a token.

use std::collections::HashMap;
use std::time::SystemTime;

use sha2::{Digest, Sha256};

use super::config::{GrantSettings, Settings};
use crate::error::Error;
use crate::hex::hex;
use crate::policy::Configuration;

mod biscuit;
mod budgets;
mod denied;
mod grant;
mod jwt;
mod signing;

use budgets::Budgets;
pub(super) use denied::Denied;
pub(super) use grant::Grant;
use grant::Restriction;
pub use signing::{SigningKey, TokenError, narrow};

/// Maximum length of a token in bytes.
const MAX_TOKEN: usize = 8192;

/// Holder of the rights of callers without a token.
const ANONYMOUS: &str = "anonymous";

/// Decides which rights a token has.
pub(super) struct Authority {
    /// Rights of a caller without a token.
    anonymous: Option<GrantSettings>,
    /// Tokens by the SHA-256 of their text.
    tokens: HashMap<String, Holder>,
    biscuit: Option<biscuit::Issuer>,
    jwt: Option<jwt::Provider>,
    budgets: Budgets,
}

struct Holder {
    name: String,
    /// The rights in workspaces.
    grant: Option<GrantSettings>,
    is_operator: bool,
}

/// Returns the SHA-256 of a token in the form of the configuration.
pub fn hash(token: &str) -> String {
    hex(&Sha256::digest(token))
}

impl Authority {
    pub(super) fn new(file: &Configuration, settings: &Settings) -> Result<Self, Error> {
        if settings.anonymous && !settings.listen.ip().is_loopback() {
            return Err(file.wrong("anonymous", "without tokens, `listen` has to be a loopback address"));
        }
        let mut tokens = HashMap::new();
        for (index, token) in settings.tokens.iter().enumerate() {
            let at = |member: &str| format!("tokens.{index}.{member}");
            let digest = token.sha256.to_ascii_lowercase();
            if digest.len() != 64 || !digest.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(file.wrong(&at("sha256"), "it has to be the SHA-256 of the token, as 64 hex digits"));
            }
            if digest == hash("") {
                return Err(file.wrong(&at("sha256"), "it is the hash of nothing; `paddock token new` prints a token"));
            }
            token.grant.iter().try_for_each(grant::check).map_err(|cause| file.wrong(&at("grant"), cause))?;
            if token.grant.is_none() && !token.operator {
                return Err(file.wrong(&at("grant"), "it is missing; only an operator's token needs none"));
            }
            let (name, grant) = (token.name.clone(), token.grant.clone());
            let holder = Holder { name, grant, is_operator: token.operator };
            if tokens.insert(digest, holder).is_some() {
                return Err(file.wrong(&at("sha256"), "two tokens have this hash"));
            }
        }
        let everything = GrantSettings { workspaces: vec!["*".to_owned()], ..GrantSettings::default() };
        let biscuit = settings.biscuit.as_ref().map(biscuit::Issuer::new).transpose();
        let biscuit = biscuit.map_err(|cause| file.wrong("biscuit.public_key", cause))?;
        let jwt = settings.jwt.as_ref().map(|settings| jwt::Provider::new(settings, file.directory())).transpose();
        let jwt = jwt.map_err(|cause| file.wrong("jwt.jwks", cause))?;
        let anonymous = settings.anonymous.then_some(everything);
        Ok(Self { anonymous, tokens, biscuit, jwt, budgets: Budgets::default() })
    }

    /// Returns the rights of a caller in a workspace.
    pub(super) fn authorize(&self, token: Option<&str>, workspace: &str, now: SystemTime) -> Result<Grant, Denied> {
        let Some(token) = token else {
            let settings = self.anonymous.clone().ok_or(Denied::Missing)?;
            let restriction = Restriction { id: ANONYMOUS.to_owned(), settings };
            return Grant::new(ANONYMOUS, &[restriction], workspace, now, &self.budgets);
        };
        if token.len() > MAX_TOKEN {
            return Err(Denied::Invalid("the token is too long".to_owned()));
        }
        let digest = hash(token);
        if let Some(holder) = self.tokens.get(&digest) {
            let none = || Denied::Forbidden("the token grants no rights in workspaces".to_owned());
            let restriction = Restriction { id: digest, settings: holder.grant.clone().ok_or_else(none)? };
            return Grant::new(&holder.name, &[restriction], workspace, now, &self.budgets);
        }
        // A JSON Web Token has two dots, and Base64 has none.
        match (&self.jwt, &self.biscuit, token.contains('.')) {
            (Some(provider), _, true) => {
                // Whoever has a token can make another signature of the same claims, for some algorithms.
                let claims = token.rsplit_once('.').map_or(token, |(claims, _)| claims);
                let (holder, restriction) = provider.verify(token, hash(claims))?;
                Grant::new(&holder, &[restriction], workspace, now, &self.budgets)
            }
            (_, Some(issuer), false) => {
                let signed = issuer.verify(token, workspace, now)?;
                Grant::new(&signed.holder, &signed.restrictions, workspace, now, &self.budgets)
            }
            _ => Err(Denied::Invalid("the token is not valid".to_owned())),
        }
    }

    /// Returns whether any token is an operator's.
    pub(super) fn has_operator(&self) -> bool {
        self.tokens.values().any(|holder| holder.is_operator)
    }

    /// Returns the name of the operator who has this token.
    pub(super) fn operator(&self, token: Option<&str>, now: SystemTime) -> Result<&str, Denied> {
        let token = token.ok_or(Denied::Missing)?;
        let invalid = || Denied::Invalid("the token is not valid".to_owned());
        let holder =
            Some(token).filter(|token| token.len() <= MAX_TOKEN).and_then(|token| self.tokens.get(&hash(token)));
        let holder = holder.ok_or_else(invalid)?;
        if holder.grant.as_ref().is_some_and(|settings| grant::is_expired(settings, now)) {
            return Err(invalid());
        }
        match holder.is_operator {
            true => Ok(&holder.name),
            false => Err(Denied::Forbidden("the token is not an operator's".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_sha256sum() {
        assert_eq!(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
