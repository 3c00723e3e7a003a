use serde_json::{Value, json};

use super::*;
use crate::test_tools::TestTools;

/// A request, with the headers of a client on the same machine.
struct Sent {
    method: &'static str,
    target: &'static str,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
}

impl Sent {
    fn get(target: &'static str) -> Self {
        Self { method: "GET", target, headers: Vec::new(), body: Vec::new() }
    }

    fn post(target: &'static str, body: &Value) -> Self {
        let sent = Self { method: "POST", target, headers: Vec::new(), body: body.to_string().into_bytes() };
        sent.with("Content-Type", "application/json; charset=utf-8")
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.as_bytes().to_vec()));
        self
    }

    fn answer(&self) -> Response {
        self.answer_with(&Config { dialect: "paddock".to_owned(), is_anonymous: true, ..Config::default() })
    }

    fn answer_with(&self, config: &Config) -> Response {
        let tools = TestTools::default();
        let head =
            Head { method: self.method, target: self.target, authority: Some("localhost:80"), headers: &self.headers };
        let mut read =
            |max: usize| if self.body.len() > max { Err(BodyError::TooLarge) } else { Ok(self.body.clone()) };
        HttpServer::new(config, &tools).answer(&head, &mut read)
    }
}

fn body(response: &Response) -> Value {
    serde_json::from_slice(&response.body).unwrap()
}

fn rpc(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// A request of the stateless revision with the headers that it requires.
fn stateless(method: &'static str, mut params: Value) -> Sent {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS_REVISION,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let name = params["name"].as_str().map(str::to_owned);
    let sent = Sent::post("/mcp", &rpc(method, params));
    let sent = sent.with("MCP-Protocol-Version", STATELESS_REVISION).with("Mcp-Method", method);
    match name {
        Some(name) => sent.with("Mcp-Name", &name),
        None => sent,
    }
}

const STATELESS_REVISION: &str = "2026-07-28";

#[test]
fn resources_methods_and_types_are_checked() {
    for (sent, status) in [
        (Sent::get("/healthz"), 200),
        (Sent::get("/tools"), 200),
        (Sent::get("/"), 404),
        (Sent::get("/mcp"), 405),
        (Sent::get("/call"), 405),
        (Sent::post("/tools", &json!({})), 405),
        (Sent::post("/mcp", &rpc("ping", json!({}))), 200),
        (Sent::post("/mcp", &rpc("ping", json!({}))).with("content-type", "text/plain"), 415),
        (Sent::post("/mcp", &rpc("ping", json!({}))).with("accept", "text/html"), 406),
        (Sent::post("/mcp", &rpc("ping", json!({}))).with("accept", "text/event-stream, application/json;q=1"), 200),
        (Sent::post("/mcp", &rpc("ping", json!({}))).with("content-length", "16777217"), 413),
        (Sent::post("/mcp", &rpc("ping", json!({}))).with("content-length", "x"), 400),
        (Sent::post("/mcp", &json!("x".repeat(MAX_BODY_BYTES))), 413),
        (Sent::post("/call?x=1", &json!({})), 400),
        (Sent::get("/tools").with("origin", "https://evil.example"), 403),
    ] {
        let response = sent.answer();
        assert_eq!(response.status, status, "{} {}", sent.method, sent.target);
        assert_eq!(response.headers.iter().any(|(name, _)| *name == "allow"), status == 405);
    }
    let many = Sent { headers: vec![("a".to_owned(), Vec::new()); 129], ..Sent::get("/tools") };
    assert_eq!(many.answer().status, 431);
    let config = Config { token: Some("0123456789abcdef".to_owned()), ..Config::default() };
    assert_eq!(Sent::get("/none").answer_with(&config).status, 401);
    assert_eq!(Sent::get("/none").with("authorization", "Bearer 0123456789abcdef").answer_with(&config).status, 404);
    assert_eq!(Sent::get("/healthz").with("host", "10.0.0.1:80").answer_with(&config).status, 200);
    assert_eq!(Sent::get("/tools").answer_with(&Config::default()).status, 403);
}

#[test]
fn tools_are_listed_in_a_dialect_and_a_format() {
    let listed = body(&Sent::get("/tools").answer());
    assert_eq!((&listed[0]["name"], &listed[0]["annotations"]["openWorldHint"]), (&json!("echo"), &json!(false)));
    let listed = body(&Sent::get("/tools?dialect=o%74her&format=openai").answer());
    assert_eq!(listed[0]["function"]["name"], "echo");
    for (target, status) in [
        ("/tools?dialect=none", 404),
        ("/tools?format=xml", 400),
        ("/tools?a=1", 400),
        ("/tools?format=mcp&format=mcp", 400),
        ("/tools?dialect=%ff", 400),
    ] {
        let response = Sent::get(target).answer();
        assert_eq!(response.status, status, "{target}");
        assert!(body(&response)["error"]["message"].is_string());
    }
}

#[test]
fn a_call_is_answered_by_its_outcome() {
    let response = Sent::post("/call", &json!({"tool": "echo", "arguments": {"a": 1}})).answer();
    assert_eq!(response.status, 200);
    assert_eq!(body(&response), json!({"ok": true, "result": {"a": 1}, "text": "echo {\"a\":1}", "changes": []}));
    let response = Sent::post("/call", &json!({"tool": "fail"})).answer();
    assert_eq!((response.status, &body(&response)["error"]["code"]), (200, &json!("not-found")));
    for wrong in [json!({}), json!([]), json!({"tool": "echo", "arg": {}}), json!({"tool": 5})] {
        assert_eq!(Sent::post("/call", &wrong).answer().status, 400, "{wrong}");
    }
    let tools = TestTools::default();
    plain::call_line(&tools, "paddock", br#"{"tool": "echo", "dialect": "other"}"#);
    assert_eq!(tools.calls.borrow().as_slice(), [("other".to_owned(), "echo".to_owned(), "{}".to_owned())]);
    let outcome = plain::call_line(&tools, "paddock", b"{");
    assert_eq!(outcome.error.unwrap().code, "invalid-argument");
}

#[test]
fn a_client_with_initialize_needs_no_session() {
    let about = json!({"name": "a", "version": "1"});
    let hello = rpc("initialize", json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about}));
    let response = Sent::post("/mcp", &hello).answer();
    assert_eq!(body(&response)["result"]["protocolVersion"], "2025-06-18");
    assert!(!response.headers.iter().any(|(name, _)| *name == "mcp-session-id"));
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let response = Sent::post("/mcp", &initialized).with("mcp-protocol-version", "2025-06-18").answer();
    assert_eq!((response.status, response.body.len()), (202, 0));
    for revision in ["2025-06-18", "2025-11-25", "2024-11-05"] {
        let call = rpc("tools/call", json!({"name": "echo", "arguments": {"a": 1}}));
        let response = Sent::post("/mcp", &call).with("mcp-protocol-version", revision).answer();
        assert_eq!(body(&response)["result"]["structuredContent"], json!({"a": 1}));
    }
    let response = Sent::post("/mcp", &rpc("no/such", json!({}))).answer();
    assert_eq!((response.status, &body(&response)["error"]["code"]), (200, &json!(-32601)));
    let response = Sent::post("/mcp", &rpc("ping", json!({}))).with("mcp-protocol-version", "1999-01-01").answer();
    assert_eq!(response.status, 400);
    let response = Sent::post("/mcp", &hello).with("mcp-protocol-version", "2025-03-26").answer();
    assert_eq!((response.status, &body(&response)["error"]["code"]), (400, &json!(-32600)));
}

#[test]
fn a_stateless_request_repeats_itself_in_headers() {
    let listed = stateless("tools/list", json!({})).answer();
    assert_eq!((listed.status, &body(&listed)["result"]["resultType"]), (200, &json!("complete")));
    let call = || stateless("tools/call", json!({"name": "echo", "arguments": {}}));
    assert_eq!(call().answer().status, 200);
    assert_eq!(call().with("mcp-name", "=?base64?ZWNobw==?=").answer().status, 200);
    for (sent, status, code) in [
        (call().with("mcp-name", "other"), 400, -32020),
        (call().with("mcp-name", "=?base64?!?="), 400, -32020),
        (call().with("mcp-method", "tools/list"), 400, -32020),
        (call().with("mcp-protocol-version", "2025-06-18"), 400, -32020),
        (stateless("no/such", json!({})), 404, -32601),
        (stateless("ping", json!({})), 404, -32601),
        (stateless("tools/call", json!({"name": "none"})), 200, -32602),
    ] {
        let response = sent.answer();
        assert_eq!((response.status, &body(&response)["error"]["code"]), (status, &json!(code)), "{:?}", sent.headers);
    }
    for name in ["mcp-name", "mcp-method", "mcp-protocol-version"] {
        let mut sent = call();
        sent.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        assert_eq!(sent.answer().status, 400, "{name}");
        let mut sent = call();
        sent.headers.extend(sent.headers.clone());
        assert_eq!(sent.answer().status, 400, "all twice");
    }
    let without = Sent::post("/mcp", &rpc("tools/list", json!({})));
    let without = without.with("mcp-protocol-version", STATELESS_REVISION).with("mcp-method", "tools/list");
    assert_eq!((without.answer().status, &body(&without.answer())["error"]["code"]), (400, &json!(-32602)));
}

#[test]
fn messages_that_are_no_request_are_refused() {
    for (text, code, id) in [
        ("{", -32700, Value::Null),
        ("[]", -32600, Value::Null),
        (r#"{"jsonrpc": "2.0", "id": 7, "result": {}}"#, -32600, Value::Null),
        (r#"{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {}}"#, -32602, json!(7)),
    ] {
        let sent = Sent { body: text.into(), ..Sent::post("/mcp", &Value::Null) };
        let response = sent.answer();
        let answer = body(&response);
        assert_eq!((response.status, &answer["error"]["code"], &answer["id"]), (400, &json!(code), &id), "{text}");
    }
}
