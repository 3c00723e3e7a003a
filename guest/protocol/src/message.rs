//! Parsing of one JSON-RPC message. The errors are those of the native server.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::envelope::{Envelope, Id, count_values, refusal, repeated_name, too_many_values};
use crate::params;
use crate::rpc_error::RpcError;

/// A request whose parameters have the types that its method requires.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Id that the answer repeats.
    pub id: Id,
    /// Method.
    pub method: String,
    /// Parameters; empty if the request has none.
    pub params: Map<String, Value>,
}

/// A parsed message.
#[derive(Debug)]
pub enum Message<'l> {
    /// A request.
    Request(Request),
    /// The messages of a batch, a JSON array.
    Batch(Vec<&'l RawValue>),
    /// A notification. It is never answered, even if it is wrong.
    Notification,
    /// A response of the client. The server asks nothing, so that no request of its own can match the response.
    Response,
    /// A message that is refused with this error. The id is `None` if the message has none that can be repeated.
    Invalid(RpcError, Option<Id>),
}

/// Parses a message. The caller bounds its length by [`MAX_MESSAGE_BYTES`](crate::envelope::MAX_MESSAGE_BYTES).
pub fn parse(text: &[u8]) -> Message<'_> {
    let text = text.trim_ascii();
    if let Some(fault) = too_many_values(count_values(text)) {
        return refused(text, Some(&fault));
    }
    if text.first() == Some(&b'[') {
        return serde_json::from_slice(text).map_or_else(|_| refused(text, None), Message::Batch);
    }
    let Ok(Envelope { jsonrpc: Some(version), id, method, params, result, error }) = serde_json::from_slice(text)
    else {
        return refused(text, None);
    };
    match (method, id) {
        _ if version.get() != r#""2.0""# => refused(text, None),
        (None, Some(_)) if result.is_some() != error.is_some() => Message::Response,
        (None, None) if error.is_some() && result.is_none() => Message::Response,
        (Some(_), None) => Message::Notification,
        (Some(method), Some(id)) => request(text, method, id, params),
        _ => refused(text, None),
    }
}

fn request<'l>(text: &'l [u8], method: &RawValue, id: &RawValue, params: Option<&RawValue>) -> Message<'l> {
    let parsed = (serde_json::from_str(method.get()), serde_json::from_str(id.get()));
    let (Ok(method), Ok(id)): (serde_json::Result<String>, serde_json::Result<Id>) = parsed else {
        return refused(text, None);
    };
    if let Some(error) = id.too_long() {
        return Message::Invalid(error, None);
    }
    let Ok(members) = params.map_or(Ok(Map::new()), |params| serde_json::from_str(params.get())) else {
        return refused(text, None);
    };
    let without = params.is_none().then(|| params::error_without(&method)).flatten();
    let request = Request { id, method, params: members };
    if let Some(error) = without.or_else(|| params::error(&request.method, &request.params)) {
        return Message::Invalid(error, Some(request.id));
    }
    match repeated_name(text) {
        Some(fault) => refused(text, Some(&fault)),
        None => Message::Request(request),
    }
}

/// Refuses a message, for this fault or because it is no message of the protocol.
fn refused(text: &[u8], fault: Option<&str>) -> Message<'static> {
    refusal(text, fault).map_or(Message::Notification, |(error, id)| Message::Invalid(error, id))
}

#[cfg(test)]
mod tests;
