//! No process or file of a command outlives its host.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;

/// Returns the number of processes whose arguments contain this mark.
fn alive(tag: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let arguments = processes.filter_map(|process| fs::read_to_string(process.path().join("cmdline")).ok());
    arguments.filter(|arguments| arguments.contains(tag)).count()
}

fn gone_soon(tag: &str) -> bool {
    let until = Instant::now() + Duration::from_secs(5);
    while Instant::now() < until {
        if alive(tag) == 0 {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// Starts a `paddock` with a session of three processes: one in the foreground, one in the background, and one that
/// left its session.
fn host(home: &TempDir, mode: &str, tag: &str) -> (Child, String) {
    fs::create_dir_all(home.path().join("work")).unwrap();
    // If the tests run in the background, SIGINT is ignored, and children would inherit that.
    let mut child = Command::new("env")
        .args(["--default-signal=INT", env!("CARGO_BIN_EXE_paddock"), mode, "--set", "commands.enabled=true", "--root"])
        .arg(home.path().join("work"))
        .env("PADDOCK_STATE_DIR", home.path().join("state"))
        .env("XDG_CONFIG_HOME", home.path().join("none"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let line = format!("echo x > made; setsid sh -c 'sleep 300.{tag} & sleep 301.{tag}' & sleep 302.{tag}");
    let arguments = json!({"command": line, "yield_time_ms": 1000});
    let requests = match mode {
        "batch" => vec![json!({"tool": "exec_command", "arguments": arguments})],
        _ => {
            let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
            vec![
                json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
                json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
                json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "exec_command", "arguments": arguments}}),
            ]
        }
    };
    let stdin = child.stdin.as_mut().unwrap();
    requests.iter().for_each(|request| writeln!(stdin, "{request}").unwrap());
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let answers = if mode == "batch" { 1 } else { 2 };
    let answer: String = lines.nth(answers - 1).unwrap().unwrap();
    assert!(answer.contains("session_id"), "{answer}");
    assert!(alive(tag) >= 3, "{} of {answer}", alive(tag));
    (child, answer)
}

#[test]
fn a_host_that_is_killed_takes_its_commands_along() {
    for (mode, signal) in
        [("batch", "KILL"), ("batch", "TERM"), ("batch", "INT"), ("mcp", "KILL"), ("mcp", "TERM"), ("mcp", "INT")]
    {
        let home = TempDir::new().unwrap();
        let tag =
            format!("{:09}", fs::metadata(home.path()).map(|dir| std::os::unix::fs::MetadataExt::ino(&dir)).unwrap());
        let (mut child, _) = host(&home, mode, &tag);
        let killed = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().unwrap();
        assert!(killed.success());
        assert!(gone_soon(&tag), "{mode} {signal}: {} are left", alive(&tag));
        child.wait().unwrap();
    }
}

#[test]
fn a_disconnect_ends_sessions_and_records_their_changes() {
    for mode in ["batch", "mcp"] {
        let home = TempDir::new().unwrap();
        let tag =
            format!("{:09}", fs::metadata(home.path()).map(|dir| std::os::unix::fs::MetadataExt::ino(&dir)).unwrap());
        let (mut child, _) = host(&home, mode, &tag);
        drop(child.stdin.take());
        assert!(gone_soon(&tag), "{mode}: {} are left", alive(&tag));
        child.wait().unwrap();
        let history = Command::new(env!("CARGO_BIN_EXE_paddock"))
            .args(["history", "--root"])
            .arg(home.path().join("work"))
            .env("PADDOCK_STATE_DIR", home.path().join("state"))
            .output()
            .unwrap();
        let history = String::from_utf8(history.stdout).unwrap();
        assert!(history.contains("made"), "{mode}: {history}");
    }
}
