//! Parsing of a line from the client to a message of the `rmcp` library.

#[cfg(all(target_os = "linux", feature = "serve"))]
use paddock_protocol::envelope::answer;
use paddock_protocol::envelope::{self, Id, count_values, refusal, repeated_name, too_many_values};
use paddock_protocol::rpc_error::RpcError;
use rmcp::RoleServer;
use rmcp::model::{ClientRequest, JsonRpcMessage, JsonRpcRequest, RequestId};
use rmcp::service::RxJsonRpcMessage;
use serde_json::value::RawValue;

use super::params;

/// Approximate memory of one parsed JSON value in bytes, in addition to its text.
const VALUE_BYTES: usize = 256;

pub(super) type Received = RxJsonRpcMessage<RoleServer>;

pub(super) enum Parsed {
    /// A message and its weight: the approximate memory in bytes that it takes.
    Message(Box<Received>, usize),
    /// The messages of a batch, a JSON array.
    Batch(Vec<Box<RawValue>>),
    /// A message that is refused with this error. The id is `None` if the line has none that can be repeated.
    Invalid(RpcError, Option<Id>),
    /// A notification that is not answered.
    Ignored,
}

/// Kind of a message.
#[cfg(all(target_os = "linux", feature = "serve"))]
pub(crate) enum Kind {
    /// The request that begins a session.
    Initialize,
    /// A request whose answer is a stream that stays open.
    Listen(Id),
    /// Any other request.
    Call(Id),
    /// A notification, or the answer to a request of the server.
    Notification,
    /// A notification that no server handles.
    Ignored,
}

/// Returns the kind of a message, for a transport without batches that parses it again. The error is the answer to a
/// message that is refused.
#[cfg(all(target_os = "linux", feature = "serve"))]
pub(crate) fn kind(line: &[u8]) -> Result<Kind, String> {
    let refused = |error: &RpcError, id: Option<&Id>| Err(answer(id, Err(error)));
    match parse(line) {
        Parsed::Message(message, _) => Ok(match *message {
            JsonRpcMessage::Request(request) => match request.request {
                ClientRequest::InitializeRequest(_) => Kind::Initialize,
                ClientRequest::SubscriptionsListenRequest(_) => Kind::Listen(id_of(&request.id)),
                _ => Kind::Call(id_of(&request.id)),
            },
            _ => Kind::Notification,
        }),
        Parsed::Ignored => Ok(Kind::Ignored),
        Parsed::Batch(_) => {
            let message = "batches are not supported over HTTP; send each message in a request of its own";
            refused(&RpcError::invalid_request(message), None)
        }
        Parsed::Invalid(error, id) => refused(&error, id.as_ref()),
    }
}

/// Returns the answer to a request whose id is that of another request without an answer.
#[cfg(all(target_os = "linux", feature = "serve"))]
pub(crate) fn repeated_id(id: &Id) -> String {
    let message = "the id is that of another request of this session, which has no answer yet; use another id";
    answer(Some(id), Err(&RpcError::invalid_request(message)))
}

pub(super) fn parse(line: &[u8]) -> Parsed {
    let values = count_values(line);
    if let Some(fault) = too_many_values(values) {
        return refused(line, Some(&fault));
    }
    if line.first() == Some(&b'[') {
        return serde_json::from_slice(line).map_or_else(|_| refused(line, None), Parsed::Batch);
    }
    match serde_json::from_slice(line) {
        Ok(JsonRpcMessage::Request(request)) => check(line, request, values),
        Ok(message) => accepted(line, message, values),
        Err(_) => refused(line, None),
    }
}

fn check(line: &[u8], request: JsonRpcRequest<ClientRequest>, values: usize) -> Parsed {
    let id = id_of(&request.id);
    if let Some(error) = id.too_long() {
        return Parsed::Invalid(error, None);
    }
    match params::error(&request.request, || envelope::params(line)) {
        Some(error) => Parsed::Invalid(error, Some(id)),
        None => accepted(line, JsonRpcMessage::Request(request), values),
    }
}

fn accepted(line: &[u8], message: Received, values: usize) -> Parsed {
    match repeated_name(line) {
        Some(fault) => refused(line, Some(&fault)),
        None => {
            let weight = line.len().saturating_add(values.saturating_mul(VALUE_BYTES));
            Parsed::Message(Box::new(message), weight)
        }
    }
}

/// Refuses a line, for this fault or because it is no message of the protocol.
fn refused(line: &[u8], fault: Option<&str>) -> Parsed {
    refusal(line, fault).map_or(Parsed::Ignored, |(error, id)| Parsed::Invalid(error, id))
}

/// Returns the id of a request as the protocol's crate has it.
pub(super) fn id_of(id: &RequestId) -> Id {
    match id {
        RequestId::Number(number) => Id::Number(*number),
        RequestId::String(text) => Id::Text(text.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use paddock_protocol::envelope::{MAX_ID_BYTES, MAX_VALUES};

    use super::*;

    /// Returns the code, the message and the id of a refusal.
    fn refusal(line: &str) -> Option<(i32, String, Option<Id>)> {
        match parse(line.as_bytes()) {
            Parsed::Invalid(error, id) => Some((error.code, error.message, id)),
            Parsed::Message(..) | Parsed::Batch(_) | Parsed::Ignored => None,
        }
    }

    fn ping(id: &str) -> String {
        format!(r#"{{"jsonrpc": "2.0", "id": {id}, "method": "ping"}}"#)
    }

    #[test]
    fn too_many_values_are_refused_by_the_id_of_the_request() {
        let line = |values: usize, start: &str| format!(r#"{{{start}, "params": [{}0]}}"#, "0,".repeat(values));
        let request = r#""jsonrpc": "2.0", "id": 7, "method": "x""#;
        let (code, message, id) = refusal(&line(MAX_VALUES, request)).unwrap();
        assert!(code == -32600 && message.contains("65536 JSON values"), "{message}");
        assert_eq!(id, Some(Id::Number(7)));
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
        assert_eq!(id, Some(Id::Number(7)));
    }

    #[test]
    fn an_id_has_a_maximum_length() {
        assert!(matches!(parse(ping(&format!("{:?}", "x".repeat(MAX_ID_BYTES))).as_bytes()), Parsed::Message(..)));
        let (_, message, id) = refusal(&ping(&format!("{:?}", "x".repeat(MAX_ID_BYTES + 1)))).unwrap();
        assert!(message.contains("at most 256 bytes") && id.is_none(), "{message}");
    }

    #[test]
    fn a_line_that_is_no_message_is_refused_with_the_reason() {
        let seven = Some(Id::Number(7));
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
            assert_eq!(id, Some(Id::Number(7)));
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
}
