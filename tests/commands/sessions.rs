//! Sessions: commands that continue between calls.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fixture::{Fixture, changes, stdout};

/// Writes to a session and reads until the output contains `until`.
#[track_caller]
fn talk(fixture: &Fixture, session: &Value, chars: &str, until: &str) -> (String, Value) {
    let mut printed = String::new();
    let mut chars = chars;
    for _ in 0..50 {
        let ran = fixture.ok("write_stdin", json!({"session_id": session, "chars": chars, "yield_time_ms": 200}));
        printed += &stdout(&ran);
        chars = "";
        if printed.contains(until) || ran["session_id"].is_null() {
            return (printed, ran);
        }
    }
    panic!("no `{until}` in `{printed}`");
}

#[test]
fn a_terminal_is_talked_to() {
    let fixture = Fixture::new();
    let ran = fixture.ok("exec_command", json!({"command": "PS1='> ' sh -i", "columns": 100, "rows": 30}));
    let session = ran["session_id"].clone();
    assert!(session.is_u64(), "{ran}");
    let (printed, _) = talk(&fixture, &session, "stty size; tty | cut -c1-9; echo $((6 * 7))\n", "\n42");
    assert!(printed.contains("30 100\n") && printed.contains("/dev/pts/"), "{printed}");
    let size = json!({"session_id": session, "columns": 72, "rows": 20, "chars": "stty size\n", "yield_time_ms": 1000});
    assert!(stdout(&fixture.ok("write_stdin", size)).contains("20 72"));
    let (_, _) = talk(&fixture, &session, "sleep 100\n", "sleep 100");
    let (printed, _) = talk(&fixture, &session, "\u{3}echo back-$((1 + 1))\n", "back-2");
    assert!(printed.contains("back-2"), "Ctrl-C ends what runs, not the session: {printed}");
    let (_, ran) = talk(&fixture, &session, "echo kept > kept.txt; exit 5\n", "never");
    assert_eq!((&ran["exit_code"], &ran["session_id"]), (&json!(5), &Value::Null));
    assert_eq!(changes(&ran), ["created kept.txt"], "{ran}");
    let gone = fixture.call("write_stdin", json!({"session_id": session}));
    assert_eq!(gone.value()["code"], "not-found", "{}", gone.text);
}

#[test]
fn output_is_collected_to_the_end_of_the_time_or_of_the_command() {
    let fixture = Fixture::new();
    let line = "for i in 1 2 3 4; do echo $i; sleep 0.2; done";
    for terminal in [true, false] {
        let arguments = json!({"command": line, "terminal": terminal, "yield_time_ms": 20_000});
        let ran = fixture.ok("exec_command", arguments);
        assert_eq!((stdout(&ran).as_str(), &ran["exit_code"]), ("1\n2\n3\n4\n", &json!(0)), "{ran}");
    }
    // Output without a line ending, such as a progress indicator, does not count as a prompt while more follows.
    let line = "for i in 1 2 3 4; do printf .; sleep 0.4; done";
    for terminal in [true, false] {
        let arguments = json!({"command": line, "terminal": terminal, "yield_time_ms": 20_000});
        let ran = fixture.ok("exec_command", arguments);
        assert_eq!((stdout(&ran).as_str(), &ran["exit_code"]), ("....", &json!(0)), "{ran}");
    }
    // The time limit ends the wait. The result has all output so far, and the command continues.
    let begun = Instant::now();
    let line = "for i in 1 2 3 4 5 6; do echo $i; sleep 0.2; done";
    let ran = fixture.ok("exec_command", json!({"command": line, "yield_time_ms": 700}));
    assert!(begun.elapsed() >= Duration::from_millis(700), "{:?}", begun.elapsed());
    assert!(stdout(&ran).starts_with("1\n2\n3\n") && ran["session_id"].is_u64(), "{ran}");
    let rest = fixture.ok("write_stdin", json!({"session_id": ran["session_id"], "yield_time_ms": 20_000}));
    assert_eq!((stdout(&ran) + &stdout(&rest), &rest["exit_code"]), ("1\n2\n3\n4\n5\n6\n".to_owned(), &json!(0)));
    // A prompt ends the wait before the time limit.
    let begun = Instant::now();
    let ran = fixture.ok("exec_command", json!({"command": "printf 'name? '; read x", "yield_time_ms": 20_000}));
    assert_eq!(stdout(&ran), "name? ");
    assert!(ran["session_id"].is_u64() && begun.elapsed() < Duration::from_secs(10), "{:?} {ran}", begun.elapsed());
    let arguments = json!({"session_id": ran["session_id"], "chars": "it\n", "yield_time_ms": 20_000});
    assert_eq!(fixture.ok("write_stdin", arguments)["exit_code"], 0);
}

#[test]
fn pipes_and_the_end_of_input() {
    let fixture = Fixture::new();
    let ran = fixture.ok("exec_command", json!({"command": "cat; echo done >&2", "terminal": false}));
    let session = ran["session_id"].clone();
    let (printed, _) = talk(&fixture, &session, "hello\n", "hello\n");
    assert_eq!(printed, "hello\n", "no echo without a terminal");
    let ran =
        fixture.ok("write_stdin", json!({"session_id": session, "chars": "last", "eof": true, "yield_time_ms": 5000}));
    let rest = if ran["session_id"].is_null() { ran } else { talk(&fixture, &session, "", "never").1 };
    assert_eq!((&rest["exit_code"], &rest["stderr"]["text"]), (&json!(0), &json!("done\n")));
    let ran = fixture.ok("exec_command", json!({"command": "cat"}));
    let (_, ran) = talk(&fixture, &ran["session_id"].clone(), "\u{4}", "never");
    assert_eq!(ran["exit_code"], 0, "Ctrl-D ends a terminal's input");
}

#[test]
fn a_command_that_reads_nothing_does_not_hold_its_caller() {
    let fixture = Fixture::new();
    let ran = fixture.ok("exec_command", json!({"command": "sleep 100", "terminal": false}));
    let (session, started) = (ran["session_id"].clone(), Instant::now());
    let outcome = fixture.call("write_stdin", json!({"session_id": session, "chars": "x".repeat(1 << 20)}));
    assert!(!outcome.ok && outcome.text.contains("reads nothing"), "{}", outcome.text);
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[test]
fn output_is_reported_once_and_a_flood_of_it_in_bounds() {
    let fixture = Fixture::new();
    let ran = fixture
        .ok("exec_command", json!({"command": "for i in 1 2 3; do echo $i; sleep 0.3; done", "terminal": false}));
    let mut printed = stdout(&ran);
    let mut session = ran["session_id"].clone();
    while !session.is_null() {
        let ran = fixture.ok("write_stdin", json!({"session_id": session, "yield_time_ms": 100}));
        printed += &stdout(&ran);
        session = ran["session_id"].clone();
    }
    assert_eq!(printed, "1\n2\n3\n");
    let arguments = json!({"command": "yes", "terminal": false, "yield_time_ms": 1000, "max_output_tokens": 100});
    let ran = fixture.ok("exec_command", arguments);
    assert!(stdout(&ran).len() <= 400 && ran["stdout"]["truncated"] == true, "{ran}");
    assert!(ran["stdout"]["bytes"].as_u64().unwrap() > 1_000_000, "{ran}");
    let ended = fixture.ok("kill_session", json!({"session_id": ran["session_id"]}));
    assert_eq!(ended["signal"], "SIGKILL");
}

#[test]
fn sessions_are_listed_ended_and_pruned() {
    let fixture = Fixture::with(json!({"max_sessions": 3}));
    let start = || {
        fixture.ok("exec_command", json!({"command": "sleep 100", "yield_time_ms": 0}))["session_id"].as_u64().unwrap()
    };
    let ids: Vec<_> = (0..3).map(|_| start()).collect();
    fixture.ok("write_stdin", json!({"session_id": ids[0], "yield_time_ms": 0}));
    let fourth = start();
    let open = || -> Vec<u64> {
        let listed = fixture.ok("list_sessions", json!({}));
        listed["sessions"].as_array().unwrap().iter().map(|session| session["session_id"].as_u64().unwrap()).collect()
    };
    assert_eq!(open(), [ids[0], ids[2], fourth], "the one that was idle for longest went");
    fixture.ok("kill_session", json!({"session_id": fourth}));
    assert_eq!(open(), [ids[0], ids[2]]);
}

#[test]
fn a_hundred_sessions_at_once() {
    let fixture = Fixture::with(json!({"max_sessions": 100}));
    let started = Instant::now();
    let ids: Vec<_> = (0..100)
        .map(|number| {
            let line = format!("read x; echo $x-{number}");
            fixture.ok("exec_command", json!({"command": line, "terminal": number % 2 == 0, "yield_time_ms": 0}))["session_id"].clone()
        })
        .collect();
    for (number, id) in ids.iter().enumerate() {
        let (printed, ran) = talk(&fixture, id, "ping\n", &format!("ping-{number}"));
        assert!(printed.contains(&format!("ping-{number}\n")), "{number}: {printed} {ran}");
    }
    eprintln!("a hundred sessions: {:?}", started.elapsed());
}

#[test]
fn new_rules_apply_to_a_running_session() {
    let fixture = Fixture::new();
    for (path, text) in [("cfg/prod.env", "nothing yet\n"), ("never/x", "x\n")] {
        std::fs::create_dir_all(fixture.root().join(path).parent().unwrap()).unwrap();
        std::fs::write(fixture.root().join(path), text).unwrap();
    }
    let line = "while read l; do eval \"$l\"; echo done-$?; done";
    let ran = fixture.ok("exec_command", json!({"command": line, "terminal": false}));
    let session = ran["session_id"].clone();
    let say = |line: &str| talk(&fixture, &session, &format!("{line}\n"), "done-").0;
    assert!(say("cat cfg/prod.env; ls never").starts_with("nothing yet\n"));
    std::fs::write(fixture.root().join(".agentignore"), "*.env\n").unwrap();
    std::fs::create_dir(fixture.root().join("new")).unwrap();
    std::fs::write(fixture.root().join("new/.agentignore"), "*.key\n").unwrap();
    std::thread::sleep(Duration::from_secs(1));
    for path in ["cfg/prod.env", "never/prod.env", "new/x.key"] {
        std::fs::write(fixture.root().join(path), "TOPSECRET\n").unwrap();
    }
    for line in [
        "cat cfg/prod.env",
        "cat never/prod.env",
        "cat new/x.key",
        "cp cfg/prod.env copy",
        "mv never other",
        "echo x >> cfg/prod.env",
        "rm -f .agentignore new/.agentignore",
    ] {
        let printed = say(line);
        assert!(!printed.contains("TOPSECRET") && !printed.contains("done-0"), "{line}: {printed}");
    }
    assert_eq!(fixture.read("cfg/prod.env").unwrap(), "TOPSECRET\n");
    assert!(fixture.read("copy").is_none_or(|copy| copy.is_empty()));
    // Rules that are removed no longer apply.
    std::fs::remove_file(fixture.root().join(".agentignore")).unwrap();
    std::thread::sleep(Duration::from_secs(1));
    assert!(say("cat cfg/prod.env").contains("TOPSECRET"));
}
