//! Parsing of one JSON-RPC message, with the bounds on it. The errors are those of the native server.

use paddock_policy::repeated_name::repeated_name;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::params;
use crate::rpc_error::{RpcError, code};
use crate::tools::DIALECT;

/// Maximum length of one message in bytes.
pub const MAX_MESSAGE_BYTES: usize = 16 << 20;
/// Maximum number of JSON values in one message: a message of tiny values would take a hundred times its length in memory.
pub const MAX_VALUES: usize = 1 << 16;
/// Maximum length of a request's id in bytes.
pub const MAX_ID_BYTES: usize = 256;

/// Id of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Id {
    /// An integer.
    Number(i64),
    /// A text.
    Text(String),
}

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

/// Parses a message. The caller bounds its length by [`MAX_MESSAGE_BYTES`].
pub fn parse(text: &[u8]) -> Message<'_> {
    let text = text.trim_ascii();
    if count_values(text) > MAX_VALUES {
        return refused(text, Some(&format!("a message may have at most {MAX_VALUES} JSON values")));
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
    if is_long(&id) {
        let message = format!("the id of a request may have at most {MAX_ID_BYTES} bytes");
        return Message::Invalid(RpcError::invalid_request(message), None);
    }
    let Ok(members) = params.map_or(Ok(Map::new()), |params| serde_json::from_str(params.get())) else {
        return refused(text, None);
    };
    let without = params.is_none().then(|| params::error_without(&method)).flatten();
    let request = Request { id, method, params: members };
    if let Some(error) = without.or_else(|| params::error(&request.method, &request.params)) {
        return Message::Invalid(error, Some(request.id));
    }
    // Parsing took the last value of such a name; a person or a proxy may have approved the first.
    if let Some(name) = std::str::from_utf8(text).ok().and_then(repeated_name) {
        return refused(text, Some(&format!("an object of the message has the name {name:?} twice")));
    }
    Message::Request(request)
}

/// Returns the error of a message that is too long, for a client with the tools of this dialect.
pub fn too_long(dialect: &str) -> RpcError {
    let remedy = match dialect {
        DIALECT => "write a large file in parts: `write_file` with `append`",
        _ => "divide it among several requests",
    };
    RpcError::invalid_request(format!("a message may have at most {MAX_MESSAGE_BYTES} bytes; {remedy}"))
}

/// Members of a message, of which no JSON values have been built. A member that is `null` is not missing.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Envelope<'l> {
    #[serde(borrow, deserialize_with = "present")]
    jsonrpc: Option<&'l RawValue>,
    #[serde(borrow, deserialize_with = "present")]
    id: Option<&'l RawValue>,
    #[serde(borrow, deserialize_with = "present")]
    method: Option<&'l RawValue>,
    #[serde(borrow, deserialize_with = "present")]
    params: Option<&'l RawValue>,
    #[serde(borrow, deserialize_with = "present")]
    result: Option<&'l RawValue>,
    #[serde(borrow, deserialize_with = "present")]
    error: Option<&'l RawValue>,
}

fn present<'de, D: Deserializer<'de>>(member: D) -> Result<Option<&'de RawValue>, D::Error> {
    Deserialize::deserialize(member).map(Some)
}

/// Refuses a message, with this cause or with the reason why it is no message of the protocol.
fn refused(text: &[u8], cause: Option<&str>) -> Message<'static> {
    if text.first() != Some(&b'{') {
        let error = match serde_json::from_slice::<IgnoredAny>(text) {
            Ok(_) => RpcError::invalid_request(cause.unwrap_or("a message has to be a JSON object")),
            Err(cause) => not_json(&cause),
        };
        return Message::Invalid(error, None);
    }
    let envelope = match serde_json::from_slice::<Envelope<'_>>(text) {
        Ok(envelope) => envelope,
        Err(cause) if cause.is_data() => return Message::Invalid(RpcError::invalid_request(cause.to_string()), None),
        Err(cause) => return Message::Invalid(not_json(&cause), None),
    };
    if envelope.id.is_none() && envelope.method.is_some() {
        return Message::Notification;
    }
    // The id of a response is the server's own, and not the id of a request that could be answered.
    let id = envelope.id.filter(|id| envelope.method.is_some() && id.get().len() <= MAX_ID_BYTES);
    let id = id.and_then(|id| serde_json::from_str(id.get()).ok());
    let error = cause.map_or_else(|| envelope.error(), RpcError::invalid_request);
    Message::Invalid(error, id)
}

fn not_json(cause: &serde_json::Error) -> RpcError {
    RpcError::new(code::PARSE_ERROR, format!("a message has to be one line of JSON: {cause}"))
}

impl Envelope<'_> {
    /// Returns the error of an object that is no message.
    fn error(&self) -> RpcError {
        let is = |member: Option<&RawValue>, starts: &[char]| member.is_some_and(|it| it.get().starts_with(starts));
        let message = match self {
            _ if self.jsonrpc.is_none_or(|version| version.get() != r#""2.0""#) => "`jsonrpc` has to be \"2.0\"",
            Self { method: None, .. } => "a message has either a `method`, a `result` or an `error`",
            _ if !is(self.method, &['"']) => "`method` has to be a string",
            _ if !is(self.id, &['"', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) => {
                "`id` has to be a string or an integer"
            }
            _ if is(self.params, &['[']) => {
                return RpcError::invalid_params("`params` has to be an object; the protocol names all parameters");
            }
            _ if self.params.is_some() && !is(self.params, &['{']) => "`params` has to be an object",
            _ => "the members of the message do not have the types that the protocol requires, or are nested too deep",
        };
        RpcError::invalid_request(message)
    }
}

fn is_long(id: &Id) -> bool {
    matches!(id, Id::Text(id) if id.len() > MAX_ID_BYTES)
}

/// Counts the elements and members of all arrays and objects of the text, at least as many as there are.
fn count_values(text: &[u8]) -> usize {
    let (mut count, mut is_in_string, mut is_escaped) = (0, false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_in_string,
            b'"' => is_in_string = !is_in_string,
            b',' | b'[' | b'{' if !is_in_string => count += 1,
            _ => {}
        }
    }
    count
}

/// An answer to a request, or to a text that is no request: then the id is `null`, as JSON-RPC requires.
#[derive(Serialize)]
struct Answer<'a> {
    jsonrpc: &'static str,
    id: Option<&'a Id>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a RpcError>,
}

/// Returns the answer to a request as one line of JSON, without a line break.
pub fn answer(id: Option<&Id>, result: Result<&RawValue, &RpcError>) -> String {
    let answer = Answer { jsonrpc: "2.0", id, result: result.ok(), error: result.err() };
    // The structure has no map with other keys than strings, the only values that cannot be serialized.
    serde_json::to_string(&answer).unwrap_or_default()
}

#[cfg(test)]
mod tests;
