//! Metrics for Prometheus.

use std::collections::BTreeSet;

use serde_json::json;

use super::client::{Running, TOKEN};
use super::mcp_client::{Http, meta, start_session};

fn scrape(server: &Running) -> String {
    let reply = server.get("/metrics", "");
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("text/plain; version=0.0.4")));
    reply.text()
}

fn assert_has(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.lines().any(|own| own == *line), "{line}: {text}");
    }
}

#[test]
fn requests_calls_and_refusals_are_counted() {
    let server = Running::notes("metrics: true\nlimits: {max_body_bytes: 1000}\n");
    server.call("tree", json!({}));
    server.call("read_file", json!({"path": "a.txt"}));
    server.call("read_file", json!({"path": "b.txt"}));
    server.call("read_file", json!({"path": 1}));
    server.call("x\ny", json!({}));
    server.call_as("wrong", "notes", "tree", json!({}));
    server.call_as(TOKEN, "other", "tree", json!({}));
    server.call("tree", json!({"path": "x".repeat(2000)}));
    start_session(&server, &json!({}));
    let text = scrape(&server);
    assert_has(
        &text,
        &[
            r#"paddock_calls_total{code="ok",operation="tree"} 1"#,
            r#"paddock_calls_total{code="ok",operation="read"} 1"#,
            r#"paddock_calls_total{code="not-found",operation="read"} 1"#,
            r#"paddock_calls_total{code="invalid-argument",operation="invalid"} 1"#,
            r#"paddock_calls_total{code="unknown-tool",operation="invalid"} 1"#,
            r#"paddock_call_duration_seconds_count{operation="read"} 2"#,
            r#"paddock_call_accessed_bytes_total{operation="read"} 7"#,
            r#"paddock_refused_requests_total{reason="token"} 1"#,
            r#"paddock_refused_requests_total{reason="rights"} 1"#,
            r#"paddock_refused_requests_total{reason="max_body_bytes"} 1"#,
            r#"http_server_request_duration_seconds_count{http_request_method="POST",http_response_status_code="200",http_route="/w/{workspace}/call"} 5"#,
            "paddock_running_calls 0",
            "paddock_sessions 1",
            "paddock_open_workspaces 1",
        ],
    );
    for start in [
        r#"paddock_transferred_bytes_total{direction="received"} "#,
        r#"paddock_transferred_bytes_total{direction="sent"} "#,
    ] {
        assert!(text.lines().any(|line| line.starts_with(start)), "{start}: {text}");
    }
}

#[test]
fn calls_of_mcp_are_counted() {
    let server = Running::notes("metrics: true\n");
    let mut session = Http { session: Some(start_session(&server, &json!({}))), ..Http::new(&server, TOKEN) };
    let call = |id: u32, method: &str, params: serde_json::Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    let read = json!({"name": "read_file", "arguments": {"path": "a.txt"}});
    session.send_text(&call(1, "tools/call", read.clone()).to_string());
    session.send_text(&call(2, "resources/read", json!({"uri": "file:///a.txt"})).to_string());
    let mut stateless = call(3, "tools/call", read);
    stateless["params"]["_meta"] = meta();
    Http::new(&server, TOKEN).send_text(&stateless.to_string());
    assert_has(&scrape(&server), &[r#"paddock_calls_total{code="ok",operation="read"} 3"#]);
}

#[test]
fn metrics_are_published_if_the_configuration_says_so() {
    assert_eq!(Running::notes("").get("/metrics", "").status, 404);
}

#[test]
fn a_caller_adds_no_time_series() {
    let server = Running::notes("metrics: true\n");
    let series = |text: &str| -> BTreeSet<String> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.filter_map(|line| line.rsplit_once(' ')).map(|(series, _)| series.to_owned()).collect()
    };
    let mut request = |number: usize| {
        server.call(&format!("tool{number}"), json!({}));
        server.call_as(TOKEN, &format!("w{number}"), "tree", json!({}));
        server.call_as(&format!("pdk_{number}"), "notes", "tree", json!({}));
        server.get(&format!("/path{number}"), TOKEN);
        server.request(&format!("METHOD{number}"), "/w/notes/call", &[], "");
        series(&scrape(&server))
    };
    request(0);
    let before = request(1);
    let after = (2..10).map(&mut request).last().unwrap();
    assert_eq!(before, after);
    assert!(!after.iter().any(|series| series.contains("notes") || series.contains("alice")), "{after:?}");
}
