//! A container that stops, is replaced, or whose process id another process gets.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use paddock::types::ErrorCode;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::engines::{Engines, PODMAN};
use super::runc::{Running, call, refusal};

const PATIENCE: Duration = Duration::from_secs(10);

#[test]
fn a_killed_container_is_gone() {
    let Some(running) = Running::start() else { return };
    let workspace = running.workspace();
    let pid = running.pid();
    // The first call loads the component.
    call(&workspace, "stat", json!({"path": "."}));
    let worker = thread::spawn({
        let workspace = workspace.clone();
        move || {
            let started = Instant::now();
            let mut calls = 0_u32;
            loop {
                match workspace.call("read_file", r#"{"path": "src/main.rs"}"#).error {
                    None => calls += 1,
                    Some(error) => return (calls, error),
                }
                assert!(started.elapsed() < PATIENCE, "{calls} calls, and none failed");
            }
        }
    });
    thread::sleep(Duration::from_millis(200));
    kill(pid);
    let (calls, error) = worker.join().unwrap();
    assert!(calls > 0);
    assert_eq!(error.code, ErrorCode::BackendGone);
    assert_eq!(error.message, format!("the container `{}` has stopped or was replaced", running.name()));
    assert!(error.hint.unwrap().contains("start the container and Paddock again"));
    for (tool, arguments) in [("grep", json!({"pattern": "x"})), ("write_file", json!({"path": "a", "content": "x"}))] {
        assert_eq!(refusal(&workspace, tool, arguments)["code"], "backend-gone");
    }
    assert!(!running.root().join("app/a").exists());
    let refused = paddock::Container::open(&running.name()).unwrap_err().to_string();
    assert!(refused.contains("it does not run: runc says `stopped`"), "{refused}");
}

#[test]
fn another_container_of_the_same_name_is_not_the_workspace() {
    let Some(running) = Running::start() else { return };
    let (old, identity) = (running.workspace(), running.state()["created"].clone());
    running.delete();
    running.run();
    assert_ne!(running.state()["created"], identity);
    assert_eq!(refusal(&old, "stat", json!({"path": "."}))["code"], "backend-gone");
    assert_eq!(call(&running.workspace(), "stat", json!({"path": "."}))["kind"], "directory");
}

#[test]
fn a_process_id_used_again_is_not_the_container_s() {
    let Some(running) = Running::start() else { return };
    let (workspace, pid) = (running.workspace(), running.pid());
    running.delete();
    let Some(other) = process_of_id(pid) else {
        eprintln!("not run: no process could be given the id {pid}");
        return;
    };
    assert!(fs::exists(format!("/proc/{pid}/root")).unwrap(), "somebody else has the id");
    assert_eq!(refusal(&workspace, "stat", json!({"path": "."}))["code"], "backend-gone");
    drop(other);
}

#[test]
fn a_process_with_this_machine_s_root_is_no_container() {
    let engines = Engines::new();
    engines.record("podman", PODMAN, u64::from(std::process::id()));
    let error = engines.refused("podman:web");
    assert!(error.contains("its root directory is this machine's own"), "{error}");
}

fn kill(pid: u64) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::KILL).unwrap();
}

/// Starts a process with this id. The system assigns ids in ascending order, from a number that can be set.
fn process_of_id(pid: u64) -> Option<Held> {
    for _ in 0..200 {
        fs::write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string()).ok()?;
        let child = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
        let held = Held(child);
        if u64::from(held.0.id()) == pid {
            return Some(held);
        }
    }
    None
}

struct Held(Child);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}
