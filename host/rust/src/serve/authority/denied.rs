//! Refusals of tokens.

/// The reason why a caller has no rights.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(in super::super) enum Denied {
    /// The request has no token.
    #[error("a token is required; send it in the header `Authorization: Bearer TOKEN`")]
    Missing,
    /// The token is forged, expired or unknown.
    #[error("{0}")]
    Invalid(String),
    /// The token is valid, but not for this request.
    #[error("{0}")]
    Forbidden(String),
}
