//! Tokens of an external identity provider: JSON Web Tokens whose claim `paddock` is the grant.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use jsonwebtoken::jwk::{Jwk, JwkSet, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde::Deserialize;

use super::super::config::{GrantSettings, JwtSettings};
use super::denied::Denied;
use super::grant::{MAX_SECONDS, Restriction, check};

/// Signatures by asymmetric keys. With a symmetric key, the file of public keys would be the secret.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

/// Minimum time between two looks at the file of keys.
const INTERVAL: Duration = Duration::from_secs(1);

/// Maximum size of the file of keys in bytes.
const MAX_BYTES: u64 = 256 << 10;

/// Tolerance in seconds for clocks that differ.
const LEEWAY: u64 = 30;

/// An identity provider.
pub(super) struct Provider {
    issuer: String,
    audience: String,
    file: PathBuf,
    keys: Mutex<Keys>,
}

struct Keys {
    set: JwkSet,
    modified: Option<SystemTime>,
    checked: Instant,
}

#[derive(Deserialize)]
struct Claims {
    sub: Option<String>,
    exp: u64,
    paddock: GrantSettings,
}

impl Provider {
    pub(super) fn new(settings: &JwtSettings, directory: &Path) -> Result<Self, String> {
        let file = directory.join(&settings.jwks);
        let keys = Keys { set: read(&file)?, modified: modified(&file), checked: Instant::now() };
        let (issuer, audience) = (settings.issuer.clone(), settings.audience.clone());
        Ok(Self { issuer, audience, file, keys: Mutex::new(keys) })
    }

    /// Checks the signature and the claims of a token. Returns the name of its holder and its rights, whose identifier is
    /// `id`.
    pub(super) fn verify(&self, token: &str, id: String) -> Result<(String, Restriction), Denied> {
        // The reasons of the library may contain parts of the token.
        let invalid = || Denied::Invalid("the token is not valid".to_owned());
        let header = decode_header(token).map_err(|_| invalid())?;
        // An extension that a token calls critical changes what the token means.
        if !ALGORITHMS.contains(&header.alg) || header.crit.is_some() {
            return Err(invalid());
        }
        let jwk = header.kid.as_deref().and_then(|kid| self.key(kid)).ok_or_else(invalid)?;
        if !is_for(&jwk, header.alg) {
            return Err(invalid());
        }
        let key = DecodingKey::from_jwk(&jwk).map_err(|_| invalid())?;
        let mut validation = Validation::new(header.alg);
        validation.leeway = LEEWAY;
        validation.validate_nbf = true;
        validation.set_issuer(&[&self.issuer]);
        validation.set_audience(&[&self.audience]);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        let Claims { sub, exp, paddock: mut settings } =
            decode::<Claims>(token, &key, &validation).map_err(|_| invalid())?.claims;
        check(&settings).map_err(|cause| Denied::Invalid(format!("the claim `paddock`: {cause}")))?;
        // Streams end with the token, and its budgets can be forgotten then.
        let end = SystemTime::UNIX_EPOCH + Duration::from_secs(exp.saturating_add(LEEWAY).min(MAX_SECONDS));
        let earlier = settings.expires.as_deref().and_then(|expires| humantime::parse_rfc3339(expires).ok());
        let end = earlier.map_or(end, |earlier| earlier.min(end));
        settings.expires = Some(humantime::format_rfc3339_seconds(end).to_string());
        Ok((sub.unwrap_or_else(|| "jwt".to_owned()), Restriction { id, settings }))
    }

    /// Returns the key of this identifier. Reads the file again if it has changed.
    fn key(&self, kid: &str) -> Option<Jwk> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if keys.checked.elapsed() >= INTERVAL {
            keys.checked = Instant::now();
            let modified = modified(&self.file);
            if modified != keys.modified
                && let Ok(set) = read(&self.file)
            {
                (keys.set, keys.modified) = (set, modified);
            }
        }
        keys.set.find(kid).cloned()
    }
}

/// Returns whether a key may verify signatures of this algorithm. The library checks the type of the key.
fn is_for(jwk: &Jwk, algorithm: Algorithm) -> bool {
    let is_own = |own: KeyAlgorithm| own.to_string() == format!("{algorithm:?}");
    jwk.common.public_key_use.as_ref().is_none_or(|purpose| *purpose == PublicKeyUse::Signature)
        && jwk.common.key_algorithm.is_none_or(is_own)
}

fn read(file: &Path) -> Result<JwkSet, String> {
    let failed = |cause: &dyn std::fmt::Display| format!("cannot read `{}`: {cause}", file.display());
    let length = std::fs::metadata(file).map_err(|cause| failed(&cause))?.len();
    if length > MAX_BYTES {
        return Err(failed(&format!("it has more than {MAX_BYTES} bytes")));
    }
    let text = std::fs::read(file).map_err(|cause| failed(&cause))?;
    serde_json::from_slice(&text).map_err(|cause| failed(&cause))
}

fn modified(file: &Path) -> Option<SystemTime> {
    std::fs::metadata(file).and_then(|metadata| metadata.modified()).ok()
}
