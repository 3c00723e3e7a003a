//! The size of the output in a result, and the output that it leaves out.

use paddock::Workspace;
use serde_json::{Value, json};

use crate::fixture::{Fixture, stdout};

/// Reads the output that a result left out, to its end.
#[track_caller]
fn rest(fixture: &Fixture, ran: &Value, tokens: u64) -> String {
    let (mut read, mut unread) = (String::new(), ran["unread"].clone());
    while !unread.is_null() {
        let arguments =
            json!({"session_id": unread["session_id"], "offset": unread["offset"], "max_output_tokens": tokens});
        let page = fixture.ok("write_stdin", arguments);
        assert!(stdout(&page).len() as u64 <= tokens * 4, "{page}");
        read += &stdout(&page);
        unread = page["unread"].clone();
    }
    read
}

fn numbers(range: std::ops::RangeInclusive<u32>) -> String {
    range.map(|number| format!("{number}\n")).collect()
}

#[test]
fn a_call_states_how_much_it_returns() {
    let fixture = Fixture::new();
    let ran = fixture.ok("shell", json!({"command": "seq 2000", "max_output_tokens": 10_000}));
    assert_eq!(
        (stdout(&ran), &ran["stdout"]["truncated"], &ran["unread"]),
        (numbers(1..=2000), &json!(false), &Value::Null)
    );
    let ran = fixture.ok("shell", json!({"command": "seq 2000", "max_output_tokens": 25}));
    assert!(stdout(&ran).len() <= 100 && ran["stdout"]["truncated"] == true, "{ran}");
    let outcome = fixture.call("shell", json!({"command": "seq 2000", "max_output_tokens": 0}));
    assert_eq!(outcome.value()["code"], "invalid-argument");
}

#[test]
fn omitted_output_is_read_by_another_call() {
    let fixture = Fixture::new();
    let outcome = fixture.call("shell", json!({"command": "seq 5000"}));
    let ran = outcome.value();
    let offset = ran["unread"]["offset"].as_u64().unwrap();
    let text = stdout(&ran);
    let (head, tail) = text.split_once("[truncated]\n").unwrap();
    assert_eq!(offset, head.len() as u64);
    let omitted = numbers(1..=5000).len() - head.len() - tail.len();
    let hint = format!(
        "[{omitted} of 23893 bytes of output are left out; `write_stdin` with `session_id` {} and `offset` {offset} continues]",
        ran["unread"]["session_id"]
    );
    assert!(outcome.text.contains(&hint), "{hint}: {}", outcome.text);
    assert_eq!(head.to_owned() + &rest(&fixture, &ran, 1_000), numbers(1..=5000));
    // The rest stays for another reader, and a page says how the command ended.
    let arguments = json!({"session_id": ran["unread"]["session_id"], "offset": offset});
    let page = fixture.call("write_stdin", arguments.clone());
    let (_, end) = page.text.rsplit_once("\n5000\n[exit code 0 after ").unwrap();
    let seconds: f64 = end.strip_suffix(" s]").unwrap().parse().unwrap();
    assert!((0.0..60.0).contains(&seconds), "{}", page.text);
    for wrong in [json!({"chars": "x"}), json!({"eof": true})] {
        let mut arguments = arguments.clone();
        arguments.as_object_mut().unwrap().extend(wrong.as_object().unwrap().clone());
        assert_eq!(fixture.call("write_stdin", arguments).value()["code"], "invalid-argument", "{wrong}");
    }
    let ran = fixture.shell("echo few; seq 5000 >&2");
    assert!(rest(&fixture, &ran, 8_000).ends_with(&numbers(4000..=5000)));
    let ran = fixture.ok("shell", json!({"command": "seq 300; seq 300 >&2", "max_output_tokens": 50}));
    assert!(rest(&fixture, &ran, 100).contains("\n300\n[stderr]\n1\n2\n"));
}

#[test]
fn of_a_session_too() {
    let fixture = Fixture::new();
    let arguments = json!({"command": "seq 3000; read x; seq 3000", "terminal": false, "yield_time_ms": 500, "max_output_tokens": 50});
    let ran = fixture.ok("exec_command", arguments);
    let session = ran["session_id"].clone();
    assert_eq!(ran["unread"]["session_id"], session, "{ran}");
    assert!(rest(&fixture, &ran, 500).ends_with("\n2999\n3000\n"));
    let more = fixture.ok(
        "write_stdin",
        json!({"session_id": session, "chars": "\n", "yield_time_ms": 5000, "max_output_tokens": 50}),
    );
    assert_eq!(more["exit_code"], 0, "{more}");
    assert!(more["unread"]["offset"].as_u64() > ran["unread"]["offset"].as_u64());
    assert!(rest(&fixture, &more, 500).ends_with("\n2999\n3000\n"));
    assert!(rest(&fixture, &ran, 500).ends_with("\n2999\n3000\n"), "after its end");
}

#[test]
fn no_other_workspace_reads_it_and_nothing_is_stored() {
    let fixture = Fixture::new();
    let ran = fixture.shell("seq 5000 | sed s/^/canary/");
    let other = Fixture::new();
    let again = Workspace::builder().root(fixture.root()).state_dir(fixture.home.path().join("state"));
    let again = again.policy_json(r#"{"commands": {"enabled": true}}"#).unwrap().build().unwrap();
    let arguments = json!({"session_id": ran["unread"]["session_id"], "offset": ran["unread"]["offset"]});
    for outcome in [other.call("write_stdin", arguments.clone()), again.call("write_stdin", &arguments.to_string())] {
        assert_eq!(outcome.value()["code"], "not-found", "{}", outcome.text);
    }
    assert_eq!(fixture.printed("grep -r canary . || echo none"), "none\n");
    let output =
        std::process::Command::new("grep").args(["-rl", "canary123"]).arg(fixture.home.path()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
}

#[test]
fn the_middle_of_a_flood_is_lost_and_that_is_said() {
    let fixture = Fixture::new();
    let ran = fixture.shell("yes | head -c 4000000; echo end");
    let all = rest(&fixture, &ran, 100_000);
    assert!(all.len() < 1_100_000 && all.ends_with("y\nend\n"), "{}", all.len());
    assert!(all.contains(" bytes were not kept]\n"));
}
