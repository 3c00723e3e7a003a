//! Parsing of a line from the client to a message, with the bounds on one message.

use paddock_policy::repeated_name::repeated_name;
use rmcp::RoleServer;
#[cfg(all(target_os = "linux", feature = "serve"))]
use rmcp::model::ClientRequest;
use rmcp::model::{ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::RxJsonRpcMessage;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::params;
use crate::options::DIALECT;

/// Maximum length of one message in bytes.
pub(super) const MAX_LINE_BYTES: usize = 16 << 20;
/// Maximum number of JSON values in one message: a line of tiny values would take a hundred times its length in memory.
pub(super) const MAX_VALUES: usize = 1 << 16;
/// Maximum length of a request's id in bytes. The server keeps the id until it has answered the request.
pub(super) const MAX_ID_BYTES: usize = 256;

/// Approximate memory of one parsed JSON value in bytes, in addition to its text.
const VALUE_BYTES: usize = 256;

pub(super) type Received = RxJsonRpcMessage<RoleServer>;

pub(super) enum Parsed {
    /// A message and its weight: the approximate memory in bytes that it takes.
    Message(Box<Received>, usize),
    /// The messages of a batch, a JSON array.
    Batch(Vec<Box<RawValue>>),
    /// A message that is refused with this error. The id is `None` if the line has none that can be repeated.
    Invalid(ErrorData, Option<RequestId>),
    /// A notification that is not answered.
    Ignored,
}

/// An error as the answer to a line that is no request. Unlike in the `rmcp` library, an unknown id is `null`, as
/// JSON-RPC requires.
#[derive(Serialize)]
pub(super) struct Refusal {
    jsonrpc: &'static str,
    id: Option<RequestId>,
    error: ErrorData,
}

impl Refusal {
    pub(super) fn new(error: ErrorData, id: Option<RequestId>) -> Self {
        Self { jsonrpc: "2.0", id, error }
    }
}

/// Kind of a message.
#[cfg(all(target_os = "linux", feature = "serve"))]
pub(crate) enum Kind {
    /// The request that begins a session.
    Initialize,
    /// A request whose answer is a stream that stays open.
    Listen,
    /// Any other request.
    Call,
    /// A notification, or the answer to a request of the server.
    Notification,
    /// A notification that no server handles.
    Ignored,
}

/// Returns the kind of a message, for a transport without batches that parses it again. The error is the answer to a
/// message that is refused.
#[cfg(all(target_os = "linux", feature = "serve"))]
pub(crate) fn kind(line: &[u8]) -> Result<Kind, String> {
    let refused = |error, id| Err(serde_json::to_string(&Refusal::new(error, id)).unwrap_or_default());
    match parse(line) {
        Parsed::Message(message, _) => Ok(match *message {
            JsonRpcMessage::Request(request) => match request.request {
                ClientRequest::InitializeRequest(_) => Kind::Initialize,
                ClientRequest::SubscriptionsListenRequest(_) => Kind::Listen,
                _ => Kind::Call,
            },
            _ => Kind::Notification,
        }),
        Parsed::Ignored => Ok(Kind::Ignored),
        Parsed::Batch(_) => {
            let message = "batches are not supported over HTTP; send each message in a request of its own";
            refused(ErrorData::invalid_request(message, None), None)
        }
        Parsed::Invalid(error, id) => refused(error, id),
    }
}

pub(super) fn parse(line: &[u8]) -> Parsed {
    let values = count_values(line);
    if values > MAX_VALUES {
        return refused(line, Some(&format!("a message may have at most {MAX_VALUES} JSON values")));
    }
    if line.first() == Some(&b'[') {
        return serde_json::from_slice(line).map_or_else(|_| refused(line, None), Parsed::Batch);
    }
    match serde_json::from_slice(line) {
        Ok(JsonRpcMessage::Request(request)) if is_long(&request.id) => {
            let message = format!("the id of a request may have at most {MAX_ID_BYTES} bytes");
            Parsed::Invalid(ErrorData::invalid_request(message, None), None)
        }
        Ok(JsonRpcMessage::Request(request))
            if let Some(error) = params::error(&request.request, || params_of(line)) =>
        {
            Parsed::Invalid(error, Some(request.id))
        }
        Ok(message) => {
            // Parsing took the last value of such a name; the user may have approved the first.
            if let Some(name) = std::str::from_utf8(line).ok().and_then(repeated_name) {
                return refused(line, Some(&format!("an object of the message has the name {name:?} twice")));
            }
            let weight = line.len().saturating_add(values.saturating_mul(VALUE_BYTES));
            Parsed::Message(Box::new(message), weight)
        }
        Err(_) => refused(line, None),
    }
}

/// Returns the error of a message that is too long, for a client with the tools of this dialect.
pub(super) fn too_long(dialect: &str) -> ErrorData {
    let remedy = match dialect {
        DIALECT => "write a large file in parts: `write_file` with `append`",
        _ => "divide it among several requests",
    };
    ErrorData::invalid_request(format!("a message may have at most {MAX_LINE_BYTES} bytes; {remedy}"), None)
}

/// Members of a message, of which no JSON values have been built. A member that is `null` is not missing.
#[derive(Deserialize)]
struct Envelope<'l> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'l RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'l RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'l RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'l RawValue>,
}

fn present<'de, D: Deserializer<'de>>(member: D) -> Result<Option<&'de RawValue>, D::Error> {
    Deserialize::deserialize(member).map(Some)
}

/// Returns the parameters in a line with a request.
fn params_of(line: &[u8]) -> Option<&RawValue> {
    serde_json::from_slice::<Envelope<'_>>(line).ok()?.params
}

/// Refuses a line, with the message or with the reason why it is no message of the protocol.
fn refused(line: &[u8], message: Option<&str>) -> Parsed {
    let invalid = |message: &str| ErrorData::invalid_request(message.to_owned(), None);
    if line.first() != Some(&b'{') {
        return match serde_json::from_slice::<IgnoredAny>(line) {
            Ok(_) => Parsed::Invalid(invalid(message.unwrap_or("a message has to be a JSON object")), None),
            Err(cause) => Parsed::Invalid(not_json(&cause), None),
        };
    }
    let envelope = match serde_json::from_slice::<Envelope<'_>>(line) {
        Ok(envelope) => envelope,
        Err(cause) if cause.is_data() => return Parsed::Invalid(invalid(&cause.to_string()), None),
        Err(cause) => return Parsed::Invalid(not_json(&cause), None),
    };
    if envelope.id.is_none() && envelope.method.is_some() {
        return Parsed::Ignored;
    }
    // The id of a response is the server's own, and not the id of a request that could be answered.
    let id = envelope.id.filter(|id| envelope.method.is_some() && id.get().len() <= MAX_ID_BYTES);
    let id = id.and_then(|id| serde_json::from_str(id.get()).ok());
    let error = match message {
        Some(message) => invalid(message),
        None => envelope.error(),
    };
    Parsed::Invalid(error, id)
}

fn not_json(cause: &serde_json::Error) -> ErrorData {
    ErrorData::parse_error(format!("a message has to be one line of JSON: {cause}"), None)
}

impl Envelope<'_> {
    /// Returns the error of an object that is no message.
    fn error(&self) -> ErrorData {
        let is = |member: Option<&RawValue>, starts: &[char]| member.is_some_and(|it| it.get().starts_with(starts));
        let message = match self {
            _ if self.jsonrpc.is_none_or(|version| version.get() != r#""2.0""#) => "`jsonrpc` has to be \"2.0\"",
            Self { method: None, .. } => "a message has either a `method`, a `result` or an `error`",
            _ if !is(self.method, &['"']) => "`method` has to be a string",
            _ if !is(self.id, &['"', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) => {
                "`id` has to be a string or an integer"
            }
            _ if is(self.params, &['[']) => {
                return ErrorData::invalid_params(
                    "`params` has to be an object; the protocol names all parameters",
                    None,
                );
            }
            _ if self.params.is_some() && !is(self.params, &['{']) => "`params` has to be an object",
            _ => "the members of the message do not have the types that the protocol requires, or are nested too deep",
        };
        ErrorData::invalid_request(message, None)
    }
}

fn is_long(id: &RequestId) -> bool {
    matches!(id, RequestId::String(id) if id.len() > MAX_ID_BYTES)
}

/// Counts the elements and members of all arrays and objects of the line, at least as many as there are.
fn count_values(line: &[u8]) -> usize {
    let (mut count, mut is_in_string, mut is_escaped) = (0, false, false);
    for byte in line {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the code, the message and the id of a refusal.
    fn refusal(line: &str) -> Option<(i32, String, Option<RequestId>)> {
        match parse(line.as_bytes()) {
            Parsed::Invalid(error, id) => Some((error.code.0, error.message.into_owned(), id)),
            Parsed::Message(..) | Parsed::Batch(_) | Parsed::Ignored => None,
        }
    }

    fn ping(id: &str) -> String {
        format!(r#"{{"jsonrpc": "2.0", "id": {id}, "method": "ping"}}"#)
    }

    #[test]
    fn values_are_counted_outside_strings() {
        assert_eq!(count_values(br#"{"a": [1, 2, "x,[{\",", {}], "b": "\\"}"#), 7);
    }

    #[test]
    fn too_many_values_are_refused_by_the_id_of_the_request() {
        let line = |values: usize, start: &str| format!(r#"{{{start}, "params": [{}0]}}"#, "0,".repeat(values));
        let request = r#""jsonrpc": "2.0", "id": 7, "method": "x""#;
        let (code, message, id) = refusal(&line(MAX_VALUES, request)).unwrap();
        assert!(code == -32600 && message.contains("65536 JSON values"), "{message}");
        assert_eq!(id, Some(RequestId::Number(7)));
        assert!(matches!(parse(line(MAX_VALUES, r#""method": "x""#).as_bytes()), Parsed::Ignored));
        assert_eq!(refusal(&line(MAX_VALUES, r#""id": 7, "result": 1"#)).unwrap().2, None);
        let batch = format!("[{}0]", "5,".repeat(MAX_VALUES));
        let (code, message, id) = refusal(&batch).unwrap();
        assert!(code == -32600 && message.contains("65536 JSON values") && id.is_none(), "{message}");
    }

    #[test]
    fn a_name_that_is_given_twice_is_refused() {
        let call = |arguments: &str| {
            let params = format!(r#"{{"name": "read_file", "arguments": {arguments}}}"#);
            format!(r#"{{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {params}}}"#)
        };
        assert!(refusal(&call(r#"{"path": "a", "other": {"path": "b"}}"#)).is_none());
        let (_, message, id) = refusal(&call(r#"{"path": "a", "p\u0061th": "b"}"#)).unwrap();
        assert!(message.contains("\"path\" twice"), "{message}");
        assert_eq!(id, Some(RequestId::Number(7)));
    }

    #[test]
    fn an_id_has_a_maximum_length() {
        assert!(matches!(parse(ping(&format!("{:?}", "x".repeat(MAX_ID_BYTES))).as_bytes()), Parsed::Message(..)));
        let (_, message, id) = refusal(&ping(&format!("{:?}", "x".repeat(MAX_ID_BYTES + 1)))).unwrap();
        assert!(message.contains("at most 256 bytes") && id.is_none(), "{message}");
    }

    #[test]
    fn a_line_that_is_no_message_is_refused_with_the_reason() {
        let seven = Some(RequestId::Number(7));
        for (line, code, says, id) in [
            ("{", -32700, "one line of JSON", None),
            ("x", -32700, "one line of JSON", None),
            ("[1", -32700, "one line of JSON", None),
            ("{}{}", -32700, "one line of JSON", None),
            ("\u{0}", -32700, "one line of JSON", None),
            ("1", -32600, "JSON object", None),
            ("\"x\"", -32600, "JSON object", None),
            ("{}", -32600, "`jsonrpc`", None),
            (r#"{"jsonrpc": "1.0", "id": 7, "method": "x"}"#, -32600, "`jsonrpc`", seven.clone()),
            (r#"{"jsonrpc": "2.0", "id": 7}"#, -32600, "a `method`", None),
            (r#"{"jsonrpc": "2.0", "id": 7, "method": 1}"#, -32600, "`method`", seven.clone()),
            (&ping("null"), -32600, "`id`", None),
            (&ping("1.5"), -32600, "do not have the types", None),
            (&ping("[1]"), -32600, "`id`", None),
            (r#"{"jsonrpc": "2.0", "id": 7, "method": "x", "params": 5}"#, -32600, "`params`", seven.clone()),
            (r#"{"jsonrpc": "2.0", "id": 7, "method": "x", "params": [5]}"#, -32602, "`params`", seven.clone()),
            (r#"{"jsonrpc": "2.0", "id": 7, "id": 8, "method": "x"}"#, -32600, "duplicate", None),
            (&ping(&"[".repeat(500)), -32700, "one line of JSON", None),
        ] {
            let (actual, message, refused) = refusal(line).expect(line);
            assert!(actual == code && message.contains(says), "{line}: {actual} {message}");
            assert_eq!(refused, id, "{line}");
        }
        let deep = format!(
            r#"{{"jsonrpc": "2.0", "id": 7, "method": "x", "params": {{"a": {}1{}}}}}"#,
            "[".repeat(500),
            "]".repeat(500)
        );
        assert_eq!(refusal(&deep).map(|(code, _, id)| (code, id)), Some((-32600, seven)));
    }

    #[test]
    fn wrong_parameters_of_a_list_are_refused_and_right_ones_are_not() {
        let line = |params: &str| format!(r#"{{"jsonrpc": "2.0", "id": 7, "method": "tools/list"{params}}}"#);
        for params in [r#", "params": {"cursor": 5}"#, r#", "params": {"cursor": [], "_meta": {}}"#] {
            let (code, message, id) = refusal(&line(params)).expect(params);
            assert!(code == -32602 && message.contains("`cursor` has to be a string"), "{params}: {message}");
            assert_eq!(id, Some(RequestId::Number(7)));
        }
        for params in ["", r#", "params": {}"#, r#", "params": {"_meta": {"a": 1}}"#, r#", "params": {"cursor": null}"#]
        {
            assert!(matches!(parse(line(params).as_bytes()), Parsed::Message(..)), "{params}");
        }
    }

    #[test]
    fn a_notification_is_never_answered() {
        for line in [
            r#"{"jsonrpc": "2.0", "method": "notifications/other", "params": 5}"#,
            r#"{"method": "notifications/other"}"#,
            r#"{"jsonrpc": "2.0", "method": "tools/call", "params": [], "error": 1}"#,
        ] {
            assert!(matches!(parse(line.as_bytes()), Parsed::Ignored), "{line}");
        }
    }

    /// Two peers that answer each other's refusals would never end.
    #[test]
    fn a_refusal_that_comes_back_is_not_refused() {
        for id in ["null", "7"] {
            let line = format!(r#"{{"jsonrpc": "2.0", "id": {id}, "error": {{"code": -32700, "message": "x"}}}}"#);
            assert!(matches!(parse(line.as_bytes()), Parsed::Message(..)), "{line}");
        }
    }

    #[test]
    fn the_remedy_for_a_message_that_is_too_long_names_a_tool_of_its_dialect_only() {
        assert!(too_long("paddock").message.contains("`append`"));
        for dialect in ["anthropic", "mcp-filesystem", "paddock:grep"] {
            assert!(!too_long(dialect).message.contains('`'), "{dialect}");
        }
    }
}
