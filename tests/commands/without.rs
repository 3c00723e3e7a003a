//! Systems without confinement: commands are refused, unless the policy explicitly permits unconfined commands.

use std::fs;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::fixture::CANARY;
use crate::without::{Missing, without};

/// Returns the requirements of the confinement, each with the message for its absence.
fn needed() -> [(Missing, &'static str); 4] {
    let seccomp = |arguments| Missing { call: libc::SYS_seccomp, arguments };
    let (operation, flags) = (0, 1);
    let sizes = libc::SECCOMP_GET_NOTIF_SIZES.into();
    let (set, listener) = (libc::SECCOMP_SET_MODE_FILTER.into(), libc::SECCOMP_FILTER_FLAG_NEW_LISTENER);
    [
        (Missing { call: libc::SYS_landlock_create_ruleset, arguments: Vec::new() }, "Landlock"),
        (Missing { call: libc::SYS_landlock_restrict_self, arguments: Vec::new() }, "Landlock"),
        (seccomp(vec![(operation, u64::MAX, sizes)]), "seccomp user notification"),
        (seccomp(vec![(operation, u64::MAX, set), (flags, listener, listener)]), "seccomp with a listener"),
    ]
}

/// Returns the outcome of `cat ../outside/secret` on the command line, with these settings.
fn shell(home: &TempDir, missing: Option<Missing>, settings: &[&str]) -> (Option<i32>, Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_paddock"));
    command.args(["call", "--root", "work", "--set", "commands.enabled=true"]);
    command.args(settings.iter().flat_map(|setting| ["--set", setting]));
    command.args(["shell", r#"{"command": "echo made > made; cat ../outside/secret"}"#]);
    command.current_dir(home.path()).env("PADDOCK_STATE_DIR", home.path().join("s"));
    command.env("XDG_CONFIG_HOME", home.path().join("none")).env_remove("PADDOCK_POLICY");
    if let Some(missing) = missing {
        without(&mut command, missing);
    }
    let output = command.output().unwrap();
    let outcome = serde_json::from_slice(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    (output.status.code(), outcome.unwrap_or_else(|cause| panic!("{cause}: {output:?} {stderr}")))
}

fn home() -> TempDir {
    let home = TempDir::new().unwrap();
    fs::create_dir(home.path().join("work")).unwrap();
    fs::create_dir(home.path().join("outside")).unwrap();
    fs::write(home.path().join("outside/secret"), CANARY).unwrap();
    home
}

#[test]
fn commands_are_refused_with_a_hint() {
    for (missing, remedy) in needed() {
        let home = home();
        let (status, outcome) = shell(&home, Some(missing), &[]);
        assert_eq!((status, &outcome["error"]["code"]), (Some(1), &Value::from("denied")), "{outcome}");
        let error = outcome["error"].to_string();
        for part in ["cannot confine commands here", remedy, "use the file tools", "commands.unconfined"] {
            assert!(error.contains(part), "no `{part}` in: {error}");
        }
        assert!(!home.path().join("work/made").exists() && !outcome.to_string().contains(CANARY), "{outcome}");
    }
}

#[test]
fn unconfined_they_run_and_the_result_says_so() {
    for (missing, _) in needed() {
        let home = home();
        let (status, outcome) = shell(&home, Some(missing), &["commands.unconfined=true"]);
        assert_eq!(status, Some(0), "{outcome}");
        assert_eq!(outcome["result"]["confinement"], "none: unconfined", "{outcome}");
        assert_eq!(outcome["result"]["stdout"]["text"], CANARY, "{outcome}");
        assert_eq!(fs::read_to_string(home.path().join("work/made")).unwrap(), "made\n");
    }
}

/// The permission to run unconfined has no effect if the system can confine commands.
#[test]
fn the_permission_to_run_unconfined_keeps_the_confinement() {
    for settings in [[].as_slice(), &["commands.unconfined=true"]] {
        let home = home();
        let (_, outcome) = shell(&home, None, settings);
        let result = &outcome["result"];
        assert!(result["confinement"].as_str().unwrap().starts_with("landlock"), "{outcome}");
        assert!(!outcome.to_string().contains(CANARY), "{outcome}");
    }
}
