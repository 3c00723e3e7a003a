use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::test_tools::TestTools;

struct Client<'t>(Session<'t, TestTools>);

impl<'t> Client<'t> {
    fn new(tools: &'t TestTools) -> Self {
        Self(Session::new(Server::new(tools, "paddock")))
    }

    fn line(&mut self, line: &str) -> Option<Value> {
        let answer = self.0.answer(&Line::Text(line.as_bytes().to_vec()))?;
        assert!(!answer.contains('\n'));
        Some(serde_json::from_str(&answer).unwrap())
    }

    fn ask(&mut self, message: Value) -> Value {
        self.line(&message.to_string()).unwrap()
    }

    fn initialize(&mut self, revision: &str) {
        let params =
            json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}});
        let answer = self.ask(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
        assert_eq!(answer["result"]["protocolVersion"], revision, "{answer}");
        assert_eq!(self.line(r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#), None);
    }
}

fn echo(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "echo", "arguments": {"n": id}}})
}

#[test]
fn a_session_starts_with_initialize_or_with_a_request_that_describes_its_client() {
    let tools = TestTools::default();
    let mut client = Client::new(&tools);
    assert_eq!(client.ask(echo(1))["error"]["code"], -32602);
    assert_eq!(client.ask(json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}))["result"], json!({}));
    client.initialize("2025-06-18");
    assert_eq!(client.ask(echo(3))["result"]["structuredContent"], json!({"n": 3}));

    let mut client = Client::new(&tools);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}
    });
    let discover = json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta}});
    assert!(client.ask(discover.clone())["result"]["supportedVersions"].is_array());
    let mut call = echo(2);
    call["params"]["_meta"] = meta;
    assert_eq!(client.ask(call)["result"]["resultType"], "complete");
    assert_eq!(client.ask(echo(3))["error"]["code"], -32602);
}

#[test]
fn a_batch_is_answered_by_an_array() {
    let tools = TestTools::default();
    let mut client = Client::new(&tools);
    assert!(client.line("[]").unwrap()["error"]["message"].as_str().unwrap().contains("after `initialize`"));
    client.initialize("2025-03-26");
    let answers = client.ask(json!([
        echo(10),
        {"jsonrpc": "2.0", "id": 11, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/other"},
        {"jsonrpc": "2.0", "id": 12, "method": "no/such"},
        {"jsonrpc": "2.0", "id": 13, "method": "tools/call", "params": {}},
        {"jsonrpc": "2.0", "id": 14, "method": "initialize", "params":
            {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}},
        5,
        [],
    ]));
    let codes: Vec<_> = answers.as_array().unwrap().iter().map(|answer| answer["error"]["code"].as_i64()).collect();
    assert_eq!(codes, [None, None, Some(-32601), Some(-32602), Some(-32600), Some(-32600), Some(-32600)]);
    assert_eq!(client.line(r#"[{"jsonrpc": "2.0", "method": "notifications/other"}]"#), None);
    assert!(client.line("[]").unwrap()["error"]["message"].as_str().unwrap().contains("has to contain a message"));
    client.initialize("2025-06-18");
    assert!(client.line("[1]").unwrap()["error"]["message"].as_str().unwrap().contains("2025-03-26"));
}

#[test]
fn the_answers_of_a_batch_are_bounded() {
    let tools = TestTools::default();
    let mut client = Client::new(&tools);
    client.initialize("2025-03-26");
    let mut large = echo(1);
    large["params"]["arguments"] = json!({"a": "x".repeat(100_000)});
    let answers = client.ask(Value::from(vec![large; 100]));
    let refused = answers.as_array().unwrap().iter().filter(|answer| answer["error"]["code"] == -32603).count();
    assert!(refused > 50, "{refused}");
    assert!(tools.calls.borrow().len() < 50 && answers.to_string().len() < 2 * MAX_COLLECTED_BYTES);
}

#[test]
fn a_line_that_is_too_long_is_answered_by_its_id() {
    let tools = TestTools::default();
    let mut session = Session::new(Server::new(&tools, "other"));
    for (id, expected) in [(Some(Id::Number(3)), json!(3)), (None, Value::Null)] {
        let answer: Value = serde_json::from_str(&session.answer(&Line::TooLong(id)).unwrap()).unwrap();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&expected, &json!(-32600)));
        assert!(answer["error"]["message"].as_str().unwrap().contains("at most 16777216 bytes"));
    }
}

/// Texts that resemble messages: JSON with the names of messages, cut off or with a byte changed.
fn texts() -> impl Strategy<Value = Vec<u8>> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        prop::sample::select(vec![
            "2.0",
            "ping",
            "initialize",
            "tools/call",
            "tools/list",
            "server/discover",
            "echo",
            ""
        ])
        .prop_map(Value::from),
    ];
    let names =
        vec!["jsonrpc", "id", "method", "params", "result", "error", "name", "arguments", "_meta", "protocolVersion"];
    let value = leaf.prop_recursive(4, 24, 6, move |inner| {
        let members = prop::collection::vec((prop::sample::select(names.clone()), inner.clone()), 0..6);
        let object =
            members.prop_map(|members| members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
        prop_oneof![object.prop_map(Value::Object), prop::collection::vec(inner, 0..4).prop_map(Value::from)]
    });
    let value = value.prop_map(|mut value| {
        if let Some(object) = value.as_object_mut() {
            object.insert("jsonrpc".to_owned(), "2.0".into());
        }
        value.to_string().into_bytes()
    });
    (value, any::<prop::sample::Index>(), any::<u8>(), 0..4_u8).prop_map(|(mut text, at, byte, damage)| {
        let at = at.index(text.len());
        match damage {
            0 => text.truncate(at),
            1 => text[at] = byte,
            _ => {}
        }
        text
    })
}

proptest! {
    /// Every text is answered at most once, by one object of JSON-RPC, or an array of them.
    #[test]
    fn every_text_is_answered_by_json_rpc(texts in prop::collection::vec(texts(), 1..8), batches in any::<bool>()) {
        let tools = TestTools::default();
        let mut client = Client::new(&tools);
        if batches {
            client.initialize("2025-03-26");
        }
        for text in texts {
            let Some(answer) = client.0.answer(&Line::Text(text)) else { continue };
            let answer: Value = serde_json::from_str(&answer).unwrap();
            let answers = answer.as_array().cloned().unwrap_or_else(|| vec![answer.clone()]);
            for answer in answers {
                prop_assert_eq!(&answer["jsonrpc"], "2.0");
                prop_assert!(answer.get("id").is_some());
                prop_assert!(answer.get("result").is_some() != answer.get("error").is_some());
                // An answer that comes back is not answered.
                prop_assert_eq!(client.line(&answer.to_string()), None);
            }
        }
    }
}
