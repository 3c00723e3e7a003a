//! `paddock mcp` as a client sees it, line by line, in both eras of the protocol.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

// Some of its tests need symbolic links.
#[cfg(unix)]
mod access;
/// Bounds on the memory that one client can make the server take, and its end when the client reads nothing.
// It reads the memory of the server in `/proc`.
#[cfg(target_os = "linux")]
mod bounds;
mod protocol;

const PATIENCE: Duration = Duration::from_secs(60);

struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<Value>,
    workspace: TempDir,
    _state: TempDir,
    stateless: bool,
    name: &'static str,
    capabilities: Value,
}

impl Client {
    fn start(stateless: bool) -> Self {
        Self::start_with(stateless, json!({}), &[])
    }

    /// Starts a server with these options and a client with these capabilities.
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
        Self { child, stdin, messages, workspace, _state: state, stateless, name: "test", capabilities }
    }

    /// Starts a client of a protocol revision with `initialize`.
    fn legacy(version: &str) -> Self {
        let mut client = Self::start(false);
        client.initialize(version);
        client
    }

    fn initialize(&mut self, version: &str) {
        let client = self;
        let about = json!({"name": client.name, "version": "1"});
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

    fn send_request(&mut self, id: u64, method: &str, mut params: Value) {
        if self.stateless {
            let meta = params.as_object_mut().unwrap().entry("_meta").or_insert(json!({}));
            meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
            meta["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
            meta["io.modelcontextprotocol/clientInfo"] = json!({"name": self.name, "version": "1"});
        }
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    fn next(&self) -> Value {
        self.messages.recv_timeout(PATIENCE).expect("an answer in time")
    }

    fn request(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.send_request(id, method, params);
        let answer = self.next();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    fn call(&mut self, id: u64, tool: &str, arguments: Value) -> Value {
        self.request(id, "tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Closes standard input. The server must end successfully without further output.
    fn close(mut self) {
        drop(self.stdin.take());
        let started = Instant::now();
        assert!(self.child.wait().unwrap().success());
        assert!(started.elapsed() < Duration::from_secs(8));
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
    assert_eq!(
        read["result"]["content"],
        json!([{"type": "text", "text": "1|one\n2|two\n[etag c3f9c8c283a2]"}]),
        "{read}"
    );
    assert_eq!(read["result"]["structuredContent"]["content"], "one\ntwo");
    assert_ne!(read["result"]["isError"], true);

    let missing = client.call(5, "read_file", json!({"path": "b.txt"}));
    assert_eq!(missing["result"]["isError"], true, "{missing}");
    assert!(missing["result"]["content"][0]["text"].as_str().unwrap().contains("`b.txt`"));
    assert_eq!(missing["result"].get("structuredContent"), None);

    let wrong = client.call(6, "read_file", json!({"fyle": "a.txt"}));
    assert_eq!(wrong["result"]["isError"], true);
    let unknown = client.call(7, "read_fil", json!({}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    let nothing = client.request(8, "no/such", json!({}));
    assert_eq!(nothing["error"]["code"], -32601, "{nothing}");
    client.close();
}

/// Clients that give the model the structured content instead of the text get the text alone.
#[test]
fn answers_depend_on_the_client() {
    // The flags, the name of the client, and whether an answer has structured content.
    let sessions: [(&[&str], &'static str, bool); 5] = [
        (&[], "test", true),
        (&[], "claude-code", false),
        (&[], "codex-mcp-client (via mcp-remote 0.1.18)", false),
        (&["--structured"], "opencode", true),
        (&["--text-only"], "test", false),
    ];
    for (flags, name, is_structured) in sessions {
        let mut client = Client::start_with(false, json!({}), flags);
        client.name = name;
        client.initialize("2025-11-25");
        let listed = client.request(2, "tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap();
        assert!(tools.iter().all(|tool| tool.get("outputSchema").is_some() == is_structured), "{flags:?} {name}");
        let stat = client.call(3, "stat", json!({"path": "."}));
        assert_eq!(stat["result"].get("structuredContent").is_some(), is_structured, "{flags:?} {name}");
        assert!(stat["result"]["content"][0]["text"].is_string(), "{stat}");
        client.close();
    }
    // In the stateless revision, each request names the client.
    let mut client = Client::start(true);
    for (id, name, is_structured) in [(1, "opencode", false), (2, "test", true)] {
        client.name = name;
        let stat = client.call(id, "stat", json!({"path": "."}));
        assert_eq!(stat["result"].get("structuredContent").is_some(), is_structured, "{name}");
    }
    client.close();
}

#[test]
fn answers_can_have_text_alone() {
    let mut client = Client::start_with(false, json!({}), &["--text-only"]);
    client.initialize("2025-11-25");
    fs::write(client.workspace.path().join("a.txt"), "one\ntwo\n").unwrap();
    let listed = client.request(2, "tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert!(tools.iter().all(|tool| tool["inputSchema"]["type"] == "object" && tool.get("outputSchema").is_none()));
    let read = client.call(3, "read_file", json!({"path": "a.txt"}));
    let text = json!([{"type": "text", "text": "1|one\n2|two\n[etag c3f9c8c283a2]"}]);
    assert_eq!((&read["result"]["content"], read["result"].get("structuredContent")), (&text, None), "{read}");
    let missing = client.call(4, "read_file", json!({"path": "b.txt"}));
    assert_eq!(missing["result"]["isError"], true, "{missing}");
    client.close();
    // A result without a text of its own consists of blocks.
    let mut client = Client::start_with(true, json!({}), &["--text-only", "--dialect", "mcp-filesystem"]);
    let image = client.workspace.path().join("a.png");
    fs::write(&image, b"\x89PNG\r\n\x1a\n").unwrap();
    let read = client.call(1, "read_media_file", json!({"path": image}));
    let block = json!([{"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}]);
    assert_eq!((&read["result"]["content"], read["result"].get("structuredContent")), (&block, None), "{read}");
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
fn the_stateless_revision_is_complete() {
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
fn a_client_that_asks_is_notified_how_calls_ended() {
    let mut client = Client::legacy("2025-11-25");
    fs::write(client.workspace.path().join("a.txt"), "one\n").unwrap();
    fs::write(client.workspace.path().join(".agentignore"), ".env\n").unwrap();
    // The client has not set a logging level yet, so the server sends no log messages.
    client.call(2, "read_file", json!({"path": "a.txt"}));
    assert_eq!(client.request(3, "logging/setLevel", json!({"level": "info"}))["result"], json!({}));
    client.send_request(4, "tools/call", json!({"name": "read_file", "arguments": {"path": "a.txt"}}));
    let note = client.next();
    assert_eq!(note["method"], "notifications/message", "{note}");
    let params = &note["params"];
    assert_eq!((params["level"].as_str(), params["logger"].as_str()), (Some("info"), Some("paddock")));
    assert_eq!((params["data"]["event"].as_str(), &params["data"]["paths"]), (Some("end"), &json!(["a.txt"])));
    assert_eq!(client.next()["id"], 4);
    client.request(5, "logging/setLevel", json!({"level": "warning"}));
    client.call(6, "read_file", json!({"path": "a.txt"}));
    client.send_request(7, "tools/call", json!({"name": "read_file", "arguments": {"path": ".env"}}));
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
    let mut request = stat;
    request["_meta"] = json!({"io.modelcontextprotocol/logLevel": "info"});
    client.send_request(4, "tools/call", request);
    assert_eq!(client.next()["params"]["data"]["tool"], "stat");
    assert_eq!(client.next()["id"], 4);
    client.call(5, "stat", json!({"path": "."}));
    client.close();
}

#[test]
fn an_unsupported_version_is_refused_with_the_supported_ones() {
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

/// Starts a search that takes longer than any test waits, because its automaton is too large for the cache.
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
    client.send_request(
        2,
        "tools/call",
        json!({"name": "grep", "arguments": arguments, "_meta": {"progressToken": "p"}}),
    );
    let mut last = 0.0;
    for _ in 0..3 {
        let note = client.next();
        assert_eq!(note["method"], "notifications/progress", "{note}");
        assert_eq!(note["params"]["progressToken"], "p");
        let progress = note["params"]["progress"].as_f64().unwrap();
        assert!(progress > last, "{progress} after {last}");
        last = progress;
    }
    // The server answers other requests during the search.
    client.send_request(3, "tools/call", json!({"name": "stat", "arguments": {"path": "0.txt"}}));
    let answer = std::iter::repeat_with(|| client.next()).find(|message| message.get("method").is_none()).unwrap();
    assert_eq!(answer["id"], 3, "{answer}");
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}));
    client.close();
}

#[cfg(unix)]
impl Client {
    /// Sends the signal of a client that ends its server, and returns the time until the server has ended successfully.
    fn terminate(&mut self) -> Duration {
        let process = rustix::process::Pid::from_child(&self.child);
        let started = Instant::now();
        rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
        started.elapsed()
    }
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_server_at_once() {
    // A busy machine may delay one of them.
    let idle = (0..5).map(|_| {
        let mut client = Client::legacy("2025-11-25");
        client.call(2, "write_file", json!({"path": "a.txt", "content": "a\n"}));
        client.terminate()
    });
    let shortest = idle.min().unwrap();
    assert!(shortest < Duration::from_millis(100), "{shortest:?}");
}

/// A call that is cancelled after the end of its server would leave changes without a record.
#[cfg(unix)]
#[test]
fn a_signal_cancels_running_calls_and_nothing_is_lost() {
    let logs = TempDir::new().unwrap();
    let audit = logs.path().join("audit.jsonl");
    let mut client = Client::start_with(false, json!({}), &["--audit", audit.to_str().unwrap()]);
    client.initialize("2025-11-25");
    let arguments = slow(&client);
    client.send_request(2, "tools/call", json!({"name": "grep", "arguments": arguments}));
    thread::sleep(Duration::from_millis(700));
    let written = client.call(3, "write_file", json!({"path": "a.txt", "content": "a\n"}));
    assert_eq!(written["result"]["isError"], false, "{written}");
    let ended = client.terminate();
    assert!(ended < Duration::from_secs(2), "{ended:?}");
    assert_eq!(fs::read_to_string(client.workspace.path().join("a.txt")).unwrap(), "a\n");
    let records = fs::read_to_string(&audit).unwrap();
    let mut records = records.lines().map(|record| serde_json::from_str::<Value>(record).unwrap());
    let end =
        records.find(|record| record["event"] == "end" && record["tool"] == "grep").expect("the search has ended");
    assert_eq!(end["outcome"], "cancelled", "{end}");
}

/// A change that a signal interrupts is made as a whole or not at all, at once or by the next call.
#[cfg(unix)]
#[test]
fn a_signal_during_a_change_leaves_all_of_it_or_nothing() {
    const FILES: usize = 400;
    let (mut changes_made, mut undone) = (0, 0);
    // The change takes longer beside other tests.
    let mut delays = [0, 10].into_iter().chain((0..11).map(|power| 20 << power));
    while changes_made == 0
        && let Some(delay) = delays.next()
    {
        let mut client = Client::legacy("2025-11-25");
        let root = client.workspace.path().to_owned();
        fs::create_dir(root.join("from")).unwrap();
        for number in 0..FILES {
            fs::write(root.join(format!("from/{number}.txt")), format!("old {number}\n")).unwrap();
        }
        client.call(2, "stat", json!({"path": "."}));
        let arguments = json!({"pattern": "old", "replacement": "new", "glob": "from/*.txt"});
        let planned = client.call(3, "replace", arguments.clone());
        let mut change = arguments;
        change["plan"] = planned["result"]["structuredContent"]["plan"].clone();
        assert!(change["plan"].is_string(), "{planned}");
        client.send_request(4, "tools/call", json!({"name": "replace", "arguments": change}));
        thread::sleep(Duration::from_millis(delay));
        let ended = client.terminate();
        assert!(ended < Duration::from_secs(3), "{ended:?}");
        // The next call finds the journal, if the signal left one.
        let mut next = Command::new(env!("CARGO_BIN_EXE_paddock"));
        next.args(["call", "--root"]).arg(&root).args(["write_file", r#"{"path": "next.txt", "content": ""}"#]);
        next.env("PADDOCK_STATE_DIR", client._state.path()).env("XDG_CONFIG_HOME", client._state.path().join("none"));
        let output = next.env_remove("PADDOCK_POLICY").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let is_new = |number| fs::read_to_string(root.join(format!("from/{number}.txt"))).unwrap().starts_with("new");
        match (0..FILES).filter(|number| is_new(*number)).count() {
            0 => undone += 1,
            FILES => changes_made += 1,
            some => panic!("{some} of {FILES} files are changed after {delay} ms"),
        }
        assert_eq!(fs::read_dir(root.join("from")).unwrap().count(), FILES, "temporary files are left");
    }
    assert!(changes_made > 0 && undone > 0, "{changes_made} changes were made, {undone} undone");
}

#[test]
fn input_without_a_line_ending_at_the_end_is_served_before_the_server_ends() {
    let mut client = Client::legacy("2025-11-25");
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping", "params": {"_meta": {"x": "y".repeat(300_000)}}});
    client.send(&ping);
    assert_eq!(client.next()["id"], 2, "longer than one read");
    client.close();
}

#[test]
fn a_combined_list_is_served() {
    let list = "anthropic,paddock:grep,glob,delete,move,restore";
    let mut client = Client::start_with(true, json!({}), &["--dialect", list]);
    let tools = client.request(1, "tools/list", json!({}));
    let names: Vec<_> =
        tools["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["str_replace_based_edit_tool", "memory", "grep", "glob", "delete", "move", "restore"]);
    let create = json!({"command": "create", "path": "a.txt", "file_text": "one\n"});
    let created = client.call(2, "str_replace_based_edit_tool", create);
    assert_eq!(created["result"]["content"][0]["text"], "File created successfully at: a.txt", "{created}");
    let answer = client.call(3, "grep", json!({"pattern": "one"}));
    assert_eq!(answer["result"]["structuredContent"]["matches"][0]["path"], "a.txt", "{answer}");
    assert_eq!(client.call(4, "read_file", json!({"path": "a.txt"}))["error"]["code"], -32602);
    client.close();

    let mut client = Client::start_with(true, json!({}), &["--dialect", "codex,paddock"]);
    let refused = client.request(1, "tools/list", json!({}));
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("`codex`") && message.contains("as in `paddock:"), "{message}");
    client.close();
}

/// Returns the exit status and standard error of a server whose client disconnects at once, and its directories.
fn started(options: &[&str]) -> (Option<i32>, String) {
    let home = TempDir::new().unwrap();
    for name in ["one", "two"] {
        fs::create_dir(home.path().join(name)).unwrap();
    }
    fs::write(home.path().join("file"), "").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_paddock"));
    command.arg("mcp").args(options).current_dir(&home).env("PADDOCK_STATE_DIR", home.path().join("state"));
    command.env("XDG_CONFIG_HOME", home.path().join("none")).env_remove("PADDOCK_POLICY");
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.stdout.is_empty());
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_missing_root_is_an_error_or_is_left_out_with_a_message() {
    let missing = "cannot open the root `missing`: ";
    let cause = if cfg!(windows) { "Path not found" } else { "No such file or directory" };
    let left_out = &format!("paddock: the root `missing` is left out: {cause}");
    let reference = ["--dialect", "mcp-filesystem"];
    for (options, status, message) in [
        (&["--root", "missing"][..], 3, missing),
        (&["--root", "missing", "--root", "gone"], 3, missing),
        (&["--root", "file"], 3, "cannot open the root `file`"),
        (&["--root", "one"], 0, ""),
        (&["--root", "one", "--root", "missing", "--root", "two:ro"], 0, left_out),
        // Relative paths start in the first root.
        (&["--root", "missing", "--root", "one"], 3, missing),
        (&[&reference[..], &["--root", "missing", "--root", "one"]].concat(), 0, left_out),
        (&[&reference[..], &["--root", "missing", "--root", "gone"]].concat(), 3, missing),
        (&[&reference[..], &["--root", "missing"]].concat(), 3, missing),
        // Directories as arguments are roots too.
        (&["one"], 0, ""),
        (&["missing", "one"], 3, missing),
        (&["one", "missing", "two:ro"], 0, left_out),
    ] {
        let (exit, stderr) = started(options);
        assert_eq!(exit, Some(status), "{options:?}: {stderr}");
        assert!(stderr.contains(message) && stderr.is_empty() == message.is_empty(), "{options:?}: {stderr}");
        assert_eq!(stderr.lines().count(), usize::from(!message.is_empty()), "{options:?}: {stderr}");
    }
    for options in [&["one", "--root", "two"][..], &["one", "--memory"]] {
        let (exit, stderr) = started(options);
        assert!(exit == Some(2) && stderr.contains("cannot be used with"), "{options:?}: {stderr}");
    }
}

#[test]
fn a_cancelled_call_stops_and_says_nothing_more() {
    let mut client = Client::legacy("2025-11-25");
    let arguments = slow(&client);
    client.send_request(2, "tools/call", json!({"name": "grep", "arguments": arguments}));
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

/// Starts a server whose policy requires approval of deletions; the policy file is next to the workspace.
fn client_with_approval(stateless: bool, capabilities: Value) -> (Client, TempDir) {
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
fn an_older_client_approves_a_deletion_by_elicitation() {
    let (mut client, _home) = client_with_approval(false, json!({"elicitation": {}}));
    client.initialize("2025-06-18");
    let answers = [
        (json!({"action": "decline"}), true),
        (json!({"action": "accept", "content": {"approve": false}}), true),
        (json!({"action": "accept", "content": {"approve": true}}), false),
    ];
    for (id, (answer, stays)) in (2..).zip(answers) {
        client.send_request(id, "tools/call", json!({"name": "delete", "arguments": {"path": "a.txt"}}));
        let question = client.next();
        assert_eq!(question["method"], "elicitation/create", "{question}");
        let params = &question["params"];
        assert!(params["message"].as_str().unwrap().contains("delete `a.txt` (a file of 4 bytes)"), "{params}");
        assert_eq!(params["requestedSchema"]["properties"]["approve"]["type"], "boolean");
        client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
        let response = client.next();
        assert_eq!((&response["id"], response["result"]["isError"] == true), (&json!(id), stays), "{response}");
        assert_eq!(is_there(&client), stays);
    }
    client.close();
}

#[test]
fn a_stateless_client_approves_a_deletion() {
    let (mut client, _home) = client_with_approval(true, json!({"elicitation": {"form": {}}}));
    let call = json!({"name": "delete", "arguments": {"path": "a.txt"}});
    let again = |state: &Value, approve: bool| {
        let responses = json!({"approval": {"action": "accept", "content": {"approve": approve}}});
        json!({"name": "delete", "arguments": {"path": "a.txt"}, "inputResponses": responses, "requestState": state})
    };
    let question = client.request(1, "tools/call", call.clone());
    let state = question["result"]["requestState"].clone();
    assert_eq!(question["result"]["resultType"], "input_required", "{question}");
    assert!(question["result"]["inputRequests"]["approval"]["params"]["message"].as_str().unwrap().contains("a.txt"));
    let refused = client.request(2, "tools/call", again(&state, false));
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    // The state is valid once; an invented state is never valid.
    for (id, state) in [(3, state), (4, json!("0123456789abcdef0123456789abcdef"))] {
        let question = client.request(id, "tools/call", again(&state, true));
        assert_eq!(question["result"]["resultType"], "input_required", "{question}");
        assert!(is_there(&client));
    }
    // The content has changed since the plan was shown, so a new plan is needed.
    let question = client.request(5, "tools/call", call.clone());
    fs::write(client.workspace.path().join("a.txt"), "another\n").unwrap();
    let changed = client.request(6, "tools/call", again(&question["result"]["requestState"], true));
    assert_eq!(changed["result"]["resultType"], "input_required", "{changed}");
    assert!(is_there(&client));
    let answer = client.request(7, "tools/call", again(&changed["result"]["requestState"], true));
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    assert!(!is_there(&client));
    client.close();
}

#[test]
fn a_client_that_can_ask_nobody_gets_an_error() {
    for stateless in [false, true] {
        let (mut client, _home) = client_with_approval(stateless, json!({}));
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

/// As in the reference server, the client's roots replace those of the command line; the policy still applies.
#[test]
fn an_older_client_s_roots_are_the_workspace_in_the_dialect_of_the_reference_server() {
    let homes = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    let paths = homes.each_ref().map(|home| home.path().canonicalize().unwrap());
    for path in &paths {
        fs::write(path.join("a.txt"), "here\n").unwrap();
    }
    roots_replace_those_of_the_command_line("mcp-filesystem", &paths);
    roots_replace_those_of_the_command_line("mcp-filesystem,paddock:restore", &paths);
}

/// Returns a path as a list of roots has it: with `/`, and without the prefix of paths of Windows.
fn as_listed(path: &Path) -> String {
    let path = path.to_str().unwrap();
    if cfg!(windows) { path.trim_start_matches(r"\\?\").replace('\\', "/") } else { path.to_owned() }
}

fn roots_replace_those_of_the_command_line(dialect: &str, paths: &[PathBuf; 2]) {
    let options = ["--dialect", dialect, "--set", "blocked_directories=[private]"];
    let mut client = Client::start_with(false, json!({"roots": {"listChanged": true}}), &options);
    fs::write(client.workspace.path().join("own.txt"), "own\n").unwrap();
    let about = json!({"name": "test", "version": "1"});
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": client.capabilities, "clientInfo": about});
    client.request(1, "initialize", hello);
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    for (id, path) in (2..).zip(paths) {
        // The server may process a notification after the call that follows it.
        let question = (0..100).find_map(|_| {
            client.send_request(10 * id, "tools/call", json!({"name": "list_allowed_directories", "arguments": {}}));
            Some(client.next()).filter(|answer| answer["method"] == "roots/list")
        });
        let question = question.expect("the client is asked for its roots");
        let uri = format!("file:///{}", as_listed(path).trim_start_matches('/'));
        let roots = json!([{"uri": uri}, {"uri": "file:///no/such/directory"}]);
        client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": roots}}));
        let listed = client.next().to_string();
        let path = PathBuf::from(as_listed(path));
        assert!(listed.contains(path.to_str().unwrap()) && !listed.contains("no/such"), "{listed}");
        let read = client.call(10 * id + 1, "read_text_file", json!({"path": format!("{}/a.txt", path.display())}));
        assert_eq!(read["result"]["content"][0]["text"], "here\n", "{read}");
        let own = client.workspace.path().canonicalize().unwrap().join("own.txt");
        assert_eq!(client.call(10 * id + 2, "read_text_file", json!({"path": own}))["result"]["isError"], true);
        let blocked = json!({"path": format!("{}/private/x", path.display()), "content": "x"});
        assert_eq!(client.call(10 * id + 3, "write_file", blocked)["result"]["isError"], true);
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}));
    }
    client.close();
}

fn read_resource(client: &mut Client, id: u64, uri: &str) -> Value {
    client.request(id, "resources/read", json!({"uri": uri}))
}

fn resources(mut client: Client) {
    let root = client.workspace.path().to_owned();
    fs::create_dir(root.join("sub dir")).unwrap();
    fs::write(root.join("a.txt"), "one\r\ntwo").unwrap();
    fs::write(root.join("sub dir/ä.bin"), b"\xff\0").unwrap();
    fs::write(root.join("large.txt"), "0123456789abcde\n".repeat(10_000)).unwrap();
    fs::write(root.join("huge.txt"), "x".repeat(1024 * 1024 + 1)).unwrap();
    fs::write(root.join(".agentignore"), "secret.txt\n").unwrap();
    fs::write(root.join("secret.txt"), "hush").unwrap();

    let listed = client.request(2, "resources/list", json!({}));
    let uris: Vec<_> = listed["result"]["resources"].as_array().unwrap().iter().map(|one| one["uri"].clone()).collect();
    assert_eq!(uris, ["file:///a.txt", "file:///huge.txt", "file:///large.txt"], "{listed}");
    assert_eq!(
        (&listed["result"]["resources"][0]["name"], &listed["result"]["resources"][0]["size"]),
        (&json!("a.txt"), &json!(8))
    );
    let templates = client.request(3, "resources/templates/list", json!({}));
    assert_eq!(templates["result"]["resourceTemplates"][0]["uriTemplate"], "file:///{path}", "{templates}");

    let read = read_resource(&mut client, 4, "file:///a.txt");
    let text = json!([{"uri": "file:///a.txt", "mimeType": "text/plain", "text": "one\r\ntwo"}]);
    assert_eq!(read["result"]["contents"], text, "{read}");
    let absolute = format!("file://{}/a.txt", root.display());
    assert_eq!(read_resource(&mut client, 5, &absolute)["result"]["contents"][0]["text"], "one\r\ntwo");
    let blob = read_resource(&mut client, 6, "file:///sub%20dir/%C3%A4.bin");
    assert_eq!(blob["result"]["contents"][0]["blob"], "/wA=", "{blob}");
    let large = read_resource(&mut client, 7, "file:///large.txt");
    assert_eq!(large["result"]["contents"][0]["text"], "0123456789abcde\n".repeat(10_000));

    let missing = if client.stateless { -32602 } else { -32002 };
    for (id, (uri, code, says)) in (8..).zip([
        ("file:///b.txt", missing, "is missing, or"),
        ("file:///secret.txt", missing, "is missing, or"),
        ("file:///..%2F..%2Fetc%2Fpasswd", -32602, "leads out"),
        ("file:///etc/passwd", missing, "is missing, or"),
        ("file:///sub%20dir", -32602, "directory"),
        ("file:///huge.txt", -32602, "read_file"),
        ("https://a/b", -32602, "names no resource"),
    ]) {
        let refused = read_resource(&mut client, id, uri);
        assert_eq!(refused["error"]["code"], code, "{refused}");
        assert!(refused["error"]["message"].as_str().unwrap().contains(says), "{refused}");
        assert!(!refused.to_string().contains("hush"));
    }
    client.close();
}

#[test]
fn files_are_resources_to_an_older_client() {
    resources(Client::legacy("2025-06-18"));
}

#[test]
fn files_are_resources_to_a_stateless_client() {
    resources(Client::start(true));
}

/// Time without a notification after which the test assumes that none follows: more than two checks of the server.
const SILENCE: Duration = Duration::from_secs(4);

impl Client {
    /// Returns the URI of the next update notification, and its subscription.
    fn updated(&self) -> (String, Value) {
        let note = self.next();
        assert_eq!(note["method"], "notifications/resources/updated", "{note}");
        let subscription = note["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].clone();
        (note["params"]["uri"].as_str().unwrap().to_owned(), subscription)
    }

    fn is_silent(&self) -> bool {
        self.messages.recv_timeout(SILENCE).is_err()
    }
}

#[test]
fn a_subscriber_is_notified_of_what_others_change() {
    let mut client = Client::legacy("2025-06-18");
    let root = client.workspace.path().to_owned();
    fs::create_dir_all(root.join("dir/deep")).unwrap();
    fs::write(root.join("a.txt"), "one").unwrap();
    fs::write(root.join("dir/deep/b.txt"), "one").unwrap();
    for (id, uri) in [(2, "file:///a.txt"), (3, "file:///dir"), (4, "file:///a.txt")] {
        assert_eq!(client.request(id, "resources/subscribe", json!({"uri": uri}))["result"], json!({}));
    }
    assert!(client.is_silent());
    // In one step, because a check could see a file that is empty for a moment.
    let put = |path: &str, content: &str| {
        let new = root.join(".new");
        fs::write(&new, content).and_then(|()| fs::rename(&new, root.join(path))).unwrap();
    };
    // The first change keeps the size; the second is deep below a directory.
    put("a.txt", "two");
    assert_eq!(client.updated().0, "file:///a.txt");
    put("dir/deep/b.txt", "two");
    assert_eq!(client.updated().0, "file:///dir");
    // A new modification time alone is not a change of a file.
    fs::File::open(root.join("a.txt")).unwrap().set_modified(std::time::SystemTime::now()).unwrap();
    assert!(client.is_silent());
    // A change by the client's own call, and a file that is removed and created again.
    client.call(5, "write_file", json!({"path": "a.txt", "content": "three"}));
    assert_eq!(client.updated().0, "file:///a.txt");
    fs::remove_file(root.join("a.txt")).unwrap();
    assert_eq!(client.updated().0, "file:///a.txt");
    put("a.txt", "three");
    assert_eq!(client.updated().0, "file:///a.txt");

    assert_eq!(client.request(6, "resources/unsubscribe", json!({"uri": "file:///a.txt"}))["result"], json!({}));
    put("a.txt", "four");
    assert!(client.is_silent());
    // The other subscription continues until it ends too.
    put("dir/c.txt", "");
    assert_eq!(client.updated().0, "file:///dir");
    client.request(7, "resources/unsubscribe", json!({"uri": "file:///dir"}));
    put("dir/d.txt", "");
    assert!(client.is_silent());
    client.request(8, "resources/subscribe", json!({"uri": "file:///dir"}));
    put("dir/e.txt", "");
    assert_eq!(client.updated().0, "file:///dir");
    client.close();
}

#[test]
fn invalid_subscriptions_are_refused() {
    let mut client = Client::legacy("2025-11-25");
    let root = client.workspace.path().to_owned();
    fs::write(root.join(".agentignore"), "secret.txt\n").unwrap();
    fs::write(root.join("secret.txt"), "hush").unwrap();
    for (id, (uri, code)) in
        (2..).zip([("file:///none", -32002), ("file:///secret.txt", -32002), ("file:///..%2Fx", -32602), ("a", -32602)])
    {
        let refused = client.request(id, "resources/subscribe", json!({"uri": uri}));
        assert_eq!(refused["error"]["code"], code, "{refused}");
    }
    for number in 0..=100 {
        fs::write(root.join(number.to_string()), "").unwrap();
    }
    let mut subscribe =
        |id: u64| client.request(id, "resources/subscribe", json!({"uri": format!("file:///{}", id - 100)}));
    for id in 100..200 {
        assert_eq!(subscribe(id)["result"], json!({}));
    }
    let over = subscribe(200);
    assert!(over["error"]["message"].as_str().unwrap().contains("100 subscriptions"), "{over}");
    client.request(201, "resources/unsubscribe", json!({"uri": "file:///7"}));
    assert_eq!(client.request(202, "resources/subscribe", json!({"uri": "file:///100"}))["result"], json!({}));
    fs::write(root.join("100"), "new").unwrap();
    assert_eq!(client.updated().0, "file:///100");
    client.close();
}

#[test]
fn a_stateless_client_listens_for_changes() {
    let mut client = Client::start(true);
    let root = client.workspace.path().to_owned();
    fs::write(root.join("a.txt"), "one").unwrap();
    let refused = client.request(2, "resources/subscribe", json!({"uri": "file:///a.txt"}));
    assert_eq!(refused["error"]["code"], -32601, "{refused}");
    let uris = json!(["file:///a.txt", "file:///later.txt", "https://a/b"]);
    client.send_request(3, "subscriptions/listen", json!({"notifications": {"resourceSubscriptions": uris}}));
    let accepted = client.next();
    assert_eq!(accepted["method"], "notifications/subscriptions/acknowledged", "{accepted}");
    let accepted_uris = &accepted["params"]["notifications"]["resourceSubscriptions"];
    assert_eq!(*accepted_uris, json!(["file:///a.txt", "file:///later.txt"]), "{accepted}");
    assert!(client.is_silent());
    fs::write(root.join("a.txt"), "two").unwrap();
    assert_eq!(client.updated(), ("file:///a.txt".to_owned(), json!(3)));
    fs::write(root.join("later.txt"), "").unwrap();
    assert_eq!(client.updated(), ("file:///later.txt".to_owned(), json!(3)));
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}}));
    fs::write(root.join("a.txt"), "three").unwrap();
    assert!(client.is_silent());
    client.close();
}

#[test]
fn the_end_of_a_session_ends_its_subscriptions() {
    for stateless in [false, true] {
        let mut client = Client::start(stateless);
        fs::write(client.workspace.path().join("a.txt"), "one").unwrap();
        if stateless {
            let listen = json!({"notifications": {"resourceSubscriptions": ["file:///a.txt"]}});
            client.send_request(2, "subscriptions/listen", listen);
            client.next();
        } else {
            client.initialize("2025-11-25");
            client.request(2, "resources/subscribe", json!({"uri": "file:///a.txt"}));
        }
        drop(client.stdin.take());
        let started = Instant::now();
        assert!(client.child.wait().unwrap().success());
        // `subscriptions/listen` is a request that only the client ends, so its answer is not waited for.
        assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
    }
}
