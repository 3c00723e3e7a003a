//! No token is in a log, in an audit log, in the state directory, in an answer or in an error.

use std::error::Error;
use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;

use biscuit_auth::KeyPair;
use biscuit_auth::builder::BiscuitBuilder;
use paddock::serve::{Server, hash};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::client::{Program, Reply, Running, TOKEN, request};

/// Returns a Biscuit for `notes`, and the hex digits of its issuer's public key.
fn biscuit() -> (String, String) {
    let key = KeyPair::new();
    let token = BiscuitBuilder::new().code(r#"workspace("notes"); calls(100);"#).unwrap().build(&key).unwrap();
    let public = key.public().to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    (token.to_base64().unwrap(), public)
}

/// Fails if a text has a part of a token that can be recognised.
fn assert_has_none(text: &str, tokens: &[&str], place: &str) {
    for token in tokens {
        let parts = token.as_bytes().chunks(16).filter(|part| part.len() >= 8.min(token.len()));
        for part in parts.map(|part| std::str::from_utf8(part).unwrap()) {
            assert!(!text.contains(part), "{place} has `{part}`: {text}");
        }
    }
}

#[test]
fn no_answer_repeats_a_token() {
    let server = Running::notes("biscuit: {public_key: 11qYAYKx}\n".replace("11qYAYKx", &biscuit().1).as_str());
    let (foreign, long) = (biscuit().0, "pdk_0123456789abcdef".repeat(1000));
    let jwt = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJzZWNyZXQtc3ViamVjdCJ9.c2lnbmF0dXJlLXNlY3JldA";
    for token in ["pdk_wrong-and-secret", &foreign, &foreign[..100], jwt, &long] {
        for value in [format!("Bearer {token}"), format!("Basic {token}"), format!("Bearer {token} {token}")] {
            for (method, path) in
                [("GET", "tools"), ("POST", "call"), ("POST", "mcp"), ("GET", "mcp"), ("DELETE", "mcp")]
            {
                let body = if method == "POST" { "{}" } else { "" };
                let text = request(method, &format!("/w/notes/{path}"), &[("authorization", &value)], body);
                // The server may close the connection before it has read a long header.
                let Some(reply) = server.raw(text.as_bytes()) else { continue };
                assert!(matches!(reply.status, 401 | 431), "{reply:?}");
                let text = format!("{:?}{}", reply.headers, reply.text());
                assert_has_none(&text, &[token], path);
            }
        }
    }
}

#[test]
fn an_error_of_the_configuration_repeats_no_token() {
    let home = TempDir::new().unwrap();
    let file = home.path().join("serve.yaml");
    let secret = "pdk_0123456789abcdef0123456789abcdef";
    for tokens in [
        format!("[{secret}]"),
        secret.to_owned(),
        format!("[{{name: a, sha256: {secret}, grant: {{workspaces: ['*']}}}}]"),
        format!("[{{name: a, token: {secret}, grant: {{workspaces: ['*']}}}}]"),
        format!("[{{name: a, sha256: [{secret}], grant: {{workspaces: ['*']}}}}]"),
        format!("[{{name: a, sha256: {}, grant: {secret}}}]", hash(secret)),
        format!("{{{secret}: {{}}}}"),
    ] {
        fs::write(&file, format!("tokens: {tokens}\n")).unwrap();
        let error = Server::open(&file).err().unwrap();
        let mut text = format!("{error} {error:?}");
        let mut source = error.source();
        while let Some(cause) = source {
            text.push_str(&cause.to_string());
            source = cause.source();
        }
        assert!(text.contains("serve.yaml"), "{text}");
        assert_has_none(&text, &[secret], "an error");
    }
}

#[test]
fn the_log_names_callers_and_no_file_has_a_token() {
    let home = TempDir::new().unwrap();
    let (token, public) = biscuit();
    let (wrong, in_query) = ("pdk_wrong-and-secret", "pdk_secret-in-the-query");
    let text = format!(
        "listen: 127.0.0.1:0\nlog: true\nmetrics: true\nstate_dir: state\naudit_dir: audit\nworkspaces:\n  notes: {{root: notes}}\nbiscuit: {{public_key: {public}}}\ntokens:\n- {{name: alice, sha256: {}, grant: {{workspaces: [notes]}}}}\n",
        hash(TOKEN)
    );
    fs::create_dir_all(home.path().join("notes")).unwrap();
    fs::create_dir_all(home.path().join("audit")).unwrap();
    fs::write(home.path().join("serve.yaml"), text).unwrap();
    let mut server = Program::start(home.path());
    let send = |method: &str, path: &str, token: &str, body: &Value| {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        let body = if method == "GET" { String::new() } else { body.to_string() };
        let headers = [
            ("authorization", &*format!("Bearer {token}")),
            ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        ];
        let headers = if method == "GET" { &headers[..1] } else { &headers };
        let text = request(method, path, headers, &body);
        stream.write_all(text.as_bytes()).unwrap();
        Reply::read(&mut stream).unwrap()
    };
    let write = json!({"tool": "write_file", "arguments": {"path": "a.txt", "content": "x"}});
    let path = format!("/w/notes/tools?token={in_query}");
    assert_eq!(send("GET", &path, TOKEN, &Value::Null).status, 400);
    for (token, status) in [(TOKEN, 200), (&*token, 200), (wrong, 401)] {
        assert_eq!(send("POST", "/w/notes/call", token, &write).status, status);
    }
    let metrics = send("GET", "/metrics", "", &Value::Null).text();
    server.terminate();
    let log: Vec<String> = server.lines.by_ref().map(Result::unwrap).collect();
    assert!(server.child.wait().unwrap().success());
    let line: Value = serde_json::from_str(&log[0]).unwrap();
    assert_eq!(
        (&line["path"], &line["holder"], &line["status"]),
        (&json!("/w/notes/tools"), &json!("alice"), &json!(400))
    );
    assert_eq!(
        (&line["workspace"], &line["outcome"], &line["trace_id"]),
        (&json!("notes"), &Value::Null, &Value::Null)
    );
    let traced: Value = serde_json::from_str(&log[1]).unwrap();
    assert_eq!((&traced["outcome"], &traced["trace_id"]), (&json!("ok"), &json!("0af7651916cd43dd8448eb211c80319c")));
    let digest = hash(TOKEN);
    let tokens = [TOKEN, &token, wrong, in_query, &digest];
    assert_has_none(&log.join("\n"), &tokens, "the log");
    assert_has_none(&metrics, &tokens, "the counters");
    let mut files = 0;
    for name in ["state", "notes", "audit"] {
        each_file(&home.path().join(name), &mut |path| {
            files += 1;
            let text = String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
            assert_has_none(&text, &tokens, &path.display().to_string());
        });
    }
    assert!(files >= 3, "{files}");
}

/// A standard error that nobody reads stops no request, and not the end of the server.
#[test]
fn a_log_that_nobody_reads_stops_nothing() {
    let home = TempDir::new().unwrap();
    fs::create_dir(home.path().join("notes")).unwrap();
    let text =
        "listen: 127.0.0.1:0\nlog: true\nanonymous: true\nstate_dir: state\nworkspaces:\n  notes: {root: notes}\n";
    fs::write(home.path().join("serve.yaml"), text).unwrap();
    let mut server = Program::start(home.path());
    let get = |path: &str| {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        stream.set_read_timeout(Some(super::client::PATIENCE)).unwrap();
        stream.write_all(request("GET", path, &[], "").as_bytes()).unwrap();
        Reply::read(&mut stream).map(|reply| reply.status)
    };
    // More than a pipe holds.
    let long = format!("/w/notes/{}", "x".repeat(4000));
    (0..100).for_each(|_| assert_eq!(get(&long), Some(404)));
    assert_eq!(get("/healthz"), Some(200));
    server.terminate();
    let started = std::time::Instant::now();
    while server.child.try_wait().unwrap().is_none() {
        assert!(started.elapsed() < super::client::PATIENCE, "the server did not end");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

fn each_file(directory: &Path, visit: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => each_file(&entry.path(), visit),
            false => visit(&entry.path()),
        }
    }
}
