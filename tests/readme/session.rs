//! The session in which an agent builds and tests a program.

#![cfg(target_os = "linux")]

use std::fs;

use super::pages;

/// Returns each call of the session with the lines of its text on the page.
fn session() -> Vec<(String, Vec<String>)> {
    let page = pages::guide("commands");
    let block = page.blocks_in("text").concat();
    let call = |call: &str| {
        let mut lines = call.lines().map(str::to_owned);
        (lines.next().unwrap(), lines.collect())
    };
    block.strip_prefix("> ").unwrap().split("\n> ").map(call).collect()
}

#[test]
fn the_session_has_the_documented_results() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("work");
    fs::create_dir(&root).unwrap();
    let builder = paddock::Workspace::builder().root(&root).state_dir(home.path().join("state"));
    let workspace = builder.policy_json(r#"{"commands": {"enabled": true}}"#).unwrap().build().unwrap();
    let session = session();
    assert_eq!(session.len(), 6);
    for (call, lines) in session {
        let (tool, arguments) = call.split_once(' ').unwrap();
        let text = workspace.call(tool, arguments).text;
        let mut printed = text.lines();
        for line in &lines {
            let start = line.strip_suffix('…');
            match (start, printed.next()) {
                (Some(""), _) => break,
                (Some(start), Some(printed)) => assert!(printed.starts_with(start), "{call}: {text}"),
                (None, printed) => assert_eq!(printed, Some(line.as_str()), "{call}: {text}"),
                (Some(_), None) => panic!("{call}: {text}"),
            }
        }
    }
}
