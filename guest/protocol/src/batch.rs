//! The errors of batches: JSON arrays of messages, whose requests are answered by one array.

use crate::rpc_error::{RpcError, code};

/// Total length in bytes of the answers of a batch at which no further request of the batch is made.
pub const MAX_COLLECTED_BYTES: usize = 8 << 20;

/// The reason why a request `initialize` in a batch is refused.
pub const INITIALIZE: &str = "`initialize` cannot be part of a batch";

/// Returns the error of an array of this many messages, which is a message itself or is nested in a batch. The protocol
/// revision of the session may have no batches.
pub fn array_error(has_batches: bool, is_nested: bool, messages: usize) -> Option<RpcError> {
    let cause = match messages {
        _ if is_nested => "a batch cannot contain an array",
        _ if !has_batches => {
            "only the protocol revision 2025-03-26 has batches, after `initialize`; send each message as a line of its own"
        }
        0 => "a batch has to contain a message",
        _ => return None,
    };
    Some(RpcError::invalid_request(cause))
}

/// Returns the error of a request that is not made because of [`MAX_COLLECTED_BYTES`].
pub fn overflow_error() -> RpcError {
    let cause =
        format!("the answers of the batch have more than {MAX_COLLECTED_BYTES} bytes; send this request again alone");
    RpcError::new(code::INTERNAL_ERROR, cause)
}
