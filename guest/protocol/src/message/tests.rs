use super::*;
use crate::envelope::{MAX_ID_BYTES, MAX_VALUES};

/// Returns the code, the message and the id of a refusal.
fn refusal(text: &str) -> Option<(i32, String, Option<Id>)> {
    match parse(text.as_bytes()) {
        Message::Invalid(error, id) => Some((error.code, error.message, id)),
        Message::Request(_) | Message::Batch(_) | Message::Notification | Message::Response => None,
    }
}

fn ping(id: &str) -> String {
    format!(r#"{{"jsonrpc": "2.0", "id": {id}, "method": "ping"}}"#)
}

#[test]
fn too_many_values_are_refused_by_the_id_of_the_request() {
    let text = |values: usize, start: &str| format!(r#"{{{start}, "params": [{}0]}}"#, "0,".repeat(values));
    let request = r#""jsonrpc": "2.0", "id": 7, "method": "x""#;
    let (code, message, id) = refusal(&text(MAX_VALUES, request)).unwrap();
    assert!(code == -32600 && message.contains("65536 JSON values"), "{message}");
    assert_eq!(id, Some(Id::Number(7)));
    assert!(matches!(parse(text(MAX_VALUES, r#""method": "x""#).as_bytes()), Message::Notification));
    assert_eq!(refusal(&text(MAX_VALUES, r#""id": 7, "result": 1"#)).unwrap().2, None);
    let batch = format!("[{}0]", "5,".repeat(MAX_VALUES));
    let (code, message, id) = refusal(&batch).unwrap();
    assert!(code == -32600 && message.contains("65536 JSON values") && id.is_none(), "{message}");
}

#[test]
fn a_name_that_occurs_twice_is_refused() {
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
    assert!(matches!(parse(ping(&format!("{:?}", "x".repeat(MAX_ID_BYTES))).as_bytes()), Message::Request(_)));
    let (_, message, id) = refusal(&ping(&format!("{:?}", "x".repeat(MAX_ID_BYTES + 1)))).unwrap();
    assert!(message.contains("at most 256 bytes") && id.is_none(), "{message}");
}

#[test]
fn a_text_that_is_no_message_is_refused_with_the_reason() {
    let seven = Some(Id::Number(7));
    for (text, code, says, id) in [
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
        (r#"{"jsonrpc": "2.0", "id": 7, "result": 1, "error": 2}"#, -32600, "a `method`", None),
        (r#"{"jsonrpc": "2.0", "id": 7, "method": 1}"#, -32600, "`method`", seven.clone()),
        (&ping("null"), -32600, "`id`", None),
        (&ping("1.5"), -32600, "do not have the types", None),
        (&ping("[1]"), -32600, "`id`", None),
        (r#"{"jsonrpc": "2.0", "id": 7, "method": "x", "params": 5}"#, -32600, "`params`", seven.clone()),
        (r#"{"jsonrpc": "2.0", "id": 7, "method": "x", "params": [5]}"#, -32602, "`params`", seven.clone()),
        (r#"{"jsonrpc": "2.0", "id": 7, "id": 8, "method": "x"}"#, -32600, "duplicate", None),
        (&ping(&"[".repeat(500)), -32700, "one line of JSON", None),
    ] {
        let (actual, message, refused) = refusal(text).expect(text);
        assert!(actual == code && message.contains(says), "{text}: {actual} {message}");
        assert_eq!(refused, id, "{text}");
    }
    let (open, close) = ("[".repeat(500), "]".repeat(500));
    let deep = format!(r#"{{"jsonrpc": "2.0", "id": 7, "method": "x", "params": {{"a": {open}1{close}}}}}"#);
    assert_eq!(refusal(&deep).map(|(code, _, id)| (code, id)), Some((-32600, seven)));
}

#[test]
fn a_notification_is_never_answered() {
    for text in [
        r#"{"jsonrpc": "2.0", "method": "notifications/other", "params": 5}"#,
        r#"{"method": "notifications/other"}"#,
        r#"{"jsonrpc": "2.0", "method": "tools/call", "params": [], "error": 1}"#,
    ] {
        assert!(matches!(parse(text.as_bytes()), Message::Notification), "{text}");
    }
}

/// Two peers that answer each other's refusals would never end.
#[test]
fn a_refusal_that_comes_back_is_not_refused() {
    for id in ["null", "7"] {
        let text = format!(r#"{{"jsonrpc": "2.0", "id": {id}, "error": {{"code": -32700, "message": "x"}}}}"#);
        assert!(matches!(parse(text.as_bytes()), Message::Response), "{text}");
    }
}
