//! Traces and metrics, as a collector of OpenTelemetry gets them.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as AnyValue;
use opentelemetry_proto::tonic::trace::v1::Span;
use paddock::serve::hash;
use prost::Message;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::client::{Reply, Running, TOKEN, request};
use super::mcp_client::{ACCEPT, STATELESS, meta};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

/// A collector on this machine, which stores what it gets.
#[derive(Clone)]
struct Collector {
    address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
}

/// Path and body of a request.
type Received = (String, Vec<u8>);

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let collector = Self { address: listener.local_addr().unwrap(), received: Arc::default() };
        let received = collector.received.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                received.lock().unwrap().push(receive(stream.unwrap()));
            }
        });
        collector
    }

    fn setting(&self) -> String {
        format!("opentelemetry: {{endpoint: 'http://{}'}}\n", self.address)
    }

    fn bodies(&self, path: &str) -> Vec<Vec<u8>> {
        let received = self.received.lock().unwrap();
        received.iter().filter(|(own, _)| own == path).map(|(_, body)| body.clone()).collect()
    }

    fn spans(&self) -> Vec<Span> {
        let requests = self.bodies("/v1/traces");
        let requests = requests.iter().map(|body| ExportTraceServiceRequest::decode(&**body).unwrap());
        let scopes = requests.flat_map(|request| request.resource_spans).flat_map(|spans| spans.scope_spans);
        scopes.flat_map(|spans| spans.spans).collect()
    }

    fn metrics(&self) -> Vec<String> {
        let requests = self.bodies("/v1/metrics");
        let requests = requests.iter().map(|body| ExportMetricsServiceRequest::decode(&**body).unwrap());
        let scopes = requests.flat_map(|request| request.resource_metrics).flat_map(|metrics| metrics.scope_metrics);
        scopes.flat_map(|metrics| metrics.metrics).map(|metric| metric.name).collect()
    }
}

fn receive(stream: TcpStream) -> (String, Vec<u8>) {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).unwrap();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    reader.get_mut().write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
    (first.split(' ').nth(1).unwrap().to_owned(), body)
}

fn attribute(span: &Span, name: &str) -> Option<String> {
    let attribute = span.attributes.iter().find(|attribute| attribute.key == name)?;
    match attribute.value.clone()?.value? {
        AnyValue::StringValue(text) => Some(text),
        AnyValue::IntValue(number) => Some(number.to_string()),
        other => panic!("{other:?}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn with_parent(server: &Running, path: &str, extra: &[(&str, &str)], body: &Value) -> Reply {
    let (authorization, parent) = (format!("Bearer {TOKEN}"), format!("00-{TRACE}-{PARENT}-01"));
    let mut headers = vec![("authorization", &*authorization), ("traceparent", &*parent)];
    headers.extend(extra);
    server.request("POST", path, &headers, &body.to_string())
}

#[test]
fn a_call_is_a_span_in_the_trace_of_its_caller() {
    let collector = Collector::start();
    let server = Running::notes(&collector.setting());
    let arguments = json!({"path": "secret-path.txt", "content": "secret-content"});
    let body = json!({"tool": "write_file", "arguments": arguments});
    assert_eq!(with_parent(&server, "/w/notes/call?secret-query", &[], &body).status, 200);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "read_file", "arguments": {"path": "../secret-path"}, "_meta": meta()}});
    let names = [("mcp-protocol-version", STATELESS), ("mcp-method", "tools/call"), ("mcp-name", "read_file")];
    let headers: Vec<_> = names.into_iter().chain([("accept", ACCEPT)]).collect();
    assert_eq!(with_parent(&server, "/w/notes/mcp", &headers, &call).status, 200);
    assert_eq!(server.call_as("secret-token", "notes", "tree", json!({})).status, 401);
    server.wait();
    let spans = collector.spans();
    let find = |name: &str| spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("{name}: {spans:?}"));
    for (route, operation, code, status) in
        [("/w/{workspace}/call", "write", "ok", 0), ("/w/{workspace}/mcp", "read", "outside-workspace", 2)]
    {
        let (outer, inner) = (find(&format!("POST {route}")), find(&format!("call {operation}")));
        assert_eq!((&*hex(&outer.trace_id), &*hex(&outer.parent_span_id), outer.kind), (TRACE, PARENT, 2));
        assert_eq!((&*hex(&inner.trace_id), &inner.parent_span_id, inner.kind), (TRACE, &outer.span_id, 1));
        assert!(inner.start_time_unix_nano <= inner.end_time_unix_nano);
        for (name, value) in [
            ("http.request.method", "POST"),
            ("http.route", route),
            ("http.response.status_code", "200"),
            ("paddock.holder", "alice"),
        ] {
            assert_eq!(attribute(outer, name).as_deref(), Some(value), "{name}");
        }
        for (name, value) in [
            ("paddock.workspace", "notes"),
            ("paddock.operation", operation),
            ("paddock.code", code),
            ("paddock.dialect", "paddock"),
        ] {
            assert_eq!(attribute(inner, name).as_deref(), Some(value), "{name}");
        }
        assert_eq!(inner.status.as_ref().map_or(0, |status| status.code), status);
        assert_eq!(attribute(inner, "error.type").is_some(), code != "ok");
    }
    let write = find("call write");
    assert_eq!(attribute(write, "paddock.tool").as_deref(), Some("write_file"));
    assert_eq!(attribute(write, "paddock.bytes").as_deref(), Some("14"));
    let refused =
        spans.iter().find(|span| attribute(span, "http.response.status_code").as_deref() == Some("401")).unwrap();
    assert_eq!((refused.parent_span_id.len(), refused.trace_id.len()), (0, 16));
    assert!(collector.metrics().contains(&"paddock.calls".to_owned()), "{:?}", collector.metrics());
    for (path, body) in collector.received.lock().unwrap().iter() {
        let text = String::from_utf8_lossy(body);
        for secret in ["secret-", TOKEN, &hash(TOKEN)] {
            assert!(!text.contains(secret), "{path}: {secret}: {text}");
        }
    }
}

#[test]
fn a_wrong_endpoint_is_refused_with_its_line() {
    let home = TempDir::new().unwrap();
    let file = home.path().join("serve.yaml");
    for endpoint in ["https://collector:4318", "collector:4318", "http://user:secret@collector"] {
        fs::write(&file, format!("metrics: true\nopentelemetry: {{endpoint: '{endpoint}'}}\n")).unwrap();
        let error = paddock::serve::Server::open(&file).err().unwrap().to_string();
        assert!(error.contains("serve.yaml") && error.contains("opentelemetry.endpoint"), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
}

/// A server as a process of its own, whose memory can be measured.
struct Process {
    child: Child,
    address: String,
    _home: TempDir,
}

impl Process {
    fn start(more: &str) -> Self {
        let home = TempDir::new().unwrap();
        fs::create_dir(home.path().join("notes")).unwrap();
        let token = format!("tokens:\n- {{name: alice, sha256: {}, grant: {{workspaces: [notes]}}}}\n", hash(TOKEN));
        let limits = "limits: {calls_per_second: 100000, call_ms_per_second: 1000000}";
        let workspace = format!("workspaces:\n  notes:\n    root: notes\n    {limits}\n");
        let text = format!("listen: 127.0.0.1:0\nstate_dir: state\n{workspace}{token}{more}");
        fs::write(home.path().join("serve.yaml"), text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_paddock"));
        command.args(["serve", "--config"]).arg(home.path().join("serve.yaml"));
        command.env("XDG_CONFIG_HOME", home.path().join("none")).env_remove("PADDOCK_POLICY");
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut first).unwrap();
        let address = first.trim().strip_prefix("paddock: serving http://").unwrap_or_else(|| panic!("{first}"));
        Self { address: address.to_owned(), child, _home: home }
    }

    /// Sends requests over one connection. Returns the longest time until an answer.
    fn send(&self, text: &str, count: usize) -> Duration {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let text = text.replace("connection: close\r\n", "");
        let mut longest = Duration::ZERO;
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        for _ in 0..count {
            let started = Instant::now();
            stream.write_all(text.as_bytes()).unwrap();
            let mut length = 0;
            loop {
                let mut line = String::new();
                assert!(reader.read_line(&mut line).unwrap() > 0);
                if let Some(value) = line.strip_prefix("content-length: ") {
                    length = value.trim().parse().unwrap();
                }
                if line == "\r\n" {
                    break;
                }
            }
            reader.read_exact(&mut vec![0; length]).unwrap();
            longest = longest.max(started.elapsed());
        }
        longest
    }

    /// Returns the resident memory in KiB.
    fn memory(&self) -> usize {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_collector_that_never_answers_costs_spans_and_nothing_else() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let accepted = Arc::new(Mutex::new(Vec::new()));
    let (address, held) = (silent.local_addr().unwrap(), accepted.clone());
    thread::spawn(move || silent.incoming().for_each(|stream| held.lock().unwrap().push(stream.unwrap())));
    let setting = format!("opentelemetry: {{endpoint: 'http://{address}'}}\nlimits: {{shutdown_ms: 1000}}\n");
    let mut server = Process::start(&setting);
    let authorization = format!("Bearer {TOKEN}");
    // Large texts, which a span has a bounded part of.
    let (path, state) = (format!("/{}", "p".repeat(8000)), "s".repeat(4000));
    let parent = format!("00-{TRACE}-{PARENT}-01");
    let headers = [("traceparent", &*parent), ("tracestate", &*state)];
    let large = request("GET", &path, &headers, "");
    let call = request("POST", "/w/notes/call", &[("authorization", &*authorization)], r#"{"tool": "tree"}"#);
    // More spans than the queue holds.
    server.send(&large, 4000);
    server.send(&call, 100);
    let before = server.memory();
    let longest = server.send(&call, 300).max(server.send(&large, 8000));
    let grown = server.memory().saturating_sub(before);
    println!("longest request {longest:?}, memory {before} KiB and {grown} KiB more");
    assert!(longest < Duration::from_secs(2), "{longest:?}");
    assert!(grown < 16 << 10, "{grown} KiB");
    assert!(!accepted.lock().unwrap().is_empty(), "the server has sent spans");
    let started = Instant::now();
    kill_process(Pid::from_child(&server.child), Signal::TERM).unwrap();
    assert!(server.child.wait().unwrap().success());
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
}
