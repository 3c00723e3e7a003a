//! The measurements.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use client::{Connection, Piped, mcp_request, message, request};
use server::{Server, memory};

mod client;
mod peers;
mod server;

/// Limits beyond which no client of these figures comes.
const UNLIMITED: &str =
    "{concurrent_calls: 1000, calls_per_second: 1000000, bytes_per_second: 100000000000, call_ms_per_second: 1000000}";

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
    if is_chosen("peers") {
        peers::run();
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
    let times = turns(
        [
            &mut (|| batch.call(&line)) as &mut dyn FnMut(),
            &mut || plain.call(&plain_request),
            &mut || mcp.call(&message),
            &mut || over_http.call(&mcp_request),
        ],
        500,
    );
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
        request(&format!("/w/w{}/call", number % 1000), r#"{"tool": "read_file", "arguments": {"path": "a.txt"}}"#, &[])
    };
    // Every workspace is opened once.
    let mut first = server.connect();
    (0..1000).for_each(|number| first.call(&read(number)));
    let time = Duration::from_secs(10);
    let mut times = load(&|| server.connect(), 64, time, &read);
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
    let mut alone = load(&|| server.connect(), 1, time, &|_| quiet.clone());
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
        let times = load(&|| server.connect(), 1, time, &|_| quiet.clone());
        ends.store(true, Ordering::Relaxed);
        times
    });
    report("one client beside 16 that flood another workspace", &mut beside, time);
    println!("ratio of p99: {:.2}", percentile(&beside, 99).as_secs_f64() / percentile(&alone, 99).as_secs_f64());
}

/// Returns the mean times of a piece of each work, nine times in turns.
fn turns<const N: usize>(mut works: [&mut dyn FnMut(); N], calls: u32) -> [Vec<Duration>; N] {
    let mut times = std::array::from_fn(|_| Vec::new());
    for _ in 0..9 {
        for (times, work) in times.iter_mut().zip(&mut works) {
            let started = Instant::now();
            (0..calls).for_each(|_| work());
            times.push(started.elapsed() / calls);
        }
    }
    times
}

/// Returns the times of all calls that clients make in some time, each over one connection.
fn load(
    connect: &(dyn Fn() -> Connection + Sync),
    clients: usize,
    time: Duration,
    request: &(dyn Fn(usize) -> String + Sync),
) -> Vec<Duration> {
    let work = |client: usize| {
        let (mut connection, started, mut times) = (connect(), Instant::now(), Vec::new());
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
