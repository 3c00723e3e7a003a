//! Counters and logs.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use paddock::serve::hash;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::client::{Running, TOKEN};

#[test]
fn requests_are_counted_if_the_configuration_says_so() {
    let server = Running::notes("metrics: true\n");
    server.call("tree", json!({}));
    server.call_as("wrong", "notes", "tree", json!({}));
    let text = server.get("/metrics", "").text();
    for line in [
        r#"paddock_requests_total{method="POST",status="200"} 1"#,
        r#"paddock_requests_total{method="POST",status="401"} 1"#,
        "paddock_running_calls 0",
        "# EOF",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert_eq!(Running::notes("").get("/metrics", "").status, 404);
}

/// The command, its log without secrets, and its end by a signal.
#[test]
fn the_log_of_the_command_names_callers_and_has_no_secrets() {
    let home = TempDir::new().unwrap();
    let file = home.path().join("serve.yaml");
    let text = format!(
        "listen: 127.0.0.1:0\nlog: true\nstate_dir: state\nworkspaces:\n  notes: {{memory: true}}\ntokens:\n- {{name: alice, sha256: {}, grant: {{workspaces: [notes]}}}}\n",
        hash(TOKEN)
    );
    std::fs::write(&file, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_paddock"));
    command.args(["serve", "--config"]).arg(&file).env("XDG_CONFIG_HOME", home.path().join("none"));
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    let address = first.strip_prefix("paddock: serving http://").unwrap();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let text = super::client::request(
        "GET",
        "/w/notes/tools?dialect=paddock&token=hidden-in-the-query",
        &[("authorization", &format!("Bearer {TOKEN}"))],
        "",
    );
    std::io::Write::write_all(&mut stream, text.as_bytes()).unwrap();
    super::client::Reply::read(&mut stream).unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::TERM).unwrap();
    let log: Vec<String> = lines.map(Result::unwrap).collect();
    assert!(child.wait().unwrap().success());
    let line: Value = serde_json::from_str(&log[0]).unwrap();
    assert_eq!(
        (&line["path"], &line["holder"], &line["status"]),
        (&json!("/w/notes/tools"), &json!("alice"), &json!(400))
    );
    let all = log.join("\n");
    assert!(!all.contains(TOKEN) && !all.contains("hidden") && !all.contains(&hash(TOKEN)), "{all}");
}

#[test]
fn a_new_token_fits_its_hash() {
    let output = Command::new(env!("CARGO_BIN_EXE_paddock")).args(["serve", "--new-token"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap().to_owned();
    assert!(value("token: ").len() == 68 && hash(&value("token: ")) == value("sha256: "), "{text}");
}
