//! A client of MCP over HTTP.

use std::io::Read;
use std::net::TcpStream;

use serde_json::{Value, json};

use super::client::{Reply, Running, TOKEN, request};

pub const STATELESS: &str = "2026-07-28";
pub const ACCEPT: &str = "application/json, text/event-stream";

/// Returns the messages of an answer: JSON, or events.
pub fn messages(reply: &Reply) -> Vec<Value> {
    match reply.header("content-type") {
        Some("text/event-stream") => {
            let text = reply.text();
            let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
            data.map(|data| serde_json::from_str(data).unwrap()).collect()
        }
        _ if reply.body.is_empty() => Vec::new(),
        _ => vec![reply.json()],
    }
}

/// A client of MCP over HTTP.
pub struct Http<'s> {
    pub server: &'s Running,
    pub token: &'s str,
    pub session: Option<String>,
}

impl<'s> Http<'s> {
    pub fn new(server: &'s Running, token: &'s str) -> Self {
        Self { server, token, session: None }
    }

    pub fn send_text(&mut self, text: &str) -> Reply {
        let authorization = format!("Bearer {}", self.token);
        let message: Value = serde_json::from_str(text).unwrap_or_default();
        let mut headers = vec![("authorization", authorization), ("accept", ACCEPT.to_owned())];
        if let Some(session) = &self.session {
            headers.push(("mcp-session-id", session.clone()));
        }
        if let Some(version) = message.pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion") {
            headers.push(("mcp-protocol-version", version.as_str().unwrap().to_owned()));
            headers.push(("mcp-method", message["method"].as_str().unwrap().to_owned()));
            let name = message.pointer("/params/name").or(message.pointer("/params/uri")).and_then(Value::as_str);
            headers.extend(name.map(|name| ("mcp-name", name.to_owned())));
        }
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let reply = self.server.request("POST", "/w/notes/mcp", &headers, text);
        if let Some(id) = reply.header("mcp-session-id") {
            self.session = Some(id.to_owned());
        }
        reply
    }
}

pub fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    })
}

/// Returns the text of a request of the stateless revision, with the headers that repeat its method and its tool.
pub fn stateless_request(token: &str, method: &str, tool: Option<&str>, mut params: Value) -> String {
    params["_meta"] = meta();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let authorization = format!("Bearer {token}");
    let headers = [
        ("authorization", &*authorization),
        ("accept", ACCEPT),
        ("mcp-protocol-version", STATELESS),
        ("mcp-method", method),
    ];
    let headers: Vec<_> = headers.into_iter().chain(tool.map(|tool| ("mcp-name", tool))).collect();
    request("POST", "/w/notes/mcp", &headers, &body)
}

/// Returns the text of a request for a stream of the changes of `a.txt`.
pub fn listen_request(token: &str) -> String {
    let params = json!({"notifications": {"resourceSubscriptions": ["file:///a.txt"]}});
    stateless_request(token, "subscriptions/listen", None, params)
}

/// Reads events until the first message. Appends what it has read to `seen`.
pub fn next_message(stream: &mut TcpStream, seen: &mut String) -> Value {
    loop {
        let mut bytes = [0; 4096];
        let length = stream.read(&mut bytes).unwrap();
        assert!(length > 0, "{seen}");
        seen.push_str(&String::from_utf8_lossy(&bytes[..length]));
        let events = seen.lines().filter_map(|line| line.strip_prefix("data: "));
        if let Some(message) = events.filter_map(|data| serde_json::from_str(data).ok()).next() {
            return message;
        }
    }
}

/// Returns the message that begins a session.
pub fn hello(capabilities: &Value) -> String {
    let about = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "t", "version": "1"}});
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about}).to_string()
}

pub fn start_session(server: &Running, capabilities: &Value) -> String {
    start_session_as(server, TOKEN, capabilities)
}

pub fn start_session_as(server: &Running, token: &str, capabilities: &Value) -> String {
    let mut http = Http::new(server, token);
    assert_eq!(http.send_text(&hello(capabilities)).status, 200);
    http.send_text(r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#);
    http.session.unwrap()
}
