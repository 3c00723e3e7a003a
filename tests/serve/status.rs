//! The status page.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use paddock::serve::{Server, hash};
use serde_json::json;

use super::client::{Reply, Running, TOKEN, request};

const OPERATOR: &str = "pdk_operator";
const NARROW: &str = "pdk_narrow";

fn start() -> Running {
    let tokens = [
        format!("- {{name: alice, sha256: {}, grant: {{workspaces: ['*']}}}}\n", hash(TOKEN)),
        format!("- {{name: '<i>bob', sha256: {}, grant: {{workspaces: ['*'], path: docs}}}}\n", hash(NARROW)),
        format!("- {{name: olga, sha256: {}, operator: true}}\n", hash(OPERATOR)),
    ];
    Running::start(&format!(
        "workspaces:\n  notes:\n    root: '{{home}}/notes'\n  idle: {{memory: true}}\ntemplates:\n- root: '{{home}}/teams/{{name}}'\ntokens:\n{}",
        tokens.concat()
    ))
}

fn basic(token: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("operator:{token}")))
}

fn show(server: &Running, path: &str) -> Reply {
    server.request("GET", path, &[("authorization", &basic(OPERATOR))], "")
}

/// Sends a form as a browser does, with these headers in addition.
fn post(server: &Running, path: &str, headers: &[(&str, &str)], form: &str) -> Reply {
    let text = request("POST", path, headers, form).replace("application/json", "application/x-www-form-urlencoded");
    server.raw(text.as_bytes()).unwrap()
}

fn undo(server: &Running, workspace: &str, form: &str) -> Reply {
    let headers =
        [("authorization", &*basic(OPERATOR)), ("origin", "http://localhost"), ("sec-fetch-site", "same-origin")];
    post(server, &format!("/status/w/{workspace}/undo"), &headers, form)
}

/// Returns the fields of the forms of a page, as a browser would send them.
fn forms(page: &str) -> Vec<String> {
    let value = |form: &str, name: &str| {
        let (_, rest) = form.split_once(&format!("name=\"{name}\" value=\"")).unwrap();
        rest.split_once('"').unwrap().0.to_owned()
    };
    let forms = page.split("<form ").skip(1);
    forms.map(|form| format!("backup={}&part={}", value(form, "backup"), value(form, "part"))).collect()
}

#[test]
fn an_operator_sees_calls_and_changes_and_undoes_one() {
    let server = start();
    assert_eq!(server.call("write_file", json!({"path": "a.txt", "content": "changed\n"})).status, 200);
    server.call("read_file", json!({"path": "missing.txt"}));
    let overview = show(&server, "/status").text();
    for part in ["href=\"/status/w/notes\"", "alice", "not-found", "href=\"/status/w/idle\""] {
        assert!(overview.contains(part), "{part}: {overview}");
    }
    let page = show(&server, "/status/w/notes").text();
    for part in ["modified a.txt", "write_file", "read_file", "missing.txt", "not-found", "alice"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let forms = forms(&page);
    assert_eq!(forms.len(), 1, "{page}");
    let undone = undo(&server, "notes", &forms[0]);
    assert_eq!((undone.status, undone.header("location")), (303, Some("/status/w/notes")), "{undone:?}");
    assert_eq!(fs::read_to_string(server.root().join("a.txt")).unwrap(), "one\ntwo\n");
    let page = show(&server, "/status/w/notes").text();
    assert!(page.contains("restore") && page.contains("olga"), "{page}");
    let again = undo(&server, "notes", "backup=nothing&part=");
    assert!(again.status == 409 && again.text().contains("role=\"alert\""), "{again:?}");
}

#[test]
fn changes_of_a_token_for_a_directory_are_undone_there() {
    let server = start();
    let written = server.call_as(NARROW, "notes", "write_file", json!({"path": "b.txt", "content": "x\n"}));
    assert_eq!((written.status, &written.json()["ok"]), (200, &json!(true)));
    let page = show(&server, "/status/w/notes").text();
    assert!(page.contains("of tokens for <code>docs</code>") && page.contains("&lt;i&gt;bob"), "{page}");
    let forms = forms(&page);
    assert!(forms.len() == 1 && forms[0].ends_with("&part=docs"), "{forms:?}");
    assert_eq!(undo(&server, "notes", &forms[0]).status, 303);
    assert_eq!(fs::read_to_string(server.root().join("docs/b.txt")).unwrap(), "three\n");
}

#[test]
fn an_operator_approves_the_undo_by_the_form() {
    let token = |name: &str, token: &str, rest: &str| format!("- {{name: {name}, sha256: {}, {rest}}}\n", hash(token));
    let tokens =
        [token("alice", TOKEN, "grant: {workspaces: ['*']}"), token("olga", OPERATOR, "operator: true")].concat();
    let workspace = "workspaces:\n  notes:\n    root: '{home}/notes'\n    policy: {approval: on-delete}\n";
    let server = Running::start(&format!("{workspace}tokens:\n{tokens}"));
    assert_eq!(server.call("write_file", json!({"path": "new.txt", "content": "x\n"})).json()["ok"], true);
    // The undo deletes a file.
    let forms = forms(&show(&server, "/status/w/notes").text());
    let undone = undo(&server, "notes", &forms[0]);
    assert_eq!(undone.status, 303, "{}", undone.text());
    assert!(!server.root().join("new.txt").exists());
}

#[test]
fn only_an_operator_sees_the_page() {
    let server = start();
    let get = |path: &str, value: Option<&str>| {
        let headers: Vec<_> = value.map(|value| ("authorization", value)).into_iter().collect();
        server.request("GET", path, &headers, "")
    };
    for path in ["/status", "/status/w/notes", "/status/w/nothing"] {
        let bearer = format!("Bearer {TOKEN}");
        for value in [
            None,
            Some(&*basic(TOKEN)),
            Some(&bearer),
            Some(&basic("")),
            Some("Basic %%%"),
            Some("Basic"),
            Some(OPERATOR),
        ] {
            let reply = get(path, value);
            assert_eq!(reply.status, 401, "{path}: {value:?}: {reply:?}");
            assert!(reply.header("www-authenticate").unwrap().starts_with("Basic realm="), "{reply:?}");
            assert!(!reply.text().contains("notes") || path.contains("notes"), "{reply:?}");
        }
    }
    assert_eq!(get("/status", Some(&format!("Bearer {OPERATOR}"))).status, 200);
    assert_eq!(show(&server, "/status/w/nothing").status, 404);
    assert_eq!(show(&server, "/status/w/..").status, 404);
    // The token has no rights in workspaces.
    assert_eq!(server.call_as(OPERATOR, "notes", "tree", json!({})).status, 403);
    // Without an operator's token there is no page.
    assert_eq!(show(&Running::notes(""), "/status").status, 404);
}

#[test]
fn an_operators_token_expires_and_is_only_in_the_file() {
    let tokens = format!(
        "tokens:\n- {{name: olga, sha256: {}, operator: true, grant: {{workspaces: [notes], expires: '2020-01-01T00:00:00Z'}}}}\n",
        hash(OPERATOR)
    );
    let server = Running::start(&format!("workspaces:\n  notes: {{root: '{{home}}/notes'}}\n{tokens}"));
    assert_eq!(show(&server, "/status").status, 401);
    let home = tempfile::tempdir().unwrap();
    let text =
        format!("tokens:\n- {{name: a, sha256: {}, grant: {{workspaces: ['*'], operator: true}}}}\n", hash(TOKEN));
    fs::write(home.path().join("serve.yaml"), text).unwrap();
    assert!(Server::open(home.path().join("serve.yaml")).err().unwrap().to_string().contains("grant"));
    fs::write(home.path().join("serve.yaml"), format!("tokens:\n- {{name: a, sha256: {}}}\n", hash(TOKEN))).unwrap();
    assert!(Server::open(home.path().join("serve.yaml")).err().unwrap().to_string().contains("grant"));
}

#[test]
fn a_form_of_another_page_changes_nothing() {
    let server = start();
    server.call("write_file", json!({"path": "a.txt", "content": "changed\n"}));
    let form = forms(&show(&server, "/status/w/notes").text()).remove(0);
    let authorization = basic(OPERATOR);
    let own = ("authorization", &*authorization);
    for headers in [
        vec![own],
        vec![own, ("origin", "http://evil.example")],
        vec![own, ("origin", "null")],
        vec![own, ("origin", "http://localhost:1")],
        vec![own, ("origin", "http://localhost"), ("sec-fetch-site", "cross-site")],
        vec![own, ("origin", "http://evil.example"), ("host", "evil.example")],
        vec![("origin", "http://localhost"), ("authorization", "Basic eDp5")],
        vec![("origin", "http://localhost")],
    ] {
        let reply = post(&server, "/status/w/notes/undo", &headers, &form);
        assert!(matches!(reply.status, 401 | 403), "{headers:?}: {reply:?}");
    }
    let get = show(&server, &format!("/status/w/notes/undo?{form}"));
    assert_eq!(get.status, 405);
    for wrong in ["", "part=docs", "backup=1&part=../x", &format!("backup={}", "1".repeat(20_000))] {
        assert_eq!(undo(&server, "notes", wrong).status, 400, "{wrong:.60}");
    }
    assert_eq!(undo(&server, "nothing", &form).status, 404);
    assert_eq!(fs::read_to_string(server.root().join("a.txt")).unwrap(), "changed\n");
}

#[test]
fn names_are_escaped_and_hidden_paths_are_not_shown() {
    let server = start();
    fs::write(server.root().join(".agentignore"), "secret*\n").unwrap();
    fs::write(server.root().join("secret-name.txt"), "x\n").unwrap();
    server.call("read_file", json!({"path": "secret-name.txt"}));
    server.call("write_file", json!({"path": "secret-name.txt", "content": "y\n"}));
    let name = "<img src=x onerror=alert(1)>\u{202e}.txt";
    assert_eq!(server.call("write_file", json!({"path": name, "content": "y\n"})).json()["ok"], true);
    server.call("<script>alert(2)</script>", json!({}));
    let reply = show(&server, "/status/w/notes");
    let page = reply.text();
    for wrong in ["secret-name", "<img", "<script", "\u{202e}"] {
        assert!(!page.contains(wrong), "{wrong}: {page}");
    }
    assert!(page.contains("created &lt;img src=x onerror=alert(1)&gt;\\u{202e}.txt"), "{page}");
    assert!(!show(&server, "/status").text().contains("<script"));
    let policy = reply.header("content-security-policy").unwrap();
    assert!(
        policy.starts_with("default-src 'none'; style-src 'sha256-") && policy.contains("frame-ancestors 'none'"),
        "{policy}"
    );
    for (header, value) in [
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "same-origin"),
        ("content-type", "text/html; charset=utf-8"),
    ] {
        assert_eq!(reply.header(header), Some(value), "{header}");
    }
}

#[test]
fn a_rule_that_is_newer_than_a_call_hides_its_paths() {
    let server = start();
    server.call("write_file", json!({"path": "late-name.txt", "content": "y\n"}));
    server.call("write_file", json!({"path": "late-gone.txt", "content": "y\n"}));
    server.call("move", json!({"source": "late-gone.txt", "destination": "moved.txt"}));
    server.call("read_file", json!({"path": "missing.txt"}));
    let page = show(&server, "/status/w/notes").text();
    assert_eq!(page.matches("late-name.txt").count(), 2, "{page}");
    assert!(page.contains("moved late-gone.txt to moved.txt"), "{page}");
    fs::write(server.root().join(".agentignore"), "late*\n").unwrap();
    let page = show(&server, "/status/w/notes").text();
    assert!(!page.contains("late-"), "{page}");
    assert!(page.contains("missing.txt"), "{page}");
}

#[test]
fn the_page_of_a_busy_workspace_is_refused() {
    let tokens = format!("tokens:\n- {{name: olga, sha256: {}, operator: true}}\n", hash(OPERATOR));
    let workspace = "workspaces:\n  notes:\n    root: '{home}/notes'\n    limits: {concurrent_calls: 0}\n";
    let server = Running::start(&format!("{workspace}{tokens}"));
    let reply = show(&server, "/status/w/notes");
    assert_eq!((reply.status, reply.header("retry-after")), (429, Some("1")));
    assert_eq!(show(&server, "/status").status, 200);
}
