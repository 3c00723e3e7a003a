use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::Client;

/// Requests of one client; `PADDOCK_MCP_REQUESTS=30000` for the figures of the documentation.
fn requests() -> u64 {
    std::env::var("PADDOCK_MCP_REQUESTS").ok().and_then(|count| count.parse().ok()).unwrap_or(4_000)
}

/// What the server may take beside what it has after its first call.
const MOST: u64 = 96 << 20;

/// A server whose output nobody reads unless the test does.
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
        let base = resident(&child);
        Self { child, stdin: Some(stdin), stdout: Some(stdout), base, _home: home }
    }

    /// Writes requests on a thread, for as long as the server reads.
    fn write(&mut self, count: u64) -> JoinHandle<Option<ChildStdin>> {
        let mut stdin = self.stdin.take().unwrap();
        thread::spawn(move || {
            for id in 0..count {
                writeln!(stdin, "{}", read(json!(id))).ok()?;
            }
            Some(stdin)
        })
    }

    /// The most that the server takes in that time, beside what it had.
    fn most_within(&self, time: Duration) -> u64 {
        let until = Instant::now() + time;
        let mut most = 0;
        while Instant::now() < until {
            most = most.max(resident(&self.child).saturating_sub(self.base));
            thread::sleep(Duration::from_millis(20));
        }
        most
    }

    /// Reads until each request was answered, and fails where one was answered twice.
    fn each_is_answered_once(&mut self, count: u64) -> u64 {
        let mut answered: HashMap<u64, u32> = HashMap::new();
        let mut most = 0;
        let mut lines = BufReader::new(self.stdout.take().unwrap()).lines();
        while (answered.len() as u64) < count {
            let answer: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
            assert!(answer["result"]["structuredContent"]["content"].as_str().unwrap().starts_with("line"), "{answer}");
            *answered.entry(answer["id"].as_u64().unwrap()).or_default() += 1;
            if answered.len() % 100 == 0 {
                most = most.max(resident(&self.child).saturating_sub(self.base));
            }
        }
        assert!(answered.values().all(|times| *times == 1));
        most
    }

    /// Whether it ends in that time.
    fn ends_within(&mut self, time: Duration) -> bool {
        let until = Instant::now() + time;
        while Instant::now() < until {
            if self.child.try_wait().unwrap().is_some() {
                return true;
            }
            thread::sleep(Duration::from_millis(20));
        }
        false
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

fn read(id: Value) -> Value {
    let params = json!({"name": "read_file", "arguments": {"path": "a.txt"}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

/// Bytes of memory of a process that are its own.
fn resident(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[test]
fn a_client_that_reads_nothing_is_not_read_and_gets_every_answer_in_the_end() {
    let mut server = Server::start();
    let writing = server.write(requests());
    let most = server.most_within(Duration::from_secs(4));
    println!("{} requests, nothing read: {} MiB more", requests(), most >> 20);
    assert!(most < MOST, "{most} bytes");
    assert!(!writing.is_finished(), "all {} requests were read", requests());
    let started = Instant::now();
    let most = server.each_is_answered_once(requests());
    println!("then all read: {} MiB more, {:?}", most >> 20, started.elapsed());
    assert!(most < MOST, "{most} bytes");
    assert!(writing.join().unwrap().is_some());
}

#[test]
fn a_client_that_reads_makes_it_hold_no_more() {
    let mut server = Server::start();
    let writing = server.write(requests());
    let most = server.each_is_answered_once(requests());
    println!("{} requests, all read: {} MiB more", requests(), most >> 20);
    assert!(most < MOST, "{most} bytes");
    assert!(writing.join().unwrap().is_some());
}

/// Whoever closes the input and reads on gets every answer.
#[test]
fn what_was_asked_before_the_end_is_answered() {
    let mut server = Server::start();
    let writing = server.write(1_000);
    let closed = thread::spawn(move || drop(writing.join().unwrap()));
    server.each_is_answered_once(1_000);
    closed.join().unwrap();
    assert!(server.ends_within(Duration::from_secs(10)));
}

#[test]
fn a_message_that_is_too_long_is_refused_and_the_next_one_served() {
    let mut client = Client::legacy("2025-06-18");
    let text = "x".repeat(17 << 20);
    client.ask(2, "tools/call", json!({"name": "write_file", "arguments": {"path": "a", "content": text}}));
    let answer = client.next();
    assert!(answer["error"]["message"].as_str().unwrap().contains("at most 16777216 bytes"), "{answer}");
    assert_eq!(answer["id"], Value::Null);
    assert_eq!(client.call(3, "stat", json!({"path": "."}))["result"]["isError"], false);
    // What is JSON and no message is answered by its id; what is no JSON is nobody's.
    client.send(&json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": 5}));
    let answer = client.next();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(7), &json!(-32600)), "{answer}");
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/of-others", "params": 5}));
    assert_eq!(client.call(4, "stat", json!({"path": "."}))["result"]["isError"], false);
    client.close();
}

#[test]
fn calls_under_way_delay_neither_a_ping_nor_their_own_end() {
    let mut client = Client::legacy("2025-06-18");
    let arguments = crate::slow(&client);
    for id in 100..300 {
        client.ask(id, "tools/call", json!({"name": "grep", "arguments": arguments}));
    }
    let asked = Instant::now();
    client.ask(2, "ping", json!({}));
    while client.next()["id"] != 2 {}
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
    for id in 100..300 {
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    }
    let asked = Instant::now();
    client.ask(3, "tools/call", json!({"name": "stat", "arguments": {"path": "."}}));
    while client.next()["id"] != 3 {}
    assert!(asked.elapsed() < Duration::from_secs(20), "{:?}", asked.elapsed());
}

#[test]
fn it_ends_in_time_though_nobody_reads() {
    let mut told = Server::start();
    let writing = told.write(2_000);
    thread::sleep(Duration::from_secs(1));
    assert!(!writing.is_finished());
    let pid = rustix::process::Pid::from_child(&told.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(told.ends_within(Duration::from_secs(6)), "told to end");

    let mut left = Server::start();
    let mut stdin = left.stdin.take().unwrap();
    for id in 0..200 {
        writeln!(stdin, "{}", read(json!(id))).unwrap();
    }
    drop(stdin);
    assert!(left.ends_within(Duration::from_secs(20)), "its input was closed");
}
