//! Limits of workspaces and of the server.

use std::io::{Read, Write};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use paddock::serve::hash;
use serde_json::json;

use super::client::{PATIENCE, Reply, Running, TOKEN, request};
use super::mcp_client::{ACCEPT, Http, hello, listen_request};

fn with_limits(limits: &str, more: &str) -> Running {
    let token = format!("tokens:\n- {{name: alice, sha256: {}, grant: {{workspaces: ['*']}}}}\n", hash(TOKEN));
    let workspaces =
        format!("workspaces:\n  notes:\n    root: '{{home}}/notes'\n    limits: {limits}\n  other: {{memory: true}}\n");
    Running::start(&format!("{workspaces}{token}{more}"))
}

#[test]
fn the_rate_of_one_workspace_does_not_burden_another() {
    let server = with_limits("{calls_per_second: 1}", "");
    let started = Instant::now();
    let replies: Vec<Reply> = (0..30).map(|_| server.call("stat", json!({"path": "."}))).collect();
    let refused: Vec<_> = replies.iter().filter(|reply| reply.status == 429).collect();
    // A refusal takes time of the client, and none of the server.
    assert!(started.elapsed() >= Duration::from_millis(100) * u32::try_from(refused.len()).unwrap());
    assert!(replies[..10].iter().all(|reply| reply.status == 200) && refused.len() >= 3, "{replies:?}");
    assert!(refused.iter().all(|reply| reply.header("retry-after") == Some("1")), "{refused:?}");
    assert_eq!(server.call_as(TOKEN, "other", "tree", json!({})).status, 200);
}

#[test]
fn bytes_are_limited_as_well() {
    let server = with_limits("{bytes_per_second: 100}", "");
    let status = || server.call("read_file", json!({"path": "a.txt"})).status;
    let statuses: Vec<u16> = (0..8).map(|_| status()).collect();
    assert!(statuses[0] == 200 && statuses[7] == 429, "{statuses:?}");
}

/// Writes files in which a search takes many seconds, and returns the body of a call that searches them.
fn slow_search(server: &Running) -> String {
    let mut seed = 1_u64;
    let mut letter = || {
        seed = seed * 48271 % 0x7fff_ffff;
        if seed & 4096 == 0 { 'b' } else { 'a' }
    };
    for file in 0..64 {
        let text: String = (0..1 << 18).map(|_| letter()).collect();
        std::fs::write(server.root().join(format!("slow-{file}.log")), text).unwrap();
    }
    let pattern = "(?:a[ab]{90}|b[ab]{120}|[ab]a[ab]{150})[c-zC-Z]";
    json!({"tool": "grep", "arguments": {"pattern": pattern, "glob": "*.log"}}).to_string()
}

/// The headers of a call whose body has this length.
fn head(length: usize) -> String {
    format!(
        "POST /w/notes/call HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\nauthorization: Bearer {TOKEN}\r\ncontent-length: {length}\r\n\r\n"
    )
}

#[test]
fn concurrent_calls_are_refused_and_not_queued() {
    let server = with_limits("{concurrent_calls: 1}", "");
    let search = slow_search(&server);
    let mut first = server.connect();
    first.write_all(format!("{}{search}", head(search.len())).as_bytes()).unwrap();
    let started = Instant::now();
    let refused = loop {
        let reply = server.call("tree", json!({}));
        if reply.status != 200 {
            break reply;
        }
        assert!(started.elapsed() < PATIENCE, "the search did not take the only slot");
    };
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")), "{refused:?}");
    // The client disconnects, which cancels the search.
    drop(first);
    let started = Instant::now();
    while server.call("tree", json!({})).status != 200 {
        assert!(started.elapsed() < PATIENCE, "the search did not end");
    }
}

#[test]
fn a_body_that_does_not_arrive_takes_no_capacity_for_calls() {
    let server = with_limits("{concurrent_calls: 1}", "limits: {max_calls: 1, body_timeout_ms: 60000}\n");
    let waiting: Vec<_> = (0..8)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(head(16).as_bytes()).unwrap();
            stream
        })
        .collect();
    thread::sleep(Duration::from_millis(300));
    assert_eq!(server.call("tree", json!({})).status, 200);
    for mut stream in waiting {
        stream.write_all(br#"{"tool": "tree"}"#).unwrap();
        assert_eq!(Reply::read(&mut stream).map(|reply| reply.status), Some(200));
    }
}

#[test]
fn messages_that_are_no_calls_have_a_rate() {
    let server = with_limits("{calls_per_second: 1}", "");
    let session = super::mcp_client::start_session(&server, &json!({}));
    let authorization = format!("Bearer {TOKEN}");
    let headers = [("authorization", &*authorization), ("accept", ACCEPT), ("mcp-session-id", &*session)];
    let note = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}).to_string();
    let statuses: Vec<u16> = (0..40).map(|_| server.request("POST", "/w/notes/mcp", &headers, &note).status).collect();
    assert!(statuses[0] == 202 && statuses.contains(&429), "{statuses:?}");
}

#[test]
fn a_session_begins_with_the_only_place_of_a_call() {
    let server = with_limits("{}", "limits: {max_calls: 1}\n");
    assert_eq!(Http::new(&server, TOKEN).send_text(&hello(&json!({}))).status, 200);
}

#[test]
fn messages_that_are_refused_or_ignored_have_a_rate() {
    for message in ["{", r#"{"jsonrpc": "2.0", "id": 1, "result": {}}"#] {
        let server = with_limits("{calls_per_second: 1}", "");
        let headers = [("authorization", &*format!("Bearer {TOKEN}")), ("accept", ACCEPT)];
        let statuses: Vec<u16> =
            (0..30).map(|_| server.request("POST", "/w/notes/mcp", &headers, message).status).collect();
        assert!(statuses[0] != 429 && statuses[29] == 429, "{message}: {statuses:?}");
    }
}

#[test]
fn a_stream_without_a_session_opens_no_workspace() {
    let server = with_limits("{}", "");
    for method in ["GET", "DELETE"] {
        let headers = [("authorization", &*format!("Bearer {TOKEN}")), ("accept", ACCEPT)];
        let reply = server.request(method, "/w/notes/mcp", &headers, "");
        assert!(reply.status == 400 && reply.text().contains("Mcp-Session-Id"), "{method}: {reply:?}");
    }
}

#[test]
fn a_flood_is_answered_and_bounded() {
    let server = with_limits("{concurrent_calls: 2, calls_per_second: 10000}", "");
    let barrier = Barrier::new(16);
    let statuses: Vec<u16> = thread::scope(|scope| {
        let client = || {
            barrier.wait();
            (0..5).map(|_| server.call("tree", json!({})).status).collect::<Vec<_>>()
        };
        let clients: Vec<_> = (0..16).map(|_| scope.spawn(client)).collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    assert_eq!(statuses.len(), 80);
    assert!(statuses.iter().all(|status| matches!(status, 200 | 429)), "{statuses:?}");
    assert!(statuses.contains(&200));
    assert_eq!(server.call("tree", json!({})).status, 200);
}

#[test]
fn a_body_beyond_the_limit_is_refused_before_it_is_read() {
    let server = with_limits("{}", "limits: {max_body_bytes: 1000}\n");
    let large = request("POST", "/w/notes/call", &[("authorization", &format!("Bearer {TOKEN}"))], &" ".repeat(1001));
    assert_eq!(server.raw(large.as_bytes()).map(|reply| reply.status), Some(413));
    let announced = format!(
        "POST /w/notes/call HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nauthorization: Bearer {TOKEN}\r\ncontent-length: 99999999999\r\n\r\n"
    );
    let mut stream = server.connect();
    stream.write_all(announced.as_bytes()).unwrap();
    assert_eq!(Reply::read(&mut stream).map(|reply| reply.status), Some(413));
    let chunked = format!(
        "POST /w/notes/call HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nauthorization: Bearer {TOKEN}\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n7D0\r\n{}\r\n0\r\n\r\n",
        " ".repeat(2000)
    );
    assert_eq!(server.raw(chunked.as_bytes()).map(|reply| reply.status), Some(413));
}

#[test]
fn large_bodies_that_are_no_calls_are_limited() {
    let server = with_limits("{bytes_per_second: 100000}", "");
    let text = format!("{{\"jsonrpc\": \"2.0\", \"method\": \"{}\"}}", "x".repeat(200_000));
    let post = || {
        let headers = [("authorization", &*format!("Bearer {TOKEN}")), ("accept", ACCEPT)];
        server.request("POST", "/w/notes/mcp", &headers, &text)
    };
    let statuses: Vec<u16> = (0..12).map(|_| post().status).collect();
    assert!(statuses[0] != 429 && statuses[11] == 429, "{statuses:?}");
    assert!(post().header("retry-after").is_some());
    assert_eq!(server.call_as(TOKEN, "other", "tree", json!({})).status, 200);
}

#[test]
fn subscriptions_count_as_calls_of_the_rate() {
    let server = with_limits("{calls_per_second: 1, streams: 1000}", "");
    let mut statuses = Vec::new();
    let streams: Vec<_> = (0..30)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(listen_request(TOKEN).as_bytes()).unwrap();
            let mut start = [0; "HTTP/1.1 200".len()];
            stream.read_exact(&mut start).unwrap();
            statuses.push(String::from_utf8_lossy(&start).split_once(' ').unwrap().1.to_owned());
            stream
        })
        .collect();
    assert!(statuses[0] == "200" && statuses.iter().filter(|status| *status == "429").count() >= 3, "{statuses:?}");
    drop(streams);
}

#[test]
fn a_caller_without_a_budget_takes_no_capacity() {
    let poor = "pdk_poor";
    let tokens = format!(
        "tokens:\n- {{name: alice, sha256: {}, grant: {{workspaces: [notes]}}}}\n- {{name: bob, sha256: {}, grant: {{workspaces: [notes], calls: 0}}}}\n",
        hash(TOKEN),
        hash(poor)
    );
    let server = Running::start(&format!(
        "workspaces:\n  notes:\n    root: '{{home}}/notes'\n    limits: {{calls_per_second: 1}}\n{tokens}"
    ));
    for _ in 0..30 {
        assert_eq!(server.call_as(poor, "notes", "tree", json!({})).status, 403);
    }
    assert_eq!(server.call("tree", json!({})).status, 200);
}

#[test]
fn connections_are_bounded() {
    let server = with_limits("{}", "limits: {max_connections: 4, header_timeout_ms: 1000}\n");
    let idle: Vec<_> = (0..20).map(|_| server.connect()).collect();
    let started = Instant::now();
    // The idle connections are closed in time, and others are served.
    while server.raw(request("GET", "/healthz", &[], "").as_bytes()).is_none_or(|reply| reply.status != 200) {
        assert!(started.elapsed() < Duration::from_secs(20));
        thread::sleep(Duration::from_millis(50));
    }
    drop(idle);
}
