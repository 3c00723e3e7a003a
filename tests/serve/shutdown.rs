//! The end of the server.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;

use super::client::{Program, Reply, Running, TOKEN, request};

fn slow_head(body: &str) -> String {
    format!(
        "POST /w/notes/call HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nauthorization: Bearer {TOKEN}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )
}

#[test]
fn a_running_call_ends_and_a_new_one_is_refused() {
    let mut server = Running::notes("limits: {shutdown_ms: 20000}\n");
    let body = json!({"tool": "write_file", "arguments": {"path": "x.txt", "content": "x\n"}}).to_string();
    let (mut running, mut idle) = (server.connect(), server.connect());
    running.write_all(slow_head(&body).as_bytes()).unwrap();
    idle.write_all(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    thread::sleep(Duration::from_millis(300));
    server.stop();
    thread::sleep(Duration::from_millis(300));
    assert!(TcpStream::connect(server.address).is_err(), "the server does not listen");
    running.write_all(body.as_bytes()).unwrap();
    let reply = Reply::read(&mut running).unwrap();
    assert_eq!((reply.status, &reply.json()["ok"]), (200, &json!(true)));
    assert_eq!(fs::read_to_string(server.root().join("x.txt")).unwrap(), "x\n");
    assert_eq!(Reply::read(&mut idle).map(|reply| reply.status), Some(200));
    server.wait();
}

#[test]
fn a_call_that_does_not_end_is_cancelled_at_the_deadline() {
    let mut server = Running::notes("limits: {shutdown_ms: 300}\n");
    let mut seed = 1u64;
    for name in 0..64 {
        let mut letter = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if seed >> 63 == 0 { b'a' } else { b'b' }
        };
        let text: Vec<u8> = (0..256 << 10).map(|at| if at % 4096 == 4095 { b'\n' } else { letter() }).collect();
        fs::write(server.root().join(format!("{name}.txt")), text).unwrap();
    }
    // The automaton of the pattern is too large for its cache.
    let pattern = "(?:a[ab]{90}|b[ab]{120}|[ab]a[ab]{150})[c-zC-Z]";
    let body = json!({"tool": "grep", "arguments": {"pattern": pattern}}).to_string();
    let mut running = server.connect();
    running.write_all(slow_head(&body).as_bytes()).unwrap();
    running.write_all(body.as_bytes()).unwrap();
    thread::sleep(Duration::from_millis(500));
    let started = Instant::now();
    server.stop();
    assert!(Reply::read(&mut running).is_none());
    server.wait();
    assert!(started.elapsed() < Duration::from_secs(6), "{:?}", started.elapsed());
}

#[test]
fn every_answered_change_is_on_the_disk() {
    let mut server = Running::notes("");
    let address = server.address;
    let client = thread::spawn(move || {
        let mut written = Vec::new();
        for number in 0..200 {
            let name = format!("f{number}.txt");
            let body = json!({"tool": "write_file", "arguments": {"path": name, "content": name}}).to_string();
            let authorization = format!("Bearer {TOKEN}");
            let Ok(mut stream) = TcpStream::connect(address) else { break };
            let text = request("POST", "/w/notes/call", &[("authorization", &authorization)], &body);
            if stream.write_all(text.as_bytes()).is_err() {
                break;
            }
            match Reply::read(&mut stream) {
                Some(reply) if reply.status == 200 && reply.json()["ok"] == true => written.push(name),
                Some(reply) => assert!(matches!(reply.status, 429 | 503), "{reply:?}"),
                None => {}
            }
        }
        written
    });
    thread::sleep(Duration::from_millis(400));
    server.stop();
    let written = client.join().unwrap();
    assert!(!written.is_empty());
    for name in written {
        assert_eq!(fs::read_to_string(server.root().join(&name)).unwrap(), name);
    }
    server.wait();
}

/// A server that waits for heartbeats of others, because one of them was killed, ends in order too.
#[test]
fn a_signal_at_the_start_ends_the_server() {
    let home = TempDir::new().unwrap();
    fs::create_dir_all(home.path().join("state/@servers")).unwrap();
    fs::write(home.path().join("state/@servers/00"), "7\n").unwrap();
    fs::write(home.path().join("serve.yaml"), "listen: 127.0.0.1:0\nanonymous: true\nstate_dir: state\n").unwrap();
    let mut server = Program::start(home.path());
    thread::sleep(Duration::from_millis(100));
    server.terminate();
    assert!(server.child.wait().unwrap().success());
}
