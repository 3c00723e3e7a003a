//! `paddock token`: a token and its hash, a key, a signed token, and a narrowed one that the server obeys.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use paddock::serve::hash;
use serde_json::json;
use tempfile::TempDir;

use super::client::Running;

fn token(directory: &Path, arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_paddock"));
    command.arg("token").args(arguments).current_dir(directory);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A command that needs no input may have ended.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap().trim_end().to_owned()
}

#[test]
fn a_new_token_fits_its_hash() {
    let home = TempDir::new().unwrap();
    let text = printed(&token(home.path(), &["new"], ""));
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap().to_owned();
    assert!(value("token: ").len() == 68 && hash(&value("token: ")) == value("sha256: "), "{text}");
    assert_ne!(printed(&token(home.path(), &["new"], "")), text);
}

#[test]
fn a_signed_token_is_narrowed_without_the_key() {
    let home = TempDir::new().unwrap();
    let public = printed(&token(home.path(), &["key", "issuer.key"], ""));
    let key = home.path().join("issuer.key");
    assert_eq!(key.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!token(home.path(), &["key", "issuer.key"], "").status.success(), "a key is not replaced");
    let alice = printed(&token(home.path(), &["issue", "issuer.key", r#"workspace("notes"); holder("alice");"#], ""));
    std::fs::remove_file(key).unwrap();
    let facts = r#"path("docs"); read_only(true); tools(["read_file", "write_file"]);"#;
    let narrowed = printed(&token(home.path(), &["narrow", facts], &format!("{alice}\n")));
    let server = Running::start(&format!("workspaces:\n  notes: {{root: '{{home}}/notes'}}\nbiscuit: {{{public}}}\n"));
    let call = |token: &str, tool: &str, path: &str| {
        server.call_as(token, "notes", tool, json!({"path": path, "content": "x"})).json()
    };
    assert_eq!(call(&alice, "write_file", "new.txt")["ok"], true);
    assert_eq!(call(&narrowed, "write_file", "new.txt")["error"]["code"], "read-only");
    let read = server.call_as(&narrowed, "notes", "read_file", json!({"path": "b.txt"})).json();
    assert_eq!(read["result"]["content"], "three", "{read}");
    assert_eq!(server.call_as(&narrowed, "notes", "tree", json!({})).json()["error"]["code"], "unknown-tool");
}

#[test]
fn an_error_repeats_no_token() {
    let home = TempDir::new().unwrap();
    std::fs::write(home.path().join("issuer.key"), "pdk_secret-key").unwrap();
    for (arguments, input) in [
        (&["narrow", "read_only(true);"][..], "pdk_secret-token"),
        (&["narrow", "admin(true);"][..], "pdk_secret-token"),
        (&["issue", "issuer.key", r#"workspace("a");"#][..], ""),
        (&["issue", "none.key", r#"workspace("a");"#][..], ""),
    ] {
        let output = token(home.path(), arguments, input);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && !text.is_empty() && !text.contains("pdk_secret"), "{arguments:?}: {text}");
    }
}
