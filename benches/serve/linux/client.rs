//! Clients over HTTP and over a pipe, which check each answer.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use super::server::{Server, TOKEN, clean};

const STATELESS: &str = "2026-07-28";
pub const REVISION_WITH_SESSIONS: &str = "2025-06-18";

pub fn request(path: &str, body: &str, headers: &[(&str, &str)]) -> String {
    let mut text = format!(
        "POST {path} HTTP/1.1\r\nauthorization: Bearer {TOKEN}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n"
    );
    if headers.iter().all(|(name, _)| *name != "host") {
        text.push_str("host: localhost\r\n");
    }
    headers.iter().for_each(|(name, value)| write!(text, "{name}: {value}\r\n").unwrap());
    write!(text, "content-length: {}\r\n\r\n{body}", body.len()).unwrap();
    text
}

/// Returns the call of Paddock that reads the file.
pub fn message() -> String {
    message_of("read_file", &json!({"path": "a.txt"}))
}

/// Returns a call in the stateless revision of the protocol.
pub fn message_of(tool: &str, arguments: &Value) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    });
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
}

pub fn mcp_request(workspace: &str, message: &str) -> String {
    post(&format!("/w/{workspace}/mcp"), message, "read_file")
}

/// Returns the request with a call in the stateless revision of the protocol.
pub fn post(path: &str, message: &str, tool: &str) -> String {
    let headers = [("mcp-protocol-version", STATELESS), ("mcp-method", "tools/call"), ("mcp-name", tool)];
    request(path, message, &headers)
}

/// Returns the first message of a session.
pub fn initialize() -> String {
    let about = json!({"protocolVersion": REVISION_WITH_SESSIONS, "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"}});
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about}).to_string()
}

/// Fails if an answer does not have the content of the file.
pub fn check(answer: &str) {
    assert!(answer.contains("quick brown fox"), "{answer}");
}

pub struct Connection {
    stream: TcpStream,
    bytes: Vec<u8>,
}

impl Connection {
    pub fn new(address: impl ToSocketAddrs) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, bytes: Vec::new() }
    }

    /// Makes a call, which has to succeed.
    pub fn call(&mut self, request: &str) {
        let (status, body) = self.exchange(request);
        assert_eq!(status, 200, "{body}");
        check(&body);
    }

    /// Returns a header of the last answer. Its name is in lower case.
    pub fn header(&self, name: &str) -> Option<String> {
        let text = String::from_utf8_lossy(&self.bytes);
        let (head, _) = text.split_once("\r\n\r\n")?;
        let value = |line: &str| {
            let (found, value) = line.split_once(": ")?;
            (found.to_ascii_lowercase() == name).then(|| value.to_owned())
        };
        head.lines().find_map(value)
    }

    /// Sends a request, and reads the answer by its length or by its last chunk.
    pub fn exchange(&mut self, request: &str) -> (u16, String) {
        self.stream.write_all(request.as_bytes()).unwrap();
        self.bytes.clear();
        loop {
            let mut part = [0; 16 << 10];
            let length = self.stream.read(&mut part).unwrap();
            assert!(length > 0, "the server has closed the connection");
            self.bytes.extend_from_slice(&part[..length]);
            let Some(end) = self.bytes.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
            let (head, body) = (std::str::from_utf8(&self.bytes[..end]).unwrap(), &self.bytes[end + 4..]);
            let length =
                head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
            let is_whole = length.map_or_else(|| body.ends_with(b"0\r\n\r\n"), |length: usize| body.len() >= length);
            if !is_whole {
                continue;
            }
            let status = head.split(' ').nth(1).unwrap().parse().unwrap();
            return (status, String::from_utf8_lossy(body).into_owned());
        }
    }
}

/// A process that answers lines.
pub struct Piped {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Piped {
    pub fn start(server: &Server, arguments: &[&str]) -> Self {
        let mut command = clean(server.home.path());
        command.args(arguments).arg(server.home.path().join("one"));
        Self::of(&mut command)
    }

    pub fn of(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    /// Begins a session of MCP, in a revision that needs it.
    pub fn initialize(&mut self) {
        let answer = self.exchange(&initialize());
        assert!(answer.contains("serverInfo"), "{answer}");
        self.input.write_all(b"{\"jsonrpc\": \"2.0\", \"method\": \"notifications/initialized\"}\n").unwrap();
    }

    pub fn call(&mut self, line: &str) {
        check(&self.exchange(line));
    }

    fn exchange(&mut self, line: &str) -> String {
        self.input.write_all(format!("{line}\n").as_bytes()).unwrap();
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        answer
    }
}

impl Drop for Piped {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
