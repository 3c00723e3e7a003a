//! Every command and path in the README, tried as it is written there.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const README: &str = include_str!("../README.md");

/// The commands of the tour, each with the line of output that the README shows below it, if it shows one.
fn tour() -> Vec<(&'static str, Option<&'static str>)> {
    let lines: Vec<_> = README.lines().collect();
    let command = |index: usize| lines[index].strip_prefix("$ paddock ").map(|command| (index, command));
    let shown = |index: usize| lines.get(index + 1).filter(|line| line.starts_with('{')).copied();
    (0..lines.len()).filter_map(command).map(|(index, command)| (command, shown(index))).collect()
}

/// What the README shows below a command, up to the next one.
fn lines_below(command: &str) -> Vec<&'static str> {
    let after = README.lines().skip_while(|line| line.strip_prefix("$ paddock ") != Some(command)).skip(1);
    let lines: Vec<_> = after.take_while(|line| !line.starts_with("$ ") && !line.starts_with("```")).collect();
    assert!(!lines.is_empty(), "{command}");
    lines
}

/// Whether that is what was printed, but for what is left out of it.
fn is_shown(shown: &str, printed: &str) -> bool {
    let mut parts = shown.split('…');
    let Some(rest) = printed.strip_prefix(parts.next().unwrap()) else { return false };
    parts.try_fold(rest, |rest, part| Some(rest.split_once(part)?.1)) == Some("")
}

/// Runs `command` as a shell would, with single quotes and a redirected standard input.
fn run(command: &str, directory: &Path) -> Output {
    let (command, stdin) = command.split_once(" < ").map_or((command, None), |(command, file)| (command, Some(file)));
    let mut parts = command.split('\'');
    let mut arguments: Vec<_> = parts.next().unwrap().split_whitespace().collect();
    arguments.extend(parts.next());
    let stdin = stdin.map_or(Stdio::null(), |file| fs::File::open(directory.join(file)).unwrap().into());
    let mut paddock = Command::new(env!("CARGO_BIN_EXE_paddock"));
    paddock.args(arguments).current_dir(directory).env("PADDOCK_STATE_DIR", directory.join("../state")).stdin(stdin);
    paddock.env("XDG_CONFIG_HOME", directory.join("../none")).env_remove("PADDOCK_POLICY");
    paddock.output().unwrap()
}

fn project(directory: &Path) {
    fs::create_dir_all(directory).unwrap();
    fs::write(directory.join("README.md"), README).unwrap();
    fs::write(directory.join("notes.txt"), "The colour is TODO.\n").unwrap();
    let patch = "--- a/notes.txt\n+++ b/notes.txt\n@@ -1 +1 @@\n-The colour is TODO.\n+The color is red.\n";
    fs::write(directory.join("change.json"), serde_json::json!({ "patch": patch }).to_string()).unwrap();
}

/// The session of commands: each call with the lines of its text.
fn session() -> Vec<(&'static str, Vec<&'static str>)> {
    let block = README.split("```text\n> ").nth(1).unwrap().split("\n```").next().unwrap();
    let call = |call: &'static str| {
        let mut lines = call.lines();
        (lines.next().unwrap(), lines.collect())
    };
    block.split("\n> ").map(call).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn the_session_goes_as_it_says() {
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
        for line in lines {
            let start = line.strip_suffix('…');
            match (start, printed.next()) {
                (Some(""), _) => break,
                (Some(start), Some(printed)) => assert!(printed.starts_with(start), "{call}: {text}"),
                (None, printed) => assert_eq!(printed, Some(line), "{call}: {text}"),
                (Some(_), None) => panic!("{call}: {text}"),
            }
        }
    }
}

#[test]
fn the_tour_goes_as_it_says() {
    let temporary = tempfile::tempdir().unwrap();
    let directory = temporary.path().join("project");
    project(&directory);
    let tour = tour();
    assert!(tour.len() >= 7, "{tour:?}");
    for (command, shown) in tour {
        let output = run(command, &directory);
        let stdout = String::from_utf8(output.stdout).unwrap();
        if command == "history" {
            assert!(output.status.success() && stdout.contains("notes.txt"), "{stdout}");
            continue;
        }
        if command.starts_with("overlay") {
            assert!(output.status.success(), "{command}: {stdout}");
            for (line, printed) in lines_below(command).iter().zip(stdout.lines()) {
                assert!(line == &printed || *line == "…", "{command}: {stdout}");
            }
            continue;
        }
        let outcome: serde_json::Value = serde_json::from_str(&stdout).expect(command);
        match shown {
            Some(shown) if shown.starts_with(r#"{"ok":false"#) => {
                assert_eq!(stdout.trim_end(), shown, "{command}");
                assert_eq!(output.status.code(), Some(1), "{command}");
            }
            Some(_) => {
                let lines: String = lines_below(command).into_iter().map(str::trim_start).collect();
                assert!(is_shown(&lines, stdout.trim_end()), "{command}: {stdout}");
            }
            None => assert_eq!(outcome["ok"], true, "{command}: {stdout}"),
        }
    }
    // Restored, and then taken over from an overlay.
    assert_eq!(fs::read_to_string(directory.join("notes.txt")).unwrap(), "The color is red.\n");
    assert!(!directory.join("plan.txt").exists());
}

#[test]
fn the_first_command_finds_something() {
    let line = README.lines().find(|line| line.starts_with("cargo run --release -- ")).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = run(line.strip_prefix("cargo run --release -- ").unwrap(), &root);
    let outcome: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let files = outcome["result"]["files"].as_array().unwrap();
    assert!(files.iter().any(|file| file["path"] == "host/rust/src/main.rs"), "{outcome}");
}

/// Without a name, `cargo run` runs what one package says that it is for.
#[test]
fn cargo_run_is_this_program() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]);
    let told = cargo.current_dir(top).output().unwrap();
    let told: serde_json::Value = serde_json::from_slice(&told.stdout).unwrap();
    let packages = told["packages"].as_array().unwrap();
    let runs: Vec<_> = packages.iter().filter_map(|package| package["default_run"].as_str()).collect();
    assert_eq!(runs, ["paddock"]);
}

#[test]
fn every_path_that_it_names_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tops = ["wit/", "guest/", "host/", "tests/", "benches/", ".ci/"];
    let paths: Vec<_> =
        README.split('`').skip(1).step_by(2).filter(|code| tops.iter().any(|top| code.starts_with(top))).collect();
    assert!(paths.len() >= 5, "{paths:?}");
    for path in paths {
        assert!(root.join(path).exists(), "{path}");
    }
}

#[test]
fn its_json_is_json() {
    let blocks = README.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    assert!(blocks.clone().count() >= 1);
    for block in blocks {
        serde_json::from_str::<serde_json::Value>(block).expect(block);
    }
}

#[test]
fn its_table_of_the_policy_is_that_of_the_program() {
    let temporary = tempfile::tempdir().unwrap();
    let table = String::from_utf8(run("policy table", temporary.path()).stdout).unwrap();
    assert!(table.lines().count() > 20, "{table}");
    assert!(README.contains(&format!("\n\n{table}\n")), "the table of `paddock policy table` is another:\n{table}");
}

#[test]
fn its_policy_is_one() {
    let temporary = tempfile::tempdir().unwrap();
    let text =
        README.split("## Policy").nth(1).and_then(|rest| rest.split("```yaml\n").nth(1)?.split("```").next()).unwrap();
    fs::write(temporary.path().join("policy.yaml"), text).unwrap();
    let shown = run("policy show --json --policy policy.yaml", temporary.path());
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(shown["limits.max_file_bytes"]["value"], 1_000_000);
    assert_eq!(shown["allowed_directories"]["value"][1]["access"], "read-only");
}

/// The boundary is as small as it says.
#[test]
fn its_providers_have_no_more_lines_than_it_says() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for directory in ["host/rust/src/wasi", "host/node/src/wasi"] {
        let (_, said) = README.split_once(&format!("`{directory}`, under ")).unwrap();
        let said: usize = said.split_once(['.', ')', ';', ' ']).unwrap().0.replace(',', "").parse().unwrap();
        let files = fs::read_dir(top.join(directory)).unwrap().map(|entry| entry.unwrap().path());
        let files = files.filter(|path| path.is_file() && path.file_stem().unwrap() != "tests");
        let lines: usize = files.map(|path| fs::read_to_string(path).unwrap().lines().count()).sum();
        assert!(lines < said && lines * 3 > said * 2, "{directory}: {lines} lines, it says {said}");
    }
}
