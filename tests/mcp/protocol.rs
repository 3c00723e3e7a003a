//! Messages that are wrong, too long, or batches: every answer that JSON-RPC requires, and a session that goes on.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::time::Duration;

use serde_json::{Value, json};

use super::Client;

/// Revisions with `initialize`, and `None` for the stateless one.
const REVISIONS: [Option<&str>; 5] =
    [Some("2024-11-05"), Some("2025-03-26"), Some("2025-06-18"), Some("2025-11-25"), None];

fn client_of(revision: Option<&str>) -> Client {
    revision.map_or_else(|| Client::start(true), Client::legacy)
}

impl Client {
    fn send_line(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    fn still_answers(&mut self) {
        assert_eq!(self.call(900, "stat", json!({"path": "."}))["result"]["isError"], false);
    }
}

/// Checks an error without an id, which JSON-RPC writes as `null`.
#[track_caller]
fn is_error_without_id(answer: &Value, code: i32, says: &str) {
    assert_eq!(answer.get("id"), Some(&Value::Null), "{answer}");
    assert_eq!(answer["error"]["code"], code, "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains(says), "{answer}");
}

#[test]
fn wrong_parameters_are_told_from_a_wrong_method() {
    for revision in [Some("2025-11-25"), None] {
        let mut client = client_of(revision);
        client.still_answers();
        for (id, (method, params, says)) in (2..).zip([
            ("tools/call", json!({}), "`name` is missing"),
            ("tools/call", json!({"name": 5}), "`name` has to be a string, not a number"),
            ("tools/call", json!({"name": "stat", "arguments": []}), "`arguments` has to be an object, not an array"),
            // The schema of the protocol asks for an object; only an argument of a tool may be JSON in a string.
            ("tools/call", json!({"name": "stat", "arguments": r#"{"path": "."}"#}), "not a string"),
            ("resources/read", json!({}), "`uri` is missing"),
            ("resources/list", json!({"cursor": 5}), "`cursor` has to be a string"),
        ]) {
            let refused = client.request(id, method, params);
            assert_eq!(refused["error"]["code"], -32602, "{refused}");
            let message = refused["error"]["message"].as_str().unwrap();
            assert!(message.contains(says) && message.contains(method), "{refused}");
        }
        assert_eq!(client.request(20, "tools/cal", json!({"name": "stat"}))["error"]["code"], -32601);
        client.send(&json!({"jsonrpc": "2.0", "id": 21, "method": "tools/call", "params": ["stat"]}));
        assert_eq!(client.next()["error"]["code"], -32602);
        // JSON-RPC has only objects and arrays as parameters.
        client.send(&json!({"jsonrpc": "2.0", "id": 22, "method": "tools/call", "params": 5}));
        let refused = client.next();
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(22), &json!(-32600)), "{refused}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/others", "params": 5}));
        client.still_answers();
        client.close();
    }
}

#[test]
fn a_wrong_initialize_says_which_parameter_is_wrong_and_can_be_repeated() {
    let mut client = Client::start(false);
    let refused = client.request(7, "initialize", json!({"protocolVersion": "2025-06-18", "capabilities": 5}));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("`capabilities` has to be an object"), "{refused}");
    client.initialize("2025-06-18");
    client.still_answers();
    client.close();
}

#[test]
fn a_line_that_is_no_json_is_answered_once() {
    for revision in [Some("2025-06-18"), None] {
        let mut client = client_of(revision);
        client.still_answers();
        for line in ["no JSON", r#"{"jsonrpc": "2.0", "id": 7, "method": "ping""#, "[", "{}}", "\u{7f}"] {
            client.send_line(line);
            let answer = client.next();
            is_error_without_id(&answer, -32700, "JSON");
            // A peer that repeats every line must not get another answer.
            client.send_line(&answer.to_string());
        }
        client.stdin.as_mut().unwrap().write_all(b"\xff\xfe\n").unwrap();
        is_error_without_id(&client.next(), -32700, "JSON");
        for line in ["5", "\"x\"", "null", "{}"] {
            client.send_line(line);
            is_error_without_id(&client.next(), -32600, "has to be");
        }
        client.send_line("");
        client.still_answers();
        client.close();
    }
}

#[test]
fn a_message_that_is_too_long_is_answered_by_its_id_wherever_that_is() {
    let mut client = Client::start_with(false, json!({}), &["--dialect", "anthropic"]);
    let about = json!({"name": "test", "version": "1"});
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about});
    client.request(1, "initialize", hello);
    let content = "x".repeat(17 << 20);
    for (line, id) in [
        (
            format!(r#"{{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {{"name": "{content}"}}}}"#),
            json!(3),
        ),
        // The official TypeScript client writes the id last.
        (
            format!(r#"{{"method": "x", "params": {{"id": 5, "a": "{content}"}}, "jsonrpc": "2.0", "id": "b"}}"#),
            json!("b"),
        ),
        (format!(r#"{{"jsonrpc": "2.0", "id": 4, "result": {{"method": "{content}"}}}}"#), Value::Null),
        (format!(r#"["{content}"]"#), Value::Null),
    ] {
        client.send_line(&line);
        let answer = client.next();
        assert_eq!((answer.get("id"), &answer["error"]["code"]), (Some(&id), &json!(-32600)), "{answer}");
        let message = answer["error"]["message"].as_str().unwrap();
        // The dialect has no tool that appends.
        assert!(message.contains("at most 16777216 bytes") && !message.contains("append"), "{answer}");
    }
    assert!(client.request(5, "tools/list", json!({}))["result"]["tools"].is_array());
    client.close();
}

fn stat(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "stat", "arguments": {"path": "."}}})
}

/// Returns the answers of a batch by their ids, as JSON.
fn by_id(answers: &Value) -> BTreeMap<String, Value> {
    let answers = answers.as_array().unwrap_or_else(|| panic!("no array: {answers}"));
    let all: BTreeMap<_, _> = answers.iter().map(|answer| (answer["id"].to_string(), answer.clone())).collect();
    assert_eq!(all.len(), answers.len(), "an id is answered twice: {answers:?}");
    all
}

#[test]
fn a_batch_is_answered_by_an_array() {
    let mut client = Client::legacy("2025-03-26");
    client.send(&json!([
        stat(10),
        {"jsonrpc": "2.0", "id": 11, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/other"},
        {"jsonrpc": "2.0", "id": 12, "method": "no/such"},
        {"jsonrpc": "2.0", "id": 13, "method": "tools/call", "params": {}},
        {"jsonrpc": "2.0", "id": 14, "method": "initialize",
         "params": {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}},
        5,
        {"jsonrpc": "2.0", "id": "a", "method": "tools/list"},
    ]));
    let answers = by_id(&client.next());
    assert_eq!(answers.len(), 7, "{answers:?}");
    assert_eq!(answers["10"]["result"]["isError"], false, "{answers:?}");
    assert_eq!(answers["11"]["result"], json!({}));
    assert!(answers["\"a\""]["result"]["tools"].is_array());
    for (id, code) in [("12", -32601), ("13", -32602), ("14", -32600), ("null", -32600)] {
        assert_eq!(answers[id]["error"]["code"], code, "{answers:?}");
    }
    // Structured content is no placeholder.
    assert_eq!(answers["10"]["result"]["structuredContent"]["kind"], "directory");

    // Nothing to answer, and nothing at all.
    client.send(&json!([{"jsonrpc": "2.0", "method": "notifications/other"}]));
    client.send(&json!([]));
    is_error_without_id(&client.next(), -32600, "has to contain a message");
    client.send(&json!([[stat(20)]]));
    let nested = client.next();
    is_error_without_id(&nested[0], -32600, "cannot contain an array");
    client.still_answers();
    client.close();
}

#[test]
fn other_revisions_refuse_a_batch_with_the_reason() {
    for revision in REVISIONS.into_iter().filter(|revision| *revision != Some("2025-03-26")) {
        let mut client = client_of(revision);
        client.still_answers();
        client.send(&json!([stat(10), stat(11)]));
        is_error_without_id(&client.next(), -32600, "2025-03-26");
        client.still_answers();
        client.close();
    }
    // No revision has been agreed upon.
    let mut client = Client::start(false);
    client.send(&json!([stat(10)]));
    is_error_without_id(&client.next(), -32600, "after `initialize`");
    client.initialize("2025-03-26");
    client.close();
}

#[test]
fn a_cancelled_request_leaves_its_batch() {
    let mut client = Client::legacy("2025-03-26");
    let arguments = super::slow(&client);
    let slow = |id: u64| {
        let call = json!({"name": "grep", "arguments": arguments});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call})
    };
    // The second slow request waits for the first, because it has the same id.
    client.send(&json!([slow(10), stat(11), slow(10), stat(12)]));
    assert!(client.messages.recv_timeout(Duration::from_millis(700)).is_err());
    for _ in 0..2 {
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 10}}));
    }
    let answers = by_id(&client.next());
    assert_eq!(answers.keys().collect::<Vec<_>>(), ["11", "12"]);
    client.still_answers();
    client.close();
}

#[test]
fn a_batch_at_the_end_of_the_input_is_answered_as_a_whole() {
    let mut client = Client::legacy("2025-03-26");
    client.send(&Value::from((0..1_000).map(stat).collect::<Vec<_>>()));
    drop(client.stdin.take());
    assert_eq!(by_id(&client.next()).len(), 1_000);
    assert!(client.child.wait().unwrap().success());
}

#[test]
fn the_answers_of_a_batch_are_bounded() {
    let mut client = Client::legacy("2025-03-26");
    fs::write(client.workspace.path().join("a.txt"), "0123456789abcdef\n".repeat(2_000)).unwrap();
    let read = |id: u64| {
        let call = json!({"name": "read_file", "arguments": {"path": "a.txt"}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call})
    };
    client.send(&Value::from((0..500).map(read).collect::<Vec<_>>()));
    let line = client.next();
    let length = line.to_string().len();
    assert!((8 << 20..32 << 20).contains(&length), "{length}");
    let (done, refused): (Vec<_>, Vec<_>) =
        by_id(&line).into_values().partition(|answer| answer["result"]["isError"] == false);
    assert!(done.len() > 50 && refused.len() > 50, "{} and {}", done.len(), refused.len());
    for answer in refused {
        assert_eq!(answer["error"]["code"], -32603, "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("again alone"), "{answer}");
    }
    client.still_answers();
    client.close();
}

/// The answer to a question of the server, in a batch with a request.
#[test]
fn a_batch_can_contain_an_answer_of_the_client() {
    let options = ["--dialect", "mcp-filesystem"];
    let mut client = Client::start_with(false, json!({"roots": {"listChanged": true}}), &options);
    let about = json!({"name": "test", "version": "1"});
    let hello = json!({"protocolVersion": "2025-03-26", "capabilities": client.capabilities, "clientInfo": about});
    client.request(1, "initialize", hello);
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    client.send_request(2, "tools/call", json!({"name": "list_allowed_directories", "arguments": {}}));
    let question = client.next();
    assert_eq!(question["method"], "roots/list", "{question}");
    client.send(&json!([
        {"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}},
        {"jsonrpc": "2.0", "id": 3, "method": "ping"},
    ]));
    let answers = [client.next(), client.next()];
    let is_there = |id: u64| answers.iter().any(|answer| answer["id"] == id || answer[0]["id"] == id);
    assert!(is_there(2) && is_there(3), "{answers:?}");
    client.close();
}
