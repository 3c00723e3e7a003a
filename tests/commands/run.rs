//! Single commands: output, exit status and limits.

use std::time::{Duration, Instant};

use paddock::{CallOptions, CancelToken};
use serde_json::json;

use crate::fixture::{Fixture, stdout};

#[test]
fn output_status_and_directory() {
    let fixture = Fixture::new();
    let ran = fixture.shell("cat a.txt; echo bad >&2; exit 3");
    assert_eq!(
        (stdout(&ran), &ran["stderr"]["text"], &ran["exit_code"]),
        ("one\n".to_owned(), &json!("bad\n"), &json!(3))
    );
    assert!(ran["confinement"].as_str().unwrap().starts_with("landlock "), "{ran}");
    let ran = fixture.ok("shell", json!({"command": "pwd; cat b.txt", "workdir": "src"}));
    assert_eq!(stdout(&ran), format!("{}\ntwo\n", fixture.root().canonicalize().unwrap().join("src").display()));
    assert_eq!(
        fixture.call("shell", json!({"command": "true", "workdir": "../outside"})).value()["code"],
        "outside-workspace"
    );
    assert_eq!(
        fixture.call("shell", json!({"command": "true", "workdir": "a.txt"})).value()["code"],
        "not-a-directory"
    );
    assert_eq!(fixture.call("shell", json!({"command": "true", "workdir": "none"})).value()["code"], "not-found");
    let ran = fixture.shell("kill -SEGV $$");
    assert_eq!((&ran["exit_code"], &ran["signal"]), (&json!(null), &json!("SIGSEGV")));
    let ran = fixture.shell("no-such-program");
    assert_eq!(ran["exit_code"], 127);
}

#[test]
fn the_environment_is_made_anew() {
    // Setting a variable would need `unsafe`. Cargo sets this one for every test process.
    let own = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    let fixture = Fixture::with(json!({"environment": {"GREETING": "hello"}, "pass_environment": ["CARGO_PKG_NAME"]}));
    let printed = fixture.printed("env");
    assert!(printed.contains("GREETING=hello\n") && printed.contains("CARGO_PKG_NAME=paddock-files\n"), "{printed}");
    assert!(!printed.contains(&own), "{printed}");
    assert_eq!(fixture.printed("echo x > ~/kept; cat < $TMPDIR/kept"), "x\n");
    assert_eq!(fixture.shell("cat ~/kept")["exit_code"], 1, "each command has a home of its own");
}

/// A file that a command leaves in its home, such as `~/.gitconfig` with an alias that runs a program, does not affect
/// the next command; a session keeps its own home.
#[test]
fn no_command_writes_the_settings_of_another() {
    let fixture = Fixture::new();
    fixture.shell("printf '[alias]\\n\\tst = !touch ran\\n' > ~/.gitconfig; git st");
    assert!(fixture.root().join("ran").exists(), "in the home of the same command");
    std::fs::remove_file(fixture.root().join("ran")).unwrap();
    assert_ne!(fixture.shell("git st")["exit_code"], 0);
    let id = fixture.ok("exec_command", json!({"command": "cat"}))["session_id"].clone();
    assert_ne!(fixture.shell("git st")["exit_code"], 0);
    fixture.ok("kill_session", json!({"session_id": id}));
    assert!(!fixture.root().join("ran").exists());
}

#[test]
fn output_is_capped_each_stream_by_itself() {
    let fixture = Fixture::new();
    let ran = fixture.shell("seq 1000; seq 300 >&2");
    let text = stdout(&ran);
    assert!(text.starts_with("1\n2\n") && text.ends_with("999\n1000\n") && text.contains("\n[truncated]\n"), "{text}");
    assert!(text.lines().count() <= 200 && text.len() <= 8192, "{}", text.len());
    assert_eq!((&ran["stdout"]["truncated"], &ran["stderr"]["truncated"]), (&json!(true), &json!(true)));
    let ran = fixture.shell("seq 200; echo few >&2");
    assert_eq!((&ran["stdout"]["truncated"], &ran["stderr"]["text"]), (&json!(false), &json!("few\n")));
    let ran = fixture.shell("head -c 200000 /dev/zero | tr '\\0' x");
    assert!(stdout(&ran).len() <= 8192 && ran["stdout"]["bytes"] == 200_000, "{}", ran["stdout"]["bytes"]);
    let ran = fixture.shell("printf '\\377\\376ok\\033[31m red\\033[0m\\n'");
    assert_eq!(stdout(&ran), "\u{fffd}\u{fffd}ok red\n");
}

#[test]
fn time_ends_the_whole_group_even_one_that_will_not() {
    let fixture = Fixture::new();
    for line in
        ["sleep 100", "sleep 100 & sleep 100", "trap '' TERM; while :; do :; done", "(setsid sleep 100 &) ; sleep 100"]
    {
        let started = Instant::now();
        let ran = fixture.ok("shell", json!({"command": format!("echo begun; {line}"), "timeout_ms": 300}));
        assert_eq!((&ran["timed_out"], stdout(&ran)), (&json!(true), "begun\n".to_owned()), "{line}");
        assert!(started.elapsed() < Duration::from_secs(5), "{line}: {:?}", started.elapsed());
    }
    assert_eq!(fixture.printed("sleep 0.01; echo on"), "on\n");
}

#[test]
fn a_gigabyte_of_output_and_a_call_that_is_cancelled() {
    let fixture = Fixture::new();
    let ran = fixture.ok("shell", json!({"command": "yes | head -c 1000000000", "timeout_ms": 60_000}));
    assert_eq!((&ran["stdout"]["bytes"], &ran["exit_code"]), (&json!(1_000_000_000), &json!(0)));
    let options = CallOptions::default().with_cancel(CancelToken::default());
    let (cancel, started) = (options.cancel.clone(), Instant::now());
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        cancel.cancel();
    });
    let outcome = fixture.workspace.call_with("shell", r#"{"command": "yes"}"#, &options);
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    assert_eq!(outcome.value()["signal"], "SIGKILL", "{}", outcome.text);
}

#[test]
fn a_fork_bomb_stays_within_its_limit() {
    let fixture = Fixture::with(json!({"max_processes": 50}));
    let started = Instant::now();
    let ran = fixture.ok("shell", json!({"command": "f() { f | f & f; }; f", "timeout_ms": 2000}));
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
    assert_ne!(ran["exit_code"], 0);
    assert_eq!(fixture.printed("echo alive"), "alive\n");
}

#[test]
fn python_in_the_dialect_that_has_it() {
    let fixture = Fixture::new();
    if fixture.shell("command -v python3")["exit_code"] != 0 {
        eprintln!("not tried: no `python3` in a directory that commands may use");
        return;
    }
    let options = CallOptions::dialect("weakincentives");
    let outcome =
        fixture.workspace.call_with("evaluate_python", r#"{"code": "print(open('a.txt').read())"}"#, &options);
    assert!(outcome.ok && outcome.text.contains("one"), "{}", outcome.text);
}

#[test]
fn signals_are_those_of_a_new_program() {
    let fixture = Fixture::new();
    // A shell starts background programs with SIGINT ignored, and a program passes that on to its children.
    let output = std::process::Command::new("sh")
        .args(["-c", "trap '' INT TERM; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_paddock"), "call", "--root"])
        .arg(fixture.root())
        .args(["--set", "commands.enabled=true", "shell", r#"{"command": "kill -INT $$; echo survived"}"#])
        .env("PADDOCK_STATE_DIR", fixture.home.path().join("other"))
        .env("XDG_CONFIG_HOME", fixture.home.path().join("none"))
        .output()
        .unwrap();
    let outcome: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&outcome["result"]["signal"], stdout(&outcome["result"])),
        (&json!("SIGINT"), String::new()),
        "{outcome}"
    );
}
