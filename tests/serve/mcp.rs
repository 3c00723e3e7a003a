//! MCP over HTTP: the same transcripts as over stdio have the same answers.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use paddock::serve::hash;
use serde_json::{Value, json};

use super::client::{Running, TOKEN, request};
use super::mcp_client::{ACCEPT, Http, STATELESS, messages, meta, stateless_request};

const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

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
        if !is_answered {
            return messages;
        }
        loop {
            let mut line = String::new();
            self.output.read_line(&mut line).unwrap();
            let message: Value = serde_json::from_str(&line).unwrap();
            let is_answer = message.is_array() || message.get("method").is_none();
            messages.push(message);
            if is_answer {
                return messages;
            }
        }
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

#[test]
fn a_session_of_each_revision_has_the_answers_of_stdio() {
    let server = Running::notes("");
    for version in LEGACY {
        let (mut http, mut stdio) = (Http::new(&server, TOKEN), OverStdio::start(&server));
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
    let (mut http, mut stdio) = (Http::new(&server, TOKEN), OverStdio::start(&server));
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
    let (mut http, mut stdio) = (Http::new(&server, TOKEN), OverStdio::start(&server));
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
    let mut http = Http::new(&server, TOKEN);
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

#[test]
fn a_stateless_client_repeats_the_call_with_the_answer_of_a_person() {
    let token = format!("tokens:\n- {{name: alice, sha256: {}, grant: {{workspaces: [notes]}}}}\n", hash(TOKEN));
    let workspace = "workspaces:\n  notes:\n    root: '{home}/notes'\n    policy: {approval: on-change}\n";
    let server = Running::start(&format!("{workspace}{token}"));
    let mut http = Http::new(&server, TOKEN);
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
fn requests_that_fit_no_revision_are_refused() {
    let server = Running::notes("");
    let mut http = Http::new(&server, TOKEN);
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
    let params = json!({"name": "grep", "arguments": {"pattern": "(?:a[ab]{90}|b[ab]{120}|[ab]a[ab]{150})[c-zC-Z]"}});
    let mut stream = server.connect();
    stream.write_all(stateless_request(TOKEN, "tools/call", Some("grep"), params).as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(server.call("stat", json!({"path": "."})).status, 429);
    drop(stream);
    let started = Instant::now();
    while server.call("stat", json!({"path": "."})).status != 200 {
        assert!(started.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(100));
    }
}
