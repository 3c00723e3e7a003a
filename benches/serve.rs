//! `paddock serve` beside the same calls over a pipe, and under load: clients and server on one machine.
//!
//! `cargo bench --profile dist -p paddock-files --bench serve` prints one line for each figure; with names as arguments, of
//! these only: `pipe`, `clients`, `idle`, `flood`. `PADDOCK` names another binary with the feature `serve`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a bench")]

#[cfg(target_os = "linux")]
fn main() {
    linux::main();
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("skipped: the server runs on Linux");
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fmt::Write as _;
    use std::fs;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpStream;
    use std::path::Path;
    use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    use serde_json::json;
    use tempfile::TempDir;

    /// Limits beyond which no client of these figures comes.
    const UNLIMITED: &str = "{concurrent_calls: 1000, calls_per_second: 1000000, bytes_per_second: 100000000000, call_ms_per_second: 1000000}";

    const TOKEN: &str = "pdk_bench";

    const STATELESS: &str = "2026-07-28";

    pub fn main() {
        let names: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
        let is_chosen = |name: &str| names.is_empty() || names.iter().any(|chosen| chosen == name);
        println!(
            "{} processors, {} MB of memory",
            thread::available_parallelism().unwrap(),
            memory("/proc/meminfo", "MemTotal") / 1000
        );
        if is_chosen("pipe") {
            pipe();
        }
        if is_chosen("clients") {
            clients();
        }
        if is_chosen("idle") {
            idle();
        }
        if is_chosen("flood") {
            flood();
        }
    }

    /// A read of 4 KB over a pipe and over HTTP, in turns.
    fn pipe() {
        let server =
            Server::start(&["one"], &format!("workspaces:\n  one: {{root: '{{home}}/one', limits: {UNLIMITED}}}\n"));
        let mut batch = Piped::start(&server, &["batch", "--root"]);
        let mut mcp = Piped::start(&server, &["mcp", "--root"]);
        let (mut plain, mut over_http) = (server.connect(), server.connect());
        let call = json!({"tool": "read_file", "arguments": {"path": "a.txt"}}).to_string();
        let line = json!({"tool": "read_file", "arguments": {"path": "a.txt"}}).to_string();
        let message = message();
        let plain_request = request("/w/one/call", &call, &[]);
        let mcp_request = mcp_request("one", &message);
        let mut times: [Vec<Duration>; 4] = Default::default();
        for _ in 0..9 {
            for (times, work) in times.iter_mut().zip([
                &mut (|| batch.call(&line)) as &mut dyn FnMut(),
                &mut || plain.call(&plain_request),
                &mut || mcp.call(&message),
                &mut || over_http.call(&mcp_request),
            ]) {
                let started = Instant::now();
                (0..500).for_each(|_| work());
                times.push(started.elapsed() / 500);
            }
        }
        let [batch, plain, mcp, over_http] = times.map(|mut times| median(&mut times));
        let ratio = |one: Duration, other: Duration| one.as_secs_f64() / other.as_secs_f64();
        println!("read of 4 KB, one client: batch {batch:?}, POST call {plain:?}, ratio {:.2}", ratio(plain, batch));
        println!(
            "read of 4 KB, one client: mcp over a pipe {mcp:?}, over HTTP {over_http:?}, ratio {:.2}",
            ratio(over_http, mcp)
        );
    }

    /// 64 clients that read from 1,000 workspaces of a template.
    fn clients() {
        let names: Vec<String> = (0..1000).map(|number| format!("teams/w{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let server =
            Server::start(&names, &format!("templates:\n- {{root: '{{home}}/teams/{{name}}', limits: {UNLIMITED}}}\n"));
        let read = |number: usize| {
            request(
                &format!("/w/w{}/call", number % 1000),
                r#"{"tool": "read_file", "arguments": {"path": "a.txt"}}"#,
                &[],
            )
        };
        // Every workspace is opened once.
        let mut first = server.connect();
        (0..1000).for_each(|number| first.call(&read(number)));
        let time = Duration::from_secs(10);
        let mut times = load(&server, 64, time, &read);
        report("64 clients, 1,000 workspaces", &mut times, time);
        println!("memory of the server: {} MB", server.memory() / 1000);
    }

    /// 10,000 workspaces of the configuration that no client uses.
    fn idle() {
        let mut text = String::from("workspaces:\n");
        let names: Vec<String> = (0..10_000).map(|number| format!("w{number}")).collect();
        names.iter().for_each(|name| writeln!(text, "  {name}: {{root: '{{home}}/{name}'}}").unwrap());
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let server = Server::start(&names, &text);
        println!("10,000 workspaces, idle: start {:?}, {} MB", server.start, server.memory() / 1000);
    }

    /// A client of one workspace, without and with 16 clients that flood another one with the default limits.
    fn flood() {
        let server = Server::start(
            &["one", "two"],
            &format!(
                "workspaces:\n  one: {{root: '{{home}}/one', limits: {UNLIMITED}}}\n  two: {{root: '{{home}}/two'}}\n"
            ),
        );
        let body = r#"{"tool": "read_file", "arguments": {"path": "a.txt"}}"#;
        let (quiet, flooding) = (request("/w/one/call", body, &[]), request("/w/two/call", body, &[]));
        let time = Duration::from_secs(10);
        let mut alone = load(&server, 1, time, &|_| quiet.clone());
        report("one client alone", &mut alone, time);
        let ends = AtomicBool::new(false);
        let mut beside = thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    let mut client = server.connect();
                    while !ends.load(Ordering::Relaxed) {
                        client.exchange(&flooding);
                    }
                });
            }
            let times = load(&server, 1, time, &|_| quiet.clone());
            ends.store(true, Ordering::Relaxed);
            times
        });
        report("one client beside 16 that flood another workspace", &mut beside, time);
        println!("ratio of p99: {:.2}", percentile(&beside, 99).as_secs_f64() / percentile(&alone, 99).as_secs_f64());
    }

    /// Returns the times of all calls that clients make in some time, each over one connection.
    fn load(
        server: &Server,
        clients: usize,
        time: Duration,
        request: &(dyn Fn(usize) -> String + Sync),
    ) -> Vec<Duration> {
        let work = |client: usize| {
            let (mut connection, started, mut times) = (server.connect(), Instant::now(), Vec::new());
            let mut seed = client as u64 + 1;
            while started.elapsed() < time {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let text = request((seed >> 33) as usize);
                let sent = Instant::now();
                connection.call(&text);
                times.push(sent.elapsed());
            }
            times
        };
        thread::scope(|scope| {
            let threads: Vec<_> = (0..clients).map(|client| scope.spawn(move || work(client))).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        })
    }

    fn report(what: &str, times: &mut [Duration], time: Duration) {
        let (middle, rate) = (median(times), times.len() as f64 / time.as_secs_f64());
        let p99 = percentile(times, 99);
        println!(
            "{what}: {rate:.0} reads of 4 KB a second, median {middle:?}, p99 {p99:?}, ratio {:.1}",
            p99.as_secs_f64() / middle.as_secs_f64()
        );
    }

    fn median(times: &mut [Duration]) -> Duration {
        times.sort_unstable();
        percentile(times, 50)
    }

    /// Returns a percentile of sorted times.
    fn percentile(times: &[Duration], percent: usize) -> Duration {
        times[(times.len() - 1) * percent / 100]
    }

    /// Returns a figure in kilobytes of a file in `/proc`.
    fn memory(file: &str, name: &str) -> u64 {
        let text = fs::read_to_string(file).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim_matches(|letter: char| !letter.is_ascii_digit()).parse().unwrap()
    }

    fn binary() -> String {
        std::env::var("PADDOCK").unwrap_or_else(|_| env!("CARGO_BIN_EXE_paddock").to_owned())
    }

    struct Server {
        home: TempDir,
        child: Child,
        address: String,
        /// Time from the start of the process until it accepts connections.
        start: Duration,
    }

    impl Server {
        /// Starts a server. `{home}` in the configuration has these directories, each with a file of 4 KB.
        fn start(directories: &[&str], configuration: &str) -> Self {
            let home = TempDir::new().unwrap();
            for directory in directories {
                fs::create_dir_all(home.path().join(directory)).unwrap();
                fs::write(home.path().join(directory).join("a.txt"), "the quick brown fox jumps over it\n".repeat(120))
                    .unwrap();
            }
            let hash = paddock::serve::hash(TOKEN);
            let tokens = format!("tokens:\n- {{name: bench, sha256: {hash}, grant: {{workspaces: ['*']}}}}\n");
            let text = configuration.replace("{home}", home.path().to_str().unwrap());
            let file = home.path().join("serve.yaml");
            fs::write(
                &file,
                format!("listen: 127.0.0.1:0\nstate_dir: state\nlimits: {{max_calls: 256}}\n{tokens}{text}"),
            )
            .unwrap();
            let started = Instant::now();
            let mut command = clean(home.path());
            let mut child = command.args(["serve", "--config"]).arg(&file).stderr(Stdio::piped()).spawn().unwrap();
            let mut line = String::new();
            BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
            let address =
                line.trim().strip_prefix("paddock: serving http://").unwrap_or_else(|| panic!("{line}")).to_owned();
            Self { home, child, address, start: started.elapsed() }
        }

        fn connect(&self) -> Connection {
            let stream = TcpStream::connect(&self.address).unwrap();
            stream.set_nodelay(true).unwrap();
            Connection { stream, bytes: Vec::new() }
        }

        fn memory(&self) -> u64 {
            memory(&format!("/proc/{}/status", self.child.id()), "VmRSS")
        }
    }

    impl Drop for Server {
        fn drop(&mut self) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    /// Returns the command without the user's own policy.
    fn clean(home: &Path) -> Command {
        let mut command = Command::new(binary());
        command
            .env("XDG_CONFIG_HOME", home.join("none"))
            .env("PADDOCK_STATE_DIR", home.join("piped"))
            .env_remove("PADDOCK_POLICY");
        command
    }

    fn request(path: &str, body: &str, headers: &[(&str, &str)]) -> String {
        let mut text = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n"
        );
        headers.iter().for_each(|(name, value)| write!(text, "{name}: {value}\r\n").unwrap());
        write!(text, "content-length: {}\r\n\r\n{body}", body.len()).unwrap();
        text
    }

    fn message() -> String {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": STATELESS,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
        });
        let params = json!({"name": "read_file", "arguments": {"path": "a.txt"}, "_meta": meta});
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
    }

    fn mcp_request(workspace: &str, message: &str) -> String {
        let headers = [("mcp-protocol-version", STATELESS), ("mcp-method", "tools/call"), ("mcp-name", "read_file")];
        request(&format!("/w/{workspace}/mcp"), message, &headers)
    }

    /// Fails if an answer does not have the content of the file.
    fn check(answer: &str) {
        assert!(answer.contains("quick brown fox"), "{answer}");
    }

    struct Connection {
        stream: TcpStream,
        bytes: Vec<u8>,
    }

    impl Connection {
        /// Makes a call, which has to succeed.
        fn call(&mut self, request: &str) {
            let (status, body) = self.exchange(request);
            assert_eq!(status, 200, "{body}");
            check(&body);
        }

        /// Sends a request, and reads the answer by its length.
        fn exchange(&mut self, request: &str) -> (u16, String) {
            self.stream.write_all(request.as_bytes()).unwrap();
            self.bytes.clear();
            loop {
                let mut part = [0; 16 << 10];
                let length = self.stream.read(&mut part).unwrap();
                assert!(length > 0, "the server has closed the connection");
                self.bytes.extend_from_slice(&part[..length]);
                let Some(end) = self.bytes.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
                let head = std::str::from_utf8(&self.bytes[..end]).unwrap();
                let length: usize =
                    head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse().unwrap();
                if self.bytes.len() < end + 4 + length {
                    continue;
                }
                let status = head.split(' ').nth(1).unwrap().parse().unwrap();
                return (status, String::from_utf8_lossy(&self.bytes[end + 4..]).into_owned());
            }
        }
    }

    /// A process that answers lines.
    struct Piped {
        child: Child,
        input: ChildStdin,
        output: BufReader<ChildStdout>,
    }

    impl Piped {
        fn start(server: &Server, arguments: &[&str]) -> Self {
            let mut command = clean(server.home.path());
            command.args(arguments).arg(server.home.path().join("one"));
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
            Self { child, input, output }
        }

        fn call(&mut self, line: &str) {
            self.input.write_all(format!("{line}\n").as_bytes()).unwrap();
            let mut answer = String::new();
            self.output.read_line(&mut answer).unwrap();
            check(&answer);
        }
    }

    impl Drop for Piped {
        fn drop(&mut self) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
