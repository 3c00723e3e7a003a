//! The reference MCP file server beside Paddock: over a pipe, and over HTTP by `mcp-proxy`, since it has no transport for
//! HTTP of its own.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;

use super::client::{Connection, Piped, mcp_request, message, message_of, post};
use super::server::Server;
use super::{UNLIMITED, load, median, report, turns};

const PROXY: &str = "mcp-proxy@6.7.19";
const REFERENCE: &str = "@modelcontextprotocol/server-filesystem@2026.8.31";

/// Reads of 4 KB in turns, over pipes and over HTTP, and then by 64 clients of one workspace.
pub fn run() {
    let modules = install();
    let paddock =
        Server::start(&["one"], &format!("workspaces:\n  one: {{root: '{{home}}/one', limits: {UNLIMITED}}}\n"));
    let directory = paddock.home.path().join("one");
    let reference = reference(&modules, &directory);
    let mut piped_reference = Piped::of(Command::new("node").args(&reference));
    piped_reference.initialize();
    let mut piped = Piped::start(&paddock, &["mcp", "--root"]);
    let proxy = Proxy::start(&modules, &reference);
    let file = directory.join("a.txt");
    let of_reference = message_of("read_text_file", &json!({"path": file.to_str().unwrap()}));
    let old = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "read_text_file", "arguments": {"path": file.to_str().unwrap()}}});
    let (line, old) = (message(), old.to_string());
    let (request, to_proxy) = (mcp_request("one", &line), post("/mcp", &of_reference, "read_text_file"));
    let (mut http, mut proxied) = (paddock.connect(), proxy.connect());
    let times = turns(
        [
            &mut (|| piped.call(&line)) as &mut dyn FnMut(),
            &mut || piped_reference.call(&old),
            &mut || http.call(&request),
            &mut || proxied.call(&to_proxy),
        ],
        200,
    );
    let [pipe, reference_pipe, http, proxied] = times.map(|mut times| median(&mut times));
    println!("read of 4 KB, one client, over a pipe: paddock mcp {pipe:?}, the reference server {reference_pipe:?}");
    println!(
        "read of 4 KB, one client, over HTTP: paddock serve {http:?}, the reference server by {PROXY} {proxied:?}"
    );
    let time = Duration::from_secs(10);
    report("64 clients of MCP, paddock serve", &mut load(&|| paddock.connect(), 64, time, &|_| request.clone()), time);
    report(
        &format!("64 clients of MCP, the reference server by {PROXY}"),
        &mut load(&|| proxy.connect(), 64, time, &|_| to_proxy.clone()),
        time,
    );
}

/// Installs the programs below `target/serve-peers`, and returns the directory of their packages.
fn install() -> PathBuf {
    let prefix = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/serve-peers");
    fs::create_dir_all(&prefix).unwrap();
    let mut command = Command::new("npm");
    command.args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"]).arg(&prefix).args([PROXY, REFERENCE]);
    assert!(command.status().unwrap().success(), "npm cannot install {PROXY} and {REFERENCE}");
    prefix.join("node_modules")
}

/// Returns the arguments of `node` that start the reference server.
fn reference(modules: &Path, directory: &Path) -> [PathBuf; 2] {
    [modules.join("@modelcontextprotocol/server-filesystem/dist/index.js"), directory.to_owned()]
}

/// The reference server behind a proxy from HTTP to its pipe.
struct Proxy {
    child: Child,
    port: u16,
    /// Its current directory.
    _home: TempDir,
}

impl Proxy {
    fn start(modules: &Path, reference: &[PathBuf]) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let home = TempDir::new().unwrap();
        let mut command = Command::new("node");
        command.arg(modules.join("mcp-proxy/dist/bin/mcp-proxy.mjs"));
        command.args(["--host", "127.0.0.1", "--server", "stream", "--no-eventStore", "--port", &port.to_string()]);
        command.args(["--", "node"]).args(reference).current_dir(home.path());
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let proxy = Self { child, port, _home: home };
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(started.elapsed() < Duration::from_secs(60), "the proxy does not start");
            thread::sleep(Duration::from_millis(50));
        }
        proxy
    }

    fn connect(&self) -> Connection {
        Connection::new(("127.0.0.1", self.port))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
