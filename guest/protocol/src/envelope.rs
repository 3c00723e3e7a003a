//! The envelope of a JSON-RPC message. Every transport uses these bounds, refusals and answers, whatever parses the message.

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::rpc_error::{RpcError, code};
use crate::tools::DIALECT;

/// Maximum length of one message in bytes.
pub const MAX_MESSAGE_BYTES: usize = 16 << 20;
/// Maximum number of JSON values in one message: a message of tiny values would take a hundred times its length in memory.
pub const MAX_VALUES: usize = 1 << 16;
/// Maximum length of a request's id in bytes.
pub const MAX_ID_BYTES: usize = 256;

/// Id of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Id {
    /// An integer.
    Number(i64),
    /// A text.
    Text(String),
}

impl Id {
    /// Returns the error of a request whose id is too long.
    pub fn too_long(&self) -> Option<RpcError> {
        let is_long = matches!(self, Self::Text(id) if id.len() > MAX_ID_BYTES);
        is_long.then(|| RpcError::invalid_request(format!("the id of a request may have at most {MAX_ID_BYTES} bytes")))
    }
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
pub(crate) struct Envelope<'l> {
    #[serde(borrow, deserialize_with = "present")]
    pub(crate) jsonrpc: Option<&'l RawValue>,
    #[serde(borrow, deserialize_with = "present")]
    pub(crate) id: Option<&'l RawValue>,
    #[serde(borrow, deserialize_with = "present")]
    pub(crate) method: Option<&'l RawValue>,
    #[serde(borrow, deserialize_with = "present")]
    pub(crate) params: Option<&'l RawValue>,
    #[serde(borrow, deserialize_with = "present")]
    pub(crate) result: Option<&'l RawValue>,
    #[serde(borrow, deserialize_with = "present")]
    pub(crate) error: Option<&'l RawValue>,
}

fn present<'de, D: Deserializer<'de>>(member: D) -> Result<Option<&'de RawValue>, D::Error> {
    Deserialize::deserialize(member).map(Some)
}

/// Returns the parameters of a message that is a JSON object, as the client wrote them.
pub fn params(text: &[u8]) -> Option<&RawValue> {
    serde_json::from_slice::<Envelope<'_>>(text).ok()?.params
}

/// Returns the fault of a message with this number of values, if they are too many.
pub fn too_many_values(values: usize) -> Option<String> {
    (values > MAX_VALUES).then(|| format!("a message may have at most {MAX_VALUES} JSON values"))
}

/// Returns the fault of a message of which an object has a name twice. A parser takes one of the values, and a person or a
/// proxy may have approved the other.
pub fn repeated_name(text: &[u8]) -> Option<String> {
    let name = std::str::from_utf8(text).ok().and_then(paddock_policy::repeated_name::repeated_name)?;
    Some(format!("an object of the message has the name {name:?} twice"))
}

/// Returns why a message that cannot be parsed, or that has this other fault, is refused, and the id that the refusal
/// repeats. `None` is a notification, which is never answered.
pub fn refusal(text: &[u8], fault: Option<&str>) -> Option<(RpcError, Option<Id>)> {
    if text.first() != Some(&b'{') {
        let error = match serde_json::from_slice::<IgnoredAny>(text) {
            Ok(_) => RpcError::invalid_request(fault.unwrap_or("a message has to be a JSON object")),
            Err(cause) => not_json(&cause),
        };
        return Some((error, None));
    }
    let envelope = match serde_json::from_slice::<Envelope<'_>>(text) {
        Ok(envelope) => envelope,
        Err(cause) if cause.is_data() => return Some((RpcError::invalid_request(cause.to_string()), None)),
        Err(cause) => return Some((not_json(&cause), None)),
    };
    if envelope.id.is_none() && envelope.method.is_some() {
        return None;
    }
    // The id of a response is the server's own, and not the id of a request that could be answered.
    let id = envelope.id.filter(|id| envelope.method.is_some() && id.get().len() <= MAX_ID_BYTES);
    let id = id.and_then(|id| serde_json::from_str(id.get()).ok());
    Some((fault.map_or_else(|| envelope.error(), RpcError::invalid_request), id))
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

/// Returns the number of elements and members of all arrays and objects of a message, or a larger number.
pub fn count_values(text: &[u8]) -> usize {
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
pub struct Answer<'a> {
    jsonrpc: &'static str,
    id: Option<&'a Id>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a RpcError>,
}

impl<'a> Answer<'a> {
    /// Creates the answer with a result or an error.
    pub fn new(id: Option<&'a Id>, result: Result<&'a RawValue, &'a RpcError>) -> Self {
        Self { jsonrpc: "2.0", id, result: result.ok(), error: result.err() }
    }
}

/// Returns the answer to a request as one line of JSON, without a line break.
pub fn answer(id: Option<&Id>, result: Result<&RawValue, &RpcError>) -> String {
    let answer = Answer::new(id, result);
    // The structure has no map with other keys than strings, the only values that cannot be serialized.
    serde_json::to_string(&answer).unwrap_or_default()
}

#[cfg(test)]
mod tests;
