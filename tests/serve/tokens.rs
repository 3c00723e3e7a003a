//! Tokens, and what they restrict.

use std::fs;

use paddock::serve::hash;
use serde_json::{Value, json};

use super::client::{Running, TOKEN};

fn limited(grant: Value) -> Running {
    Running::with_token(&grant, "")
}

#[test]
fn without_a_valid_token_nothing_is_served() {
    let server = Running::notes("");
    let path = "/w/notes/tools";
    let none = server.request("GET", path, &[], "");
    assert_eq!((none.status, none.header("www-authenticate")), (401, Some("Bearer")));
    for value in [
        "Bearer wrong",
        "Bearer",
        "Bearer ",
        "Basic cGRrX3Rlc3Q=",
        TOKEN,
        "Bearer pdk_test pdk_test",
        "Bearer PDK_TEST",
    ] {
        let reply = server.request("GET", path, &[("authorization", value)], "");
        assert_eq!(reply.status, 401, "{value}");
        assert!(reply.header("www-authenticate").unwrap().contains("invalid_token"), "{value}");
        assert!(!reply.text().contains("wrong"));
    }
    let own = format!("Bearer {TOKEN}");
    assert_eq!(server.request("GET", path, &[("authorization", &own), ("authorization", &own)], "").status, 401);
    let in_query = server.request("GET", &format!("{path}?access_token={TOKEN}"), &[], "");
    assert_eq!(in_query.status, 401);
    let digest = hash(TOKEN);
    assert_eq!(server.get(path, &digest).status, 401, "the hash is no token");
    assert_eq!(server.get(path, &"x".repeat(9000)).status, 401);
    assert_eq!(server.get(path, TOKEN).status, 200);
}

#[test]
fn a_token_for_other_workspaces_learns_nothing_of_this_one() {
    let server = limited(json!({"workspaces": ["other", "team-*"]}));
    for workspace in ["notes", "missing"] {
        let reply = server.call_as(TOKEN, workspace, "tree", json!({}));
        assert_eq!(reply.status, 403, "{workspace}");
        assert!(reply.header("www-authenticate").unwrap().contains("insufficient_scope"));
    }
    assert_eq!(server.call_as(TOKEN, "other", "tree", json!({})).status, 404);
}

#[test]
fn a_loopback_server_may_do_without_tokens() {
    let server = Running::start("anonymous: true\nworkspaces:\n  notes:\n    root: '{home}/notes'\n");
    assert_eq!(server.request("GET", "/w/notes/tools", &[], "").status, 200);
    assert_eq!(server.get("/w/notes/tools", "wrong").status, 401, "a wrong token is not ignored");
}

#[test]
fn a_read_only_token_changes_nothing() {
    let server = limited(json!({"workspaces": ["notes"], "read_only": true}));
    let written = server.call("write_file", json!({"path": "x.txt", "content": "x"})).json();
    assert_eq!(written["error"]["code"], "read-only", "{written}");
    assert_eq!(server.call("read_file", json!({"path": "a.txt"})).json()["ok"], true);
    assert!(!server.root().join("x.txt").exists());
}

#[test]
fn a_token_for_a_path_sees_no_other() {
    let server = limited(json!({"workspaces": ["notes"], "path": "docs"}));
    assert_eq!(server.call("read_file", json!({"path": "b.txt"})).json()["result"]["content"], "three");
    for path in ["../a.txt", "a.txt", "../notes/a.txt", server.root().join("a.txt").to_str().unwrap()] {
        let read = server.call("read_file", json!({"path": path})).json();
        assert_eq!(read["ok"], false, "{path}: {read}");
    }
    // A file that hides paths below it makes the token useless, and not the rule.
    fs::write(server.root().join(".agentignore"), "*.key\n").unwrap();
    let hidden = limited(json!({"workspaces": ["notes"], "path": "docs"}));
    fs::write(hidden.root().join(".agentignore"), "*.key\n").unwrap();
    assert_eq!(hidden.call("read_file", json!({"path": "b.txt"})).status, 403);
}

#[test]
fn a_token_lists_and_calls_its_tools_only() {
    let server = limited(json!({"workspaces": ["notes"], "tools": ["read_file", "stat"]}));
    let listed = server.get("/w/notes/tools", TOKEN).json();
    let names: Vec<_> = listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["read_file", "stat"]);
    assert_eq!(server.call("stat", json!({"path": "a.txt"})).json()["ok"], true);
    let denied = server.call("write_file", json!({"path": "x", "content": ""})).json();
    assert_eq!(denied["error"]["code"], "unknown-tool", "{denied}");
    for dialect in ["paddock:write_file", "paddock,codex", "codex"] {
        let body = json!({"tool": "write_file", "arguments": {"path": "x", "content": ""}, "dialect": dialect});
        let reply = server.post("/w/notes/call", TOKEN, &body);
        assert!(reply.status == 403 || reply.json()["ok"] == false, "{dialect}: {reply:?}");
    }
    let fixed = limited(json!({"workspaces": ["notes"], "dialect": "anthropic"}));
    assert_eq!(fixed.get("/w/notes/tools?dialect=paddock", TOKEN).status, 403);
    assert_eq!(fixed.get("/w/notes/tools", TOKEN).status, 200);
}

#[test]
fn a_token_narrows_the_policy_and_does_not_widen_it() {
    let narrow = limited(json!({"workspaces": ["notes"], "policy": {"blocked_directories": ["docs"]}}));
    assert_eq!(narrow.call("read_file", json!({"path": "docs/b.txt"})).json()["error"]["code"], "denied");
    let wide = Running::start(&format!(
        "workspaces:\n  notes:\n    root: '{{home}}/notes'\n    policy: {{read_only: true}}\ntokens:\n- {{name: a, sha256: {}, grant: {}}}\n",
        hash(TOKEN),
        json!({"workspaces": ["notes"], "policy": {"read_only": false}})
    ));
    let refused = wide.call("write_file", json!({"path": "x", "content": ""}));
    assert_eq!(refused.status, 403, "{refused:?}");
    assert!(refused.text().contains("would allow more"), "{refused:?}");
}

#[test]
fn an_expired_token_is_not_valid() {
    let expired = limited(json!({"workspaces": ["notes"], "expires": "2020-01-01T00:00:00Z"}));
    assert_eq!(expired.call("tree", json!({})).status, 401);
    let later = limited(json!({"workspaces": ["notes"], "expires": "2999-01-01T00:00:00Z"}));
    assert_eq!(later.call("tree", json!({})).status, 200);
}

#[test]
fn a_request_that_begins_no_call_takes_none_from_the_budget() {
    let server = limited(json!({"workspaces": ["notes"], "calls": 1, "dialect": "paddock"}));
    let authorization = format!("Bearer {TOKEN}");
    let post = |headers: &[(&str, &str)], body: &str| {
        let headers: Vec<_> = [("authorization", &*authorization)].into_iter().chain(headers.iter().copied()).collect();
        server.request("POST", "/w/notes/call", &headers, body).status
    };
    let call = json!({"tool": "stat", "arguments": {"path": "."}});
    assert_eq!(post(&[("content-encoding", "gzip")], &call.to_string()), 415);
    assert_eq!(post(&[], "{"), 400);
    let other = json!({"tool": "Read", "arguments": {}, "dialect": "anthropic"});
    assert_eq!(post(&[], &other.to_string()), 403);
    assert_eq!((post(&[], &call.to_string()), post(&[], &call.to_string())), (200, 403));
}

#[test]
fn a_token_is_worth_nothing_when_its_budget_is_used_up() {
    let server = limited(json!({"workspaces": ["notes"], "calls": 2}));
    let statuses: Vec<u16> = (0..4).map(|_| server.call("stat", json!({"path": "."})).status).collect();
    assert_eq!(statuses, [200, 200, 403, 403]);
    let bytes = limited(json!({"workspaces": ["notes"], "bytes": 300}));
    let statuses: Vec<u16> = (0..4).map(|_| bytes.call("stat", json!({"path": "."})).status).collect();
    assert!(statuses[0] == 200 && statuses[3] == 403, "{statuses:?}");
}
