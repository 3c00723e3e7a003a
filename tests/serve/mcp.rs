//! MCP over HTTP: the same transcripts as over stdio have the same answers, and sessions belong to their callers.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use paddock::serve::hash;
use serde_json::{Value, json};

use super::client::{Reply, Running, TOKEN, request};

const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const STATELESS: &str = "2026-07-28";
const ACCEPT: &str = "application/json, text/event-stream";

/// Returns the messages of an answer: JSON, or events.
fn messages(reply: &Reply) -> Vec<Value> {
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
struct Http<'s> {
    server: &'s Running,
    session: Option<String>,
}

impl Http<'_> {
    fn send_text(&mut self, text: &str) -> Reply {
        let authorization = format!("Bearer {TOKEN}");
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

/// `paddock mcp` over the same directory.
struct OverStdio {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl OverStdio {
    fn start(server: &Running) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_paddock"));
        command.args(["mcp", "--root"]).arg(server.root()).env("PADDOCK_STATE_DIR", server.home.path().join("stdio"));
        command.env("XDG_CONFIG_HOME", server.home.path().join("none")).env_remove("PADDOCK_POLICY");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    /// Sends a line. Returns the messages up to the answer, if the line has one.
    fn send_text(&mut self, text: &str, is_answered: bool) -> Vec<Value> {
        writeln!(self.input, "{}", text.replace('\n', " ")).unwrap();
        let mut messages = Vec::new();
        while is_answered {
            let mut line = String::new();
            self.output.read_line(&mut line).unwrap();
            let message: Value = serde_json::from_str(&line).unwrap();
            let is_answer = message.is_array() || message.get("method").is_none();
            messages.push(message);
            if is_answer {
                break;
            }
        }
        messages
    }
}

impl Drop for OverStdio {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns requests that change nothing.
fn transcript() -> Vec<(&'static str, Value)> {
    let call = |tool: &str, arguments: Value| ("tools/call", json!({"name": tool, "arguments": arguments}));
    vec![
        ("tools/list", json!({})),
        ("tools/list", json!({"cursor": 5})),
        call("read_file", json!({"path": "a.txt"})),
        call("read_file", json!({"path": "none.txt"})),
        call("read_file", json!({"path": "../serve.yaml"})),
        call("read_file", json!({"fyle": "a.txt"})),
        call("read_fil", json!({})),
        call("grep", json!({"pattern": "t.o", "context": 1})),
        call("tree", json!({})),
        call("write_file", json!({"path": "../x", "content": "x"})),
        ("tools/call", json!({"name": 5})),
        ("tools/call", json!({"name": "stat", "arguments": [1]})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("no/such", json!({})),
    ]
}

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    })
}

#[test]
fn a_session_of_each_revision_has_the_answers_of_stdio() {
    let server = Running::notes("");
    for version in LEGACY {
        let (mut http, mut stdio) = (Http { server: &server, session: None }, OverStdio::start(&server));
        let about =
            json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
        let start = [("initialize", about), ("logging/setLevel", json!({"level": "warning"}))];
        for (id, (method, params)) in start.into_iter().chain(transcript()).enumerate() {
            let text = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
            let reply = http.send_text(&text);
            let expected = stdio.send_text(&text, true);
            // Log messages are on the stream of the session.
            assert_eq!(
                messages(&reply),
                expected.into_iter().filter(is_answer).collect::<Vec<_>>(),
                "{version}: {text}"
            );
            if method == "initialize" {
                let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
                let reply = http.send_text(&initialized);
                assert_eq!((reply.status, reply.body.len()), (202, 0));
                stdio.send_text(&initialized, false);
            }
        }
        let id = http.session.clone().unwrap();
        assert!(id.len() == 36 && id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-'), "{id}");
    }
}

#[test]
fn the_stateless_revision_has_the_answers_of_stdio() {
    let server = Running::notes("");
    let (mut http, mut stdio) = (Http { server: &server, session: None }, OverStdio::start(&server));
    for (id, (method, mut params)) in [("server/discover", json!({}))].into_iter().chain(transcript()).enumerate() {
        params["_meta"] = meta();
        // The header repeats a name that is a string.
        if params["name"].is_number() {
            continue;
        }
        let text = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
        let reply = http.send_text(&text);
        assert_eq!(messages(&reply), stdio.send_text(&text, true), "{text}");
        assert!(reply.header("mcp-session-id").is_none());
    }
}

fn is_answer(message: &Value) -> bool {
    message.get("method").is_none()
}

#[test]
fn a_body_that_is_no_message_has_the_answer_of_stdio() {
    let server = Running::notes("");
    let (mut http, mut stdio) = (Http { server: &server, session: None }, OverStdio::start(&server));
    for text in [
        "{",
        "[1",
        "1",
        "{}",
        r#"{"jsonrpc": "1.0", "id": 7, "method": "ping"}"#,
        r#"{"jsonrpc": "2.0", "id": null, "method": "ping"}"#,
        r#"{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "stat", "arguments": {"a": 1, "a": 2}}}"#,
        r#"{"jsonrpc": "2.0", "id": 7, "method": "x", "params": [5]}"#,
    ] {
        let reply = http.send_text(text);
        assert_eq!(reply.status, 400, "{text}");
        assert_eq!(messages(&reply), stdio.send_text(text, true), "{text}");
    }
}

#[test]
fn a_message_of_several_lines_is_answered_and_a_batch_is_refused() {
    let server = Running::notes("");
    let mut http = Http { server: &server, session: None };
    let about =
        json!({"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about});
    assert_eq!(http.send_text(&serde_json::to_string_pretty(&hello).unwrap()).status, 200);
    assert_eq!(http.send_text(r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#).status, 202);
    let refused = http.send_text(r#"[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]"#);
    let answer = refused.json();
    assert_eq!((refused.status, &answer["error"]["code"], &answer["id"]), (400, &json!(-32600), &json!(null)));
    assert_eq!(http.send_text(r#"{"jsonrpc": "2.0", "id": 1, "method": "ping"}"#).status, 200);
}

/// Reads events until one is a message for which `is_wanted` returns true. Appends what it has read to `seen`.
fn next_message(stream: &mut TcpStream, seen: &mut String, is_wanted: impl Fn(&Value) -> bool) -> Value {
    loop {
        let mut bytes = [0; 4096];
        let length = stream.read(&mut bytes).unwrap();
        assert!(length > 0, "{seen}");
        seen.push_str(&String::from_utf8_lossy(&bytes[..length]));
        let events = seen.lines().filter_map(|line| line.strip_prefix("data: "));
        if let Some(message) = events.filter_map(|data| serde_json::from_str(data).ok()).find(&is_wanted) {
            return message;
        }
    }
}

#[test]
fn log_messages_are_on_the_stream_of_the_session() {
    let server = Running::notes("");
    let session = start_session(&server, &json!({}));
    let authorization = format!("Bearer {TOKEN}");
    let headers = [("authorization", &*authorization), ("accept", ACCEPT), ("mcp-session-id", &*session)];
    let post = |body: &Value| server.request("POST", "/w/notes/mcp", &headers, &body.to_string());
    let level = json!({"jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": {"level": "warning"}});
    assert_eq!(post(&level).status, 200);
    let mut stream = server.connect();
    stream.write_all(request("GET", "/w/notes/mcp", &headers, "").as_bytes()).unwrap();
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "read_file", "arguments": {"path": "../x"}}});
    assert_eq!(post(&call).status, 200);
    let message = next_message(&mut stream, &mut String::new(), |_| true);
    assert_eq!((&message["method"], &message["params"]["level"]), (&json!("notifications/message"), &json!("warning")));
}

#[test]
fn the_number_of_sessions_is_bounded_and_a_call_holds_no_capacity_afterwards() {
    let token = format!("tokens:\n- {{name: alice, sha256: {}, grant: {{workspaces: [notes]}}}}\n", hash(TOKEN));
    let workspace = "workspaces:\n  notes:\n    root: '{home}/notes'\n    limits: {concurrent_calls: 1}\n";
    let server = Running::start(&format!("{workspace}{token}limits: {{max_sessions: 2}}\n"));
    let sessions = [start_session(&server, &json!({})), start_session(&server, &json!({}))];
    let about =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about}).to_string();
    let refused = Http { server: &server, session: None }.send_text(&hello);
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("5")), "{refused:?}");
    let authorization = format!("Bearer {TOKEN}");
    let headers = [("authorization", &*authorization), ("accept", ACCEPT), ("mcp-session-id", &*sessions[0])];
    assert_eq!(server.request("DELETE", "/w/notes/mcp", &headers, "").status, 202);
    assert_eq!(Http { server: &server, session: None }.send_text(&hello).status, 200);
}

fn start_session(server: &Running, capabilities: &Value) -> String {
    let mut http = Http { server, session: None };
    let about = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "t", "version": "1"}});
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about}).to_string();
    assert_eq!(http.send_text(&hello).status, 200);
    http.send_text(r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#);
    http.session.unwrap()
}

#[test]
fn a_person_is_asked_on_the_stream_of_the_call() {
    let token = format!("tokens:\n- {{name: alice, sha256: {}, grant: {{workspaces: [notes]}}}}\n", hash(TOKEN));
    let workspace = "workspaces:\n  notes:\n    root: '{home}/notes'\n    policy: {approval: on-change}\n";
    let server = Running::start(&format!("{workspace}{token}"));
    let session = start_session(&server, &json!({"elicitation": {}}));
    let authorization = format!("Bearer {TOKEN}");
    let headers = [("authorization", &*authorization), ("accept", ACCEPT), ("mcp-session-id", &*session)];
    let call = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call",
        "params": {"name": "write_file", "arguments": {"path": "x.txt", "content": "x"}}});
    let mut stream = server.connect();
    stream.write_all(request("POST", "/w/notes/mcp", &headers, &call.to_string()).as_bytes()).unwrap();
    let mut seen = String::new();
    let question = next_message(&mut stream, &mut seen, |_| true);
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let answer = json!({"jsonrpc": "2.0", "id": question["id"],
        "result": {"action": "accept", "content": {"approve": true}}});
    assert_eq!(server.request("POST", "/w/notes/mcp", &headers, &answer.to_string()).status, 202);
    stream.read_to_string(&mut seen).unwrap();
    assert!(seen.contains(r#""id":5"#), "{seen}");
    assert_eq!(fs::read_to_string(server.root().join("x.txt")).unwrap(), "x");
}

#[test]
fn a_stateless_client_repeats_the_call_with_the_answer_of_a_person() {
    let token = format!("tokens:\n- {{name: alice, sha256: {}, grant: {{workspaces: [notes]}}}}\n", hash(TOKEN));
    let workspace = "workspaces:\n  notes:\n    root: '{home}/notes'\n    policy: {approval: on-change}\n";
    let server = Running::start(&format!("{workspace}{token}"));
    let mut http = Http { server: &server, session: None };
    let mut params = json!({"name": "write_file", "arguments": {"path": "x.txt", "content": "x"}, "_meta": meta()});
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {"form": {}}});
    let mut call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let asked = http.send_text(&call.to_string()).json();
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    call["params"]["requestState"] = asked["result"]["requestState"].clone();
    call["params"]["inputResponses"] = json!({"approval": {"action": "accept", "content": {"approve": true}}});
    let done = http.send_text(&call.to_string()).json();
    assert_eq!(done["result"]["isError"], false, "{done}");
    assert_eq!(fs::read_to_string(server.root().join("x.txt")).unwrap(), "x");
}

#[test]
fn a_token_for_some_tools_has_no_resources() {
    let server = Running::with_token(&json!({"workspaces": ["notes"], "tools": ["stat"]}), "");
    let mut http = Http { server: &server, session: None };
    let about =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about}).to_string();
    let initialized = messages(&http.send_text(&hello));
    assert!(initialized[0]["result"]["capabilities"]["resources"].is_null(), "{initialized:?}");
    for (method, params) in [
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "file:///a.txt"})),
        ("resources/subscribe", json!({"uri": "file:///a.txt"})),
    ] {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let answer = messages(&http.send_text(&request.to_string()));
        assert_eq!(answer[0]["error"]["code"], -32601, "{method}: {answer:?}");
        let mut stateless = request;
        stateless["params"]["_meta"] = meta();
        if method != "resources/subscribe" {
            let answer = messages(&Http { server: &server, session: None }.send_text(&stateless.to_string()));
            assert_eq!(answer[0]["error"]["code"], -32601, "{method}: {answer:?}");
        }
    }
    let params = json!({"notifications": {"resourceSubscriptions": ["file:///a.txt"]}, "_meta": meta()});
    let listen = json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params});
    let answer = messages(&Http { server: &server, session: None }.send_text(&listen.to_string()));
    assert_eq!(answer[0]["error"]["code"], -32601, "{answer:?}");
}

#[test]
fn a_subscription_of_a_session_takes_no_capacity_of_calls() {
    let token = format!("tokens:\n- {{name: alice, sha256: {}, grant: {{workspaces: [notes]}}}}\n", hash(TOKEN));
    let workspace = "workspaces:\n  notes:\n    root: '{home}/notes'\n    limits: {concurrent_calls: 1}\n";
    let server = Running::start(&format!("{workspace}{token}"));
    let session = start_session(&server, &json!({}));
    let mut http = Http { server: &server, session: Some(session.clone()) };
    let subscribe =
        json!({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": "file:///a.txt"}});
    assert!(messages(&http.send_text(&subscribe.to_string()))[0]["result"].is_object());
    let authorization = format!("Bearer {TOKEN}");
    let headers = [("authorization", &*authorization), ("accept", ACCEPT), ("mcp-session-id", &*session)];
    let mut stream = server.connect();
    stream.write_all(request("GET", "/w/notes/mcp", &headers, "").as_bytes()).unwrap();
    let changed = server.call("write_file", json!({"path": "a.txt", "content": "changed"}));
    assert_eq!((changed.status, &changed.json()["ok"]), (200, &json!(true)));
    let message = next_message(&mut stream, &mut String::new(), |_| true);
    assert_eq!(message["method"], "notifications/resources/updated", "{message}");
}

#[test]
fn a_session_belongs_to_its_caller_and_ends() {
    let other = "pdk_other";
    let token = |name: &str, token: &str| {
        format!("- {{name: {name}, sha256: {}, grant: {{workspaces: [notes]}}}}\n", hash(token))
    };
    let server = Running::start(&format!(
        "workspaces:\n  notes:\n    root: '{{home}}/notes'\ntokens:\n{}{}",
        token("alice", TOKEN),
        token("bob", other)
    ));
    let session = start_session(&server, &json!({}));
    let ping = r#"{"jsonrpc": "2.0", "id": 1, "method": "ping"}"#;
    let status = |method: &str, token: &str, session: &str, body: &str| {
        let authorization = format!("Bearer {token}");
        let headers = [("authorization", &*authorization), ("accept", ACCEPT), ("mcp-session-id", session)];
        server.request(method, "/w/notes/mcp", &headers, body).status
    };
    assert_eq!(status("POST", TOKEN, &session, ping), 200);
    assert_eq!(status("POST", other, &session, ping), 404);
    assert_eq!(status("POST", TOKEN, &"0".repeat(32), ping), 404);
    assert_eq!(status("DELETE", other, &session, ""), 404);
    assert_eq!(status("DELETE", TOKEN, &session, ""), 202);
    assert_eq!(status("POST", TOKEN, &session, ping), 404);
}

#[test]
fn requests_that_fit_no_revision_are_refused() {
    let server = Running::notes("");
    let mut http = Http { server: &server, session: None };
    assert_eq!(http.send_text(r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}"#).status, 400);
    let authorization = format!("Bearer {TOKEN}");
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta()}}).to_string();
    let post = |more: &[(&str, &str)]| {
        let headers: Vec<_> =
            [("authorization", &*authorization), ("accept", ACCEPT)].into_iter().chain(more.iter().copied()).collect();
        server.request("POST", "/w/notes/mcp", &headers, &list)
    };
    let right = [("mcp-protocol-version", STATELESS), ("mcp-method", "tools/list")];
    assert_eq!(post(&right).status, 200);
    for wrong in [
        &right[..1],
        &right[1..],
        &[right[0], ("mcp-method", "tools/call")],
        &[right[1], ("mcp-protocol-version", "2025-11-25")],
    ] {
        let reply = post(wrong);
        assert_eq!((reply.status, &reply.json()["error"]["code"]), (400, &json!(-32020)), "{wrong:?}");
    }
    let plain = [("authorization", &*authorization), ("accept", ACCEPT)];
    assert_eq!(server.request("GET", "/w/notes/mcp", &plain, "").status, 400);
    assert_eq!(server.request("POST", "/w/notes/mcp", &[], &list).status, 401);
    let as_text: Vec<_> = [right[0], right[1], ("content-type", "text/plain")].into_iter().chain(plain).collect();
    let text = request("POST", "/w/notes/mcp", &as_text, &list).replace("content-type: application/json\r\n", "");
    assert_eq!(server.raw(text.as_bytes()).map(|reply| reply.status), Some(415));
}

#[test]
fn a_client_that_disconnects_cancels_its_stateless_call() {
    let token = format!("tokens:\n- {{name: alice, sha256: {}, grant: {{workspaces: [notes]}}}}\n", hash(TOKEN));
    let workspace = "workspaces:\n  notes:\n    root: '{home}/notes'\n    limits: {concurrent_calls: 1}\n";
    let server = Running::start(&format!("{workspace}{token}"));
    let mut seed = 1u64;
    for name in 0..64 {
        let mut letter = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if seed >> 63 == 0 { b'a' } else { b'b' }
        };
        let text: Vec<u8> = (0..256 << 10).map(|at| if at % 4096 == 4095 { b'\n' } else { letter() }).collect();
        fs::write(server.root().join(format!("{name}.txt")), text).unwrap();
    }
    let params = json!({"name": "grep", "_meta": meta(),
        "arguments": {"pattern": "(?:a[ab]{90}|b[ab]{120}|[ab]a[ab]{150})[c-zC-Z]"}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let authorization = format!("Bearer {TOKEN}");
    let headers = [
        ("authorization", &*authorization),
        ("accept", ACCEPT),
        ("mcp-protocol-version", STATELESS),
        ("mcp-method", "tools/call"),
        ("mcp-name", "grep"),
    ];
    let mut stream = server.connect();
    stream.write_all(request("POST", "/w/notes/mcp", &headers, &call).as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(server.call("stat", json!({"path": "."})).status, 429);
    drop(stream);
    let started = Instant::now();
    while server.call("stat", json!({"path": "."})).status != 200 {
        assert!(started.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(100));
    }
}
