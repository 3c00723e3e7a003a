//! Open files and threads of the server's process.

use std::fs;
use std::hint;
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use paddock::serve::hash;
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::client::{Program, Reply, TOKEN, request};
use super::mcp_client::{ACCEPT, hello};
use super::parts::{changed_as_a_whole, cut_off};
use crate::hang::FinishOnDrop;

/// Creates directories of workspaces of a template, whose names are numbers, and writes the configuration of their server.
fn configure(home: &Path, workspaces: usize, more: &str) {
    for number in 0..workspaces {
        fs::create_dir_all(home.join(format!("teams/{number}"))).unwrap();
    }
    let (home_path, sha256) = (home.display(), hash(TOKEN));
    let configuration = format!(
        "listen: 127.0.0.1:0\nstate_dir: {home_path}/state\ntemplates:\n- root: '{home_path}/teams/{{name}}'\n{more}tokens:\n- {{name: alice, sha256: {sha256}, grant: {{workspaces: ['*']}}}}\n"
    );
    fs::write(home.join("serve.yaml"), configuration).unwrap();
}

fn write(number: usize) -> String {
    call(number, "write_file", &json!({"path": "a.txt", "content": "a"}))
}

fn read(number: usize) -> String {
    call(number, "stat", &json!({"path": "."}))
}

fn call(number: usize, tool: &str, arguments: &Value) -> String {
    let body = json!({"tool": tool, "arguments": arguments}).to_string();
    request("POST", &format!("/w/{number}/call"), &[("authorization", &format!("Bearer {TOKEN}"))], &body)
}

/// Starts a server that can open few files.
fn with_few_files(home: &Path, workspaces: usize) -> Program {
    configure(home, workspaces, "");
    Program::start_with(home, &["sh", "-c", "ulimit -n 512 && exec \"$@\"", "sh"])
}

fn end(mut program: Program) {
    program.terminate();
    program.child.wait().unwrap();
}

#[test]
fn many_workspaces_can_be_used_with_few_open_files() {
    let home = TempDir::new().unwrap();
    let program = with_few_files(home.path(), 60);
    for number in 0..60 {
        let reply = send(&program.address, &write(number));
        assert!(reply.status == 200 && reply.json()["ok"] == true, "{number}: {reply:?}");
    }
    end(program);
}

/// The workspace of a session stays open. Sessions must not take the descriptors that other calls need.
#[test]
fn sessions_leave_open_files_for_others() {
    let home = TempDir::new().unwrap();
    let program = with_few_files(home.path(), 100);
    let hello = hello(&json!({}));
    let headers = [("authorization", &*format!("Bearer {TOKEN}")), ("accept", ACCEPT)];
    let start = |number| send(&program.address, &request("POST", &format!("/w/{number}/mcp"), &headers, &hello)).status;
    let statuses: Vec<_> = (0..100).map(start).collect();
    assert!(statuses[0] == 200 && statuses.iter().all(|status| matches!(status, 200 | 503)), "{statuses:?}");
    for number in 0..100 {
        assert_eq!(send(&program.address, &write(number)).status, 200, "{number}");
    }
    end(program);
}

/// A recovery that fails because the process has too many open files does not leave the change as it is for good.
#[test]
fn a_recovery_that_fails_for_a_moment_is_made_by_the_next_call() {
    let home = TempDir::new().unwrap();
    let docs = home.path().join("teams/0/docs");
    fs::create_dir_all(&docs).unwrap();
    configure(home.path(), 1, "");
    let program = Program::start(home.path());
    assert_eq!(send(&program.address, &write(0)).status, 200);
    // A state directory of the template's workspace has the time of its creation in its name.
    let whole = fs::read_dir(home.path().join("state")).unwrap().map(|entry| entry.unwrap().file_name());
    let whole = whole.filter_map(|name| name.into_string().ok()).find(|name| name.starts_with("0+")).unwrap();
    let state = home.path().join("state").join(format!("{whole}@/docs"));
    let process = Pid::from_child(&program.child);
    let mut is_refused = false;
    for more in 0..16 {
        assert!((0..20).any(|_| cut_off(&docs, &state, &docs)), "no kill came in the middle of a change");
        let mut stream = TcpStream::connect(&program.address).unwrap();
        thread::sleep(Duration::from_millis(50));
        let open = fs::read_dir(format!("/proc/{}/fd", program.child.id())).unwrap().count() as u64;
        let usual = rustix::process::getrlimit(Resource::Nofile);
        let few = Rlimit { current: Some(open + more), maximum: usual.maximum };
        let before = prlimit(Some(process), Resource::Nofile, few).unwrap();
        stream.write_all(read(0).as_bytes()).unwrap();
        let reply = Reply::read(&mut stream).unwrap();
        prlimit(Some(process), Resource::Nofile, before).unwrap();
        is_refused |= reply.status != 200;
        if reply.status == 200 {
            changed_as_a_whole(&docs);
        }
        assert_eq!(send(&program.address, &read(0)).status, 200, "{more} more files");
        changed_as_a_whole(&docs);
        assert_eq!(send(&program.address, &write(0)).status, 200);
    }
    assert!(is_refused, "the number of open files was not limited");
    end(program);
}

/// The server holds the directory, by a mount that is not read-only.
#[test]
fn a_directory_over_which_a_read_only_mount_is_made_is_read_only() {
    let run = |words: &[&str]| Command::new(words[0]).args(&words[1..]).status().is_ok_and(|status| status.success());
    if !run(&["unshare", "--mount", "true"]) {
        return eprintln!("skipped: this user may not make mounts");
    }
    let home = TempDir::new().unwrap();
    configure(home.path(), 1, "");
    let program = Program::start_with(home.path(), &["unshare", "--mount"]);
    let ok = |call: String| send(&program.address, &call).json()["ok"].clone();
    assert_eq!(ok(write(0)), true);
    let (process, directory) = (program.child.id().to_string(), home.path().join("teams/0"));
    let mount = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\"";
    let enter = ["nsenter", "--target", &process, "--mount", "sh", "-c", mount, "sh", directory.to_str().unwrap()];
    assert!(run(&enter));
    let other = call(0, "write_file", &json!({"path": "a.txt", "content": "other"}));
    assert_eq!((ok(other), ok(read(0))), (json!(false), json!(true)));
    assert_eq!(fs::read_to_string(directory.join("a.txt")).unwrap(), "a");
    end(program);
}

#[test]
fn the_number_of_threads_is_bounded_by_that_of_calls() {
    const CLIENTS: usize = 64;
    let home = TempDir::new().unwrap();
    let limits = "  limits: {calls_per_second: 100000, call_ms_per_second: 100000}\nlimits: {max_calls: 4}\n";
    configure(home.path(), CLIENTS, limits);
    let program = Program::start(home.path());
    let status = format!("/proc/{}/status", program.child.id());
    let count = || {
        let text = fs::read_to_string(&status).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("Threads:")).unwrap();
        line.trim().parse::<usize>().unwrap()
    };
    let ends = AtomicBool::new(false);
    let most = thread::scope(|scope| {
        let end = FinishOnDrop(&ends);
        // On a processor that is busy, a thread takes long from the end of its call until it is free for another.
        for _ in 0..thread::available_parallelism().unwrap().get() * 4 {
            scope.spawn(|| {
                while !ends.load(Ordering::Relaxed) {
                    hint::spin_loop();
                }
            });
        }
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
        drop(end);
        assert!(made > 0);
        most.join().unwrap()
    });
    // The main thread, the clock and the check of the locks; two threads that wait for events; and those that may block: one
    // for the start of that check, four for subscriptions, and one for each call.
    assert!(most <= 3 + 2 + (1 + 4 + 4), "{most} threads");
    end(program);
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
