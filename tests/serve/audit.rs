//! The audit log of each workspace.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;

use paddock::serve::hash;
use serde_json::{Value, json};

use super::client::{Running, TOKEN};

fn verify(file: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_paddock")).args(["audit", "verify"]).arg(file).output().unwrap()
}

#[test]
fn the_log_of_each_workspace_is_a_chain_in_which_a_change_is_found() {
    let narrow = "pdk_narrow";
    let tokens = format!(
        "tokens:\n- {{name: alice, sha256: {}, grant: {{workspaces: ['*']}}}}\n- {{name: bob, sha256: {}, grant: {{workspaces: ['*'], path: docs}}}}\n",
        hash(TOKEN),
        hash(narrow)
    );
    let server = Running::start(&format!(
        "audit_dir: '{{home}}/audit'\nworkspaces:\n  notes:\n    root: '{{home}}/notes'\ntemplates:\n- root: '{{home}}/teams/{{name}}'\n{tokens}"
    ));
    for team in ["red", "blue"] {
        fs::create_dir(server.home.path().join("teams").join(team)).unwrap();
    }
    // Callers of several workspaces at the same time, and two parts of one.
    thread::scope(|scope| {
        for (token, workspace) in [(TOKEN, "notes"), (narrow, "notes"), (TOKEN, "red"), (TOKEN, "blue")] {
            let server = &server;
            scope.spawn(move || {
                for number in 0..5 {
                    let arguments = json!({"path": format!("{workspace}-{number}.txt"), "content": "x"});
                    let written = server.call_as(token, workspace, "write_file", arguments);
                    assert_eq!((written.status, &written.json()["ok"]), (200, &json!(true)), "{}", written.text());
                }
            });
        }
    });
    for (workspace, writes) in [("notes", 10), ("red", 5), ("blue", 5)] {
        let file = server.home.path().join("audit").join(format!("{workspace}.jsonl"));
        let verified = verify(&file);
        assert!(verified.status.success(), "{workspace}: {verified:?}");
        let text = fs::read_to_string(&file).unwrap();
        let records: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let ends: Vec<_> = records.iter().filter(|record| record["event"] == "end").collect();
        assert_eq!(ends.len(), writes, "{workspace}: {text}");
        for record in ends {
            assert!(record["paths"][0].as_str().unwrap().starts_with(workspace), "{workspace}: {record}");
        }
        let changed = text.replacen("-3.txt", "-4.txt", 1);
        assert_ne!(changed, text);
        fs::write(&file, changed).unwrap();
        assert_eq!(verify(&file).status.code(), Some(1), "{workspace}");
        fs::write(&file, text).unwrap();
        assert!(verify(&file).status.success());
    }
}
