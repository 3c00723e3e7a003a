use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::Client;

/// Maximum growth of the server's memory after its first call, in bytes.
const MAX_GROWTH: u64 = 64 << 20;

/// A server whose output only the test reads.
struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    base: u64,
    _home: TempDir,
}

impl Server {
    fn start() -> Self {
        let home = TempDir::new().unwrap();
        fs::create_dir(home.path().join("ws")).unwrap();
        fs::write(home.path().join("ws/a.txt"), "line of text\n".repeat(3_000)).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_paddock"))
            .args(["mcp", "--root"])
            .arg(home.path().join("ws"))
            .env("PADDOCK_STATE_DIR", home.path().join("state"))
            .env("XDG_CONFIG_HOME", home.path().join("none"))
            .env_remove("PADDOCK_POLICY")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let about = json!({"name": "test", "version": "1"});
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about});
        writeln!(stdin, "{}", json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello}))
            .unwrap();
        writeln!(stdin, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).unwrap();
        writeln!(stdin, "{}", read(json!("first"))).unwrap();
        let mut answers = 0;
        let mut byte = [0];
        while answers < 2 {
            stdout.read_exact(&mut byte).unwrap();
            answers += usize::from(byte == *b"\n");
        }
        let base = resident(&child).unwrap();
        Self { child, stdin: Some(stdin), stdout: Some(stdout), base, _home: home }
    }

    /// Writes requests on a thread, for as long as the server reads. Every fourth is a call with an answer of 80 KiB.
    fn write(&mut self, count: u64) -> JoinHandle<Option<ChildStdin>> {
        let mut stdin = self.stdin.take().unwrap();
        thread::spawn(move || {
            for id in 0..count {
                let cheap = json!({"jsonrpc": "2.0", "id": id, "method": "resources/templates/list"});
                writeln!(stdin, "{}", if id.is_multiple_of(4) { read(json!(id)) } else { cheap }).ok()?;
            }
            Some(stdin)
        })
    }

    /// Returns the growth of the server's memory since its first call. A server that has ended has none.
    fn growth(&self) -> u64 {
        resident(&self.child).map_or(0, |now| now.saturating_sub(self.base))
    }

    fn max_growth_within(&self, time: Duration) -> u64 {
        let until = Instant::now() + time;
        let mut max = 0;
        while Instant::now() < until {
            max = max.max(self.growth());
            thread::sleep(Duration::from_millis(20));
        }
        max
    }

    /// Reads until every request has an answer. Returns the maximum growth meanwhile.
    fn read_answers(&mut self, count: u64) -> u64 {
        let mut answers: HashMap<u64, u32> = HashMap::new();
        let mut max = 0;
        let mut lines = BufReader::new(self.stdout.take().unwrap()).lines();
        while (answers.len() as u64) < count {
            let answer: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
            let id = answer["id"].as_u64().unwrap();
            if id.is_multiple_of(4) {
                let content = answer["result"]["structuredContent"]["content"].as_str().unwrap();
                assert!(content.starts_with("line of text"), "{answer}");
            } else {
                assert!(answer["result"]["resourceTemplates"].is_array(), "{answer}");
            }
            *answers.entry(id).or_default() += 1;
            if answers.len().is_multiple_of(100) {
                max = max.max(self.growth());
            }
        }
        assert!(answers.values().all(|times| *times == 1));
        max
    }

    fn signal(&self, signal: Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal).unwrap();
    }

    /// Fails if the server does not end within that time.
    fn ends_within(&mut self, time: Duration) {
        let started = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(started.elapsed() < time, "the server still runs after {time:?}");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Most tests expect that the server has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(id: Value) -> Value {
    let params = json!({"name": "read_file", "arguments": {"path": "a.txt"}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

/// Returns the private memory of the process in bytes, unless it has ended.
fn resident(child: &Child) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024)
}

#[test]
fn a_client_that_reads_nothing_is_not_read_and_gets_every_answer_in_the_end() {
    const COUNT: u64 = 30_000;
    let mut server = Server::start();
    let writing = server.write(COUNT);
    let growth = server.max_growth_within(Duration::from_secs(3));
    assert!(growth < MAX_GROWTH, "{growth} bytes while nothing is read");
    assert!(!writing.is_finished(), "all {COUNT} requests were read");
    let growth = server.read_answers(COUNT);
    assert!(growth < MAX_GROWTH, "{growth} bytes while all is read");
    drop(writing.join().unwrap().expect("all requests were read in the end"));
    server.ends_within(Duration::from_secs(4));
}

#[test]
fn a_client_that_reads_does_not_make_the_server_hold_more() {
    let mut server = Server::start();
    let writing = server.write(10_000);
    let growth = server.read_answers(10_000);
    assert!(growth < MAX_GROWTH, "{growth} bytes");
    assert!(writing.join().unwrap().is_some());
}

#[test]
fn requests_before_the_end_of_the_input_are_answered() {
    let mut server = Server::start();
    let writing = server.write(1_000);
    let closing = thread::spawn(move || drop(writing.join().unwrap()));
    server.read_answers(1_000);
    closing.join().unwrap();
    server.ends_within(Duration::from_secs(4));
}

/// A machine that is too busy, or a person, may stop the server for longer than a client that does not read may take.
#[test]
fn a_server_that_was_stopped_at_the_end_of_the_input_still_answers() {
    let mut server = Server::start();
    drop(server.write(40).join().unwrap());
    thread::sleep(Duration::from_millis(500));
    server.signal(Signal::STOP);
    thread::sleep(Duration::from_secs(12));
    server.signal(Signal::CONT);
    thread::sleep(Duration::from_millis(500));
    server.read_answers(40);
    server.ends_within(Duration::from_secs(4));
}

#[test]
fn a_message_that_is_too_long_is_refused_and_not_held() {
    let mut client = Client::legacy("2025-06-18");
    client.call(2, "stat", json!({"path": "."}));
    let base = resident(&client.child).unwrap();
    let part = vec![b'x'; 1 << 20];
    client.stdin.as_mut().unwrap().write_all(br#"{"jsonrpc": "2.0", "id": 3, "method": ""#).unwrap();
    for _ in 0..100 {
        client.stdin.as_mut().unwrap().write_all(&part).unwrap();
    }
    let answer = client.next();
    assert!(answer["error"]["message"].as_str().unwrap().contains("at most 16777216 bytes"), "{answer}");
    assert_eq!(answer["id"], 3);
    let growth = resident(&client.child).unwrap().saturating_sub(base);
    assert!(growth < MAX_GROWTH, "{growth} bytes");
    client.stdin.as_mut().unwrap().write_all(b"\"}\n").unwrap();
    assert_eq!(client.call(4, "stat", json!({"path": "."}))["result"]["isError"], false);
    client.close();
}

#[test]
fn a_message_with_too_many_values_is_refused_and_not_parsed() {
    let mut client = Client::legacy("2025-06-18");
    client.call(2, "stat", json!({"path": "."}));
    let base = resident(&client.child).unwrap();
    let values = "[],".repeat(5 << 20);
    let params = format!(r#"{{"name": "stat", "arguments": {{"path": [{values}0]}}}}"#);
    let line = format!(r#"{{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {params}}}"#);
    writeln!(client.stdin.as_mut().unwrap(), "{line}").unwrap();
    let mut max = 0;
    let answer = loop {
        max = max.max(resident(&client.child).unwrap().saturating_sub(base));
        if let Ok(answer) = client.messages.recv_timeout(Duration::from_millis(5)) {
            break answer;
        }
    };
    assert!(answer["error"]["message"].as_str().unwrap().contains("at most 65536 JSON values"), "{answer}");
    assert_eq!(answer["id"], 3);
    assert!(max < MAX_GROWTH, "{max} bytes");
    assert_eq!(client.call(4, "stat", json!({"path": "."}))["result"]["isError"], false);
    client.close();
}

#[test]
fn ids_and_uris_have_a_maximum_length() {
    let mut client = Client::legacy("2025-06-18");
    client.send(&json!({"jsonrpc": "2.0", "id": "x".repeat(257), "method": "ping"}));
    let answer = client.next();
    assert!(answer["error"]["message"].as_str().unwrap().contains("at most 256 bytes"), "{answer}");
    let id = "x".repeat(256);
    client.send(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
    assert_eq!(client.next()["id"], id);
    let uri = format!("file:///{}a.txt", "./".repeat(8_192));
    fs::write(client.workspace.path().join("a.txt"), "a").unwrap();
    let answer = client.request(2, "resources/subscribe", json!({"uri": uri}));
    assert!(answer["error"]["message"].as_str().unwrap().contains("at most 16384 bytes"), "{answer}");
    client.close();
}

#[test]
fn every_request_of_a_repeated_id_is_answered() {
    let mut client = Client::legacy("2025-06-18");
    for _ in 0..200 {
        client.send_request(5, "tools/call", json!({"name": "stat", "arguments": {"path": "."}}));
        client.send_request(5, "ping", json!({}));
    }
    for _ in 0..400 {
        let answer = client.next();
        assert!(answer["id"] == 5 && answer["result"].is_object(), "{answer}");
    }
    assert_eq!(client.call(6, "stat", json!({"path": "."}))["result"]["isError"], false);
    client.close();
}

#[test]
fn running_calls_delay_neither_a_ping_nor_their_cancellation() {
    let mut client = Client::legacy("2025-06-18");
    let arguments = super::slow(&client);
    for id in 100..300 {
        client.send_request(id, "tools/call", json!({"name": "grep", "arguments": arguments}));
    }
    let started = Instant::now();
    client.request(2, "ping", json!({}));
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    for id in 100..300 {
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    }
    // No cancelled request is answered, so the next message is this answer.
    let started = Instant::now();
    client.call(3, "stat", json!({"path": "."}));
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    client.close();
}

#[test]
fn questions_to_the_client_are_bounded_and_end_with_their_calls() {
    let (mut client, _home) = super::client_with_approval(false, json!({"elicitation": {}}));
    client.initialize("2025-06-18");
    for id in 100..150 {
        client.send_request(id, "tools/call", json!({"name": "delete", "arguments": {"path": "a.txt"}}));
    }
    let mut questions = 0;
    while let Ok(message) = client.messages.recv_timeout(Duration::from_secs(2)) {
        assert_eq!(message["method"], "elicitation/create", "{message}");
        questions += 1;
    }
    assert_eq!(questions, 32);
    for id in (100..150).rev() {
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    }
    client.send_request(2, "tools/call", json!({"name": "stat", "arguments": {"path": "a.txt"}}));
    let answer = std::iter::repeat_with(|| client.next()).find(|message| message.get("method").is_none()).unwrap();
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(2), &json!(false)), "{answer}");
}

#[test]
fn listeners_are_bounded_and_take_no_capacity_from_other_requests() {
    let mut client = Client::start(true);
    for id in 100..=116 {
        client.send_request(id, "subscriptions/listen", json!({"notifications": {"resourceSubscriptions": []}}));
        let message = client.next();
        if id < 116 {
            assert_eq!(message["method"], "notifications/subscriptions/acknowledged", "{message}");
        } else {
            assert!(message["error"]["message"].as_str().unwrap().contains("16 `subscriptions/listen`"), "{message}");
        }
    }
    assert_eq!(client.call(2, "stat", json!({"path": "."}))["result"]["isError"], false);
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 100}}));
    client.send_request(117, "subscriptions/listen", json!({"notifications": {"resourceSubscriptions": []}}));
    assert_eq!(client.next()["method"], "notifications/subscriptions/acknowledged");
}

#[test]
fn a_signal_ends_the_server_although_the_client_reads_nothing() {
    let mut server = Server::start();
    let writing = server.write(10_000);
    thread::sleep(Duration::from_secs(1));
    assert!(!writing.is_finished());
    server.signal(Signal::TERM);
    server.ends_within(Duration::from_secs(4));
}

#[test]
fn the_end_of_the_input_ends_the_server_although_the_client_reads_nothing() {
    let mut server = Server::start();
    let writing = server.write(200);
    drop(writing.join().unwrap());
    server.ends_within(Duration::from_secs(20));
}
