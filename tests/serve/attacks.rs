//! Requests that a browser or a hostile client sends.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_socket_recv_buffer_size;

use serde_json::json;

use super::client::{Reply, Running, TOKEN, request};

#[test]
fn a_page_that_rebinds_its_name_is_refused() {
    let server = Running::notes("hosts: [paddock.example]\norigins: ['https://app.example']\n");
    let authorization = format!("Bearer {TOKEN}");
    let status = |headers: &[(&str, &str)]| {
        let headers: Vec<_> = headers.iter().copied().chain([("authorization", &*authorization)]).collect();
        server.request("GET", "/w/notes/tools", &headers, "").status
    };
    for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil@localhost", "127.0.0.2"] {
        assert_eq!(status(&[("host", host)]), 403, "{host}");
    }
    for host in ["localhost", "127.0.0.1:9", "[::1]", "paddock.example"] {
        assert_eq!(status(&[("host", host)]), 200, "{host}");
    }
    for origin in ["null", "https://evil.example", "http://localhost", "https://app.example:1"] {
        assert_eq!(status(&[("origin", origin)]), 403, "{origin}");
    }
    assert_eq!(status(&[("origin", "https://app.example")]), 200);
    assert_eq!(status(&[("host", "localhost"), ("host", "localhost")]), 403);
    let target = |host: &str| {
        let headers = [("authorization", &*authorization)];
        server.request("GET", &format!("http://{host}/w/notes/tools"), &headers, "").status
    };
    assert_eq!((target("localhost"), target("evil.example")), (200, 403));
    let absent = format!("GET /w/notes/tools HTTP/1.1\r\nauthorization: {authorization}\r\nconnection: close\r\n\r\n");
    assert!(server.raw(absent.as_bytes()).is_none_or(|reply| matches!(reply.status, 400 | 403)));
}

#[test]
fn malformed_requests_do_no_harm() {
    let server = Running::notes("");
    let host = "host: localhost\r\nconnection: close\r\n";
    for text in [
        "\r\n\r\n\r\n".to_owned(),
        "GET\r\n\r\n".to_owned(),
        format!("GET /w/notes/tools HTTP/9.9\r\n{host}\r\n"),
        format!("GET /w/notes/tools HTTP/1.1\r\n{host}a b: c\r\n\r\n"),
        format!("POST /w/notes/call HTTP/1.1\r\n{host}content-length: 5\r\ncontent-length: 6\r\n\r\nabcdef"),
        format!(
            "POST /w/notes/call HTTP/1.1\r\n{host}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"
        ),
        format!("POST /w/notes/call HTTP/1.1\r\n{host}content-length: -1\r\n\r\n"),
        format!("POST /w/notes/call HTTP/1.1\r\n{host}transfer-encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n"),
        format!("GET /{} HTTP/1.1\r\n{host}\r\n", "%".repeat(100)),
        "\u{16}\u{3}\u{1}\u{2}".to_owned(),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
    ] {
        let mut stream = server.connect();
        stream.write_all(text.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let reply = Reply::read(&mut stream);
        assert!(reply.as_ref().is_none_or(|reply| (400..500).contains(&reply.status)), "{text:?}: {reply:?}");
    }
    assert_eq!(server.call("tree", json!({})).status, 200);
}

#[test]
fn many_or_large_headers_are_refused() {
    let server = Running::notes("limits: {max_header_bytes: 4096}\n");
    let flood: String = (0..500).map(|number| format!("x-{number}: y\r\n")).collect();
    let many = format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\n{flood}\r\n");
    assert!(server.raw(many.as_bytes()).is_none_or(|reply| reply.status == 431));
    let large = request("GET", "/healthz", &[("x-a", &"a".repeat(5000))], "");
    assert!(server.raw(large.as_bytes()).is_none_or(|reply| reply.status == 431));
    let endless = format!("GET /healthz HTTP/1.1\r\nx-a: {}", "a".repeat(10 << 20));
    assert!(server.raw(endless.as_bytes()).is_none_or(|reply| reply.status == 431));
    assert_eq!(server.get("/healthz", "").status, 200);
}

#[test]
fn a_slow_request_ends_in_time() {
    let limits = "limits: {header_timeout_ms: 300, body_timeout_ms: 300}\n";
    let server = Running::notes(limits);
    let started = Instant::now();
    let mut silent = server.connect();
    let mut half = server.connect();
    half.write_all(b"GET /healthz HTTP/1.1\r\nhost: loc").unwrap();
    assert!(Reply::read(&mut silent).is_none_or(|reply| reply.status == 408));
    assert!(Reply::read(&mut half).is_none_or(|reply| reply.status == 408));
    let mut body = server.connect();
    let head = format!(
        "POST /w/notes/call HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nauthorization: Bearer {TOKEN}\r\ncontent-length: 100\r\n\r\n{{"
    );
    body.write_all(head.as_bytes()).unwrap();
    assert_eq!(Reply::read(&mut body).map(|reply| reply.status), Some(408));
    // An idle connection is closed as well.
    let mut idle = server.connect();
    idle.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    assert_eq!(Reply::read(&mut idle).map(|reply| reply.status), Some(200));
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

/// Writes a large file, and returns a request that reads it.
fn large_read(server: &Running) -> String {
    let text: String = (0..20_000).map(|line| format!("{line} {}\n", "x".repeat(90))).collect();
    std::fs::write(server.root().join("large.txt"), text).unwrap();
    let body = json!({"tool": "read_file", "arguments": {"path": "large.txt", "mode": "base64"}}).to_string();
    format!(
        "POST /w/notes/call HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nauthorization: Bearer {TOKEN}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn a_client_that_reads_nothing_is_disconnected() {
    let server = Running::notes("limits: {write_timeout_ms: 500, max_connections: 2}\n");
    let head = large_read(&server);
    let mut stalled: Vec<_> = (0..2).map(|_| server.connect()).collect();
    for stream in &mut stalled {
        // More answers than the buffers of the sockets hold.
        for _ in 0..200 {
            let _ = stream.write_all(head.as_bytes());
        }
    }
    // Both connections are taken until the server closes them.
    let started = Instant::now();
    while server.raw(request("GET", "/healthz", &[], "").as_bytes()).is_none_or(|reply| reply.status != 200) {
        assert!(started.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_client_that_reads_a_little_at_a_time_is_disconnected() {
    let server = Running::notes("limits: {write_timeout_ms: 500}\n");
    let head = large_read(&server);
    let mut stream = server.connect();
    set_socket_recv_buffer_size(&stream, 4096).unwrap();
    let mut sender = stream.try_clone().unwrap();
    let sending = std::thread::spawn(move || (0..200).all(|_| sender.write_all(head.as_bytes()).is_ok()));
    let started = Instant::now();
    // About 40 KB a second, so that the server can write something in each half second.
    let mut bytes = [0; 2048];
    while stream.read(&mut bytes).is_ok_and(|length| length > 0) {
        assert!(started.elapsed() < Duration::from_secs(30), "the server still writes");
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(stream);
    let _ = sending.join();
}
