//! Limits of programs: time, memory and output.

use std::time::{Duration, Instant};

use paddock::{CallOptions, CancelToken};
use serde_json::json;

use super::build::{failures, fixture, fixture_under, printed, tool, tools};
use crate::fixture::{changes, stdout};

/// Time limit of programs that would not end. A program starts slowly under Wine.
const TIMEOUT_MS: u64 = if cfg!(windows) { 3_000 } else { 300 };

#[test]
fn time_ends_a_loop_and_a_sleep() {
    for program in tools() {
        let fixture = fixture(program);
        printed(&fixture, &["echo compiled"]);
        for step in ["spin", "sleep 100000", "yes"] {
            let started = Instant::now();
            let args: Vec<_> = format!("write a.txt x -- {step}").split(' ').map(str::to_owned).collect();
            let ran = fixture.ok("run_program", json!({"name": "tool", "args": args, "timeout_ms": TIMEOUT_MS}));
            assert_eq!(
                (&ran["timed_out"], &ran["exit_code"], &ran["signal"]),
                (&json!(true), &json!(null), &json!("SIGKILL")),
                "{step}"
            );
            assert!(started.elapsed() < Duration::from_millis(TIMEOUT_MS + 4_700), "{step}: {:?}", started.elapsed());
            assert_eq!(changes(&ran), ["modified a.txt"]);
            fixture.ok("restore", json!({"backup": ran["backup"]}));
        }
        assert_eq!(printed(&fixture, &["sleep 10", "cat a.txt"]), "one\n");
    }
}

#[test]
fn a_call_that_is_cancelled_ends() {
    let fixture = fixture(tools().next().unwrap());
    let options = CallOptions::default().with_cancel(CancelToken::default());
    let (cancel, started) = (options.cancel.clone(), Instant::now());
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        cancel.cancel();
    });
    let outcome = fixture.workspace.call_with("run_program", r#"{"name": "tool", "args": ["spin"]}"#, &options);
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    let ran = outcome.value();
    assert_eq!((&ran["signal"], &ran["timed_out"]), (&json!("SIGKILL"), &json!(false)), "{}", outcome.text);
}

#[test]
fn memory_is_bounded() {
    for program in tools() {
        let fixture = fixture_under(program, json!({}), json!({"max_memory_bytes": 32 << 20}));
        let ran = tool(&fixture, &["echo small", "eat"]);
        assert_eq!((stdout(&ran).as_str(), &ran["signal"]), ("small\n", &json!("trap")), "{ran}");
        assert!(ran["notes"].to_string().contains("max_memory_bytes"), "{ran}");
    }
}

#[test]
fn endless_output_is_held_in_a_few_bytes() {
    let fixture = fixture(tools().next().unwrap());
    let ran = fixture.ok("run_program", json!({"name": "tool", "args": ["yes"], "timeout_ms": 2_000}));
    assert!(ran["stdout"]["bytes"].as_u64().unwrap() > 1_000_000, "{}", ran["stdout"]["bytes"]);
    assert!(stdout(&ran).len() <= 8192 && stdout(&ran).contains("[truncated]"));
}

#[test]
fn a_file_is_no_larger_than_the_policy_has_it() {
    for program in tools() {
        let fixture = fixture_under(program, json!({}), json!({"max_file_bytes": 100_000}));
        assert_eq!(printed(&fixture, &["fill full 100000", "stat full"]), "100000\n");
        failures(&fixture, &["fill more 100001", "append full x", "cut full 100001"]);
        assert_eq!(printed(&fixture, &["stat full"]), "100000\n");
    }
}

#[test]
fn open_files_are_bounded() {
    for program in tools() {
        let fixture = fixture(program);
        // The adapter of preview 1 supports at most 128 open files.
        assert_eq!(printed(&fixture, &["open 100 a.txt"]), "100\n");
        failures(&fixture, &["open 600 a.txt"]);
        assert_eq!(printed(&fixture, &["open 100 a.txt", "open 100 a.txt"]), "100\n100\n");
    }
}

#[test]
fn a_program_runs_in_an_asynchronous_runtime_too() {
    let fixture = fixture(tools().next().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let arguments = r#"{"name": "tool", "args": ["sleep", "10", "--", "echo", "on"]}"#;
    runtime.block_on(async {
        assert_eq!(stdout(&fixture.workspace.call("run_program", arguments).value()), "on\n");
        let outcome = fixture.workspace.call_async("run_program", arguments, CallOptions::default()).await;
        assert_eq!(stdout(&outcome.value()), "on\n");
    });
}

/// A listing holds all names of its directory, and a move visits all moved entries; both respect the time limit.
#[test]
fn many_names_do_not_outlast_the_time() {
    let fixture = fixture(tools().next().unwrap());
    std::fs::create_dir(fixture.root().join("many")).unwrap();
    for number in 0..20_000 {
        std::fs::write(fixture.root().join("many").join(number.to_string()), "").unwrap();
    }
    printed(&fixture, &["echo compiled"]);
    let args = json!({"name": "tool", "args": ["mv", "many", "moved"], "timeout_ms": 50});
    let started = Instant::now();
    let ran = fixture.ok("run_program", args);
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    assert_eq!((&ran["timed_out"], changes(&ran)), (&json!(true), Vec::new()), "{ran}");
    assert!(fixture.root().join("many/0").exists());
}
