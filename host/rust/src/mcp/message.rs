//! Parsing of a line from the client to a message, with the bounds on one message.

use paddock_policy::repeated_name::repeated_name;
use rmcp::RoleServer;
use rmcp::model::{ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::RxJsonRpcMessage;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

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
    /// A message that is refused with this error. The id is `None` if the line has none that can be repeated.
    Invalid(ErrorData, Option<RequestId>),
    /// A line that is not answered: an unknown notification, or text that is not JSON.
    Ignored,
}

pub(super) fn parse(line: &[u8]) -> Parsed {
    let values = count_values(line);
    if values > MAX_VALUES {
        return refused(line, format!("a message may have at most {MAX_VALUES} JSON values"));
    }
    match serde_json::from_slice(line) {
        Ok(JsonRpcMessage::Request(request)) if is_long(&request.id) => {
            let message = format!("the id of a request may have at most {MAX_ID_BYTES} bytes");
            Parsed::Invalid(ErrorData::invalid_request(message, None), None)
        }
        Ok(message) => {
            // Parsing took the last value of such a name; the user may have approved the first.
            if let Some(name) = std::str::from_utf8(line).ok().and_then(repeated_name) {
                return refused(line, format!("an object of the message has the name {name:?} twice"));
            }
            let weight = line.len().saturating_add(values.saturating_mul(VALUE_BYTES));
            Parsed::Message(Box::new(message), weight)
        }
        // An answer to a line that is not JSON could start an endless exchange with a peer that echoes lines.
        Err(cause) if cause.is_syntax() || cause.is_eof() => Parsed::Ignored,
        Err(cause) => refused(line, cause.to_string()),
    }
}

pub(super) fn too_long() -> ErrorData {
    let message =
        format!("a message may have at most {MAX_LINE_BYTES} bytes; write a large file in parts, with `append`");
    ErrorData::invalid_request(message, None)
}

/// Refuses a line without building the JSON values in it.
fn refused(line: &[u8], message: String) -> Parsed {
    #[derive(Deserialize)]
    struct Envelope<'l> {
        #[serde(borrow)]
        id: Option<&'l RawValue>,
        method: Option<IgnoredAny>,
    }
    let Ok(envelope) = serde_json::from_slice::<Envelope<'_>>(line) else { return Parsed::Ignored };
    // The id of a response is the server's own, and not the id of a request that could be answered.
    let id = envelope.id.filter(|id| envelope.method.is_some() && id.get().len() <= MAX_ID_BYTES);
    match envelope {
        Envelope { id: None, method: Some(_) } => Parsed::Ignored,
        _ => Parsed::Invalid(
            ErrorData::invalid_request(message, None),
            id.and_then(|id| serde_json::from_str(id.get()).ok()),
        ),
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

    fn refusal(line: &str) -> Option<(String, Option<RequestId>)> {
        match parse(line.as_bytes()) {
            Parsed::Invalid(error, id) => Some((error.message.into_owned(), id)),
            Parsed::Message(..) | Parsed::Ignored => None,
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
        let (message, id) = refusal(&line(MAX_VALUES, request)).unwrap();
        assert!(message.contains("65536 JSON values"), "{message}");
        assert_eq!(id, Some(RequestId::Number(7)));
        assert!(matches!(parse(line(MAX_VALUES, r#""method": "x""#).as_bytes()), Parsed::Ignored));
        assert_eq!(refusal(&line(MAX_VALUES, r#""id": 7, "result": 1"#)).unwrap().1, None);
    }

    #[test]
    fn a_name_that_is_given_twice_is_refused() {
        let call = |arguments: &str| {
            let params = format!(r#"{{"name": "read_file", "arguments": {arguments}}}"#);
            format!(r#"{{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {params}}}"#)
        };
        assert!(refusal(&call(r#"{"path": "a", "other": {"path": "b"}}"#)).is_none());
        let (message, id) = refusal(&call(r#"{"path": "a", "p\u0061th": "b"}"#)).unwrap();
        assert!(message.contains("\"path\" twice"), "{message}");
        assert_eq!(id, Some(RequestId::Number(7)));
    }

    #[test]
    fn an_id_has_a_maximum_length() {
        assert!(matches!(parse(ping(&format!("{:?}", "x".repeat(MAX_ID_BYTES))).as_bytes()), Parsed::Message(..)));
        let (message, id) = refusal(&ping(&format!("{:?}", "x".repeat(MAX_ID_BYTES + 1)))).unwrap();
        assert!(message.contains("at most 256 bytes") && id.is_none(), "{message}");
    }

    #[test]
    fn what_is_not_a_message_is_refused_or_ignored() {
        assert_eq!(
            refusal(r#"{"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": 5}"#).unwrap().1,
            Some(RequestId::String("a".into()))
        );
        for line in ["{", "x", "[1", r#"{"jsonrpc": "2.0", "method": "notifications/other", "params": 5}"#] {
            assert!(matches!(parse(line.as_bytes()), Parsed::Ignored), "{line}");
        }
    }
}
