//! Single programs: arguments, environment, output and exit status.

use std::fs;

use serde_json::json;

use super::build::{fixture, fixture_under, printed, tool, tools};
use crate::fixture::{Fixture, changes, stdout};

#[test]
fn arguments_input_output_and_status() {
    for program in tools() {
        let fixture = fixture(program);
        let ran = fixture.ok("run_program", json!({"name": "tool", "args": ["name", "--", "echo", "a b", "", "ü"]}));
        assert_eq!((stdout(&ran), &ran["exit_code"]), ("tool\na b||ü\n".to_owned(), &json!(0)), "{ran}");
        assert_eq!(ran["confinement"], "wasi");
        let ran = fixture.ok("run_program", json!({"name": "tool", "args": ["stdin"], "stdin": "grüße\n"}));
        assert_eq!(stdout(&ran), "GRÜSSE\n");
        let ran = tool(&fixture, &["cat none", "echo on"]);
        assert_eq!((stdout(&ran), &ran["exit_code"]), ("on\n".to_owned(), &json!(1)));
        assert_eq!(ran["stderr"]["text"], "cat none: NotFound\n");
        assert_ne!(tool(&fixture, &["exit 7"])["exit_code"], 0);
    }
}

#[test]
fn files_by_every_path_that_leads_to_them() {
    for program in tools() {
        let fixture = fixture(program);
        assert_eq!(
            printed(&fixture, &["cat a.txt", "cat src/b.txt", "cat /workspace/a.txt", "cat ./src/../a.txt"]),
            "one\ntwo\none\none\n"
        );
        assert_eq!(
            printed(
                &fixture,
                &["mkdir d/e", "write d/e/f 1", "append d/e/f 2", "cut d/e/f 1", "cat d/e/f", "stat d/e/f"]
            ),
            "11\n"
        );
        assert_eq!(printed(&fixture, &["ls .", "ls /workspace/d"]), "a.txt d src\ne\n");
        let ran = fixture.ok(
            "run_program",
            json!({"name": "tool", "args": ["cat", "b.txt", "--", "cat", "../a.txt"], "workdir": "src"}),
        );
        assert_eq!(stdout(&ran), "two\none\n");
    }
}

#[test]
fn links_lead_where_they_say_within_the_workspace() {
    if cfg!(windows) {
        return eprintln!("skipped: a symbolic link needs a privilege on Windows, and Wine makes none");
    }
    for program in tools() {
        let fixture = fixture(program);
        let steps = [
            "symlink ../a.txt src/up",
            "symlink src dir",
            "cat dir/up",
            "readlink src/up",
            "write dir/up 2",
            "cat a.txt",
            "rm dir/up",
        ];
        assert_eq!(printed(&fixture, &steps), "one\n../a.txt\n2");
        assert_eq!(fixture.read("a.txt").unwrap(), "2");
        assert_eq!(printed(&fixture, &["mkdir dir/sub/", "ls src"]), "b.txt sub\n");
    }
}

#[test]
fn the_environment_is_the_policys() {
    let program = tools().next().unwrap();
    let fixture = fixture_under(
        program,
        json!({}),
        json!({"environment": {"GREETING": "hello"}, "pass_environment": ["CARGO_PKG_NAME"]}),
    );
    assert_eq!(printed(&fixture, &["env"]), "PWD=/workspace\nCARGO_PKG_NAME=paddock-files\nGREETING=hello\n");
}

#[test]
fn a_shell_line_that_is_one_program_runs_it() {
    let program = tools().next().unwrap();
    let fixture = fixture_under(program, json!({}), json!({"deny": ["tool rm"]}));
    let ran = fixture.shell("tool echo 'a b' \"c\" -- cat src/b.txt");
    assert_eq!((stdout(&ran), &ran["confinement"]), ("a b|c\ntwo\n".to_owned(), &json!("wasi")));
    for call in [
        fixture.call("shell", json!({"command": "tool rm a.txt"})),
        fixture.call("run_program", json!({"name": "tool", "args": ["rm", "a.txt"]})),
    ] {
        assert_eq!(call.value()["code"], "denied", "{}", call.text);
        assert!(call.text.contains("tool rm"), "{}", call.text);
    }
    assert!(fixture.read("a.txt").is_some());
}

#[test]
fn what_is_no_program_is_reported() {
    let program = tools().next().unwrap();
    let files = tempfile::tempdir().unwrap();
    let at = |name: &str| files.path().join(name);
    fs::write(at("text.wasm"), "no program").unwrap();
    fs::write(at("broken.wasm"), b"\0asm\x01\0\0\0broken").unwrap();
    // A module that imports and exports nothing cannot be started.
    fs::write(at("empty.wasm"), b"\0asm\x01\0\0\0").unwrap();
    fs::create_dir(at("dir.wasm")).unwrap();
    let programs: serde_json::Map<_, _> = ["text", "broken", "empty", "dir", "none"]
        .map(|name| (name.to_owned(), json!(at(&format!("{name}.wasm")))))
        .into_iter()
        .collect();
    let names: Vec<_> = programs.keys().cloned().collect();
    let fixture = Fixture::with(json!({ "programs": programs }));
    for name in names {
        let outcome = fixture.call("run_program", json!({ "name": name }));
        assert_eq!(outcome.value()["code"], "invalid-argument", "{name}: {}", outcome.text);
        assert!(outcome.text.contains(&format!("`{name}`")), "{}", outcome.text);
    }
    let outcome = super::build::fixture(program).call("run_program", json!({"name": "jq"}));
    assert_eq!(outcome.value()["code"], "not-found");
    assert!(outcome.text.contains("it names `tool`"), "{}", outcome.text);
}

#[test]
fn a_program_that_is_built_anew_is_run_anew() {
    let program = tools().next().unwrap();
    let fixture = Fixture::new();
    let own = fixture.root().join("own.wasm");
    fs::write(&own, "not yet").unwrap();
    let fixture = fixture_under(&own, json!({}), json!({}));
    assert!(!fixture.call("run_program", json!({"name": "tool"})).ok);
    fs::copy(program, &own).unwrap();
    assert_eq!(printed(&fixture, &["echo built"]), "built\n");
}

#[test]
fn a_program_that_fails_says_how() {
    for program in tools() {
        let fixture = fixture(program);
        let ran = tool(&fixture, &["write a.txt half", "panic"]);
        assert_eq!((&ran["exit_code"], &ran["signal"]), (&json!(null), &json!("trap")), "{ran}");
        let stderr = ran["stderr"]["text"].as_str().unwrap();
        assert!(stderr.contains("as it was told") && stderr.contains("unreachable"), "{stderr}");
        assert_eq!(changes(&ran), ["modified a.txt"]);
    }
}
