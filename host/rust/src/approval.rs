//! Approval of calls by a person: the approver, its decision, and the signature that the guest verifies.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::bindings::exports::paddock::files::approval;
use crate::hex::hex;
use crate::types::Plan;

/// Validity of the signature of an immediate decision.
pub(crate) const AT_ONCE: Duration = Duration::from_secs(60);

/// The decision about a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decision {
    /// The call may run.
    Approve,
    /// The call is refused. The reason is part of the error that the model reads.
    Refuse(String),
    /// No decision yet: the call fails with `approval-required`.
    Later,
}

/// Asks a person about plans. The question may block until the person answers.
#[derive(Clone)]
pub struct Approver(Arc<dyn Fn(&Plan) -> Decision + Send + Sync>);

impl Approver {
    /// Creates an approver that calls `decide` on the thread of the call.
    pub fn new(decide: impl Fn(&Plan) -> Decision + Send + Sync + 'static) -> Self {
        Self(Arc::new(decide))
    }

    pub(crate) fn decide(&self, plan: &Plan) -> Decision {
        (self.0)(plan)
    }
}

impl fmt::Debug for Approver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Approver")
    }
}

/// Approval of one call with a [`Plan`]: [`crate::Workspace::grant`] returns it, [`crate::CallOptions::grant`] takes
/// it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Grant(String);

/// Signs grants, and accepts each grant once. The default has no key.
#[derive(Default)]
pub(crate) struct ApprovalSigner {
    key: Option<[u8; 32]>,
    /// Unused grants, with their expiry.
    open_grants: Mutex<HashMap<Grant, SystemTime>>,
}

impl ApprovalSigner {
    /// Creates a signer with a random key. If the system has no random numbers, the signer has no key and approves
    /// nothing.
    pub(crate) fn new() -> Self {
        let mut key = [0; 32];
        Self { key: getrandom::fill(&mut key).is_ok().then_some(key), open_grants: Mutex::default() }
    }

    /// Returns the key in hexadecimal, for the guest.
    pub(crate) fn key(&self) -> Option<String> {
        self.key.map(|key| hex(&key))
    }

    /// Returns a grant for the plan, valid for this long.
    pub(crate) fn grant(&self, plan: &Plan, valid: Duration) -> Grant {
        let expires = SystemTime::now() + valid;
        let expires_ms = expires.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let mut nonce = [0; 16];
        // A grant without a unique number is not signed.
        let is_fresh = getrandom::fill(&mut nonce).is_ok();
        let validity = format!("{expires_ms:x}.{}", hex(&nonce));
        let signature = self.key.filter(|_| is_fresh).map(|key| sign(&key, &validity, &plan.digest));
        let grant = Grant(format!("{validity}.{}", signature.unwrap_or_default()));
        let mut open_grants = self.open_grants.lock().unwrap_or_else(PoisonError::into_inner);
        open_grants.retain(|_, expires| *expires > SystemTime::now());
        open_grants.insert(grant.clone(), expires);
        grant
    }

    /// Returns the decision for the guest from a grant, which is valid once.
    pub(crate) fn take(&self, grant: &Grant) -> approval::Decision {
        let expires = self.open_grants.lock().unwrap_or_else(PoisonError::into_inner).remove(grant);
        match expires {
            Some(expires) if expires > SystemTime::now() => approval::Decision::Approved(grant.0.clone()),
            Some(_) => approval::Decision::Refused("the approval came too late".to_owned()),
            None => approval::Decision::Refused("the approval was used before, or not given here".to_owned()),
        }
    }

    /// Returns the decision for the guest, if there is one.
    pub(crate) fn decided(&self, plan: &Plan, decision: Decision) -> Option<approval::Decision> {
        match decision {
            Decision::Approve => Some(self.take(&self.grant(plan, AT_ONCE))),
            Decision::Refuse(reason) => Some(approval::Decision::Refused(reason)),
            Decision::Later => None,
        }
    }
}

/// Returns the HMAC that `wit/approval.wit` specifies.
fn sign(key: &[u8], validity: &str, digest: &str) -> String {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return String::new() };
    mac.update(format!("paddock approval 1\n{validity}\n{digest}").as_bytes());
    hex(&mac.finalize().into_bytes())
}
