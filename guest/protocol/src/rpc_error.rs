//! Errors of JSON-RPC.

use serde::Serialize;
use serde_json::Value;

/// Error of JSON-RPC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RpcError {
    /// Code, as JSON-RPC and the Model Context Protocol define them.
    pub code: i32,
    /// Description of the cause.
    pub message: String,
    /// Further information, as the protocol defines it for the code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// Codes of errors.
pub mod code {
    /// The text is not JSON.
    pub const PARSE_ERROR: i32 = -32700;
    /// The JSON is no message that can be handled.
    pub const INVALID_REQUEST: i32 = -32600;
    /// The server has no such method.
    pub const METHOD_NOT_FOUND: i32 = -32601;
    /// The parameters do not fit the method.
    pub const INVALID_PARAMS: i32 = -32602;
    /// The server failed.
    pub const INTERNAL_ERROR: i32 = -32603;
    /// A header of HTTP contradicts the message.
    pub const HEADER_MISMATCH: i32 = -32020;
    /// The server does not have the revision of the protocol that the request names.
    pub const UNSUPPORTED_PROTOCOL_VERSION: i32 = -32022;
}

impl RpcError {
    /// Creates an error without further information.
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Creates the error of a message that cannot be handled.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_REQUEST, message)
    }

    /// Creates the error of parameters that do not fit the method.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }
}
