//! Sessions of MCP: they belong to their callers, are bounded, and have streams.

use std::fs;
use std::io::{Read, Write};
use std::time::{Duration, SystemTime};

use paddock::serve::hash;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::client::{Running, TOKEN, request};
use super::mcp_client::{
    ACCEPT, Http, hello, listen_request, messages, meta, next_message, start_session, start_session_as,
};

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
    let message = next_message(&mut stream, &mut String::new());
    assert_eq!((&message["method"], &message["params"]["level"]), (&json!("notifications/message"), &json!("warning")));
}

#[test]
fn the_number_of_sessions_is_bounded_and_a_call_holds_no_capacity_afterwards() {
    let token = format!("tokens:\n- {{name: alice, sha256: {}, grant: {{workspaces: [notes]}}}}\n", hash(TOKEN));
    let workspace = "workspaces:\n  notes:\n    root: '{home}/notes'\n    limits: {concurrent_calls: 1}\n";
    let server = Running::start(&format!("{workspace}{token}limits: {{max_sessions: 2}}\n"));
    let sessions = [start_session(&server, &json!({})), start_session(&server, &json!({}))];
    let hello = hello(&json!({}));
    let refused = Http::new(&server, TOKEN).send_text(&hello);
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("5")), "{refused:?}");
    let authorization = format!("Bearer {TOKEN}");
    let headers = [("authorization", &*authorization), ("accept", ACCEPT), ("mcp-session-id", &*sessions[0])];
    assert_eq!(server.request("DELETE", "/w/notes/mcp", &headers, "").status, 202);
    assert_eq!(Http::new(&server, TOKEN).send_text(&hello).status, 200);
}

#[test]
fn the_sessions_of_one_workspace_do_not_burden_another() {
    let token = format!("tokens:\n- {{name: alice, sha256: {}, grant: {{workspaces: ['*']}}}}\n", hash(TOKEN));
    let workspaces =
        "workspaces:\n  notes:\n    root: '{home}/notes'\n    limits: {sessions: 2}\n  other: {memory: true}\n";
    let server = Running::start(&format!("{workspaces}{token}"));
    let sessions = [start_session(&server, &json!({})), start_session(&server, &json!({}))];
    let hello = hello(&json!({}));
    let authorization = format!("Bearer {TOKEN}");
    let start = |workspace: &str| {
        let headers = [("authorization", &*authorization), ("accept", ACCEPT)];
        server.request("POST", &format!("/w/{workspace}/mcp"), &headers, &hello)
    };
    let refused = start("notes");
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")), "{refused:?}");
    assert_eq!(start("other").status, 200);
    // A session of one workspace is none of another, also with the same token.
    let headers = [("authorization", &*authorization), ("accept", ACCEPT), ("mcp-session-id", &*sessions[0])];
    let ping = r#"{"jsonrpc": "2.0", "id": 1, "method": "ping"}"#;
    assert_eq!(server.request("POST", "/w/other/mcp", &headers, ping).status, 404);
    assert_eq!(server.request("POST", "/w/notes/mcp", &headers, ping).status, 200);
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
    let question = next_message(&mut stream, &mut seen);
    assert_eq!(question["method"], "elicitation/create", "{question}");
    // The id is in use until the call has its answer.
    let ping = |id: u32| {
        let ping = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
        server.request("POST", "/w/notes/mcp", &headers, &ping.to_string())
    };
    let repeated = ping(5);
    assert_eq!((repeated.status, &repeated.json()["error"]["code"]), (400, &json!(-32600)), "{repeated:?}");
    assert_eq!(ping(6).status, 200);
    let answer = json!({"jsonrpc": "2.0", "id": question["id"],
        "result": {"action": "accept", "content": {"approve": true}}});
    assert_eq!(server.request("POST", "/w/notes/mcp", &headers, &answer.to_string()).status, 202);
    stream.read_to_string(&mut seen).unwrap();
    assert!(seen.contains(r#""id":5"#), "{seen}");
    assert_eq!(fs::read_to_string(server.root().join("x.txt")).unwrap(), "x");
    assert_eq!(ping(5).status, 200);
}

/// Tools that the token names, or its dialect.
#[test]
fn a_token_for_some_tools_has_no_resources() {
    for (setting, value) in [("tools", json!(["stat"])), ("dialect", json!("paddock:stat"))] {
        has_no_resources(&json!({"workspaces": ["notes"], setting: value}));
    }
}

fn has_no_resources(grant: &Value) {
    let server = Running::with_token(grant, "");
    let mut http = Http::new(&server, TOKEN);
    let hello = hello(&json!({}));
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
            let answer = messages(&Http::new(&server, TOKEN).send_text(&stateless.to_string()));
            assert_eq!(answer[0]["error"]["code"], -32601, "{method}: {answer:?}");
        }
    }
    let params = json!({"notifications": {"resourceSubscriptions": ["file:///a.txt"]}, "_meta": meta()});
    let listen = json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params});
    let answer = messages(&Http::new(&server, TOKEN).send_text(&listen.to_string()));
    assert_eq!(answer[0]["error"]["code"], -32601, "{answer:?}");
}

#[test]
fn a_subscription_of_a_session_takes_no_capacity_of_calls() {
    let token = format!("tokens:\n- {{name: alice, sha256: {}, grant: {{workspaces: [notes]}}}}\n", hash(TOKEN));
    let workspace = "workspaces:\n  notes:\n    root: '{home}/notes'\n    limits: {concurrent_calls: 1}\n";
    let server = Running::start(&format!("{workspace}{token}"));
    let session = start_session(&server, &json!({}));
    let mut http = Http { session: Some(session.clone()), ..Http::new(&server, TOKEN) };
    let subscribe =
        json!({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": "file:///a.txt"}});
    assert!(messages(&http.send_text(&subscribe.to_string()))[0]["result"].is_object());
    let authorization = format!("Bearer {TOKEN}");
    let headers = [("authorization", &*authorization), ("accept", ACCEPT), ("mcp-session-id", &*session)];
    let mut stream = server.connect();
    stream.write_all(request("GET", "/w/notes/mcp", &headers, "").as_bytes()).unwrap();
    let changed = server.call("write_file", json!({"path": "a.txt", "content": "changed"}));
    assert_eq!((changed.status, &changed.json()["ok"]), (200, &json!(true)));
    let message = next_message(&mut stream, &mut String::new());
    assert_eq!(message["method"], "notifications/resources/updated", "{message}");
}

/// Opens both kinds of streams, and returns what has been read when they have ended.
pub fn read_streams(server: &Running, token: &str) -> Vec<String> {
    let session = start_session_as(server, token, &json!({}));
    let authorization = format!("Bearer {token}");
    let of_session = [("authorization", &*authorization), ("accept", ACCEPT), ("mcp-session-id", &*session)];
    let requests = [request("GET", "/w/notes/mcp", &of_session, ""), listen_request(token)];
    let streams = requests.map(|text| {
        let mut stream = server.connect();
        stream.write_all(text.as_bytes()).unwrap();
        stream
    });
    streams
        .into_iter()
        .map(|mut stream| {
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            text
        })
        .collect()
}

#[test]
fn a_stream_ends_when_the_token_expires() {
    let expires = SystemTime::now() + Duration::from_secs(4);
    let grant = json!({"workspaces": ["notes"], "expires": humantime::format_rfc3339(expires).to_string()});
    let server = Running::with_token(&grant, "");
    for text in read_streams(&server, TOKEN) {
        assert!(text.starts_with("HTTP/1.1 200"), "{text}");
        assert!(SystemTime::now() >= expires, "{text}");
    }
    assert_eq!(server.call("tree", json!({})).status, 401);
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
fn a_session_ends_when_its_token_expires() {
    let expires = SystemTime::now() + Duration::from_secs(4);
    let grant = json!({"workspaces": ["notes"], "expires": humantime::format_rfc3339(expires).to_string()});
    let short = "pdk_short";
    let server = Running::start(&format!(
        "workspaces:\n  notes:\n    root: '{{home}}/notes'\n    limits: {{sessions: 1, calls_per_second: 1000}}\ntokens:\n- {{name: alice, sha256: {}, grant: {grant}}}\n- {{name: bob, sha256: {}, grant: {{workspaces: [notes]}}}}\n",
        hash(short),
        hash(TOKEN)
    ));
    start_session_as(&server, short, &json!({}));
    let hello = hello(&json!({}));
    let started = SystemTime::now();
    loop {
        let status = Http::new(&server, TOKEN).send_text(&hello).status;
        if status == 200 {
            break;
        }
        assert_eq!(status, 429);
        assert!(started.elapsed().unwrap() < Duration::from_secs(30), "the session did not end");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(SystemTime::now() >= expires);
}

/// Otherwise, a token for a name would lead to the workspace of another name, after an operator renamed directories.
#[test]
fn a_session_does_not_follow_a_directory_that_is_renamed() {
    let token = format!("tokens:\n- {{name: alice, sha256: {}, grant: {{workspaces: [notes]}}}}\n", hash(TOKEN));
    let home = TempDir::new().unwrap();
    let (notes, other) = (home.path().join("teams/notes"), home.path().join("teams/other"));
    fs::create_dir_all(&notes).unwrap();
    fs::write(notes.join("a.txt"), "one\n").unwrap();
    let server = Running::at(home, &format!("templates:\n- root: '{{home}}/teams/{{name}}'\n{token}"));
    let session = start_session(&server, &json!({}));
    let authorization = format!("Bearer {TOKEN}");
    let headers = [("authorization", &*authorization), ("accept", ACCEPT), ("mcp-session-id", &*session)];
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "read_file", "arguments": {"path": "a.txt"}}});
    let status = || server.request("POST", "/w/notes/mcp", &headers, &call.to_string()).status;
    assert_eq!(status(), 200);
    fs::rename(&notes, &other).unwrap();
    fs::create_dir(&notes).unwrap();
    assert_eq!(status(), 404);
}
