//! Other file servers beside Paddock: the reference MCP server over a pipe, the same over HTTP by `mcp-proxy`, since it has no
//! transport for HTTP of its own, and `mcp-filesystem`, which has one.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::client::{
    Connection, Piped, REVISION_WITH_SESSIONS, initialize, mcp_request, message, message_of, post, request,
};
use super::server::Server;
use super::{UNLIMITED, load, median, report, turns};

const CLIENTS: usize = 64;
const TIME: Duration = Duration::from_secs(10);

/// Reads of 4 KB in turns, over pipes and over HTTP, and then by 64 clients of one workspace.
pub fn run() {
    let installed = install();
    let paddock =
        Server::start(&["one"], &format!("workspaces:\n  one: {{root: '{{home}}/one', limits: {UNLIMITED}}}\n"));
    let directory = paddock.home.path().join("one");
    let file = directory.join("a.txt");
    let file = file.to_str().unwrap();
    let reference = reference(&installed, &directory);
    let mut piped_reference = Piped::of(Command::new("node").args(&reference));
    piped_reference.initialize();
    let mut piped = Piped::start(&paddock, &["mcp", "--root"]);
    let proxy = Peer::start(&proxy(&installed), &reference);
    let own = Peer::start(&own_transport(&installed), &[]);
    let line = message();
    let of_reference = old_call("read_text_file", &json!({"path": file})).to_string();
    let to_paddock = mcp_request("one", &line);
    let to_proxy = post("/mcp", &message_of("read_text_file", &json!({"path": file})), "read_text_file");
    let call_of_own = old_call("read_file", &json!({"file_path": file})).to_string();
    let sessions: Vec<String> = (0..CLIENTS).map(|_| own.session()).collect();
    let to_own = |session: usize| own.old_request(&call_of_own, Some(&sessions[session % CLIENTS]));
    let (mut http, mut proxied, mut direct) = (paddock.connect(), proxy.connect(), own.connect());
    let times = turns(
        [
            &mut (|| piped.call(&line)) as &mut dyn FnMut(),
            &mut || piped_reference.call(&of_reference),
            &mut || http.call(&to_paddock),
            &mut || proxied.call(&to_proxy),
            &mut || direct.call(&to_own(0)),
        ],
        200,
    );
    let [pipe, reference_pipe, http, proxied, direct] = times.map(|mut times| median(&mut times));
    println!("read of 4 KB, one client, over a pipe: paddock mcp {pipe:?}, the reference server {reference_pipe:?}");
    println!(
        "read of 4 KB, one client, over HTTP: paddock serve {http:?}, the reference server by mcp-proxy {proxied:?}, mcp-filesystem {direct:?}"
    );
    let under_load =
        |what: &str, connect: &(dyn Fn() -> Connection + Sync), request: &(dyn Fn(usize) -> String + Sync)| {
            report(&format!("{CLIENTS} clients of MCP, {what}"), &mut load(connect, CLIENTS, TIME, request), TIME);
        };
    under_load("paddock serve", &|| paddock.connect(), &|_| to_paddock.clone());
    under_load("the reference server by mcp-proxy", &|| proxy.connect(), &|_| to_proxy.clone());
    under_load("mcp-filesystem", &|| own.connect(), &to_own);
}

/// Installs the programs below `target/serve-peers`, and returns this directory.
fn install() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (files, directory) = (root.join("benches/serve/programs"), root.join("target/serve-peers"));
    fs::create_dir_all(&directory).unwrap();
    for name in ["package.json", "package-lock.json"] {
        fs::copy(files.join(name), directory.join(name)).unwrap();
    }
    let run = |command: &mut Command| assert!(command.status().unwrap().success(), "{command:?}");
    run(Command::new("npm").args(["ci", "--silent", "--no-audit", "--no-fund"]).current_dir(&directory));
    run(Command::new("python3").args(["-m", "venv"]).arg(directory.join("python")));
    let mut pip = Command::new(directory.join("python/bin/pip"));
    run(pip.args(["install", "-q", "--disable-pip-version-check", "-r"]).arg(files.join("requirements.txt")));
    directory
}

/// Returns the arguments of `node` that start the reference server.
fn reference(installed: &Path, directory: &Path) -> [PathBuf; 2] {
    let program = "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js";
    [installed.join(program), directory.to_owned()]
}

/// Returns a function from a port to the command of the proxy, which the command of its server follows.
fn proxy(installed: &Path) -> impl Fn(u16) -> Command {
    move |port| {
        let mut command = Command::new("node");
        command.arg(installed.join("node_modules/mcp-proxy/dist/bin/mcp-proxy.mjs"));
        command.args(["--host", "127.0.0.1", "--server", "stream", "--no-eventStore", "--port", &port.to_string()]);
        command.args(["--", "node"]);
        command
    }
}

/// Returns a function from a port to the command of the server with its own transport for HTTP.
fn own_transport(installed: &Path) -> impl Fn(u16) -> Command {
    move |port| {
        let mut command = Command::new(installed.join("python/bin/mcp-filesystem"));
        command.args(["--streamable-http", "--host", "127.0.0.1", "--port", &port.to_string()]);
        command
    }
}

/// Returns a call in a revision of the protocol that has sessions.
fn old_call(tool: &str, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

/// Another server that listens for HTTP.
struct Peer {
    child: Child,
    port: u16,
    /// Its current directory.
    _home: TempDir,
}

impl Peer {
    fn start(command: &dyn Fn(u16) -> Command, arguments: &[PathBuf]) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let home = TempDir::new().unwrap();
        let mut command = command(port);
        command.args(arguments).current_dir(home.path());
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let peer = Self { child, port, _home: home };
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(started.elapsed() < Duration::from_secs(60), "{command:?} does not start");
            thread::sleep(Duration::from_millis(50));
        }
        peer
    }

    fn connect(&self) -> Connection {
        Connection::new(("127.0.0.1", self.port))
    }

    /// Begins a session, and returns its identifier.
    fn session(&self) -> String {
        let mut connection = self.connect();
        let (status, _) = connection.exchange(&self.old_request(&initialize(), None));
        assert_eq!(status, 200);
        let session = connection.header("mcp-session-id").unwrap();
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
        assert_eq!(connection.exchange(&self.old_request(&ready, Some(&session))).0, 202);
        session
    }

    /// Returns the request with a message of a session.
    fn old_request(&self, message: &str, session: Option<&str>) -> String {
        let host = format!("127.0.0.1:{}", self.port);
        let mut headers = vec![("host", host.as_str())];
        headers.extend(session.map(|session| ("mcp-session-id", session)));
        headers.extend(session.map(|_| ("mcp-protocol-version", REVISION_WITH_SESSIONS)));
        request("/mcp", message, &headers)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
