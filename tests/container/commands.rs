//! Commands in a container: they run inside it and end with it.

use std::time::{Duration, Instant};

use paddock::Workspace;
use serde_json::{Value, json};

use super::runc::{CANARY, Running, call, refusal};

fn with_commands(running: &Running, policy: Value) -> Workspace {
    running.builder().policy_json(&policy.to_string()).unwrap().build().unwrap()
}

/// Returns whether the container has processes whose arguments contain this mark.
fn alive(running: &Running, tag: &str) -> bool {
    running.exec(&["ps"]).lines().any(|line| line.contains(tag) && !line.contains("busybox ps"))
}

#[test]
fn a_command_runs_in_the_container() {
    let Some(running) = Running::start() else { return };
    let workspace = with_commands(&running, json!({"commands": {"enabled": true, "environment": {"NAME": "value"}}}));
    let line = "pwd; busybox cat src/main.rs /etc/passwd; echo $NAME; busybox ls /; echo made > made.txt; exit 4";
    let ran = call(&workspace, "shell", json!({"command": line}));
    let printed = ran["stdout"]["text"].as_str().unwrap();
    assert!(printed.starts_with("/app\nfn main() {}\nroot:x:0:0:of-the-container\nvalue\n"), "{ran}");
    assert!(!printed.contains(CANARY));
    assert_eq!(
        (&ran["exit_code"], ran["confinement"].as_str().unwrap()),
        (&json!(4), &*format!("container {}", running.name()))
    );
    assert_eq!(running.exec(&["cat", "/app/made.txt"]), "made\n");
    let ran = call(&workspace, "shell", json!({"command": "pwd", "workdir": "/srv"}));
    assert_eq!(ran["stdout"]["text"], "/srv\n");
}

#[test]
fn a_session_is_talked_to_and_ends_in_the_container_too() {
    let Some(running) = Running::start() else { return };
    let workspace = with_commands(&running, json!({"commands": {"enabled": true}}));
    let started = call(
        &workspace,
        "exec_command",
        json!({"command": "read x; echo got-$x; busybox sleep 300.7", "yield_time_ms": 500}),
    );
    let session = &started["session_id"];
    let ran = call(&workspace, "write_stdin", json!({"session_id": session, "chars": "it\n", "yield_time_ms": 2000}));
    assert!(ran["stdout"]["text"].as_str().unwrap().contains("got-it"), "{ran}");
    assert!(alive(&running, "300.7"));
    call(&workspace, "kill_session", json!({"session_id": session}));
    assert!(!alive(&running, "300.7"));
    let begun = Instant::now();
    let line = "busybox sleep 301.7 & busybox sleep 302.7";
    let ran = call(&workspace, "shell", json!({"command": line, "timeout_ms": 500}));
    assert_eq!(ran["timed_out"], true, "{ran}");
    assert!(begun.elapsed() < Duration::from_secs(8));
    assert!(!alive(&running, "301.7") && !alive(&running, "302.7"));
}

#[test]
fn a_process_that_clears_its_environment_ends_with_its_command() {
    let Some(running) = Running::start() else { return };
    let workspace = with_commands(&running, json!({"commands": {"enabled": true}}));
    let hidden = |time: &str| format!("busybox env -i busybox setsid busybox sleep {time}");
    let line = format!("{} & busybox sleep 304.7", hidden("303.7"));
    let ran = call(&workspace, "shell", json!({"command": line, "timeout_ms": 1500}));
    assert_eq!(ran["timed_out"], true, "{ran}");
    assert!(!alive(&running, "303.7") && !alive(&running, "304.7"));
    let begun = Instant::now();
    let ran = call(&workspace, "shell", json!({"command": format!("({} &); exit 3", hidden("305.7"))}));
    assert!(begun.elapsed() < Duration::from_secs(8), "it is not waited for");
    assert_eq!(ran["exit_code"], 3, "{ran}");
    assert!(!alive(&running, "305.7"));
    let started = call(
        &workspace,
        "exec_command",
        json!({"command": format!("{} & busybox sleep 307.7", hidden("306.7")), "yield_time_ms": 1500}),
    );
    assert!(alive(&running, "306.7"), "{started}");
    call(&workspace, "kill_session", json!({"session_id": started["session_id"]}));
    assert!(!alive(&running, "306.7") && !alive(&running, "307.7"));
}

#[test]
fn commands_that_the_policy_cannot_restrict_are_refused() {
    let Some(running) = Running::start() else { return };
    for policy in [json!({"read_only": true}), json!({"blocked_directories": ["private"]})] {
        let mut policy = policy;
        policy["commands"] = json!({"enabled": true});
        let refused = refusal(&with_commands(&running, policy), "shell", json!({"command": "busybox touch /app/made"}));
        assert_eq!(refused["code"], "denied", "{refused}");
    }
    assert!(!running.root().join("app/made").exists());
}
