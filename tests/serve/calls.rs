//! Plain JSON, workspaces of the configuration and of templates.

use std::fs;
use std::os::unix::fs::symlink;

use paddock::serve::{Server, hash};
use serde_json::json;
use tempfile::TempDir;

use super::client::{Running, TOKEN, request};

#[test]
fn a_call_has_the_outcome_of_the_command_line() {
    let server = Running::notes("");
    let read = server.call("read_file", json!({"path": "a.txt"}));
    assert_eq!((read.status, read.header("content-type")), (200, Some("application/json")));
    let outcome = read.json();
    assert_eq!((&outcome["ok"], &outcome["result"]["content"]), (&json!(true), &json!("one\ntwo")), "{outcome}");
    let missing = server.call("read_file", json!({"path": "b.txt"}));
    assert_eq!((missing.status, &missing.json()["error"]["code"]), (200, &json!("not-found")));
    let outside = server.call("read_file", json!({"path": "../serve.yaml"})).json();
    assert_eq!(outside["error"]["code"], "outside-workspace", "{outside}");
    let written = server.call("write_file", json!({"path": "new.txt", "content": "x\n"})).json();
    assert_eq!(written["ok"], true, "{written}");
    assert_eq!(fs::read_to_string(server.root().join("new.txt")).unwrap(), "x\n");
}

#[test]
fn tools_are_listed_in_each_format() {
    let server = Running::notes("");
    let list = |query: &str| server.get(&format!("/w/notes/tools{query}"), TOKEN);
    let names = |query: &str, pointer: &str| {
        let listed = list(query).json();
        let tools = listed.as_array().unwrap().iter();
        tools.map(|tool| tool.pointer(pointer).unwrap().as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(names("", "/name").contains(&"read_file".to_owned()));
    assert_eq!(names("?dialect=paddock:grep,glob&format=openai", "/function/name"), ["grep", "glob"]);
    assert_eq!(names("?dialect=paddock:grep&format=anthropic", "/name"), ["grep"]);
    assert_eq!(list("?dialect=paddock:grep&format=gemini").json()[0]["functionDeclarations"][0]["name"], "grep");
    assert_eq!(list("?dialect=nothing").status, 404);
    assert_eq!((list("?format=xml").status, list("?dialekt=x").status), (400, 400));
}

#[test]
fn wrong_requests_are_refused() {
    let server = Running::notes("");
    let post = |body: &str| {
        let authorization = format!("Bearer {TOKEN}");
        server.request("POST", "/w/notes/call", &[("authorization", &authorization)], body).status
    };
    for body in [
        "{",
        "[]",
        r#"["stat", {"path": "."}]"#,
        r#"{"tool": 1}"#,
        r#"{"tool": "stat", "argumentz": {}}"#,
        r#"{"arguments": {}}"#,
        r#"{"tool": "tree", "arguments": []}"#,
    ] {
        assert_eq!(post(body), 400, "{body}");
    }
    assert_eq!(post(r#"{"tool": "tree"}"#), 200);
    assert_eq!(post(r#"{"tool": "tree", "arguments": null, "dialect": null}"#), 200);
    let text =
        request("POST", "/w/notes/call", &[("authorization", &format!("Bearer {TOKEN}"))], r#"{"tool": "tree"}"#);
    for other in ["", "content-type: text/plain\r\n", "content-type: application/x-www-form-urlencoded\r\n"] {
        let text = text.replace("content-type: application/json\r\n", other);
        assert_eq!(server.raw(text.as_bytes()).map(|reply| reply.status), Some(415), "{other}");
    }
    assert_eq!(server.get("/w/notes/call", TOKEN).status, 405);
    assert_eq!(server.get("/w/notes", TOKEN).status, 404);
    assert_eq!(server.get("/", TOKEN).status, 404);
    let document = server.get("/openapi.json", "").json();
    assert!(document["paths"]["/w/{workspace}/call"]["post"].is_object());
    assert_eq!(server.get("/healthz", "").status, 200);
    assert_eq!(server.get("/readyz", "").status, 200);
}

const TEMPLATE: &str = "templates:\n- root: '{home}/teams/{name}'\n  policy: {blocked_directories: [private]}\n";

fn with_template() -> Running {
    let token = format!("tokens:\n- {{name: bob, sha256: {}, grant: {{workspaces: ['*']}}}}\n", hash(TOKEN));
    Running::start(&format!("{TEMPLATE}{token}"))
}

#[test]
fn a_new_directory_of_a_template_is_a_workspace_at_once() {
    let server = with_template();
    assert_eq!(server.call_as(TOKEN, "red", "tree", json!({})).status, 404);
    let red = server.home.path().join("teams/red");
    fs::create_dir_all(red.join("private")).unwrap();
    fs::write(red.join("a.txt"), "first\n").unwrap();
    fs::write(red.join("private/s.txt"), "secret\n").unwrap();
    let read = |path: &str| server.call_as(TOKEN, "red", "read_file", json!({"path": path})).json();
    assert_eq!(read("a.txt")["result"]["content"], "first");
    assert_eq!(read("private/s.txt")["error"]["code"], "denied");
    // A directory that replaces it is another workspace.
    fs::rename(&red, server.home.path().join("teams/old")).unwrap();
    fs::create_dir(&red).unwrap();
    fs::write(red.join("a.txt"), "second\n").unwrap();
    assert_eq!(read("a.txt")["result"]["content"], "second");
}

#[test]
fn no_name_leads_out_of_a_template() {
    let server = with_template();
    let teams = server.home.path().join("teams");
    fs::write(server.home.path().join("secret.txt"), "secret\n").unwrap();
    symlink(server.home.path(), teams.join("link")).unwrap();
    symlink("/", teams.join("root")).unwrap();
    fs::create_dir(teams.join(".hidden")).unwrap();
    fs::write(teams.join("file"), "").unwrap();
    let long = "a".repeat(65);
    for name in [
        "link",
        "root",
        "file",
        ".hidden",
        ".",
        "..",
        "%2e%2e",
        "..%2f",
        "%2e%2e%2fnotes",
        "..%2fnotes",
        "a%2f..%2f..",
        "%00",
        "a%00",
        "..%5cnotes",
        "%c0%ae%c0%ae",
        "%ff",
        "Red",
        "-a",
        &long,
    ] {
        let reply = server.call_as(TOKEN, name, "read_file", json!({"path": "secret.txt"}));
        assert!(matches!(reply.status, 400 | 404), "{name}: {reply:?}");
        assert!(!reply.text().contains("secret\\n"), "{name}");
    }
}

#[test]
fn workspaces_in_memory_and_in_overlays_keep_their_changes_apart() {
    let token = format!("tokens:\n- {{name: bob, sha256: {}, grant: {{workspaces: ['*']}}}}\n", hash(TOKEN));
    let workspaces = "workspaces:\n  scratch: {memory: true}\n  review: {root: '{home}/notes', overlay: review}\n";
    let server = Running::start(&format!("{workspaces}{token}"));
    for workspace in ["scratch", "review"] {
        let written = server.call_as(TOKEN, workspace, "write_file", json!({"path": "x.txt", "content": "x\n"})).json();
        assert_eq!(written["ok"], true, "{workspace}: {written}");
        let read = server.call_as(TOKEN, workspace, "read_file", json!({"path": "x.txt"})).json();
        assert_eq!(read["result"]["content"], "x", "{workspace}: {read}");
    }
    assert!(!server.root().join("x.txt").exists());
}

#[test]
fn a_wrong_configuration_names_the_line() {
    let home = TempDir::new().unwrap();
    let error = |text: &str| {
        let file = home.path().join("serve.yaml");
        fs::write(&file, text.replace("{home}", home.path().to_str().unwrap())).unwrap();
        let error = Server::open(&file).err().unwrap_or_else(|| panic!("{text}"));
        error.to_string()
    };
    let nothing = format!("tokens:\n- name: a\n  sha256: '{}'\n  operator: true\n", paddock::serve::hash(""));
    for (text, line, says) in [
        ("listn: 127.0.0.1:0\n", 1, "listn"),
        ("listen: 127.0.0.1:0\nworkspaces:\n  a: {root: '{home}/none'}\n", 3, "`workspaces.a.root`"),
        ("workspaces:\n  a:\n    root: '{home}'\n    memory: true\n", 3, "set one of"),
        ("workspaces:\n  A: {memory: true}\n", 2, "a name has"),
        ("workspaces:\n  a:\n    memory: true\n    policy:\n      read_onyl: true\n", 5, "read_only"),
        ("templates:\n- root: '{home}/x'\n", 2, "has to end in `/{name}`"),
        ("templates:\n- root: '{home}/{name}/x'\n", 2, "has to end in `/{name}`"),
        ("listen: 0.0.0.0:0\nanonymous: true\n", 2, "loopback"),
        ("tokens:\n- name: a\n  sha256: abc\n  grant: {workspaces: [a]}\n", 3, "64 hex digits"),
        ("limits: {max_calls: many}\n", 1, "`limits.max_calls`"),
        ("limits: {max_header_bytes: 1}\n", 1, "at least"),
        ("limits:\n  max_calls: 0\n", 2, "at least 1"),
        ("workspaces:\n  a:\n    memory: true\n    limits: {calls_per_second: 0}\n", 4, "at least 1"),
        ("public_url: nonsense\n", 1, "`public_url`"),
        ("workspaces:\n  a:\n    memory: true\n    dialect: nonsense\n", 4, "no dialect"),
        ("templates:\n- root: '{home}/{name}'\n  dialect: nonsense\n", 3, "no dialect"),
        ("workspaces:\n  a:\n    root: '{home}'\n    overlay: x/y\n", 4, "a name is"),
        ("state_dir: '{home}/x/state'\nworkspaces:\n  a: {root: '{home}'}\n", 1, "outside of all workspaces"),
        ("templates:\n- root: '{home}/{name}'\nstate_dir: '{home}/state'\n", 3, "outside of all workspaces"),
        ("audit_dir: '{home}/x/audit'\nworkspaces:\n  a: {root: '{home}'}\n", 1, "outside of all workspaces"),
        (&*nothing, 3, "the hash of nothing"),
    ] {
        let error = error(text);
        assert!(error.contains(&format!("serve.yaml:{line}: ")) && error.contains(says), "{text}: {error}");
    }
}

#[test]
fn the_audit_log_of_a_workspace_is_one_chain() {
    let server = Running::notes("audit_dir: '{home}/audit'\n");
    fs::create_dir(server.home.path().join("audit")).unwrap();
    server.call("stat", json!({"path": "."}));
    server.call("write_file", json!({"path": "x.txt", "content": "x"}));
    let text = fs::read_to_string(server.home.path().join("audit/notes.jsonl")).unwrap();
    assert!(text.lines().count() >= 3 && text.contains("write_file"), "{text}");
}
