//! A server in this process, and a client that writes requests byte by byte.

use std::fs;
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use paddock::serve::{Server, hash};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

pub const PATIENCE: Duration = Duration::from_secs(60);

/// The token of `Running::with_token`.
pub const TOKEN: &str = "pdk_test";

pub struct Running {
    pub address: SocketAddr,
    pub home: TempDir,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The program `paddock serve`, with the file `serve.yaml` of a directory.
pub struct Program {
    pub child: Child,
    /// Its standard error after the first line.
    pub lines: Lines<BufReader<ChildStderr>>,
    /// Address and port.
    pub address: String,
}

impl Program {
    /// Starts the program, and waits until it accepts connections.
    pub fn start(home: &Path) -> Self {
        Self::start_with(home, &[])
    }

    /// Starts the program by a command that gets the program and its arguments as further arguments.
    pub fn start_with(home: &Path, wrapper: &[&str]) -> Self {
        let words: Vec<_> =
            wrapper.iter().copied().chain([env!("CARGO_BIN_EXE_paddock"), "serve", "--config"]).collect();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg(home.join("serve.yaml"));
        command.env("XDG_CONFIG_HOME", home.join("none")).env_remove("PADDOCK_POLICY");
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        let address = first.strip_prefix("paddock: serving http://").unwrap_or_else(|| panic!("{first}")).to_owned();
        Self { child, lines, address }
    }

    /// Sends SIGTERM.
    pub fn terminate(&self) {
        let program = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(program, rustix::process::Signal::TERM).unwrap();
    }
}

impl Drop for Program {
    /// Ends the program of a test that has failed.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An answer of the server.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Running {
    /// Starts a server with a configuration, in which `{home}` is a new directory with a directory `notes`.
    pub fn start(configuration: &str) -> Self {
        let home = TempDir::new().unwrap();
        fs::create_dir_all(home.path().join("notes/docs")).unwrap();
        fs::write(home.path().join("notes/a.txt"), "one\ntwo\n").unwrap();
        fs::write(home.path().join("notes/docs/b.txt"), "three\n").unwrap();
        fs::create_dir(home.path().join("teams")).unwrap();
        Self::at(home, configuration)
    }

    /// Starts a server over an existing directory.
    pub fn at(home: TempDir, configuration: &str) -> Self {
        let file = home.path().join("serve.yaml");
        let common = format!("listen: 127.0.0.1:0\nstate_dir: {}\n", home.path().join("state").display());
        let text = configuration.replace("{home}", home.path().to_str().unwrap());
        fs::write(&file, format!("{common}{text}")).unwrap();
        let server = Server::open(&file).unwrap();
        let (stop, stopped) = oneshot::channel();
        let (sender, address) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::bind(server.address()).await.unwrap();
                sender.send(listener.local_addr().unwrap()).unwrap();
                server.serve(listener, async { drop(stopped.await) }).await;
            });
            runtime.shutdown_timeout(Duration::from_secs(5));
        });
        Self { address: address.recv().unwrap(), home, stop: Some(stop), thread: Some(thread) }
    }

    /// Starts a server with the workspace `notes` and one token, which has this grant.
    pub fn with_token(grant: &Value, more: &str) -> Self {
        let grant = format!("tokens:\n- {{name: alice, sha256: {}, grant: {grant}}}\n", hash(TOKEN));
        Self::start(&format!("workspaces:\n  notes:\n    root: '{{home}}/notes'\n{grant}{more}"))
    }

    /// Starts a server whose only token may do all in `notes`.
    pub fn notes(more: &str) -> Self {
        Self::with_token(&json!({"workspaces": ["notes"]}), more)
    }

    pub fn root(&self) -> PathBuf {
        self.home.path().join("notes")
    }

    /// Tells the server to end.
    pub fn stop(&mut self) {
        drop(self.stop.take());
    }

    /// Waits until the server has ended.
    pub fn wait(mut self) {
        self.stop();
        self.thread.take().unwrap().join().unwrap();
    }

    /// Ends the server and returns its directory.
    pub fn end(mut self) -> TempDir {
        self.stop();
        self.thread.take().unwrap().join().unwrap();
        std::mem::replace(&mut self.home, TempDir::new().unwrap())
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends bytes and returns the answer; `None` if the server closes the connection without one.
    pub fn raw(&self, bytes: &[u8]) -> Option<Reply> {
        let mut stream = self.connect();
        // The server may refuse before it has read everything.
        let _ = stream.write_all(bytes);
        Reply::read(&mut stream)
    }

    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        self.raw(request(method, path, headers, body).as_bytes()).expect("an answer")
    }

    pub fn get(&self, path: &str, token: &str) -> Reply {
        self.request("GET", path, &[("authorization", &format!("Bearer {token}"))], "")
    }

    pub fn post(&self, path: &str, token: &str, body: &Value) -> Reply {
        self.request("POST", path, &[("authorization", &format!("Bearer {token}"))], &body.to_string())
    }

    /// Calls a tool in `notes` with the common token.
    pub fn call(&self, tool: &str, arguments: Value) -> Reply {
        self.call_as(TOKEN, "notes", tool, arguments)
    }

    pub fn call_as(&self, token: &str, workspace: &str, tool: &str, arguments: Value) -> Reply {
        self.post(&format!("/w/{workspace}/call"), token, &json!({"tool": tool, "arguments": arguments}))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Returns the text of a request that closes its connection.
pub fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
    let mut text = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        text.push_str("host: localhost\r\n");
    }
    if !body.is_empty() {
        text.push_str(&format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len()));
    }
    headers.iter().for_each(|(name, value)| text.push_str(&format!("{name}: {value}\r\n")));
    text + "\r\n" + body
}

impl Reply {
    /// Reads one answer up to its end.
    pub fn read(stream: &mut TcpStream) -> Option<Self> {
        let mut bytes = Vec::new();
        // A reset after the answer is the end too.
        let _ = stream.read_to_end(&mut bytes);
        Self::parse(&bytes)
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
        let head = std::str::from_utf8(&bytes[..end]).unwrap();
        let mut lines = head.split("\r\n");
        let status = lines.next()?.split(' ').nth(1)?.parse().unwrap();
        let pair =
            |line: &str| line.split_once(": ").map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()));
        let headers: Vec<_> = lines.filter_map(pair).collect();
        let rest = &bytes[end + 4..];
        let is_chunked = headers.iter().any(|(name, _)| name == "transfer-encoding");
        let body = if is_chunked { unchunked(rest) } else { rest.to_vec() };
        Some(Self { status, headers, body })
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|cause| panic!("{cause}: {self:?}"))
    }
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = bytes.windows(2).position(|window| window == b"\r\n") {
        let length = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).unwrap(), 16).unwrap();
        let Some(chunk) = bytes.get(end + 2..end + 2 + length) else { break };
        body.extend_from_slice(chunk);
        bytes = bytes.get(end + 4 + length..).unwrap_or_default();
    }
    body
}
