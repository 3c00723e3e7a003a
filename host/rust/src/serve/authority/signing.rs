//! Issuing and narrowing of signed tokens. Neither needs a server, and narrowing needs no key.

use biscuit_auth::builder::{Algorithm, BiscuitBuilder, BlockBuilder};
use biscuit_auth::{KeyPair, PrivateKey, UnverifiedBiscuit};

use super::MAX_TOKEN;
use super::biscuit::{MAX_BLOCKS, restriction};

/// Private key of an issuer of signed tokens.
pub struct SigningKey(KeyPair);

/// Failure to issue or to narrow a token. It repeats no token and no key.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct TokenError(String);

impl SigningKey {
    /// Returns a new random key.
    #[must_use]
    pub fn generate() -> Self {
        Self(KeyPair::new())
    }

    /// Returns the key of 64 hex digits.
    ///
    /// # Errors
    ///
    /// If the text is no Ed25519 private key.
    pub fn from_hex(digits: &str) -> Result<Self, TokenError> {
        let key = PrivateKey::from_bytes_hex(digits, Algorithm::Ed25519);
        let key =
            key.map_err(|_| TokenError("the key has to be an Ed25519 private key, as 64 hex digits".to_owned()))?;
        Ok(Self(KeyPair::from(&key)))
    }

    /// Returns the private key as 64 hex digits.
    #[must_use]
    pub fn to_hex(&self) -> String {
        self.0.private().to_bytes_hex()
    }

    /// Returns the public key as 64 hex digits, the setting `biscuit.public_key` of a server.
    #[must_use]
    pub fn public_hex(&self) -> String {
        self.0.public().to_bytes_hex()
    }

    /// Issues a token with these facts, such as `workspace("notes");`.
    ///
    /// # Errors
    ///
    /// If a server would not accept the facts.
    pub fn issue(&self, facts: &str) -> Result<String, TokenError> {
        let builder = BiscuitBuilder::new().merge(block(facts, true)?);
        text(builder.build(&self.0).and_then(|token| token.to_base64()))
    }
}

/// Returns the token with a further block that restricts it, such as `path("docs"); read_only(true);`.
///
/// # Errors
///
/// If a server would not accept the facts, or the text is no token that can be restricted further.
pub fn narrow(token: &str, facts: &str) -> Result<String, TokenError> {
    let block = block(facts, false)?;
    let token = UnverifiedBiscuit::from_base64(token);
    let token = token.map_err(|_| TokenError("the text is no signed token".to_owned()))?;
    if token.block_count() >= MAX_BLOCKS {
        return Err(TokenError(format!("a token may have at most {MAX_BLOCKS} blocks")));
    }
    text(token.append(block).and_then(|token| token.to_base64()))
}

fn block(facts: &str, is_first: bool) -> Result<BlockBuilder, TokenError> {
    let block = BlockBuilder::new().code(facts).map_err(|cause| TokenError(format!("the facts: {cause}")))?;
    restriction(&block, is_first, &mut String::new()).map_err(TokenError)?;
    Ok(block)
}

fn text(token: Result<String, biscuit_auth::error::Token>) -> Result<String, TokenError> {
    let token = token.map_err(|_| TokenError("the token cannot be restricted further".to_owned()))?;
    match token.len() <= MAX_TOKEN {
        true => Ok(token),
        false => Err(TokenError(format!("a token may have at most {MAX_TOKEN} bytes"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_the_same_after_its_digits() {
        let key = SigningKey::generate();
        let same = SigningKey::from_hex(&key.to_hex()).unwrap();
        assert!(key.to_hex().len() == 64 && same.public_hex() == key.public_hex());
        assert!(SigningKey::from_hex("00").is_err() && SigningKey::from_hex(&"x".repeat(64)).is_err());
    }

    #[test]
    fn facts_that_a_server_refuses_are_not_issued() {
        let key = SigningKey::generate();
        for facts in ["", r#"path("docs");"#, r#"workspace("a"); admin(true);"#, r#"workspace("a""#] {
            assert!(key.issue(facts).is_err(), "{facts}");
        }
        let token = key.issue(r#"workspace("a");"#).unwrap();
        for facts in [r#"holder("b");"#, "read_only(false);", r#"path("../b");"#] {
            assert!(narrow(&token, facts).is_err(), "{facts}");
        }
        assert!(narrow("no token", "read_only(true);").is_err());
    }

    #[test]
    fn the_number_of_blocks_is_bounded() {
        let mut token = SigningKey::generate().issue(r#"workspace("a");"#).unwrap();
        let narrowed = std::iter::from_fn(|| {
            token = narrow(&token, "read_only(true);").ok()?;
            Some(())
        });
        assert_eq!(narrowed.take(100).count(), MAX_BLOCKS - 1);
    }
}
