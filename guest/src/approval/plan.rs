//! What a person is asked about, and says, as data.

/// What a person is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// SHA-256 of the request and of what it finds, in hexadecimal.
    pub digest: String,
    /// What would be done, in words; the first line alone says it in short.
    pub summary: String,
    /// The paths that would change.
    pub paths: Vec<String>,
}

/// What the host says of the next call that needs approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// `EXPIRES.NONCE.MAC`: milliseconds since 1970, what makes it one of a kind, and the signature, each in hexadecimal.
    Approved(String),
    /// A person said no, with this reason.
    Refused(String),
}
