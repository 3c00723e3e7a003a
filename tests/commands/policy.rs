//! Settings of the policy about commands, and their approval.

use std::sync::{Arc, Mutex};

use paddock::{CallOptions, Decision, Event, Policy, Workspace};
use serde_json::{Value, json};

use crate::fixture::{Fixture, changes};

#[test]
fn off_unless_enabled() {
    let fixture = Fixture::with(json!({}));
    let names = |workspace: &Workspace| {
        workspace.tools("paddock").unwrap().into_iter().map(|tool| tool.name).collect::<Vec<_>>()
    };
    assert!(names(&fixture.workspace).contains(&"shell".to_owned()));
    let plain = Workspace::builder().root(fixture.root()).state_dir(fixture.home.path().join("other")).build().unwrap();
    assert!(!names(&plain).contains(&"shell".to_owned()));
    for dialect in ["paddock", "lincona"] {
        let outcome = plain.call_with("shell", r#"{"command": "touch made"}"#, &CallOptions::dialect(dialect));
        assert!(!outcome.ok && outcome.text.contains("enabled"), "{dialect}: {}", outcome.text);
    }
    assert!(!fixture.root().join("made").exists());
}

#[test]
fn a_project_cannot_enable_them() {
    let fixture = Fixture::new();
    std::fs::write(fixture.root().join(".paddock.json"), r#"{"commands": {"enabled": true}}"#).unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_paddock"))
        .args(["call", "--root"])
        .arg(fixture.root())
        .args(["shell", r#"{"command": "touch made"}"#])
        .env("PADDOCK_STATE_DIR", fixture.home.path().join("s"))
        .env("XDG_CONFIG_HOME", fixture.home.path().join("none"))
        .output()
        .unwrap();
    assert!(!output.status.success() && !fixture.root().join("made").exists());
}

#[test]
fn rules_for_commands() {
    let fixture = Fixture::with(json!({"allow": ["sh", "cat", "echo", "git status"], "deny": ["echo secret"]}));
    assert_eq!(fixture.printed("cat a.txt | cat"), "one\n");
    for (line, cause) in [
        ("rm a.txt", "`commands.allow`"),
        ("cat a.txt; rm a.txt", "no rule for `rm`"),
        ("git push", "no rule for `git`"),
        ("echo secret", "`echo secret`"),
        ("echo $(rm a.txt)", "no rule for `rm`"),
        ("$x a.txt", "cannot be determined"),
        ("cat 'a.txt", "cannot be parsed"),
    ] {
        let outcome = fixture.call("shell", json!({"command": line}));
        assert_eq!(outcome.value()["code"], "denied", "{line}");
        assert!(outcome.text.contains(cause), "{line}: {}", outcome.text);
        let outcome = fixture.call("exec_command", json!({"command": line}));
        assert_eq!(outcome.value()["code"], "denied", "{line}");
    }
    assert_eq!(fixture.read("a.txt").unwrap(), "one\n");
}

#[test]
fn commands_need_approval() {
    let fixture = Fixture::under(json!({"approval": "on-delete"}), json!({}));
    let outcome = fixture.call("shell", json!({"command": "echo x > a.txt"}));
    assert_eq!(outcome.value()["code"], "approval-required");
    let plan = outcome.plan.unwrap();
    assert!(plan.summary.contains("echo x > a.txt"), "{}", plan.summary);
    assert_eq!(fixture.read("a.txt").unwrap(), "one\n");
    let grant = fixture.workspace.grant(&plan, std::time::Duration::from_secs(60));
    let options = CallOptions::default().with_grant(grant.clone());
    let other = fixture.workspace.call_with("shell", r#"{"command": "rm a.txt"}"#, &options);
    assert!(!other.ok && fixture.read("a.txt").is_some(), "leave is for one command");
    let grant = fixture.workspace.grant(&plan, std::time::Duration::from_secs(60));
    let options = CallOptions::default().with_grant(grant);
    let outcome = fixture.workspace.call_with("shell", r#"{"command": "echo x > a.txt"}"#, &options);
    assert!(outcome.ok, "{}", outcome.text);
    assert_eq!(fixture.read("a.txt").unwrap(), "x\n");
    let again = fixture.workspace.call_with("shell", r#"{"command": "echo x > a.txt"}"#, &options);
    assert!(!again.ok, "leave is good once");
}

#[test]
fn an_approver_decides() {
    let home = tempfile::tempdir().unwrap();
    let policy = r#"{"approval": "on-change", "commands": {"enabled": true}}"#;
    let builder = Workspace::builder().root(home.path()).no_state_dir().policy_json(policy).unwrap();
    let workspace = builder
        .approver(|plan| match plan.summary.contains("good") {
            true => Decision::Approve,
            false => Decision::Refuse("not that".to_owned()),
        })
        .build()
        .unwrap();
    assert!(workspace.call("shell", r#"{"command": "echo good"}"#).ok);
    let outcome = workspace.call("shell", r#"{"command": "echo evil"}"#);
    assert!(!outcome.ok && outcome.text.contains("not that"), "{}", outcome.text);
}

#[test]
fn commands_over_memory_and_overlays_are_refused_with_a_hint() {
    let fixture = Fixture::new();
    let policy = || r#"{"commands": {"enabled": true}}"#;
    let overlay = Workspace::builder().root(fixture.root()).state_dir(fixture.home.path().join("o")).overlay("x");
    let overlay = overlay.policy_json(policy()).unwrap().build().unwrap();
    let mut own = Policy::default();
    own.commands.enabled = true;
    for workspace in [overlay, Workspace::memory(own).unwrap()] {
        let outcome = workspace.call("shell", r#"{"command": "touch made"}"#);
        assert_eq!(outcome.value()["code"], "denied");
        assert!(outcome.text.contains("file tools"), "{}", outcome.text);
    }
    assert!(!fixture.root().join("made").exists());
}

#[test]
fn events_and_audit_tell_of_commands() {
    let home = tempfile::tempdir().unwrap();
    let reported = Arc::new(Mutex::new(Vec::<Value>::new()));
    let root = home.path().join("work");
    std::fs::create_dir(&root).unwrap();
    let listener = reported.clone();
    let workspace = Workspace::builder()
        .root(&root)
        .state_dir(home.path().join("state"))
        .audit(home.path().join("audit.jsonl"))
        .policy_json(r#"{"commands": {"enabled": true}}"#)
        .unwrap()
        .on_event(move |event: &Event| listener.lock().unwrap().push(serde_json::to_value(event).unwrap()))
        .build()
        .unwrap();
    let outcome = workspace.call("shell", r#"{"command": "seq 1000; echo x > made"}"#);
    assert_eq!(changes(&outcome.value()), ["created made"]);
    let reported = reported.lock().unwrap().clone();
    let kinds: Vec<_> = reported.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(kinds.first(), Some(&"start"));
    assert_eq!(kinds.last(), Some(&"end"));
    let output = reported.iter().find(|event| event["event"] == "output").unwrap();
    assert_eq!((&output["stdout_bytes"], &output["truncated"]), (&json!(3893), &json!(true)));
    let end = reported.last().unwrap();
    assert_eq!((&end["operation"], &end["outcome"]), (&json!("run"), &json!("ok")));
    assert_eq!((&end["changes"][0]["path"], &end["truncated"]), (&json!("made"), &json!(true)));
    let audit = std::fs::read_to_string(home.path().join("audit.jsonl")).unwrap();
    assert!(audit.contains("\"made\""), "{audit}");
}
