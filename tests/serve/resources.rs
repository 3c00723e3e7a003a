//! Open files and threads of the server's process.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use paddock::serve::hash;
use serde_json::json;
use tempfile::TempDir;

use super::client::{Program, Reply, TOKEN, request};
use super::mcp_client::{ACCEPT, hello};

/// Writes the configuration of a server for workspaces of a template.
fn configure(home: &Path, more: &str) {
    let (home_path, sha256) = (home.display(), hash(TOKEN));
    let configuration = format!(
        "listen: 127.0.0.1:0\nstate_dir: {home_path}/state\ntemplates:\n- root: '{home_path}/teams/{{name}}'\n{more}tokens:\n- {{name: alice, sha256: {sha256}, grant: {{workspaces: ['*']}}}}\n"
    );
    fs::write(home.join("serve.yaml"), configuration).unwrap();
}

fn write(number: usize) -> String {
    let body = json!({"tool": "write_file", "arguments": {"path": "a.txt", "content": "a"}}).to_string();
    request("POST", &format!("/w/{number}/call"), &[("authorization", &format!("Bearer {TOKEN}"))], &body)
}

#[test]
fn many_workspaces_can_be_used_with_few_open_files() {
    let home = TempDir::new().unwrap();
    for number in 0..60 {
        fs::create_dir_all(home.path().join(format!("teams/{number}"))).unwrap();
    }
    configure(home.path(), "");
    let mut program = Program::start_with(home.path(), &["sh", "-c", "ulimit -n 512 && exec \"$@\"", "sh"]);
    for number in 0..60 {
        let reply = send(&program.address, &write(number));
        assert!(reply.status == 200 && reply.json()["ok"] == true, "{number}: {reply:?}");
    }
    program.terminate();
    program.child.wait().unwrap();
}

/// The workspace of a session stays open. Sessions must not take the descriptors that other calls need.
#[test]
fn sessions_leave_open_files_for_others() {
    let home = TempDir::new().unwrap();
    for number in 0..100 {
        fs::create_dir_all(home.path().join(format!("teams/{number}"))).unwrap();
    }
    configure(home.path(), "");
    let mut program = Program::start_with(home.path(), &["sh", "-c", "ulimit -n 512 && exec \"$@\"", "sh"]);
    let hello = hello(&json!({}));
    let headers = [("authorization", &*format!("Bearer {TOKEN}")), ("accept", ACCEPT)];
    let start = |number| send(&program.address, &request("POST", &format!("/w/{number}/mcp"), &headers, &hello)).status;
    let statuses: Vec<_> = (0..100).map(start).collect();
    assert!(statuses[0] == 200 && statuses.iter().all(|status| matches!(status, 200 | 503)), "{statuses:?}");
    for number in 0..100 {
        assert_eq!(send(&program.address, &write(number)).status, 200, "{number}");
    }
    program.terminate();
    program.child.wait().unwrap();
}

#[test]
fn the_number_of_threads_is_bounded_by_that_of_calls() {
    const CLIENTS: usize = 64;
    let home = TempDir::new().unwrap();
    for number in 0..CLIENTS {
        fs::create_dir_all(home.path().join(format!("teams/{number}"))).unwrap();
    }
    let limits = "  limits: {calls_per_second: 100000, call_ms_per_second: 100000}\nlimits: {max_calls: 4}\n";
    configure(home.path(), limits);
    let mut program = Program::start(home.path());
    let status = format!("/proc/{}/status", program.child.id());
    let count = || {
        let text = fs::read_to_string(&status).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("Threads:")).unwrap();
        line.trim().parse::<usize>().unwrap()
    };
    let (before, ends) = (count(), AtomicBool::new(false));
    let most = thread::scope(|scope| {
        let most = scope.spawn(|| {
            let mut most = 0;
            while !ends.load(Ordering::Relaxed) {
                most = count().max(most);
                thread::sleep(Duration::from_millis(5));
            }
            most
        });
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let address = program.address.clone();
                scope.spawn(move || client(&address, number))
            })
            .collect();
        let made: usize = clients.into_iter().map(|client| client.join().unwrap()).sum();
        ends.store(true, Ordering::Relaxed);
        assert!(made > 0);
        most.join().unwrap()
    });
    // The threads of the runtime, and two for each call: its own, and one of a search.
    let processors = thread::available_parallelism().unwrap().get();
    assert!(most <= before + processors + 2 * 4, "{before} threads at first, then {most}");
    program.terminate();
    program.child.wait().unwrap();
}

fn send(address: &str, request: &str) -> Reply {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    Reply::read(&mut stream).unwrap()
}

/// Sends calls, and messages that are none, in a workspace of its own. Returns the number of calls that the server did not
/// refuse.
fn client(address: &str, number: usize) -> usize {
    let authorization = format!("Bearer {TOKEN}");
    let note = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}).to_string();
    let headers = [("authorization", &*authorization), ("accept", ACCEPT), ("mcp-protocol-version", "2026-07-28")];
    let note = request("POST", &format!("/w/{number}/mcp"), &headers, &note);
    let mut made = 0;
    for _ in 0..10 {
        send(address, &note);
        made += usize::from(send(address, &write(number)).status == 200);
    }
    made
}
