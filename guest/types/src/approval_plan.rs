//! The data of an approval: the plan that a person is shown, and the decision about it.

/// A plan: a person approves or refuses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// SHA-256 of the request and of what it finds, in hexadecimal.
    pub digest: String,
    /// A text that says what the call would do; its first line is a summary.
    pub summary: String,
    /// The paths that would change.
    pub paths: Vec<String>,
}

/// A decision that the host passes on with the next call that needs approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// `EXPIRES.NONCE.MAC`: milliseconds since 1970, what makes it one of a kind, and the signature, each in hexadecimal.
    Approved(String),
    /// A person said no, with this reason.
    Refused(String),
}
