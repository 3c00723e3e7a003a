//! Persistent sessions in memory: in the library, by `paddock batch`, and over MCP.

use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use paddock::types::ErrorCode;
use paddock::{Policy, Workspace};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{read, write};

#[test]
fn a_session_returns_to_checkpoints() {
    let workspace = Workspace::memory(Policy::default()).unwrap();
    write(&workspace, "a.txt", "one");
    workspace.checkpoint("one").unwrap();
    write(&workspace, "a.txt", "two");
    write(&workspace, "new/b.txt", "two");
    workspace.checkpoint("two").unwrap();
    workspace.rollback("one").unwrap();
    assert_eq!((read(&workspace, "a.txt"), read(&workspace, "new/b.txt")), (json!("one"), json!("not-found")));
    workspace.rollback("two").unwrap();
    assert_eq!((read(&workspace, "a.txt"), read(&workspace, "new/b.txt")), (json!("two"), json!("two")));
    assert_eq!(workspace.checkpoints().unwrap(), ["one", "two"]);
    assert_eq!(workspace.rollback("three").unwrap_err().code, ErrorCode::NotFound);
    assert_eq!(workspace.checkpoint("one").unwrap_err().code, ErrorCode::AlreadyExists);
    let directory = TempDir::new().unwrap();
    let other = Workspace::builder().root(directory.path()).no_state_dir().build().unwrap();
    assert_eq!(other.checkpoint("one").unwrap_err().code, ErrorCode::Io, "only memory has them");
}

fn run(arguments: &[&str], lines: &[Value]) -> Output {
    let home = TempDir::new().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_paddock"));
    command.args(arguments).current_dir(&home).env_remove("PADDOCK_POLICY");
    command.env("XDG_CONFIG_HOME", home.path()).env("PADDOCK_STATE_DIR", home.path());
    let pipes = (Stdio::piped(), Stdio::piped());
    let mut child = command.stdin(pipes.0).stdout(pipes.1).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    lines.iter().for_each(|line| writeln!(stdin, "{line}").unwrap());
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(fs::read_dir(&home).unwrap().count(), 0, "nothing is left on the disk");
    output
}

fn answers(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{output:?}");
    output
        .stdout
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

#[test]
fn a_batch_works_on_a_copy_and_saves_it() {
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    fs::create_dir(path("source")).unwrap();
    fs::write(path("source/a.txt"), "one\n").unwrap();
    fs::write(path("source/b.log"), "log\n").unwrap();
    let mount = format!("{}:in/it", path("source"));
    let edit = json!({"path": "in/it/a.txt", "edits": [{"old_text": "one", "new_text": "two"}]});
    let save = path("tree.tar");
    let output = run(
        &["batch", "--memory", "--mount", &mount, "--mount-exclude", "*.log", "--save", &save],
        &[json!({"tool": "edit_file", "arguments": edit}), json!({"tool": "glob", "arguments": {"pattern": "**"}})],
    );
    assert_eq!(answers(&output)[1]["result"]["paths"], json!(["in/it/a.txt"]));
    assert_eq!(fs::read_to_string(path("source/a.txt")).unwrap(), "one\n");
    let output = run(&["call", "--memory", "--load", &save, "read_file", r#"{"path": "in/it/a.txt"}"#], &[]);
    assert_eq!(answers(&output)[0]["result"]["content"], "two");
    let wrong = run(&["call", "--memory", "--load", &path("source/a.txt"), "tree"], &[]);
    assert_eq!(wrong.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("cannot load"), "{wrong:?}");
    assert_eq!(run(&["call", "--memory", "--root", ".", "tree"], &[]).status.code(), Some(2));
    assert_eq!(run(&["call", "--mount", ".", "tree"], &[]).status.code(), Some(2));
}

#[test]
fn an_mcp_session_is_saved_when_the_client_disconnects() {
    let directory = TempDir::new().unwrap();
    let save = directory.path().join("tree.tar");
    let call = |id: u32, name: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
    let client =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let lines = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        call(2, "write_file", json!({"path": "a.txt", "content": "kept\n"})),
    ];
    let mut child = Command::new(env!("CARGO_BIN_EXE_paddock"))
        .args(["mcp", "--memory", "--save", save.to_str().unwrap()])
        .env("XDG_CONFIG_HOME", directory.path())
        .env_remove("PADDOCK_POLICY")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut answers = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let mut answer = |id: u32| loop {
        let message: Value = serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap();
        if message["id"] == id {
            return message["result"].clone();
        }
    };
    lines.iter().for_each(|line| writeln!(stdin, "{line}").unwrap());
    assert_eq!(answer(2)["structuredContent"]["created"], true);
    writeln!(stdin, "{}", call(3, "read_file", json!({"path": "a.txt"}))).unwrap();
    assert_eq!(answer(3)["structuredContent"]["content"], "kept", "the tree lasts from call to call");
    drop(stdin);
    assert!(child.wait().unwrap().success());
    let workspace = Workspace::memory(Policy::default()).unwrap();
    workspace.load(&fs::read(save).unwrap()).unwrap();
    assert_eq!(read(&workspace, "a.txt"), "kept\n");
}
