//! Counters, and new tokens.

use std::process::Command;

use paddock::serve::hash;
use serde_json::json;

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

#[test]
fn a_new_token_fits_its_hash() {
    let output = Command::new(env!("CARGO_BIN_EXE_paddock")).args(["serve", "--new-token"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap().to_owned();
    assert!(value("token: ").len() == 68 && hash(&value("token: ")) == value("sha256: "), "{text}");
}
