//! The data of an approval: the plan that a person is shown, and the decision about it.

/// A plan: a person approves or refuses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// SHA-256 of the request and of the affected content, in hexadecimal.
    pub digest: String,
    /// Text that describes the effects of the call; the first line is a summary.
    pub summary: String,
    /// Number of bytes at the end of the text that `summary` leaves out.
    pub omitted_bytes: u64,
    /// The paths that would change.
    pub paths: Vec<String>,
}

/// A decision that the host passes to the next call that needs approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// `EXPIRES.NONCE.MAC`: milliseconds since 1970, a unique number, and the signature, each in hexadecimal.
    Approved(String),
    /// A person refused the call for this reason.
    Refused(String),
}
