//! `paddock mcp` as a client sees it, line by line, in both eras of the protocol.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by a panic"
)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);

struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<Value>,
    workspace: TempDir,
    _state: TempDir,
    stateless: bool,
    capabilities: Value,
}

impl Client {
    fn start(stateless: bool) -> Self {
        Self::start_with(stateless, json!({}), &[])
    }

    /// A client that can do this, of a server with these options.
    fn start_with(stateless: bool, capabilities: Value, options: &[&str]) -> Self {
        let (workspace, state) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let mut command = Command::new(env!("CARGO_BIN_EXE_paddock"));
        command.args(["mcp", "--root"]).arg(workspace.path()).args(options).env("PADDOCK_STATE_DIR", state.path());
        command.env("XDG_CONFIG_HOME", state.path().join("none")).env_remove("PADDOCK_POLICY");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (sender, messages) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            for line in stdout.lines() {
                // Anything else on standard output is a failure here.
                let _ = sender.send(serde_json::from_str(&line.unwrap()).expect("nothing but JSON on stdout"));
            }
        });
        let stdin = child.stdin.take();
        Self { child, stdin, messages, workspace, _state: state, stateless, capabilities }
    }

    /// A client of the era in which a session starts with `initialize`.
    fn legacy(version: &str) -> Self {
        let mut client = Self::start(false);
        client.initialize(version);
        client
    }

    fn initialize(&mut self, version: &str) {
        let client = self;
        let about = json!({"name": "test", "version": "1"});
        let hello = json!({"protocolVersion": version, "capabilities": client.capabilities, "clientInfo": about});
        let answer = client.request(1, "initialize", hello);
        assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
        assert_eq!(answer["result"]["serverInfo"]["name"], "paddock");
        assert!(answer["result"]["instructions"].as_str().unwrap().contains("read_file"));
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    fn ask(&mut self, id: u64, method: &str, mut params: Value) {
        if self.stateless {
            let meta = params.as_object_mut().unwrap().entry("_meta").or_insert(json!({}));
            meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
            meta["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
            meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "test", "version": "1"});
        }
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    fn next(&self) -> Value {
        self.messages.recv_timeout(PATIENCE).expect("an answer in time")
    }

    fn request(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.ask(id, method, params);
        let answer = self.next();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    fn call(&mut self, id: u64, tool: &str, arguments: Value) -> Value {
        self.request(id, "tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Closes standard input; the server has to end well, having said nothing more.
    fn close(mut self) {
        drop(self.stdin.take());
        let asked = Instant::now();
        assert!(self.child.wait().unwrap().success());
        assert!(asked.elapsed() < Duration::from_secs(8));
        assert_eq!(self.messages.recv_timeout(PATIENCE).ok(), None);
    }
}

fn session(mut client: Client) {
    fs::write(client.workspace.path().join("a.txt"), "one\ntwo\n").unwrap();
    let listed = client.request(2, "tools/list", json!({}));
    let again = client.request(3, "tools/list", json!({}));
    assert_eq!(listed["result"], again["result"]);
    let tools = listed["result"]["tools"].as_array().unwrap();
    let find = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
    assert_eq!(find("read_file")["annotations"]["readOnlyHint"], true);
    assert_eq!(find("delete")["annotations"]["destructiveHint"], true);
    assert!(
        tools.iter().all(|tool| tool["inputSchema"]["type"] == "object" && tool["outputSchema"]["type"] == "object")
    );
    assert!(tools.iter().all(|tool| tool["annotations"]["openWorldHint"] == false));

    let read = client.call(4, "read_file", json!({"path": "a.txt"}));
    assert_eq!(read["result"]["content"], json!([{"type": "text", "text": "1|one\n2|two\n"}]), "{read}");
    assert_eq!(read["result"]["structuredContent"]["content"], "one\ntwo");
    assert_ne!(read["result"]["isError"], true);

    let missing = client.call(5, "read_file", json!({"path": "b.txt"}));
    assert_eq!(missing["result"]["isError"], true, "{missing}");
    assert!(missing["result"]["content"][0]["text"].as_str().unwrap().contains("`b.txt`"));
    assert_eq!(missing["result"].get("structuredContent"), None);

    let wrong = client.call(6, "read_file", json!({"file": "a.txt"}));
    assert_eq!(wrong["result"]["isError"], true);
    let unknown = client.call(7, "read_fil", json!({}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    let nothing = client.request(8, "no/such", json!({}));
    assert_eq!(nothing["error"]["code"], -32601, "{nothing}");
    client.close();
}

#[test]
fn a_session_of_each_legacy_revision() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        session(Client::legacy(version));
    }
}

#[test]
fn a_session_without_initialize() {
    session(Client::start(true));
}

#[test]
fn what_the_stateless_revision_requires_is_there() {
    let mut client = Client::start(true);
    let discovered = client.request(1, "server/discover", json!({}));
    let result = &discovered["result"];
    assert_eq!(result["resultType"], "complete", "{discovered}");
    let versions = result["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2025-11-25")));
    assert!(result["capabilities"]["tools"].is_object());
    assert!(result["ttlMs"].is_u64() && result["cacheScope"].is_string());
    let listed = client.request(2, "tools/list", json!({}));
    assert!(listed["result"]["ttlMs"].is_u64() && listed["result"]["cacheScope"].is_string());
    assert_eq!(listed["result"]["resultType"], "complete");
    let called = client.call(3, "list_dir", json!({}));
    assert_eq!(called["result"]["resultType"], "complete", "{called}");
    client.close();
}

#[test]
fn a_client_that_asks_is_told_how_calls_ended() {
    let mut client = Client::legacy("2025-11-25");
    fs::write(client.workspace.path().join("a.txt"), "one\n").unwrap();
    fs::write(client.workspace.path().join(".agentignore"), ".env\n").unwrap();
    // Nobody asked yet.
    client.call(2, "read_file", json!({"path": "a.txt"}));
    assert_eq!(client.request(3, "logging/setLevel", json!({"level": "info"}))["result"], json!({}));
    client.ask(4, "tools/call", json!({"name": "read_file", "arguments": {"path": "a.txt"}}));
    let note = client.next();
    assert_eq!(note["method"], "notifications/message", "{note}");
    let params = &note["params"];
    assert_eq!((params["level"].as_str(), params["logger"].as_str()), (Some("info"), Some("paddock")));
    assert_eq!((params["data"]["event"].as_str(), &params["data"]["paths"]), (Some("end"), &json!(["a.txt"])));
    assert_eq!(client.next()["id"], 4);
    client.request(5, "logging/setLevel", json!({"level": "warning"}));
    client.call(6, "read_file", json!({"path": "a.txt"}));
    client.ask(7, "tools/call", json!({"name": "read_file", "arguments": {"path": ".env"}}));
    let refused = client.next();
    assert_eq!(
        (refused["params"]["level"].as_str(), refused["params"]["data"]["outcome"].as_str()),
        (Some("warning"), Some("denied"))
    );
    assert!(!refused.to_string().contains(".env"), "{refused}");
    assert_eq!(client.next()["id"], 7);
    client.close();
}

#[test]
fn a_stateless_client_asks_in_each_request() {
    let mut client = Client::start(true);
    assert!(client.request(1, "server/discover", json!({}))["result"]["capabilities"]["logging"].is_object());
    let refused = client.request(2, "logging/setLevel", json!({"level": "debug"}));
    assert_eq!(refused["error"]["code"], -32601, "{refused}");
    let stat = json!({"name": "stat", "arguments": {"path": "."}});
    client.request(3, "tools/call", stat.clone());
    let mut asking = stat;
    asking["_meta"] = json!({"io.modelcontextprotocol/logLevel": "info"});
    client.ask(4, "tools/call", asking);
    assert_eq!(client.next()["params"]["data"]["tool"], "stat");
    assert_eq!(client.next()["id"], 4);
    client.call(5, "stat", json!({"path": "."}));
    client.close();
}

#[test]
fn an_unsupported_version_is_refused_with_those_that_are_not() {
    let mut client = Client::start(true);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2031-01-01", "io.modelcontextprotocol/clientCapabilities": {}});
    client.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}));
    let answer = client.next();
    assert_eq!(answer["error"]["code"], -32022, "{answer}");
    assert!(answer["error"]["data"]["supported"].as_array().unwrap().contains(&json!("2026-07-28")));
}

#[test]
fn a_client_that_says_nothing_ends_it_well() {
    Client::start(false).close();
}

/// A search that takes longer than any test waits: its automaton is too large to keep, so it is slow at each byte.
fn slow(client: &Client) -> Value {
    let mut seed = 1u64;
    for name in 0..64 {
        let mut letter = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if seed >> 63 == 0 { b'a' } else { b'b' }
        };
        let text: Vec<u8> = (0..256 << 10).map(|at| if at % 4096 == 4095 { b'\n' } else { letter() }).collect();
        fs::write(client.workspace.path().join(format!("{name}.txt")), text).unwrap();
    }
    json!({"pattern": "(?:a[ab]{90}|b[ab]{120}|[ab]a[ab]{150})[c-zC-Z]"})
}

#[test]
fn a_long_call_reports_more_and_more() {
    let mut client = Client::legacy("2025-11-25");
    let arguments = slow(&client);
    client.ask(2, "tools/call", json!({"name": "grep", "arguments": arguments, "_meta": {"progressToken": "p"}}));
    let mut last = 0.0;
    for _ in 0..3 {
        let note = client.next();
        assert_eq!(note["method"], "notifications/progress", "{note}");
        assert_eq!(note["params"]["progressToken"], "p");
        let progress = note["params"]["progress"].as_f64().unwrap();
        assert!(progress > last, "{progress} after {last}");
        last = progress;
    }
    // Meanwhile others are served.
    client.ask(3, "tools/call", json!({"name": "stat", "arguments": {"path": "0.txt"}}));
    let answer = std::iter::repeat_with(|| client.next()).find(|message| message.get("method").is_none()).unwrap();
    assert_eq!(answer["id"], 3, "{answer}");
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}));
    client.close();
}

#[test]
fn a_cancelled_call_stops_and_says_nothing_more() {
    let mut client = Client::legacy("2025-11-25");
    let arguments = slow(&client);
    client.ask(2, "tools/call", json!({"name": "grep", "arguments": arguments}));
    thread::sleep(Duration::from_millis(700));
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}));
    let answer = client.call(3, "stat", json!({"path": "0.txt"}));
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    thread::sleep(Duration::from_millis(200));
    let before = cpu_ticks(&client.child);
    thread::sleep(Duration::from_millis(500));
    assert!(cpu_ticks(&client.child) - before <= 5, "the guest still runs");
    client.close();
}

#[cfg(target_os = "linux")]
fn cpu_ticks(child: &Child) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[cfg(not(target_os = "linux"))]
fn cpu_ticks(_child: &Child) -> u64 {
    0
}

/// A server that asks before it deletes, with a policy file beside the workspace.
fn asking(stateless: bool, capabilities: Value) -> (Client, TempDir) {
    let home = TempDir::new().unwrap();
    let policy = home.path().join("policy.json");
    fs::write(&policy, r#"{"approval": "on-delete"}"#).unwrap();
    let client = Client::start_with(stateless, capabilities, &["--policy", policy.to_str().unwrap()]);
    fs::write(client.workspace.path().join("a.txt"), "one\n").unwrap();
    (client, home)
}

fn is_there(client: &Client) -> bool {
    client.workspace.path().join("a.txt").exists()
}

#[test]
fn a_person_at_an_older_client_is_asked_before_a_file_goes() {
    let (mut client, _home) = asking(false, json!({"elicitation": {}}));
    client.initialize("2025-06-18");
    let answers = [
        (json!({"action": "decline"}), true),
        (json!({"action": "accept", "content": {"approve": false}}), true),
        (json!({"action": "accept", "content": {"approve": true}}), false),
    ];
    for (id, (answer, stays)) in (2..).zip(answers) {
        client.ask(id, "tools/call", json!({"name": "delete", "arguments": {"path": "a.txt"}}));
        let question = client.next();
        assert_eq!(question["method"], "elicitation/create", "{question}");
        let params = &question["params"];
        assert!(params["message"].as_str().unwrap().contains("delete `a.txt` (a file of 4 bytes)"), "{params}");
        assert_eq!(params["requestedSchema"]["properties"]["approve"]["type"], "boolean");
        client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
        let done = client.next();
        assert_eq!((&done["id"], done["result"]["isError"] == true), (&json!(id), stays), "{done}");
        assert_eq!(is_there(&client), stays);
    }
    client.close();
}

#[test]
fn a_person_at_a_stateless_client_is_asked_before_a_file_goes() {
    let (mut client, _home) = asking(true, json!({"elicitation": {"form": {}}}));
    let call = json!({"name": "delete", "arguments": {"path": "a.txt"}});
    let again = |state: &Value, approve: bool| {
        let said = json!({"approval": {"action": "accept", "content": {"approve": approve}}});
        json!({"name": "delete", "arguments": {"path": "a.txt"}, "inputResponses": said, "requestState": state})
    };
    let asked = client.request(1, "tools/call", call.clone());
    let state = asked["result"]["requestState"].clone();
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    assert!(asked["result"]["inputRequests"]["approval"]["params"]["message"].as_str().unwrap().contains("a.txt"));
    let refused = client.request(2, "tools/call", again(&state, false));
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    // The state is good once, and a made up one never.
    for (id, state) in [(3, state), (4, json!("0123456789abcdef0123456789abcdef"))] {
        let asked = client.request(id, "tools/call", again(&state, true));
        assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
        assert!(is_there(&client));
    }
    // What was shown is not what is there now.
    let asked = client.request(5, "tools/call", call.clone());
    fs::write(client.workspace.path().join("a.txt"), "another\n").unwrap();
    let changed = client.request(6, "tools/call", again(&asked["result"]["requestState"], true));
    assert_eq!(changed["result"]["resultType"], "input_required", "{changed}");
    assert!(is_there(&client));
    let done = client.request(7, "tools/call", again(&changed["result"]["requestState"], true));
    assert_ne!(done["result"]["isError"], true, "{done}");
    assert!(!is_there(&client));
    client.close();
}

#[test]
fn a_client_that_can_ask_nobody_is_told_so() {
    for stateless in [false, true] {
        let (mut client, _home) = asking(stateless, json!({}));
        if !stateless {
            client.initialize("2025-11-25");
        }
        let answer = client.call(2, "delete", json!({"path": "a.txt"}));
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("a person has to approve"));
        assert!(is_there(&client));
        client.close();
    }
}

/// As in the reference server: the client's roots take the place of the command line's, and the policy stays.
#[test]
fn an_older_client_s_roots_are_the_workspace_in_the_dialect_of_the_reference_server() {
    let homes = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    let paths = homes.each_ref().map(|home| home.path().canonicalize().unwrap());
    for path in &paths {
        fs::write(path.join("a.txt"), "here\n").unwrap();
    }
    let options = ["--dialect", "mcp-filesystem", "--set", "blocked_directories=[private]"];
    let mut client = Client::start_with(false, json!({"roots": {"listChanged": true}}), &options);
    fs::write(client.workspace.path().join("own.txt"), "own\n").unwrap();
    let about = json!({"name": "test", "version": "1"});
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": client.capabilities, "clientInfo": about});
    client.request(1, "initialize", hello);
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    for (id, path) in (2..).zip(&paths) {
        // A notification can be looked at after the call that follows it.
        let question = (0..100).find_map(|_| {
            client.ask(10 * id, "tools/call", json!({"name": "list_allowed_directories", "arguments": {}}));
            Some(client.next()).filter(|answer| answer["method"] == "roots/list")
        });
        let question = question.expect("the client is asked for its roots");
        let roots = json!([{"uri": format!("file://{}", path.display())}, {"uri": "file:///no/such/directory"}]);
        client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": roots}}));
        let listed = client.next().to_string();
        assert!(listed.contains(path.to_str().unwrap()) && !listed.contains("no/such"), "{listed}");
        let read = client.call(10 * id + 1, "read_text_file", json!({"path": path.join("a.txt")}));
        assert_eq!(read["result"]["content"][0]["text"], "here\n", "{read}");
        let own = client.workspace.path().canonicalize().unwrap().join("own.txt");
        assert_eq!(client.call(10 * id + 2, "read_text_file", json!({"path": own}))["result"]["isError"], true);
        let blocked = json!({"path": path.join("private/x"), "content": "x"});
        assert_eq!(client.call(10 * id + 3, "write_file", blocked)["result"]["isError"], true);
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}));
    }
    client.close();
}
